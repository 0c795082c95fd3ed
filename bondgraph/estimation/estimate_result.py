"""Experiments with measured data, and the estimate: values, standard errors, confidence intervals and identifiability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from bondgraph.compile.compiled import Compiled
from bondgraph.errors import ModelError, refusal, unknown_name
from bondgraph.output.cells import cell, items, line, table
from bondgraph.output.plot_style import MUTED, axis_label, panels
from bondgraph.output.short_repr import short_repr
from bondgraph.quantities import real
from bondgraph.run.results.result import Result
from bondgraph.run_arguments import Initial
from screws.names import answer_old_names

Measured = Mapping[str, Sequence[Any]]
"""Times (s), values and, if known, the standard deviation of their noise, by name of the quantity."""


@short_repr
@dataclass(frozen=True)
class Experiment:
    """Measured data of an experiment, and the values and start of the model in it.

    Parameters
    ----------
    data : samples of each quantity by name: (t (samples,), y (samples, *shape)), or (t, y, sigma) with the standard
        deviation of the noise, as one number, or one number for each value.
    parameters, initial : changes in this experiment, as for `simulate`. An estimated parameter cannot be set here, nor by an
        operating point as `initial`; an estimated start value replaces that in `initial`.
    t_start : start time, s.
    """

    data: Measured
    parameters: Mapping[str, Any] = field(default_factory=dict)
    initial: Initial | None = None
    t_start: float = 0.0


@dataclass(frozen=True)
class Channel:
    """Measured quantity of an experiment.

    Parameters
    ----------
    name : name of the quantity.
    unit : its unit, "" if unknown.
    t : times (samples,), s.
    at : indices of these times among all samples of the experiment.
    y : values (samples, numbers).
    sigma : standard deviations of the same shape, None if estimated.
    """

    name: str
    unit: str
    t: np.ndarray
    at: np.ndarray
    y: np.ndarray
    sigma: np.ndarray | None

    @property
    def rounding(self) -> float:
        """Rounding error of the measured values, in their unit: a lower bound of the noise."""
        return float(np.finfo(float).eps * (np.max(np.abs(self.y), initial=0.0) or 1.0))


@dataclass(frozen=True)
class Trial:
    """Checked experiment, with its channels and the sample times of its run (samples,)."""

    experiment: Experiment
    channels: tuple[Channel, ...]
    samples: np.ndarray

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(channel.name for channel in self.channels)


def trials_of(compiled: Compiled, data: Measured | Experiment | Sequence[Experiment | Measured]) -> tuple[Trial, ...]:
    is_single = isinstance(data, (Experiment, Mapping))
    listed = [data] if is_single else list(data) if isinstance(data, Sequence) else []
    experiments = [
        each if isinstance(each, Experiment) else Experiment(each) for each in listed if isinstance(each, (Experiment, Mapping))
    ]
    complete = all(isinstance(each.data, Mapping) and each.data for each in experiments)
    if not experiments or len(experiments) < len(listed) or not complete:
        why = "data are a dictionary of (t, y) or (t, y, sigma) by name, or a list of experiments"
        if hasattr(data, "columns"):
            raise _unfit(compiled, "the data are a table", why, '{"rotor.flow": (table["t"], table["speed"])}')
        raise _unfit(compiled, "no data" if not listed else f"{listed[0]!r} is not an experiment with data", why)
    return tuple(_trial(compiled, experiment) for experiment in experiments)


def refuse_fixed(compiled: Compiled, unknown: Mapping[str, Any], trials: Sequence[Trial]) -> None:
    """Raise E376 if an experiment, or the operating point from which it starts, sets a parameter that is to be estimated."""
    resolve = compiled.system.resolve
    changes = (compiled.with_start_parameters(t.experiment.initial, t.experiment.parameters) for t in trials)
    fixed = {resolve(name) for names in changes for name in names}
    if both := [name for name in unknown if resolve(name) in fixed]:
        why = "an estimated number is the same in all experiments"
        raise _unfit(compiled, f'"{both[0]}" is estimated, but an experiment sets it', why)


def _trial(compiled: Compiled, experiment: Experiment) -> Trial:
    columns = []
    for name, entry in experiment.data.items():
        layout = compiled.program.layout
        try:
            slot = layout[name]
        except KeyError as unknown:
            raise _unfit(compiled, f'"{name}" is not a quantity of the model', str(unknown.args[0])) from None
        if slot.is_parameter:
            raise _unfit(
                compiled, f'"{name}" is a parameter', "a parameter is not measured over time: name it among the unknown numbers"
            )
        arrays = [real(part) for part in entry] if isinstance(entry, Sequence) and len(entry) in (2, 3) else [None]
        if any(array is None for array in arrays):
            raise _unfit(compiled, f'the data of "{name}" are not two or three arrays', "they must be (t, y) or (t, y, sigma)")
        t, y, *deviations = (np.asarray(array, dtype=float) for array in arrays)
        if t.ndim != 1 or not len(t):
            why = "the data must be (t, y) or (t, y, sigma), with t a list of times"
            raise _unfit(compiled, f'the times of "{name}" have shape {t.shape}', why)
        if y.shape != (len(t), *slot.shape):
            raise _unfit(
                compiled, f'the data of "{name}" have shapes {t.shape} and {y.shape}', f"{(len(t), *slot.shape)} is needed"
            )
        if deviations and deviations[0].shape not in ((), y.shape):
            title = f'the standard deviation of "{name}" has shape {deviations[0].shape}'
            raise _unfit(compiled, title, f"it must be one number, or one for each value: {y.shape}")
        sigma = np.broadcast_to(deviations[0], y.shape) if deviations else None
        if sigma is not None and not (np.all(np.isfinite(sigma)) and np.all(sigma > 0.0)):
            title = f'a standard deviation of "{name}" is not positive and finite'
            raise _unfit(compiled, title, "its noise needs one number, or one for each value")
        if not (np.all(np.isfinite(t)) and np.all(np.isfinite(y))):
            raise _unfit(compiled, f'the data of "{name}" are not all finite', "omit missing samples")
        if t.min() < experiment.t_start:
            title, why = f'the data of "{name}" begin at {t.min():g} s', f"the run begins at {experiment.t_start:g} s"
            raise _unfit(compiled, title, why, f"Experiment({{...}}, t_start={t.min():g})")
        columns.append((name, layout.unit(name), t, y.reshape(len(t), -1), None if sigma is None else sigma.reshape(len(t), -1)))
    samples = np.unique(np.concatenate([[experiment.t_start], *(t for _, _, t, _, _ in columns)]))
    if len(samples) < 2:
        raise _unfit(compiled, "all data are at the start", "a run needs later data")
    channels = [Channel(name, unit, t, np.searchsorted(samples, t), y, sigma) for name, unit, t, y, sigma in columns]
    return Trial(experiment, tuple(channels), samples)


def _unfit(compiled: Compiled, title: str, why: str, cure: str = '{"rotor.flow": (t, y, sigma)}') -> ModelError:
    return refusal("E376", title, cure, about=compiled.model.name, why=why)


@answer_old_names
@dataclass(frozen=True, eq=False, repr=False)
class Estimate:
    """Estimated numbers with their covariance.

    Parameters
    ----------
    labels, units, values : names, units and values of the numbers (k,).
    standard_errors : standard deviations (k,), infinite for numbers that are not identifiable.
    covariance : (k, k), in the units of the numbers.
    singular_values, directions : (k,), and (k, k), in which row i is a combination of relative changes of the numbers with the
        standard deviation 1 / singular_values[i]; the best-determined combination comes first.
    residuals : (model - data) / sigma (samples, numbers) of each experiment, by the name of the channel.
    sigma : standard deviations of the noise, in the same form.
    estimated_sigmas : channels whose noise is estimated from the residuals.
    chi2, degrees_of_freedom : sum of all squared residuals, and its degrees of freedom.
    findings : remarks on numbers that are not identifiable or at their bounds, and warnings.
    results : a run of each experiment with the estimated numbers.
    message : why the search ended.
    failures : counts of failed runs by reason.
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
        """Return the estimated value with this name; raise KeyError for another name."""
        if label not in self.labels:
            raise unknown_name("estimated number", label, self.labels)
        return float(self.values[self.labels.index(label)])

    def _ipython_key_completions_(self) -> list[str]:
        return [*self.labels]

    @cached_property
    def correlation(self) -> np.ndarray:
        """Correlation of the numbers (k, k); nan for numbers that are not identifiable."""
        with np.errstate(all="ignore"):
            return np.asarray(self.covariance / np.outer(self.standard_errors, self.standard_errors))

    @property
    def parameters(self) -> dict[str, float]:
        """Values by name."""
        return dict(zip(self.labels, self.values.tolist(), strict=True))

    def mahalanobis_distance(self, numbers: Mapping[str, float]) -> float:
        """Return the Mahalanobis distance of numbers, by name, from the estimate, in standard deviations."""
        if missing := [label for label in self.labels if label not in numbers]:
            raise refusal("E379", f"the numbers lack {', '.join(missing)}", f'{{"{missing[0]}": <number>}}', about="estimate")
        off = np.array([numbers[label] for label in self.labels]) - self.values
        size = sizes_of(self.values)
        return float(np.linalg.norm(self.singular_values * (self.directions @ (off / size))))

    def in_confidence_region(self, numbers: Mapping[str, float], probability: float = 0.95) -> bool:
        """Return True if numbers, by name, lie in the confidence ellipsoid for a probability, by the chi-square distribution if
        sigma is given, else by the F distribution."""
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
        return "\n".join([*rows, self._summary(), *self.findings])

    def _summary(self) -> str:
        open_noise = ", ".join(self.estimated_sigmas)
        noise = f"sigma of {open_noise} estimated from the residuals" if open_noise else "sigma as given"
        return f"chi2 {self.chi2:.6g} with {self.degrees_of_freedom} degrees of freedom; {noise}"

    def __repr__(self) -> str:
        text = ", ".join(f"{label}={value:.6g}" for label, value in self.parameters.items())
        return f"Estimate({text})"

    def _repr_html_(self) -> str:
        rows = zip(self.labels, self.values, self.standard_errors, self.units, strict=True)
        head = ("number", "value", "standard deviation", "unit")
        return cell(line("estimate", self._summary()), table(head, [tuple(row) for row in rows]), items(self.findings))

    def plot(self, *names: str, axes: Any = None) -> np.ndarray:
        """Plot data and fit over time, with a panel for each channel in `names` (by default all) and experiment; return the axes
        (panels,).

        Raises KeyError for a name without data; E416, which is also an ImportError, if Matplotlib is missing; `ModelError` E560
        for too few axes.
        """
        for name in names:
            if name not in self.residuals:
                raise unknown_name("channel", name, tuple(self.residuals))
        chosen = [
            (result, channel)
            for result, trial in zip(self.results, self.trials, strict=True)
            for channel in trial.channels
            if not names or channel.name in names
        ]
        with panels(len(chosen), axes, "channel", self.results[0].program.name) as all_axes:
            for panel, (result, channel) in zip(all_axes, chosen, strict=True):
                _panel(panel, result, channel)
        return all_axes


def _panel(axes: Any, result: Result, channel: Channel) -> None:
    values = np.asarray(result[channel.name]).reshape(len(result.t), -1)
    for k in range(channel.y.shape[1]):
        axes.plot(channel.t, channel.y[:, k], ".", color=MUTED, markersize=3.0, label="data" if not k else None)
        axes.plot(result.t, values[:, k], label="fit" if not k else None)
    axes.set_ylabel(axis_label(channel.name, channel.unit))
    axes.set_xlabel("time (s)")
    axes.legend(frameon=False)


def sizes_of(values: np.ndarray) -> np.ndarray:
    return np.where(values != 0.0, np.abs(values), 1.0)
