"""Shared parts of signal blocks: a block without states, a builder of blocks with optional parts, and argument checks with their
errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict, Unpack

import numpy as np

from bondgraph.elements import Block, Element
from bondgraph.errors import refusal
from bondgraph.model.arguments import parameters_of, refused, value_of
from bondgraph.model.laws import Parameter, StateSpec
from bondgraph.model.ops import Op
from bondgraph.model.units import per_second
from bondgraph.quantities import real
from bondgraph.signals import formulas
from bondgraph.units import Conversion, conversion


class Format(TypedDict, total=False):
    unit: str
    symbol: str
    """LaTeX symbol of the result."""


class Scaled(Format, total=False):
    nominal: Any


def need_inputs(kind: str, name: str, inputs: Sequence[str] | Mapping[str, Any]) -> None:
    if isinstance(inputs, str) or not inputs:
        title, why = f'{kind} "{name}" needs a list of inputs', f"given: {inputs!r}" if inputs else "given: none"
        raise refusal("E140", title, "a list of one or more paths of signals", about=name, why=why)


def numbers_of(value: Any) -> np.ndarray | None:
    """Return a value as an array of floats in the unit in which a block reads it; None if it is not a number
    (`checks.check_numbers` reports parameters)."""
    numbers = real(value_of(value))
    if numbers is None or not isinstance(value, Parameter):
        return numbers
    convert = conversion(value.unit, value.expected, numbers.shape)  # checks report faults
    return np.asarray(convert(numbers)) if isinstance(convert, Conversion) else numbers


def shape_message(numbers: np.ndarray | None) -> str:
    return "are not numbers" if numbers is None else f"have shape {numbers.shape}"


def start_values(initial: Any, dimension: int | None) -> Any:
    if dimension is not None and not (isinstance(dimension, int) and dimension > 0):
        raise refused("dimension", dimension, "a whole number from 1", "dimension=3")
    start = numbers_of(initial)
    if start is None:
        return initial
    return np.full(dimension, float(start)) if dimension and start.ndim == 0 else start[()]


def need_positive(kind: str, name: str, **values: Any) -> None:
    for key, value in values.items():
        number = numbers_of(value)
        if value is None or (number is not None and not np.all(number > 0.0)):
            title, cure = f'{kind} "{name}": {key} must be positive', f"a {key} above zero, or omit the block"
            raise refusal("E142", title, cure, about=name, why=f"given: {None if number is None else number[()]}")


def need_order(kind: str, name: str, **values: Any) -> None:
    (low, low_value), (high, high_value) = values.items()
    lower, upper = numbers_of(low_value), numbers_of(high_value)
    if lower is not None and upper is not None and np.any(lower > upper):
        title, cure = f'{kind} "{name}": {low} is above {high}', f"swap {low} and {high}"
        raise refusal("E148", title, cure, about=name, why=f"{low} {lower[()]}, {high} {upper[()]}")


def coefficients(name: str, which: str, value: Any) -> np.ndarray:
    numbers = real(value_of(value))
    if numbers is None or numbers.ndim != 1 or not np.isfinite(numbers).all() or not numbers.size:
        title = f'transfer function "{name}": {which} is not a list of coefficients'
        raise refusal("E145", title, "finite numbers, the highest power of s first", about=name, why=f"given: {value!r}")
    trimmed = np.trim_zeros(numbers, "f")
    if which == "den" and not trimmed.size:
        title, cure = f'transfer function "{name}": den is zero', "a polynomial with at least one coefficient that is not zero"
        raise refusal("E145", title, cure, about=name, why=f"given: {value!r}")
    return trimmed if trimmed.size else np.zeros(1)


def in_seconds(**times: Any) -> dict[str, Parameter]:
    return parameters_of(times, dict.fromkeys(times, "s"))


def of_result(unit: str, **values: Any) -> dict[str, Parameter]:
    return parameters_of(values, dict.fromkeys(values, unit))


def limits_of(kind: str, name: str, limits: Any, unit: str) -> dict[str, Parameter]:
    if not isinstance(limits, (tuple, list, np.ndarray)) or len(limits) != 2:
        title = f'{kind} "{name}" has the limits {limits!r}'
        raise refusal("E148", title, "limits=(lowest, highest)", about=name, why="limits are a pair")
    parameters = of_result(unit, lowest=limits[0], highest=limits[1])
    need_order(kind, name, **parameters)
    return parameters


def same_unit(source: Any, value: Any) -> Any:
    return Parameter(value, source.unit) if isinstance(source, Parameter) else value


def inputs_of(paths: Sequence[str]) -> dict[str, str]:
    return {"u" if len(paths) == 1 else f"u{k}": path for k, path in enumerate(paths, start=1)}


def result_of(unit: str = "", symbol: str = "") -> dict[str, Any]:
    return {"units": {"y": unit}, "symbols": {"y": symbol}}


def static_block(
    name: str, op: Op, inputs: Sequence[str], parameters: Mapping[str, Any], breaks: Sequence[str] = (), **shown: Unpack[Format]
) -> Element:
    local = inputs_of(inputs)
    equations = [("y", op, [*local, *parameters])]
    return Block(name, equations, inputs=local, parameters=parameters, breaks=breaks, **result_of(**shown))


PID_LETTERS = {
    "kp": "K_p",
    "ki": "K_i",
    "kd": "K_d",
    "integral": "z",
    "integral_next": "z^{+}",
    "slope": "v",
    "slope_next": "v^{+}",
    "filtered": r"\hat u",
    "y_next": "y^{+}",
    "time_constant": r"T_{\mathrm{f}}",
    "filter_time": r"T_{\mathrm{f}}",
    "filter_period": r"T_{\mathrm{d}}",
    "tracking_time": r"T_{\mathrm{t}}",
    "unlimited": r"\tilde y",
    "lowest": r"y_{\min}",
    "highest": r"y_{\max}",
}


@dataclass
class BlockBuilder:
    name: str
    equations: list[tuple[str | Sequence[str], Op, Sequence[str]]] = field(default_factory=list)
    inputs: dict[str, str] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)
    states: dict[str, StateSpec] = field(default_factory=dict)
    rates: dict[str, str] = field(default_factory=dict)
    updates: dict[str, str] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    symbols: dict[str, str] = field(default_factory=dict)
    breaks: list[str] = field(default_factory=list)
    period: Any = None
    offset: Any = None

    def add(self, result: str, op: Op, *arguments: str) -> None:
        self.equations.append((result, op, arguments))

    def add_state(self, name: str, spec: StateSpec, rate: str) -> None:
        self.states[name], self.rates[name] = spec, rate

    def add_difference(self, of: str, state: str, spec: StateSpec, fresh: str, time: str, between: str = "period") -> None:
        """Add a state that is the filtered difference of a local value: (T state + value - value before) / (T + between).

        Parameters
        ----------
        spec : specification of the state; the previous value and the count of ticks are also states.
        fresh : local name of the state after the tick.
        time, between : parameters, T and the time between differences, a multiple of the period, s.
        """
        before = StateSpec(spec.initial, spec.nominal, per_second(spec.unit, -1), rf"\bar {of[0]}")
        self.states |= {state: spec, "previous": before, "count": StateSpec(-1.0, None, "1", "N")}
        self.symbols |= {"previous_next": rf"\bar {of[0]}^{{+}}", "count_next": "N^{+}"}
        results = [fresh, "previous_next", "count_next"]
        self.equations.append((results, formulas.DIFFERENCE, [of, "previous", state, "count", "period", between, time]))
        self.updates |= dict(zip((state, "previous", "count"), results, strict=True))

    def block(self) -> Element:
        return Block(**vars(self))
