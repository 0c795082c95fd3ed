"""Experiments with measured data, and their check against a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bondgraph.compile.compiled import Compiled
from bondgraph.errors import ModelError, refusal
from bondgraph.output.short_repr import short_repr
from bondgraph.quantities import real
from bondgraph.run_arguments import Initial

Measured = Mapping[str, Sequence[Any]]
"""Times (s), values and, where it is known, the standard deviation of their noise, by the name of a quantity."""


@short_repr
@dataclass(frozen=True)
class Experiment:
    """Experiment with a model.

    Parameters
    ----------
    data : name -> (t (samples,), y (samples, *shape)), or (t, y, sigma) with the standard deviation of the noise, one number or
        one for each value.
    parameters, initial : changes in this experiment, as in `simulate`; not of estimated numbers.
    t_start : its start time, s.
    """

    data: Measured
    parameters: Mapping[str, Any] = field(default_factory=dict)
    initial: Initial | None = None
    t_start: float = 0.0


@dataclass(frozen=True)
class Channel:
    """Measured quantity of one experiment.

    Parameters
    ----------
    name : of the quantity; unit : of its numbers, "" where it is unknown.
    t : times (samples,); at : their indices among all samples of the experiment.
    y : values (samples, numbers); sigma : of the same shape, None where it is estimated.
    """

    name: str
    unit: str
    t: np.ndarray
    at: np.ndarray
    y: np.ndarray
    sigma: np.ndarray | None

    @property
    def rounding(self) -> float:
        """Rounding error of its values, in their unit: the least noise."""
        return float(np.finfo(float).eps * (np.max(np.abs(self.y), initial=0.0) or 1.0))


@dataclass(frozen=True)
class Trial:
    """Checked experiment: its channels, and the times at which a run is sampled (samples,)."""

    experiment: Experiment
    channels: tuple[Channel, ...]
    samples: np.ndarray

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the measured quantities."""
        return tuple(channel.name for channel in self.channels)


def trials_of(compiled: Compiled, data: Measured | Experiment | Sequence[Experiment | Measured]) -> tuple[Trial, ...]:
    """Check experiments. `ModelError` E376 for data that do not fit."""
    is_single = isinstance(data, (Experiment, Mapping))
    listed = [data] if is_single else list(data) if isinstance(data, Sequence) else []
    experiments = [
        each if isinstance(each, Experiment) else Experiment(each) for each in listed if isinstance(each, (Experiment, Mapping))
    ]
    complete = all(isinstance(each.data, Mapping) and each.data for each in experiments)
    if not experiments or len(experiments) < len(listed) or not complete:
        raise _unfit(compiled, "no data", "they are a dictionary of (t, y) or (t, y, sigma) by name, or a list of experiments")
    return tuple(_trial(compiled, experiment) for experiment in experiments)


def refuse_fixed(compiled: Compiled, unknown: Mapping[str, Any], trials: Sequence[Trial]) -> None:
    """Raise E376 where an experiment sets a parameter that is to be estimated."""
    resolve = compiled.system.resolve
    fixed = {resolve(name) for trial in trials for name in trial.experiment.parameters or ()}
    if both := [name for name in unknown if resolve(name) in fixed]:
        why = "the number would be found for all experiments, and this one has its own"
        raise _unfit(compiled, f'"{both[0]}" is to be found, and an experiment gives it', why)


def _trial(compiled: Compiled, experiment: Experiment) -> Trial:
    columns = []
    for name, entry in experiment.data.items():
        layout = compiled.program.layout
        try:
            slot = layout[name]
        except KeyError as unknown:
            raise _unfit(compiled, f'"{name}" is no quantity of the model', str(unknown.args[0])) from None
        if slot.block == "p":
            raise _unfit(compiled, f'"{name}" is a parameter', "it is not measured over time: name it among the unknown numbers")
        arrays = [real(part) for part in entry] if isinstance(entry, Sequence) and len(entry) in (2, 3) else [None]
        if any(array is None for array in arrays):
            raise _unfit(compiled, f'the data of "{name}" are no numbers', "they are (t, y) or (t, y, sigma)")
        t, y, *deviations = (np.asarray(array, dtype=float) for array in arrays)
        if t.ndim != 1 or not len(t) or y.shape != (len(t), *slot.shape):
            raise _unfit(
                compiled, f'the data of "{name}" have shapes {t.shape} and {y.shape}', f"{(len(t), *slot.shape)} is needed"
            )
        if deviations and deviations[0].shape not in ((), y.shape):
            title = f'the standard deviation of "{name}" has shape {deviations[0].shape}'
            raise _unfit(compiled, title, f"one number, or one for each value: {y.shape}")
        sigma = np.broadcast_to(deviations[0], y.shape) if deviations else None
        if sigma is not None and not (np.all(np.isfinite(sigma)) and np.all(sigma > 0.0)):
            raise _unfit(compiled, f'the standard deviation of "{name}" is not positive', "one number, or one for each value")
        if not (np.all(np.isfinite(t)) and np.all(np.isfinite(y))):
            raise _unfit(compiled, f'the data of "{name}" are not all finite', "leave out what was not measured")
        if t.min() < experiment.t_start:
            raise _unfit(compiled, f'the data of "{name}" begin at {t.min():g} s', f"the run begins at {experiment.t_start:g} s")
        columns.append((name, slot.unit, t, y.reshape(len(t), -1), None if sigma is None else sigma.reshape(len(t), -1)))
    samples = np.unique(np.concatenate([[experiment.t_start], *(t for _, _, t, _, _ in columns)]))
    if len(samples) < 2:
        raise _unfit(compiled, "all data are at the start", "a run needs data after it")
    channels = [Channel(name, unit, t, np.searchsorted(samples, t), y, sigma) for name, unit, t, y, sigma in columns]
    return Trial(experiment, tuple(channels), samples)


def _unfit(compiled: Compiled, title: str, why: str) -> ModelError:
    return refusal("E376", title, '{"rotor.flow": (t, y, sigma)}', about=compiled.model.name, why=why)
