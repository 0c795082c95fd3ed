"""What data tell of numbers: residuals at the best fit and their derivatives in; values, covariance and what stays untold out.

With residuals r / sigma and their derivatives J by the numbers, J = U S V^T in numbers scaled by their sizes, the covariance is
(J^T J)^-1, and a direction of V is known to 1 / s: relative changes of several numbers together that the data see by that much.

References
----------
Y. Bard, "Nonlinear parameter estimation", Academic Press (1974), chapter 7.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from bondgraph.errors import refusal
from bondgraph.estimation.courses import RunSensitivities
from bondgraph.estimation.experiments import Channel, Trial
from bondgraph.estimation.losses import Loss
from bondgraph.estimation.varied import VariedNumbers
from bondgraph.output.cells import cell, items, line, plural, table
from bondgraph.output.sheet import MUTED, styled
from bondgraph.run.outcome.result import Result

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


@dataclass(frozen=True, eq=False, repr=False)
class Estimate:
    """Numbers that were estimated, and how well data know them.

    Parameters
    ----------
    labels, units, values : of the numbers (k,); deviations : standard deviations (k,), infinite where the data do not tell.
    covariance : (k, k), in the units of the numbers.
    singular_values, directions : (k,), and (k, k) whose row i holds relative changes of all numbers together that are known to
        1 / singular_values[i]; the best known first.
    residuals : name of each channel -> model less data over sigma (samples, numbers), a list of one for each experiment.
    sigma : the same with the standard deviation of the noise; estimated : channels where it came from what is left.
    chi2, freedom : sum of all squared residuals, and how many of them are free.
    told : findings in words: what data cannot tell, numbers at their bounds, doubts.
    results : a run for each experiment at the estimate. message : why the search ended. failed : why runs on the way failed, how
        often.
    """

    labels: tuple[str, ...]
    units: tuple[str, ...]
    values: np.ndarray
    deviations: np.ndarray
    covariance: np.ndarray
    singular_values: np.ndarray
    directions: np.ndarray
    residuals: Mapping[str, tuple[np.ndarray, ...]]
    sigma: Mapping[str, tuple[np.ndarray, ...]]
    estimated: tuple[str, ...]
    chi2: float
    freedom: int
    told: tuple[str, ...]
    results: tuple[Result, ...]
    message: str
    failed: Mapping[str, int]
    trials: tuple[Trial, ...] = field(repr=False)

    def __getitem__(self, label: str) -> float:
        """The value of a number by name."""
        if label not in self.labels:
            raise KeyError(f"{label!r} was not estimated; there are: {', '.join(self.labels)}")
        return float(self.values[self.labels.index(label)])

    @cached_property
    def correlation(self) -> np.ndarray:
        """Correlation of the numbers (k, k); nan where one is not told."""
        with np.errstate(all="ignore"):
            return np.asarray(self.covariance / np.outer(self.deviations, self.deviations))

    @property
    def parameters(self) -> dict[str, float]:
        """Values by name."""
        return dict(zip(self.labels, self.values.tolist(), strict=True))

    def distance(self, numbers: Mapping[str, float]) -> float:
        """How far other numbers are from the estimate, in standard deviations: the Mahalanobis distance."""
        off = np.array([numbers[label] for label in self.labels]) - self.values
        size = _sizes(self.values)
        seen = self.singular_values * (self.directions @ (off / size))
        return float(np.linalg.norm(seen))

    def covers(self, numbers: Mapping[str, float], probability: float = 0.95) -> bool:
        """Whether numbers lie within the ellipsoid of this probability: chi-square where the noise was known, else Fisher's F."""
        from scipy.stats import chi2, f

        k = len(self.labels)
        within = k * f.ppf(probability, k, self.freedom) if self.estimated else chi2.ppf(probability, k)
        return bool(self.distance(numbers) ** 2 <= within)

    def __str__(self) -> str:
        width = max(len(label) for label in self.labels)
        rows = [
            f"{label:<{width}}  {value:>13.6g} +- {deviation:<10.3g} {unit}".rstrip()
            for label, value, deviation, unit in zip(self.labels, self.values, self.deviations, self.units, strict=True)
        ]
        return "\n".join([*rows, self._sum(), *self.told])

    def _sum(self) -> str:
        known = f"sigma of {', '.join(self.estimated)} estimated from what is left" if self.estimated else "sigma as given"
        return f"chi2 {self.chi2:.6g} of {self.freedom} free residuals; {known}"

    def __repr__(self) -> str:
        said = ", ".join(f"{label}={value:.6g}" for label, value in self.parameters.items())
        return f"Estimate({said})"

    def _repr_html_(self) -> str:
        rows = zip(self.labels, self.values, self.deviations, self.units, strict=True)
        head = ("number", "value", "standard deviation", "unit")
        return cell(line("estimate", self._sum()), table(head, [tuple(row) for row in rows]), items(self.told))

    def plot(self, *names: str, axes: Any = None) -> np.ndarray:
        """Data and fit over time, a panel for each name and experiment: Matplotlib's axes (panels,); all channels by default.

        Raises E416, an ImportError too, where Matplotlib is not installed; `ModelError` E560 for axes that are too few.
        """
        chosen = [
            (result, channel)
            for result, trial in zip(self.results, self.trials, strict=True)
            for channel in trial.channels
            if not names or channel.name in names
        ]
        with styled():
            import matplotlib.pyplot as plt

            if axes is None:
                height = 0.9 + 1.75 * max(len(chosen), 1)
                made = plt.subplots(len(chosen) or 1, 1, sharex=True, squeeze=False, figsize=(8.0, height), layout="constrained")
                axes = made[1]
            drawn = np.asarray(axes, dtype=object).reshape(-1)
            if len(drawn) < len(chosen):
                title = f"{len(chosen)} courses are to be plotted on {len(drawn)} axes"
                raise refusal("E560", title, "as many axes as courses, or none", about=self.results[0].program.name)
            for own, (result, channel) in zip(drawn, chosen, strict=False):
                _panel(own, result, channel)
        return drawn[: len(chosen)]


