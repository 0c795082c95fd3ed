"""Prediction intervals of a run: standard deviations of every quantity over time, from sensitivities and a covariance.

First-order error propagation: if y(p) is linear over the deviations of p, the variance of y is (dy/dp) C (dy/dp)^T.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bondgraph.errors import refusal
from bondgraph.estimation.estimate_result import Estimate
from bondgraph.estimation.sensitivity_results import RunSensitivities
from bondgraph.model.ops import Frozen
from bondgraph.quantities import real
from bondgraph.run.results.curves import curves, names_by_panel
from screws.errors import plural
from screws.names import answer_old_names
from screws.numeric_arguments import reals, shown

_ROUNDING = 1e-9
"""Rounding error of a covariance whose variances are one."""


@answer_old_names
@dataclass(frozen=True, eq=False, repr=False)
class Uncertainty(Frozen):
    """First-order uncertainty of a run, from its sensitivities and the covariance (k, k) of the varied numbers in their units."""

    sensitivities: RunSensitivities
    covariance: np.ndarray = field(repr=False)

    def __getitem__(self, name: str) -> np.ndarray:
        """Return the standard deviation of a quantity over time, (samples, *shape), in its unit."""
        slopes = self.sensitivities[name]
        return np.asarray(np.sqrt(np.maximum(np.einsum("...i,ij,...j->...", slopes, self.covariance, slopes), 0.0)))

    def variance_shares(self, name: str) -> np.ndarray:
        """Return the fraction of the variance due to each number alone, (samples, *shape, k); without correlation, the fractions
        add up to one."""
        alone = self.sensitivities[name] ** 2 * np.diag(self.covariance)
        with np.errstate(all="ignore"):
            return np.asarray(alone / self[name][..., None] ** 2)

    def plot(self, *names: str, axes: Any = None) -> np.ndarray:
        """Plot like `Result.plot`, and shade two standard deviations on either side of scalar quantities."""
        result = self.sensitivities.result
        all_axes = curves(result, names, axes)
        for panel, group in zip(all_axes, names_by_panel(result, names), strict=True):
            for name in (each for each in group if np.ndim(result[each]) == 1):
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
    run : result of `run_sensitivities`.
    parameter_uncertainty : standard deviations of the varied numbers by name, their covariance (k, k), or their `Estimate`.

    Raises `ModelError` E379 unless the uncertainty is a finite covariance of the varied numbers.
    """
    labels, about = run.labels, run.result.program.name
    covariance: np.ndarray | None
    cure = f'{{"{labels[0]}": 0.1}}, a finite standard deviation for each varied number'
    if isinstance(parameter_uncertainty, Estimate):
        missing = [label for label in labels if label not in parameter_uncertainty.labels]
        if missing:
            raise refusal(
                "E379", f"the estimate lacks {', '.join(missing)}", "a run that varies only estimated numbers", about=about
            )
        indices = [parameter_uncertainty.labels.index(label) for label in labels]
        covariance = parameter_uncertainty.covariance[np.ix_(indices, indices)]
    elif isinstance(parameter_uncertainty, Mapping):
        if set(parameter_uncertainty) != set(labels):
            named = ", ".join(map(str, parameter_uncertainty)) or "nothing"
            title = "the standard deviations are not those of the varied numbers"
            why = f"varied: {', '.join(labels)}; given: {named}"
            raise refusal("E379", title, cure, about=about, why=why)
        deviations = reals([parameter_uncertainty[label] for label in labels], len(labels))
        if deviations is None:
            why = f"given: {dict(parameter_uncertainty)}"
            raise refusal("E379", "a standard deviation is not one finite number", cure, about=about, why=why)
        if np.any(deviations < 0.0):
            raise refusal(
                "E379",
                "a standard deviation is negative",
                "its absolute value",
                about=about,
                why=f"given: {dict(parameter_uncertainty)}",
            )
        covariance = np.diag(deviations**2)
    else:
        matrix = real(parameter_uncertainty)
        if matrix is None:
            title = f"the uncertainty cannot be {shown(parameter_uncertainty)}"
            raise refusal("E379", title, cure, about=about)
        covariance = np.asarray(matrix, dtype=float)
    title = f"this is not a covariance of {plural(len(labels), 'number')}"
    if covariance.shape != (len(labels),) * 2 or not np.all(np.isfinite(covariance)):
        why = (
            f"it has the shape {covariance.shape}"
            if np.all(np.isfinite(covariance))
            else "it is not finite: some numbers are not identifiable"
        )
        raise refusal("E379", title, cure, about=about, why=why)
    if not isinstance(parameter_uncertainty, Estimate) and not _is_semidefinite(covariance):
        why = "it is not symmetric, or a combination of the numbers has a negative variance"
        raise refusal("E379", title, cure, about=about, why=why)
    return Uncertainty(run, covariance)


def _is_semidefinite(covariance: np.ndarray) -> bool:
    variances = np.diag(covariance)
    if np.any(variances < 0.0):
        return False
    root = np.sqrt(np.where(variances > 0.0, variances, 1.0))
    scaled = covariance / root[:, None] / root
    return bool(np.abs(scaled - scaled.T).max() <= _ROUNDING and np.linalg.eigvalsh(scaled).min() >= -_ROUNDING)
