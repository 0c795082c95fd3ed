"""What data tell of numbers: residuals at the best fit and their derivatives in; an estimate, with what stays untold, out.

With residuals r / sigma and their derivatives J by the numbers, J = U S V^T in numbers scaled by their sizes, the covariance is
(J^T J)^-1, and a direction of V is known to 1 / s: relative changes of several numbers together that the data see by that much.

References
----------
Y. Bard, "Nonlinear parameter estimation", Academic Press (1974), chapter 7.

In the literature: identifiability.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bondgraph.estimation.estimate_result import Estimate, sizes_of
from bondgraph.estimation.experiments import Channel, Trial
from bondgraph.estimation.free_parameters import VariedNumbers
from bondgraph.estimation.losses import Loss
from bondgraph.estimation.sensitivity_results import RunSensitivities
from bondgraph.output.cells import plural

UNTOLD = 1.0
"""Relative standard deviation from which data do not tell a number, or several together."""

NOTHING = 1e-9
"""Relative size of a column of derivatives, or of a singular value, that is rounding of runs."""

OUTLYING = 5.0
"""Residuals over sigma that noise does not explain."""

SHOWN, TOUCHED, LIKELY = 0.1, 1e-3, 1e-3
"""Share of a number in a direction that is worth a word, and with which it is unknown where the direction is; probability below
which sigma and what is left do not fit."""


@dataclass(frozen=True)
class Fit:
    """The end of a search: what was searched, experiments, runs, numbers (k,) and their bounds, residuals (rows,) and derivatives
    (rows, k), the noise of each channel and whether it was estimated, the search's own words, why runs failed on the way, and how
    residuals counted."""

    varied: VariedNumbers
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
    """What the data tell at the end of a search."""
    labels, k = fit.varied.labels, len(fit.varied)
    weight = 1.0 / np.concatenate([rows.ravel() for rows, _ in fit.noise])
    residuals, size = weight * fit.residuals, sizes_of(fit.values)
    slopes = weight[:, None] * fit.slopes * size
    relative = fit.loss.seen(residuals, slopes)
    _, s, V = np.linalg.svd(relative, full_matrices=False)
    s, V = np.concatenate([s, np.zeros(k - len(s))]), np.vstack([V, _others(V, k)])
    known = s > NOTHING * s.max(initial=0.0)
    with np.errstate(divide="ignore"):
        spread = np.where(known, 1.0 / np.where(known, s, 1.0), 0.0)
    inner = (V.T * spread**2) @ V
    covariance = inner * np.outer(size, size)
    deviations = np.sqrt(np.diag(covariance))
    chi2, freedom = float(residuals @ residuals), max(residuals.size - k, 0)
    is_estimated = any(is_open for _, is_open in fit.noise)
    # without anything left, nothing is known of the noise, and so of no number
    untold = np.any(np.abs(V[~known]) > TOUCHED, axis=0) | (is_estimated and not freedom)
    deviations[untold] = np.inf
    covariance[untold, :] = covariance[:, untold] = np.nan
    covariance[np.ix_(untold, untold)] = np.where(np.eye(int(untold.sum())) > 0.0, np.inf, np.nan)
    channels = _channels(fit)
    estimated = tuple(dict.fromkeys(c.name for c, (_, is_open) in zip(channels, fit.noise, strict=True) if is_open))
    told = [*_untold(labels, slopes, s, V, known), *_at_bounds(fit), *_doubts(fit, residuals, freedom, is_estimated)]
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
        residuals={name: tuple(found) for name, found in by_name.items()},
        sigma={name: tuple(found) for name, found in noise.items()},
        estimated_sigmas=estimated,
        chi2=chi2,
        degrees_of_freedom=freedom,
        findings=tuple(told),
        results=tuple(run.result for run in fit.runs),
        message=fit.message,
        failures=dict(fit.failed),
        trials=fit.trials,
    )


def _channels(fit: Fit) -> list[Channel]:
    return [channel for trial in fit.trials for channel in trial.channels]


def _others(V: np.ndarray, k: int) -> np.ndarray:
    """Directions (k - rows, k) at right angles to those that fewer residuals than numbers leave."""
    if len(V) == k:
        return np.zeros((0, k))
    return np.asarray(np.linalg.svd(V)[2][len(V) :])


def _untold(labels: Sequence[str], slopes: np.ndarray, s: np.ndarray, V: np.ndarray, known: np.ndarray) -> list[str]:
    """What the data do not tell: numbers that do not act, and combinations, whether for the model or for outliers."""
    columns = np.linalg.norm(slopes, axis=0)
    idle = columns <= NOTHING * columns.max(initial=0.0)
    found = [f'"{labels[j]}" does not act on the data' for j in np.flatnonzero(idle).tolist()]
    for value, direction, is_known in zip(s, V, known, strict=True):
        part = np.where(idle, 0.0, direction)
        if np.linalg.norm(part) < 0.5 or (is_known and value * UNTOLD > 1.0):
            continue
        words = _words(labels, part, SHOWN if is_known else TOUCHED)
        how = f"is known to {1.0 / value:.2g} of its size only" if is_known else "cannot be told from the data"
        found.append(f"{words} {how}")
    return found


def _words(labels: Sequence[str], direction: np.ndarray, least: float) -> str:
    """A combination of relative changes: powers of numbers whose product grows along it, of shares above the `least`."""
    order = [j for j in np.argsort(-np.abs(direction), kind="stable").tolist() if abs(direction[j]) > least]
    largest = direction[order[0]]
    parts = [
        f'"{labels[j]}"' + ("" if abs(share - 1.0) < 0.05 else f"^{share:.2g}")
        for j in order
        for share in [direction[j] / largest]
    ]
    return parts[0] if len(parts) == 1 else "what changes along " + " ".join(parts)


def _at_bounds(fit: Fit) -> list[str]:
    near = 1e-6 * np.where(np.isfinite(fit.high - fit.low), fit.high - fit.low, 0.0)
    found = []
    for label, value, low, high, off in zip(fit.varied.labels, fit.values, fit.low, fit.high, near, strict=True):
        if value - low <= off or high - value <= off:
            found.append(f'"{label}" lies at its bound {value:.6g}: its standard deviation means little')
    return found


def _doubts(fit: Fit, residuals: np.ndarray, freedom: int, is_estimated: bool) -> list[str]:
    """Where the record is not to be trusted as it is."""
    from scipy.stats import chi2 as distribution

    found = [f"the fitted run: {doubt}" for run in fit.runs for doubt in (*map(str, run.result.warnings), *run.warnings)]
    found += [
        f"{plural(count, 'run')} on the way failed, and bounds would keep the search from there: {why}"
        for why, count in fit.failed.items()
    ]
    found += [
        f'the fit leaves nothing but rounding of "{name}", which is taken for its sigma'
        for name in dict.fromkeys(
            channel.name
            for channel, (rows, is_open) in zip(_channels(fit), fit.noise, strict=True)
            if is_open and np.max(rows) <= channel.rounding
        )
    ]
    if not freedom:
        unknown = ", and the noise is not known" if is_estimated else ""
        found.append(f"there are no more data than numbers: nothing is left to judge the fit by{unknown}")
    elif fit.loss.robust:
        count = int(np.sum(np.abs(residuals) > OUTLYING))
        found += [f"{count} of {residuals.size} data are more than {OUTLYING:g} sigma off the fit"] if count else []
    elif not is_estimated:
        chi2 = float(residuals @ residuals)
        more, less = distribution.sf(chi2, freedom), distribution.cdf(chi2, freedom)
        if more < LIKELY:
            found.append(f"what is left is {np.sqrt(chi2 / freedom):.3g} times sigma: the model, or sigma, does not fit the data")
        elif less < LIKELY:
            found.append(f"what is left is only {np.sqrt(chi2 / freedom):.3g} times sigma: sigma is too large")
    return found
