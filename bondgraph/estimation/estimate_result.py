"""An estimate: numbers with their covariance, what data do not tell of them, and the runs at them, as text, table and plot."""

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
        size = sizes_of(self.values)
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
        with panels(len(chosen), axes, "courses", self.results[0].program.name) as drawn:
            for own, (result, channel) in zip(drawn, chosen, strict=True):
                _panel(own, result, channel)
        return drawn


def _panel(axes: Any, result: Result, channel: Channel) -> None:
    """Data as dots, the fit as a line."""
    course = np.asarray(result[channel.name]).reshape(len(result.t), -1)
    for k in range(channel.y.shape[1]):
        axes.plot(channel.t, channel.y[:, k], ".", color=MUTED, markersize=3.0, label="data" if not k else None)
        axes.plot(result.t, course[:, k], label="fit" if not k else None)
    axes.set_ylabel(axis_label(channel.name, channel.unit))
    axes.set_xlabel("time (s)")
    axes.legend(frameon=False)


def sizes_of(values: np.ndarray) -> np.ndarray:
    """What changes of numbers (k,) are relative to: themselves, or 1 where one is zero."""
    return np.where(values != 0.0, np.abs(values), 1.0)
