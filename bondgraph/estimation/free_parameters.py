"""Free parameters of sensitivities and estimates: parameters and start values by name, and derivatives of the initial state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.compile.changes import converted_states, dependent_among
from bondgraph.compile.compiled import Compiled
from bondgraph.compile.state_names import unknown_name
from bondgraph.errors import ModelError, ScrewbondError, refusal
from bondgraph.model.arguments import names_of
from bondgraph.output.tables import labels_of
from bondgraph.run.program import Slot
from bondgraph.units import entry_units

STRIDES = (1e-2, 1e-3, 1e-4, 1e-5)
"""Candidate steps for differences of start formulas, relative to a number; the longest step that changes no mode is halved and
extrapolated."""

HALVINGS = 5

CLOSEST, TINY = 1e-6, 1e-100
"""Relative change of a nonzero number, and absolute change of zero, that are so small that the mode changes only on a boundary
between two modes."""

MAX_SCATTER = 1e-6
"""Largest relative difference of two extrapolations at which a derivative counts as determined."""


@dataclass(frozen=True)
class FreeParameters:
    """Varied numbers, one by one: parameters, and start values of states.

    Parameters
    ----------
    labels, units : labels and units of the numbers (k,).
    entries : name of the quantity, with the flat index of the number in its value.
    parameters : index in the parameter vector, -1 for a start value.
    states : index in x, -1 for a parameter.
    """

    labels: tuple[str, ...]
    units: tuple[str, ...]
    entries: tuple[tuple[str, int], ...]
    parameters: tuple[int, ...]
    states: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.labels)

    def alone(self, j: int) -> FreeParameters:
        columns = (self.labels, self.units, self.entries, self.parameters, self.states)
        return FreeParameters(*(column[j : j + 1] for column in columns))  # type: ignore[arg-type]

    def values(self, p: np.ndarray, x: np.ndarray) -> np.ndarray:
        pairs = zip(self.parameters, self.states, strict=True)
        return np.array([p[index] if index >= 0 else x[state] for index, state in pairs])


def free_parameters_of(compiled: Compiled, names: str | Sequence[str]) -> FreeParameters:
    """Return the varied numbers of parameters and states, or of their components.

    Raises `ModelError` E370 for an unknown name, a number named twice, or a state that depends on other states.
    """
    layout, system = compiled.program.layout, compiled.system
    rows: list[tuple[str, str, tuple[str, int], int, int]] = []
    for name in names_of(names, "names"):
        try:
            slot = layout[name]
        except KeyError:
            slot = Slot("", 0)
        states = {state.name for state in system.states} - system.guesses
        base = name.partition("[")[0] if name not in layout else name
        if slot.block not in ("p", "x") or (slot.is_state and system.resolve(base) not in states):
            candidates = [*system.parameters, *states]
            raise ModelError(
                system.name, [unknown_name("E370", name, "a parameter or a start value that can be varied", candidates, "")]
            )
        begin = layout[base].start
        unit = layout.unit(name)
        units = entry_units(unit, slot.shape)
        of_entries = [unit] * slot.size if units is None else units.flat
        for k, (label, unit) in enumerate(zip(labels_of(name, slot.shape), of_entries, strict=True)):
            index = slot.start + k
            places = (-1, index) if slot.is_state else (index, -1)
            rows.append((label, unit, (base, index - begin), *places))
    columns = tuple(zip(*rows, strict=True)) if rows else ((),) * 5
    varied = FreeParameters(*columns)  # type: ignore[arg-type]
    indices = [*zip(varied.parameters, varied.states, strict=True)]
    if not indices or len(set(indices)) < len(indices):
        twice = [label for label, pair in zip(varied.labels, indices, strict=True) if indices.count(pair) > 1]
        title = f"named twice: {', '.join(dict.fromkeys(twice))}" if twice else "nothing is varied"
        cure = "name each number once" if twice else "the name of a parameter or state"
        raise refusal("E370", title, cure, about=system.name, places=())
    return varied


def with_values(
    compiled: Compiled,
    varied: FreeParameters,
    numbers: Sequence[float],
    parameters: Mapping[str, Any] | None = None,
    initial: Mapping[str, Any] | None = None,
    t: float = 0.0,
) -> tuple[dict[str, Any], dict[str, Any]]:
    changes, states = dict(parameters or {}), converted_states(compiled.model, compiled.system, initial or {})
    replaced = {
        compiled.system.resolve(name) for (name, _), state in zip(varied.entries, varied.states, strict=True) if state >= 0
    }
    starts = {name: value for name, value in (initial or {}).items() if states.get(name) not in replaced}
    x = compiled.starting_point(initial, parameters, t)[0] if any(state >= 0 for state in varied.states) else np.zeros(0)
    p = compiled.parameters(parameters)
    for (name, index), state, number in zip(varied.entries, varied.states, numbers, strict=True):
        target, block = (starts, x) if state >= 0 else (changes, p)
        slot = compiled.program.layout[name]
        value = np.array(target.get(name, slot.value_in(block)), dtype=float)
        value.reshape(-1)[index] = number
        target[name] = value[()]
    return changes, starts


def start_slopes(
    compiled: Compiled,
    varied: FreeParameters,
    parameters: Mapping[str, Any] | None,
    initial: Mapping[str, Any] | None,
    t: float = 0.0,
) -> np.ndarray:
    """Return derivatives (n, k) of the initial state at the time t (s) with respect to the varied numbers.

    The user's start formulas accept only numbers, so their results are differentiated by extrapolated differences. Without such
    formulas, `Variational.with_conversions` adds the derivatives of states that follow from efforts or flows. Raises `ModelError`
    E371 if the differences do not converge, or if a slight change of a number changes the mode of the start.
    """
    x, m, p = compiled.starting_point(initial, parameters, t)
    if len(m):
        _refuse_edges(compiled, varied, varied.values(p, x), m, parameters, initial, t)
    slopes = np.zeros((len(x), len(varied)))
    for j, state in enumerate(varied.states):
        if state >= 0:
            slopes[state, j] = 1.0
    if not compiled.system.starts:
        return slopes
    _, independent = dependent_among(compiled.model, compiled.system, compiled.causality, initial or {})
    numbers = varied.values(p, x)
    for j in range(len(varied)):

        def start(number: float, j: int = j) -> tuple[np.ndarray, np.ndarray]:
            # other start values keep the user's values, or follow from formulas
            changes, starts = with_values(compiled, varied.alone(j), [number], parameters, independent, t)
            return compiled.starting_point(starts, changes, t)[:2]

        at = float(numbers[j])
        strides = (stride * (abs(at) or 1.0) for stride in STRIDES)
        stride = next((h for h in strides if all(np.array_equal(start(at + s)[1], m) for s in (-h, h))), None)
        if stride is None:
            raise _mode_change_refusal(compiled, varied.labels[j])
        slope, scatter = _slope(start, at, stride)
        size = np.abs(slope) + np.finfo(float).eps * np.abs(x) / (abs(numbers[j]) or 1.0)
        if np.any(scatter > MAX_SCATTER * size.max(initial=0.0)):
            title = f'the start has no derivative with respect to "{varied.labels[j]}" (finite differences disagree)'
            cures = ("a smooth start formula", "start values instead of the formula")
            raise refusal("E371", title, *cures, about=compiled.model.name, places=())
        slopes[:, j] = slope
    return slopes


def _refuse_edges(
    compiled: Compiled,
    varied: FreeParameters,
    numbers: np.ndarray,
    m: np.ndarray,
    parameters: Mapping[str, Any] | None,
    initial: Mapping[str, Any] | None,
    t: float,
) -> None:
    """Raise E371 if a tiny change of a number changes the modes m of the start, as when sticking parts begin to move."""
    for j, number in enumerate(numbers.tolist()):
        for other in (number * (1.0 - CLOSEST), number * (1.0 + CLOSEST)) if number else (-TINY, TINY):
            changes, starts = with_values(compiled, varied.alone(j), [other], parameters, initial, t)
            try:
                modes = compiled.starting_point(starts, changes, t)[1]
            except ScrewbondError:
                continue
            if np.any(modes != m):
                raise _mode_change_refusal(compiled, varied.labels[j])


def _mode_change_refusal(compiled: Compiled, label: str) -> ModelError:
    title = f'the start changes its mode if "{label}" changes slightly'
    return refusal("E371", title, "another start, away from mode changes", about=compiled.model.name, places=())


def _slope(function: Callable[[float], tuple[np.ndarray, np.ndarray]], at: float, stride: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the derivative and its uncertainty by Richardson extrapolation of central differences (Ridders): for each component,
    the pair of extrapolations that agrees best, and its scatter."""
    previous: list[np.ndarray] = []
    best, scatter = np.zeros(0), np.zeros(0)
    for level in range(HALVINGS):
        h = stride / 2.0**level
        row = [(function(at + h)[0] - function(at - h)[0]) / (2.0 * h)]
        for order, earlier in enumerate(previous, start=1):
            row.append(row[-1] + (row[-1] - earlier) / (4.0**order - 1.0))
            difference = np.maximum(np.abs(row[-1] - row[-2]), np.abs(row[-1] - earlier))
            if not best.size:
                best, scatter = row[-1], difference
            better = difference < scatter
            best, scatter = np.where(better, row[-1], best), np.where(better, difference, scatter)
        previous = row
    return best, scatter
