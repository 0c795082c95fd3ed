"""Building blocks of controllers: reference signals, measured or filtered rates, gains, PD errors, model terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from screwbond.models.motion.blocks import DERIVATIVES, motion_parameters, motion_symbols
from screwbond.models.motion.polynomials import QUANTITIES, Motion, numbers, refuse

from bondgraph import Element, Op, Parameter, StateSpec
from bondgraph.model.ops import as_op
from bondgraph.model.units import per_second
from bondgraph.signals.arguments import BlockBuilder
from bondgraph.signals.formulas import LAG

ModelTerm = Callable[..., Any] | Op | str
"""A function of signals, or the path of a signal of another block."""

DIFFERENCE = Op("difference", lambda r, y: r - y, "#1 - #2")
SUM = Op("sum", lambda a, b: a + b, "#1 + #2")
ZERO_LIKE = Op("zero", lambda value: 0.0 * value, "0")


def new_builder(name: str, period: float | None) -> BlockBuilder:
    """Return an empty block builder; E478 for a period that is not positive."""
    if period is not None and not (np.isfinite(period) and period > 0.0):
        refuse("E478", f'the period of "{name}" is {period!r} s', "", "more than 0 s, or None for continuous control", name)
    return BlockBuilder(name, period=period)


def signal_shape(name: str, dimension: int | None, gains: Sequence[Any]) -> tuple[int, ...]:
    """Return the shape of a controller's signals, () or (axes,), from its gains and `dimension`; E478 unless they agree."""
    shapes = [gain.shape if isinstance(gain, Motion) else numbers("the gain", gain).shape for gain in gains]
    sizes = {shape for shape in shapes if shape} | ({(dimension,)} if dimension else set())
    if len(sizes) > 1:
        title, why = f'gains of "{name}" are for different counts of axes', f"{sorted(size[0] for size in sizes)}"
        refuse("E478", title, why, "a number, or one for each axis", name)
    return next(iter(sizes), ())


def add_reference(builder: BlockBuilder, reference: str | Mapping[str, str], needed: Sequence[str]) -> None:
    """Add inputs `reference`, `reference_velocity` ... from the name of a reference block, or from a mapping of paths.

    A mapping may leave out the velocity or the acceleration, which are then zero (a set point).
    """
    paths = {what: f"{reference}.{what}" for what in needed} if isinstance(reference, str) else dict(reference)
    unknown = [key for key in paths if key not in QUANTITIES]
    if unknown or "position" not in paths:
        title, cure = (
            f'the reference of "{builder.name}" is {reference!r}',
            'the name of a `reference` block, or {"position": path, ...}',
        )
        refuse("E478", title, f"it may hold: {', '.join(needed)}", cure, builder.name)
    for what in needed:
        local = "reference" if what == "position" else f"reference_{what}"
        if what in paths:
            builder.inputs[local] = paths[what]
        else:
            builder.add(local, ZERO_LIKE, "reference")


def add_rate(
    builder: BlockBuilder, position: str, velocity: str | None, filter_time: Any, initial: Any, nominal: Any, unit: str
) -> None:
    """Add `y`, of this unit, and `dy`: measured, or from a filter, dy = filtered' = (y - filtered) / T; if sampled, a filtered
    difference quotient."""
    builder.inputs["y"] = position
    builder.units |= {f"reference_{what}": per_second(unit, order) for order, what in enumerate(QUANTITIES[1:3], start=1)}
    if (velocity is None) == (filter_time is None):
        title, why = (
            f'"{builder.name}" needs either a velocity or a filter',
            f"velocity {velocity!r}, filter_time {filter_time!r}",
        )
        refuse("E478", title, why, "the path of a measured velocity, or a `filter_time` in s that differentiates y", builder.name)
    if velocity is not None:
        builder.inputs["dy"] = velocity
        return
    time = numbers("the filter time", filter_time.value if isinstance(filter_time, Parameter) else filter_time, (0,))
    if not time > 0.0:
        refuse("E478", f'the filter time of "{builder.name}" is {float(time):g} s', "", "more than 0 s", builder.name)
    builder.parameters["filter_time"] = Parameter(float(time), "s")
    builder.symbols |= {"filter_time": r"T_{\mathrm{f}}", "dy": "v^{+}" if builder.period is not None else r"\dot y"}
    builder.units["dy"] = per_second(unit)
    if builder.period is not None:
        slope = StateSpec(np.zeros(np.shape(initial))[()], nominal, per_second(unit), "v")
        builder.add_difference("y", "slope", slope, "dy", "filter_time")
        return
    builder.states["filtered"] = StateSpec(initial, nominal, unit, r"\hat y")
    builder.add("dy", LAG, "y", "filtered", "filter_time")
    builder.rates["filtered"] = "dy"


def add_gain(builder: BlockBuilder, local: str, gain: Motion | ArrayLike, unit: str = "") -> None:
    """Add a gain under a local name: a run-time parameter, or a function of time."""
    letter = f"K_{{{local[1:]}}}"
    builder.symbols[local] = letter
    if not isinstance(gain, Motion):
        builder.parameters[local] = Parameter(numbers(f"the gain {local}", gain)[()], unit)
        return
    builder.inputs["t"] = "time"
    builder.parameters |= motion_parameters(gain, unit, f"{local} ")
    builder.symbols |= motion_symbols(letter, f"{local} ")
    builder.units[local] = unit
    builder.add(local, DERIVATIVES[0], "t", f"{local} breaks", f"{local} coefficients")
    builder.breaks.append(f"{local} breaks")


def add_pd(builder: BlockBuilder, kp: Motion | ArrayLike, kd: ArrayLike, unit: str, gains: tuple[str, str]) -> list[str]:
    """Add the gains kp and kd and the errors of position (of this unit) and velocity; return the local names of all four."""
    add_gain(builder, "kp", kp, gains[0])
    add_gain(builder, "kd", kd, gains[1])
    builder.units |= {"error": unit, "error_rate": per_second(unit)}
    builder.symbols |= {"error": r"\tilde y", "error_rate": r"\dot{\tilde y}"}
    builder.add("error", DIFFERENCE, "reference", "y")
    builder.add("error_rate", DIFFERENCE, "reference_velocity", "dy")
    return ["kp", "kd", "error", "error_rate"]


def add_term(builder: BlockBuilder, local: str, term: ModelTerm, arguments: Sequence[str]) -> None:
    """Add a model term under a local name: computed from local arguments, or the path of a signal."""
    if isinstance(term, str):
        builder.inputs[local] = term
    else:
        builder.add(local, as_op(term, local.replace("_", " ")), *arguments)


def add_signals(builder: BlockBuilder, prefix: str, paths: Sequence[str]) -> list[str]:
    """Add numbered inputs for signals; return their local names."""
    if isinstance(paths, str):
        paths = [paths]
    local = [f"{prefix}{k}" for k in range(1, len(paths) + 1)]
    builder.inputs |= dict(zip(local, paths, strict=True))
    return local


def finish(builder: BlockBuilder, result: str, now: str, start: Any, unit: str, symbol: str) -> Element:
    """Return the block; if sampled, the result is a state that holds the local value `now` of the last tick."""
    if builder.period is not None:
        builder.states[result], builder.updates[result] = StateSpec(start, None, unit, symbol), now
        builder.symbols.setdefault(now, f"{symbol}^{{+}}")
    builder.units[result], builder.symbols[result] = unit, symbol
    return builder.block()
