"""Identifiability of estimated numbers: covariance, and combinations that data do not determine, from the Jacobian of a fit.

Let J = U S V^T be the derivatives of the residuals r / sigma with respect to the relative changes of the numbers. For least
squares, the covariance of these changes is (J^T J)^-1, and their combination along a column of V has the standard deviation
1 / s. For robust losses, a root of the inverse covariance replaces J.

References
----------
Y. Bard, "Nonlinear parameter estimation", Academic Press (1974), chapter 7.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bondgraph.estimation.estimate_result import Channel, Estimate, Trial, sizes_of
from bondgraph.estimation.free_parameters import FreeParameters
from bondgraph.estimation.losses import Loss
from bondgraph.estimation.sensitivity_results import RunSensitivities
from screws.errors import plural

UNIDENTIFIABLE = 1.0
"""Relative standard deviation from which a finding reports a number or combination."""

ROUNDING_RANK = 1e-9
"""Relative size below which a column of derivatives, or a singular value, counts as rounding error of the runs."""

OUTLIER = 5.0

NAMED = 0.1
"""Component of a poorly determined direction above which a message names the number."""

INVOLVED = 1e-3
"""Component of an undetermined direction above which the number counts as unknown, and a message names it."""

UNLIKELY = 1e-3
"""Probability of a larger, or of a smaller, chi2 below which the residuals contradict the given sigma."""


@dataclass(frozen=True)
class Fit:
    """Result of a least-squares search: varied numbers, experiments, runs, values (k,) and their bounds, residuals (rows,) and
    derivatives (rows, k), the noise of each channel with a flag for estimated noise, the search's message, failures by reason,
    and the loss."""

    varied: FreeParameters
    trials: tuple[Trial, ...]
    runs: tuple[RunSensitivities, ...]
    values: np.ndarray
    low: np.ndarray
    high: np.ndarray
    residuals: np.ndarray
    slopes: np.ndarray
    noise: tuple[tuple[np.ndarray, bool], ...]
    message: str
    failed: Mapping[str, int]
    loss: Loss


def estimate_of(fit: Fit) -> Estimate:
    labels, k = fit.varied.labels, len(fit.varied)
    weight = 1.0 / np.concatenate([rows.ravel() for rows, _ in fit.noise])
    residuals, size = weight * fit.residuals, sizes_of(fit.values)
    slopes = weight[:, None] * fit.slopes * size
    relative = fit.loss.root_information(residuals, slopes)
    _, s, V = np.linalg.svd(relative, full_matrices=False)
    s, V = np.concatenate([s, np.zeros(k - len(s))]), np.vstack([V, _orthogonal(V, k)])
    determined = s > ROUNDING_RANK * s.max(initial=0.0)
    with np.errstate(divide="ignore"):
        spread = np.where(determined, 1.0 / np.where(determined, s, 1.0), 0.0)
    inner = (V.T * spread**2) @ V
    covariance = inner * np.outer(size, size)
    deviations = np.sqrt(np.diag(covariance))
    chi2, freedom = float(residuals @ residuals), max(residuals.size - k, 0)
    is_estimated = any(is_open for _, is_open in fit.noise)
    # without free residuals, estimated noise is unknown, and so is every deviation
    unknown = np.any(np.abs(V[~determined]) > INVOLVED, axis=0) | (is_estimated and not freedom)
    deviations[unknown] = np.inf
    covariance[unknown, :] = covariance[:, unknown] = np.nan
    covariance[np.ix_(unknown, unknown)] = np.where(np.eye(int(unknown.sum())) > 0.0, np.inf, np.nan)
    channels = _channels(fit)
    estimated = tuple(dict.fromkeys(c.name for c, (_, is_open) in zip(channels, fit.noise, strict=True) if is_open))
    findings = [
        *_unidentifiable(labels, slopes, s, V, determined),
        *_at_bounds(fit),
        *_warnings(fit, residuals, freedom, is_estimated),
    ]
    parts = np.split(residuals, np.cumsum([rows.size for rows, _ in fit.noise])[:-1])
    by_name: dict[str, list[np.ndarray]] = {}
    noise: dict[str, list[np.ndarray]] = {}
    for channel, part, (rows, _) in zip(channels, parts, fit.noise, strict=True):
        by_name.setdefault(channel.name, []).append(part.reshape(channel.y.shape))
        noise.setdefault(channel.name, []).append(rows)
    return Estimate(
        labels=labels,
        units=fit.varied.units,
        values=fit.values,
        standard_errors=deviations,
        covariance=covariance,
        singular_values=s,
        directions=V,
        residuals={name: tuple(arrays) for name, arrays in by_name.items()},
        sigma={name: tuple(arrays) for name, arrays in noise.items()},
        estimated_sigmas=estimated,
        chi2=chi2,
        degrees_of_freedom=freedom,
        findings=tuple(findings),
        results=tuple(run.result for run in fit.runs),
        message=fit.message,
        failures=dict(fit.failed),
        trials=fit.trials,
    )


def _channels(fit: Fit) -> list[Channel]:
    return [channel for trial in fit.trials for channel in trial.channels]


def _orthogonal(V: np.ndarray, k: int) -> np.ndarray:
    """Return the directions (k - rows, k) orthogonal to V, which has fewer rows than k if there are few residuals."""
    if len(V) == k:
        return np.zeros((0, k))
    return np.asarray(np.linalg.svd(V)[2][len(V) :])


def _unidentifiable(labels: Sequence[str], slopes: np.ndarray, s: np.ndarray, V: np.ndarray, determined: np.ndarray) -> list[str]:
    columns = np.linalg.norm(slopes, axis=0)
    idle = columns <= ROUNDING_RANK * columns.max(initial=0.0)
    messages = [f'"{labels[j]}" does not affect the data' for j in np.flatnonzero(idle).tolist()]
    for value, direction, is_known in zip(s, V, determined, strict=True):
        part = np.where(idle, 0.0, direction)
        if np.linalg.norm(part) < 0.5 or (is_known and value * UNIDENTIFIABLE > 1.0):
            continue
        words = _product_of_powers(labels, part, NAMED if is_known else INVOLVED)
        finding = f"is known only to within {1.0 / value:.2g} times its size" if is_known else "is not identifiable from the data"
        messages.append(f"{words} {finding}")
    return messages


def _product_of_powers(labels: Sequence[str], direction: np.ndarray, least: float) -> str:
    """Describe a direction of relative changes by the product of powers that grows along it, of components above `least`."""
    order = [j for j in np.argsort(-np.abs(direction), kind="stable").tolist() if abs(direction[j]) > least]
    largest = direction[order[0]]
    parts = [
        f'"{labels[j]}"' + ("" if abs(share - 1.0) < 0.05 else f"^{share:.2g}")
        for j in order
        for share in [direction[j] / largest]
    ]
    return parts[0] if len(parts) == 1 else "the product " + " ".join(parts)


def _at_bounds(fit: Fit) -> list[str]:
    near = 1e-6 * np.where(np.isfinite(fit.high - fit.low), fit.high - fit.low, 0.0)
    messages = []
    for label, value, low, high, off in zip(fit.varied.labels, fit.values, fit.low, fit.high, near, strict=True):
        if value - low <= off or high - value <= off:
            messages.append(f'"{label}" lies at its bound {value:.6g}: its standard deviation is hardly meaningful')
    return messages


def _warnings(fit: Fit, residuals: np.ndarray, freedom: int, is_estimated: bool) -> list[str]:
    from scipy.stats import chi2 as distribution

    messages = [f"the fitted run: {doubt}" for run in fit.runs for doubt in (*map(str, run.result.warnings), *run.warnings)]
    messages += [
        f"{plural(count, 'run')} of the search failed; bounds can keep it away from such values: {why}"
        for why, count in fit.failed.items()
    ]
    messages += [
        f'the fit leaves only rounding errors of "{name}", which are taken as its sigma'
        for name in dict.fromkeys(
            channel.name
            for channel, (rows, is_open) in zip(_channels(fit), fit.noise, strict=True)
            if is_open and np.max(rows) <= channel.rounding
        )
    ]
    if not freedom:
        unknown = ", and the noise is unknown" if is_estimated else ""
        messages.append(f"there are at least as many unknowns as data: the fit cannot be assessed{unknown}")
    elif fit.loss.robust:
        count = int(np.sum(np.abs(residuals) > OUTLIER))
        messages += [f"{count} of {residuals.size} data differ from the fit by more than {OUTLIER:g} sigma"] if count else []
    elif not is_estimated:
        chi2 = float(residuals @ residuals)
        more, less = distribution.sf(chi2, freedom), distribution.cdf(chi2, freedom)
        if more < UNLIKELY:
            messages.append(
                f"the residual is {np.sqrt(chi2 / freedom):.3g} times sigma: the model, or sigma, does not fit the data"
            )
        elif less < UNLIKELY:
            messages.append(f"the residual is only {np.sqrt(chi2 / freedom):.3g} times sigma: sigma is too large")
    return messages
