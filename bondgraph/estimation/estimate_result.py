"""Estimate of parameters: values, standard errors, confidence region, identifiability, and prediction intervals of its runs.

A confidence interval of one parameter follows from its standard error.

Prediction intervals of a run: standard deviations of every quantity over time, from sensitivities and a covariance. First-order
error propagation: with y(p) linear over the deviations of p, its variance is (dy/dp) C (dy/dp)^T.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from bondgraph.errors import refusal
from bondgraph.estimation.experiments import Channel, Trial
from bondgraph.estimation.sensitivity_results import RunSensitivities
from bondgraph.output.cells import cell, items, line, table
from bondgraph.output.plot_style import MUTED, axis_label, panels
from bondgraph.quantities import real
from bondgraph.run.results.curves import curves
from bondgraph.run.results.result import Result
from screws.renamed import answer_old_names


@answer_old_names
@dataclass(frozen=True, eq=False, repr=False)
class Estimate:
    """Estimated numbers with their covariance.

    Parameters
    ----------
    labels, units, values : of the numbers (k,); standard_errors : standard deviations (k,), infinite where not identifiable.
    covariance : (k, k), in the units of the numbers.
    singular_values, directions : (k,), and (k, k) whose row i is a combination of relative changes of the numbers with the
        standard deviation 1 / singular_values[i]; the best known first.
    residuals : (model - data) / sigma (samples, numbers) of each experiment, by the name of the channel.
    sigma : standard deviations of the noise, likewise; estimated_sigmas : channels where these came from the residuals.
    chi2, degrees_of_freedom : sum of all squared residuals, and their degrees of freedom.
    findings : in words: numbers that are not identifiable, or at their bounds, and doubts.
    results : a run for each experiment at the estimate. message : why the search ended. failures : counts of failed runs by
        reason.
    """

    labels: tuple[str, ...]
    units: tuple[str, ...]
    values: np.ndarray
    standard_errors: np.ndarray
    covariance: np.ndarray
    singular_values: np.ndarray
    directions: np.ndarray
    residuals: Mapping[str, tuple[np.ndarray, ...]]
    sigma: Mapping[str, tuple[np.ndarray, ...]]
    estimated_sigmas: tuple[str, ...]
    chi2: float
    degrees_of_freedom: int
    findings: tuple[str, ...]
    results: tuple[Result, ...]
    message: str
    failures: Mapping[str, int]
    trials: tuple[Trial, ...] = field(repr=False)

    def __getitem__(self, label: str) -> float:
        """Return the value of a number by name."""
        if label not in self.labels:
            raise KeyError(f"{label!r} was not estimated; there are: {', '.join(self.labels)}")
        return float(self.values[self.labels.index(label)])

    @cached_property
    def correlation(self) -> np.ndarray:
        """Correlation of the numbers (k, k); nan where one is not identifiable."""
        with np.errstate(all="ignore"):
            return np.asarray(self.covariance / np.outer(self.standard_errors, self.standard_errors))

    @property
    def parameters(self) -> dict[str, float]:
        """Values by name."""
        return dict(zip(self.labels, self.values.tolist(), strict=True))

    def mahalanobis_distance(self, numbers: Mapping[str, float]) -> float:
        """Return the Mahalanobis distance of other numbers from the estimate, in standard deviations."""
        off = np.array([numbers[label] for label in self.labels]) - self.values
        size = sizes_of(self.values)
        return float(np.linalg.norm(self.singular_values * (self.directions @ (off / size))))

    def in_confidence_region(self, numbers: Mapping[str, float], probability: float = 0.95) -> bool:
        """Return True if numbers lie in the confidence ellipsoid of this probability: by chi-square for known noise, else by
        F."""
        from scipy.stats import chi2, f

        k = len(self.labels)
        within = k * f.ppf(probability, k, self.degrees_of_freedom) if self.estimated_sigmas else chi2.ppf(probability, k)
        return bool(self.mahalanobis_distance(numbers) ** 2 <= within)

    def __str__(self) -> str:
        width = max(len(label) for label in self.labels)
        rows = [
            f"{label:<{width}}  {value:>13.6g} +- {deviation:<10.3g} {unit}".rstrip()
            for label, value, deviation, unit in zip(self.labels, self.values, self.standard_errors, self.units, strict=True)
        ]
        return "\n".join([*rows, self._sum(), *self.findings])

    def _sum(self) -> str:
        noise = (
            f"sigma of {', '.join(self.estimated_sigmas)} estimated from what is left"
            if self.estimated_sigmas
            else "sigma as given"
        )
        return f"chi2 {self.chi2:.6g} of {self.degrees_of_freedom} free residuals; {noise}"

    def __repr__(self) -> str:
        text = ", ".join(f"{label}={value:.6g}" for label, value in self.parameters.items())
        return f"Estimate({text})"

    def _repr_html_(self) -> str:
        rows = zip(self.labels, self.values, self.standard_errors, self.units, strict=True)
        head = ("number", "value", "standard deviation", "unit")
        return cell(line("estimate", self._sum()), table(head, [tuple(row) for row in rows]), items(self.findings))

    def plot(self, *names: str, axes: Any = None) -> np.ndarray:
        """Plot data and fit over time, a panel for each name and experiment; return Matplotlib's axes (panels,). All channels by
        default.

        Raises E416, an ImportError too, where Matplotlib is not installed; `ModelError` E560 for too few axes.
        """
        chosen = [
            (result, channel)
            for result, trial in zip(self.results, self.trials, strict=True)
            for channel in trial.channels
            if not names or channel.name in names
        ]
        with panels(len(chosen), axes, "courses", self.results[0].program.name) as all_axes:
            for panel, (result, channel) in zip(all_axes, chosen, strict=True):
                _panel(panel, result, channel)
        return all_axes


def _panel(axes: Any, result: Result, channel: Channel) -> None:
    """Plot data as dots, the fit as a line."""
    values = np.asarray(result[channel.name]).reshape(len(result.t), -1)
    for k in range(channel.y.shape[1]):
        axes.plot(channel.t, channel.y[:, k], ".", color=MUTED, markersize=3.0, label="data" if not k else None)
        axes.plot(result.t, values[:, k], label="fit" if not k else None)
    axes.set_ylabel(axis_label(channel.name, channel.unit))
    axes.set_xlabel("time (s)")
    axes.legend(frameon=False)


def sizes_of(values: np.ndarray) -> np.ndarray:
    """Return the sizes that changes of numbers (k,) are relative to: their absolute values, or 1 for zero."""
    return np.where(values != 0.0, np.abs(values), 1.0)


_ROUNDING = 1e-9
"""Rounding error of a covariance whose variances are one."""


@answer_old_names
@dataclass(frozen=True, eq=False, repr=False)
class Uncertainty:
    """First-order uncertainty of a run.

    Parameters
    ----------
    sensitivities : of the run.
    covariance : of the varied numbers (k, k), in their units.
    """

    sensitivities: RunSensitivities
    covariance: np.ndarray = field(repr=False)

    def __getitem__(self, name: str) -> np.ndarray:
        """Return the standard deviation of a quantity over time, (samples, *shape), in its unit."""
        slopes = self.sensitivities[name]
        return np.asarray(np.sqrt(np.maximum(np.einsum("...i,ij,...j->...", slopes, self.covariance, slopes), 0.0)))

    def variance_shares(self, name: str) -> np.ndarray:
        """Return the part of the variance by each number alone, (samples, *shape, k); without correlation the parts add to
        one."""
        alone = self.sensitivities[name] ** 2 * np.diag(self.covariance)
        with np.errstate(all="ignore"):
            return np.asarray(alone / self[name][..., None] ** 2)

    def plot(self, *names: str, axes: Any = None) -> np.ndarray:
        """Plot as `Result.plot`, with a prediction interval of two standard deviations on either side of scalar quantities."""
        result = self.sensitivities.result
        all_axes = curves(result, names, axes)
        for panel, name in zip(all_axes, names, strict=False):
            if np.ndim(result[name]) == 1:
                off = 2.0 * self[name]
                panel.fill_between(result.t, result[name] - off, result[name] + off, alpha=0.2, linewidth=0.0)
        return all_axes

    def __repr__(self) -> str:
        pairs = zip(self.sensitivities.labels, np.sqrt(np.diag(self.covariance)), strict=True)
        text = ", ".join(f"{label} +- {deviation:.3g}" for label, deviation in pairs)
        return f'Uncertainty("{self.sensitivities.result.program.name}", {text})'


@answer_old_names
def uncertainty(run: RunSensitivities, parameter_uncertainty: Mapping[str, float] | np.ndarray | Estimate) -> Uncertainty:
    """Return standard deviations of all quantities of a run, by first-order error propagation.

    Parameters
    ----------
    run : of `run_sensitivities`.
    parameter_uncertainty : standard deviation of each varied number, by name; their covariance (k, k); or an
        `Estimate` of them.

    Raises `ModelError` E379 where it does not fit the run.
    """
    labels, about = run.labels, run.result.program.name
    if isinstance(parameter_uncertainty, Estimate):
        missing = [label for label in labels if label not in parameter_uncertainty.labels]
        if missing:
            raise refusal(
                "E379", f"the estimate says nothing of {', '.join(missing)}", "a run that varies what it knows", about=about
            )
        indices = [parameter_uncertainty.labels.index(label) for label in labels]
        covariance = parameter_uncertainty.covariance[np.ix_(indices, indices)]
    elif isinstance(parameter_uncertainty, Mapping):
        if set(parameter_uncertainty) != set(labels):
            why, named = f"varied: {', '.join(labels)}", ", ".join(map(str, parameter_uncertainty)) or "nothing"
            raise refusal("E379", f"deviations of {named} are given", "one for each that is varied", about=about, why=why)
        deviations = real([parameter_uncertainty[label] for label in labels])
        if deviations is not None and np.any(deviations < 0.0):
            raise refusal(
                "E379", "a standard deviation is negative", "its size", about=about, why=f"given: {dict(parameter_uncertainty)}"
            )
        covariance = np.full((0, 0), np.nan) if deviations is None else np.diag(np.asarray(deviations, dtype=float) ** 2)
    else:
        matrix = real(parameter_uncertainty)
        covariance = np.full((0, 0), np.nan) if matrix is None else np.asarray(matrix, dtype=float)
    if covariance.shape != (len(labels),) * 2 or not np.all(np.isfinite(covariance)):
        why = f"it has the shape {covariance.shape}" if np.all(np.isfinite(covariance)) else "it is not finite: not all is known"
        raise refusal(
            "E379", f"this is no covariance of {len(labels)} numbers", "finite standard deviations", about=about, why=why
        )
    if not isinstance(parameter_uncertainty, Estimate) and not _is_semidefinite(covariance):
        why, cure = "it is not symmetric, or some sum of the numbers has a negative variance", "finite standard deviations"
        raise refusal("E379", f"this is no covariance of {len(labels)} numbers", cure, about=about, why=why)
    return Uncertainty(run, covariance)


def _is_semidefinite(covariance: np.ndarray) -> bool:
    """Return True if a matrix (k, k) is positive semidefinite up to rounding, in any units."""
    variances = np.diag(covariance)
    if np.any(variances < 0.0):
        return False
    root = np.sqrt(np.where(variances > 0.0, variances, 1.0))
    scaled = covariance / root[:, None] / root
    return bool(np.abs(scaled - scaled.T).max() <= _ROUNDING and np.linalg.eigvalsh(scaled).min() >= -_ROUNDING)
