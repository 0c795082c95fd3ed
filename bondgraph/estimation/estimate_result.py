"""Estimate of parameters: values, standard errors, confidence region and identifiability.

A confidence interval of one parameter follows from its standard error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from bondgraph.estimation.experiments import Channel, Trial
from bondgraph.output.cells import cell, items, line, table
from bondgraph.output.plot_style import MUTED, axis_label, panels
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
