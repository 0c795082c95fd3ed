"""What is varied: names of parameters and start values in; their places, sizes and units, and how the start follows them, out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.compile.compiled import Compiled
from bondgraph.compile.state_names import labels_of, unknown_name
from bondgraph.errors import ModelError, ScrewbondError, refusal
from bondgraph.model.names import names_of
from bondgraph.model.units import spread
from bondgraph.run.program import Slot

STRIDES = (1e-2, 1e-3, 1e-4, 1e-5)
"""First stride of differences of start formulas, relative to a number: the longest that changes no mode; halved and
extrapolated."""

HALVINGS = 5

CLOSEST, LEAST = 1e-6, 1e-100
"""Relative change of a number that changes no mode away from an edge; a number in place of zero, small in any unit."""

SCATTER = 1e-6
"""Part of a derivative by which two extrapolations may differ for it to count as known."""


@dataclass(frozen=True)
class VariedNumbers:
    """Numbers that are varied, one by one: parameters, and start values of states.

    Parameters
    ----------
    labels, units : of each (k,).
    whole : the name that the user gives to change it, with the place of the number in its value.
    parameters : place in the parameter vector, -1 for a start value; states : place in x, -1 for a parameter.
    """

    labels: tuple[str, ...]
    units: tuple[str, ...]
    whole: tuple[tuple[str, int], ...]
    parameters: tuple[int, ...]
    states: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.labels)

    def alone(self, j: int) -> VariedNumbers:
        """The number j by itself."""
        columns = (self.labels, self.units, self.whole, self.parameters, self.states)
        return VariedNumbers(*(column[j : j + 1] for column in columns))  # type: ignore[arg-type]

    def values(self, p: np.ndarray, x: np.ndarray) -> np.ndarray:
        """The numbers themselves (k,), of parameters p and the start x."""
        pairs = zip(self.parameters, self.states, strict=True)
        return np.array([p[place] if place >= 0 else x[state] for place, state in pairs])


def varied_by(compiled: Compiled, names: str | Sequence[str]) -> VariedNumbers:
    """The numbers behind names of parameters and states, components allowed.

    Raises `ModelError` E370 for what is neither, for one that is named twice, and for a state that others decide.
    """
    layout, system = compiled.program.layout, compiled.system
    found: list[tuple[str, str, tuple[str, int], int, int]] = []
    for name in names_of(names, "names"):
        try:
            slot = layout[name]
        except KeyError:
            slot = Slot("", 0)
        own = {state.name for state in system.states} - system.guesses
        base = name.partition("[")[0] if name not in layout else name
        if slot.block not in ("p", "x") or (slot.block == "x" and system.resolve(base) not in own):
            known = [*system.parameters, *own]
            raise ModelError(
                system.name, [unknown_name("E370", name, "parameter and no start value that can be varied", known, "")]
            )
        begin = layout[base].start
        units = (spread(slot.unit, slot.size) if slot.shape else None) or [slot.unit] * slot.size
        for k, (label, unit) in enumerate(zip(labels_of(name, slot.shape), units, strict=True)):
            place = slot.start + k
            is_state = slot.block == "x"
            found.append((label, unit, (base, place - begin), -1 if is_state else place, place if is_state else -1))
    columns = tuple(zip(*found, strict=True)) if found else ((),) * 5
    varied = VariedNumbers(*columns)  # type: ignore[arg-type]
    places = [*zip(varied.parameters, varied.states, strict=True)]
    if not places or len(set(places)) < len(places):
        twice = [label for label, place in zip(varied.labels, places, strict=True) if places.count(place) > 1]
        title = f"named twice: {', '.join(twice)}" if twice else "nothing is varied"
        raise refusal("E370", title, "name each number once", about=system.name, places=())
    return varied


def with_values(
    compiled: Compiled,
    varied: VariedNumbers,
    numbers: Sequence[float],
    parameters: Mapping[str, Any] | None = None,
    initial: Mapping[str, Any] | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Changes of parameters and of start values by name, in which the varied numbers have the values `numbers` (k,)."""
    changed, begun = dict(parameters or {}), dict(initial or {})
    x = compiled.initial(initial, parameters)[0] if any(place >= 0 for place in varied.states) else np.zeros(0)
    p = compiled.parameters(parameters)
    for (name, place), state, number in zip(varied.whole, varied.states, numbers, strict=True):
        target, block = (begun, x) if state >= 0 else (changed, p)
        slot = compiled.program.layout[name]
        value = np.array(target.get(name, block[slot.start : slot.stop].reshape(slot.shape)), dtype=float)
        value.reshape(-1)[place] = number
        target[name] = value[()]
    return changed, begun


