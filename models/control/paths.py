"""What controllers are wired with: the signals of a reference, rates that are measured or filtered, gains, model terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bondgraph import Block, Element, Op, Parameter, StateSpec
from bondgraph.model.ops import as_op
from bondgraph.signals.formulas import DIFFERENCE, LAG
from models.motion.blocks import DERIVATIVES, motion_parameters
from models.motion.polynomials import QUANTITIES, Motion
from models.motion.refusals import numbers, refuse

ModelTerm = Callable[..., Any] | Op | str
"""A function of signals, or the path of a signal that another block computes."""


@dataclass
class Wiring:
    """A block while it is being written: what `Block` takes."""

    name: str
    equations: list[tuple[Any, Any, Sequence[str]]] = field(default_factory=list)
    inputs: dict[str, str] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)
    states: dict[str, StateSpec] = field(default_factory=dict)
    rates: dict[str, str] = field(default_factory=dict)
    updates: dict[str, str] = field(default_factory=dict)
    breaks: list[str] = field(default_factory=list)
    period: float | None = None

    def finish(self, result: str, now: str, start: Any, unit: str, symbol: str) -> Element:
        """The block; of a sampled one, the result is a state that holds the local value `now` of the last tick."""
        timing: dict[str, Any] = {}
        if self.period is not None:
            self.states[result], self.updates[result] = StateSpec(start), now
            timing = {"updates": self.updates, "period": self.period}
        return Block(
            self.name,
            self.equations,
            inputs=self.inputs,
            parameters=self.parameters,
            states=self.states,
            rates=self.rates,
            breaks=self.breaks,
            units={result: unit},
            symbols={result: symbol},
            **timing,
        )


def wiring_of(name: str, period: float | None) -> Wiring:
    """An empty wiring; refuses a period that is not positive (E478)."""
    if period is not None and not (np.isfinite(period) and period > 0.0):
        refuse("E478", f'the period of "{name}" is {period!r} s', "", "more than 0 s, or None for continuous control", name)
    return Wiring(name, period=period)


def count_of(name: str, dimension: int | None, gains: Sequence[Any]) -> tuple[int, ...]:
    """Shape of a controller's signals, () or (axes,), from its gains and the dimension that is given (E478 unless they agree)."""
    shapes = [gain.shape if isinstance(gain, Motion) else numbers("the gain", gain).shape for gain in gains]
    sizes = {shape for shape in shapes if shape} | ({(dimension,)} if dimension else set())
    if len(sizes) > 1:
        refuse(
            "E478",
            f'gains of "{name}" are for different counts of axes',
            f"{sorted(size[0] for size in sizes)}",
            "a number, or one for each axis",
            name,
        )
    return next(iter(sizes), ())


def add_reference(wiring: Wiring, reference: str | Mapping[str, str], needed: Sequence[str]) -> None:
    """Inputs `reference`, `reference_velocity` ... of a reference block's name, or of the paths in a mapping.

    A mapping may leave out the velocity or the acceleration, which are then zero (a set point).
    """
    paths = {what: f"{reference}.{what}" for what in needed} if isinstance(reference, str) else dict(reference)
    unknown = [key for key in paths if key not in QUANTITIES]
    if unknown or "position" not in paths:
        refuse(
            "E478",
            f'the reference of "{wiring.name}" is {reference!r}',
            f"it may hold: {', '.join(needed)}",
            'the name of a `reference` block, or {"position": path, ...}',
            wiring.name,
        )
    for what in needed:
        local = "reference" if what == "position" else f"reference_{what}"
        if what in paths:
            wiring.inputs[local] = paths[what]
        else:
            wiring.equations.append((local, ZERO_LIKE, ["reference"]))


ZERO_LIKE = Op("zero", lambda value: 0.0 * value, "0")


def add_rate(wiring: Wiring, position: str, velocity: str | None, filter_time: Any, initial: Any, nominal: Any) -> None:
    """`y` and `dy`: measured, or y filtered, dy = filtered' = (y - filtered) / T; sampled, a filtered difference quotient."""
    wiring.inputs["y"] = position
    if (velocity is None) == (filter_time is None):
        refuse(
            "E478",
            f'"{wiring.name}" needs either a velocity or a filter',
            f"velocity {velocity!r}, filter_time {filter_time!r}",
            "the path of a measured velocity, or a `filter_time` in s that differentiates y",
            wiring.name,
        )
    if velocity is not None:
        wiring.inputs["dy"] = velocity
        return
    time = numbers("the filter time", filter_time.value if isinstance(filter_time, Parameter) else filter_time, (0,))
    if not time > 0.0:
        refuse("E478", f'the filter time of "{wiring.name}" is {float(time):g} s', "", "more than 0 s", wiring.name)
    wiring.parameters["filter_time"] = Parameter(float(time), "s")
    if wiring.period is not None:
        shape = np.shape(initial)
        wiring.states |= {key: StateSpec(np.zeros(shape)[()], nominal) for key in ("slope", "previous")}
        wiring.states["count"] = StateSpec(-1.0)
        found = ["dy", "previous_next", "count_next"]
        arguments = ["y", "previous", "slope", "count", "period", "period", "filter_time"]
        wiring.equations.append((found, DIFFERENCE, arguments))
        wiring.updates |= dict(zip(("slope", "previous", "count"), found, strict=True))
        return
    wiring.states["filtered"] = StateSpec(initial, nominal)
    wiring.equations.append(("dy", LAG, ["y", "filtered", "filter_time"]))
    wiring.rates["filtered"] = "dy"


def add_gain(wiring: Wiring, local: str, gain: Motion | ArrayLike, unit: str = "") -> None:
    """A gain under a local name: a run-time parameter, or a function of time."""
    if not isinstance(gain, Motion):
        wiring.parameters[local] = Parameter(numbers(f"the gain {local}", gain)[()], unit)
        return
    wiring.inputs["t"] = "time"
    wiring.parameters |= motion_parameters(gain, unit, f"{local} ")
    wiring.equations.append((local, DERIVATIVES[0], ["t", f"{local} breaks", f"{local} coefficients"]))
    wiring.breaks.append(f"{local} breaks")


def add_term(wiring: Wiring, local: str, term: ModelTerm, arguments: Sequence[str]) -> None:
    """A term of the model under a local name: computed from local arguments, or the path of a signal."""
    if isinstance(term, str):
        wiring.inputs[local] = term
    else:
        wiring.equations.append((local, as_op(term, local.replace("_", " ")), arguments))


def add_signals(wiring: Wiring, prefix: str, paths: Sequence[str]) -> list[str]:
    """Inputs for signals by number; their local names."""
    if isinstance(paths, str):
        paths = [paths]
    local = [f"{prefix}{k}" for k in range(1, len(paths) + 1)]
    wiring.inputs |= dict(zip(local, paths, strict=True))
    return local