def _panel(axes: Any, result: Result, channel: Channel) -> None:
    """Data as dots, the fit as a line."""
    course = np.asarray(result[channel.name]).reshape(len(result.t), -1)
    for k in range(channel.y.shape[1]):
        axes.plot(channel.t, channel.y[:, k], ".", color=MUTED, markersize=3.0, label="data" if not k else None)
        axes.plot(result.t, course[:, k], label="fit" if not k else None)
    axes.set_ylabel(channel.name + (f"\n({channel.unit})" if channel.unit else ""))
    axes.set_xlabel("time (s)")
    axes.legend(frameon=False)


def _sizes(values: np.ndarray) -> np.ndarray:
    return np.where(values != 0.0, np.abs(values), 1.0)


def estimate_of(fit: Fit) -> Estimate:
    """What the data tell at the end of a search."""
    labels, k = fit.varied.labels, len(fit.varied)
    weight = 1.0 / np.concatenate([rows.ravel() for rows, _ in fit.noise])
    residuals, size = weight * fit.residuals, _sizes(fit.values)
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
    channels = [channel for trial in fit.trials for channel in trial.channels]
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
        deviations=deviations,
        covariance=covariance,
        singular_values=s,
        directions=V,
        residuals={name: tuple(found) for name, found in by_name.items()},
        sigma={name: tuple(found) for name, found in noise.items()},
        estimated=estimated,
        chi2=chi2,
        freedom=freedom,
        told=tuple(told),
        results=tuple(run.result for run in fit.runs),
        message=fit.message,
        failed=dict(fit.failed),
        trials=fit.trials,
    )


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

    found = [f"the fitted run: {doubt}" for run in fit.runs for doubt in (*map(str, run.result.doubts), *run.doubts)]
    found += [
        f"{plural(count, 'run')} on the way failed, and bounds would keep the search from there: {why}"
        for why, count in fit.failed.items()
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