def start_slopes(
    compiled: Compiled, varied: VariedNumbers, parameters: Mapping[str, Any] | None, initial: Mapping[str, Any] | None
) -> np.ndarray:
    """Derivatives (n, k) of the start state by what is varied.

    Where start values follow from others by formulas of the user's, which take numbers only, these are differences of shrinking
    stride, extrapolated. Raises `ModelError` E371 where they have no limit, or where the start changes its mode.
    """
    x, m = compiled.initial(initial, parameters)
    if len(m):
        _refuse_edges(compiled, varied, varied.values(compiled.parameters(parameters), x), m, parameters, initial)
    slopes = np.zeros((len(x), len(varied)))
    for j, state in enumerate(varied.states):
        if state >= 0:
            slopes[state, j] = 1.0
    if not compiled.system.starts:
        return slopes
    numbers = varied.values(compiled.parameters(parameters), x)
    for j in range(len(varied)):

        def start(number: float, j: int = j) -> tuple[np.ndarray, np.ndarray]:
            # the others stay where they were given, or follow
            changed, begun = with_values(compiled, varied.alone(j), [number], parameters, initial)
            return compiled.initial(begun, changed)

        at = float(numbers[j])
        strides = (stride * (abs(at) or 1.0) for stride in STRIDES)
        stride = next((h for h in strides if all(np.array_equal(start(at + s)[1], m) for s in (-h, h))), None)
        if stride is None:
            raise _at_an_edge(compiled, varied.labels[j])
        found, scatter = _slope(start, at, stride)
        size = np.abs(found) + np.finfo(float).eps * np.abs(x) / (abs(numbers[j]) or 1.0)
        if np.any(scatter > SCATTER * size.max(initial=0.0)):
            title = f'the start has no derivative by "{varied.labels[j]}" that differences would show'
            cures = ("a start formula that is smooth there", "start values in place of the formula")
            raise refusal("E371", title, *cures, about=compiled.model.name, places=())
        slopes[:, j] = found
    return slopes


def _refuse_edges(
    compiled: Compiled,
    varied: VariedNumbers,
    numbers: np.ndarray,
    m: np.ndarray,
    parameters: Mapping[str, Any] | None,
    initial: Mapping[str, Any] | None,
) -> None:
    """E371 where the start (modes m) is in another mode as soon as a number is another one, as friction that sticks is when parts
    begin to move. What the model refuses is no start, and no edge."""
    for j, number in enumerate(numbers.tolist()):
        for other in (number * (1.0 - CLOSEST), number * (1.0 + CLOSEST)) if number else (-LEAST, LEAST):
            changed, begun = with_values(compiled, varied.alone(j), [other], parameters, initial)
            try:
                modes = compiled.initial(begun, changed)[1]
            except ScrewbondError:
                continue
            if np.any(modes != m):
                raise _at_an_edge(compiled, varied.labels[j])


def _at_an_edge(compiled: Compiled, label: str) -> ModelError:
    title = f'the start is in another mode where "{label}" is a little different'
    return refusal("E371", title, "another start, away from where modes change", about=compiled.model.name, places=())


def _slope(function: Callable[[float], tuple[np.ndarray, np.ndarray]], at: float, stride: float) -> tuple[np.ndarray, np.ndarray]:
    """Derivative of the first result of a function of one number by Richardson's extrapolation of central differences (Ridders),
    and how far the two best tableaus are apart: each number from where these agree most."""
    previous: list[np.ndarray] = []
    best, scatter = np.zeros(0), np.zeros(0)
    for level in range(HALVINGS):
        h = stride / 2.0**level
        row = [(function(at + h)[0] - function(at - h)[0]) / (2.0 * h)]
        for order, earlier in enumerate(previous, start=1):
            row.append(row[-1] + (row[-1] - earlier) / (4.0**order - 1.0))
            apart = np.maximum(np.abs(row[-1] - row[-2]), np.abs(row[-1] - earlier))
            if not best.size:
                best, scatter = row[-1], apart
            nearer = apart < scatter
            best, scatter = np.where(nearer, row[-1], best), np.where(nearer, apart, scatter)
        previous = row
    return best, scatter
