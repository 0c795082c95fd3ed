"""What signal blocks share: a block without states, and arguments with their usual errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bondgraph.elements import Block, Element
from bondgraph.errors import ModelError, refusal
from bondgraph.model.laws import Parameter
from bondgraph.model.ops import Op
from bondgraph.quantities import real


def wrong(code: str, name: str, title: str, detail: str, cure: str) -> ModelError:
    """The error of one problem of a block."""
    return refusal(code, title, cure, about=name, why=detail)


def need_inputs(kind: str, name: str, inputs: Sequence[str] | Mapping[str, Any]) -> None:
    """Raises `ModelError` E140 unless there is a list of inputs."""
    if isinstance(inputs, str) or not inputs:
        given = f"given: {inputs!r}" if inputs else "given: none"
        raise wrong("E140", name, f'{kind} "{name}" needs a list of inputs', given, "paths of signals, one or more")


def numbers_of(value: Any) -> np.ndarray | None:
    """A value as an array of floats; None where it is no number (`checks.check_numbers` tells of parameters)."""
    return real(value.value if isinstance(value, Parameter) else value)


def shape_text(numbers: np.ndarray | None) -> str:
    """What a message says about the shape of numbers."""
    return "are no numbers" if numbers is None else f"have shape {numbers.shape}"


def start_values(initial: Any, dimension: int | None) -> Any:
    """Start value, a scalar spread over `dimension`; what is no number is left for the checks."""
    start = numbers_of(initial)
    if start is None:
        return initial
    return np.full(dimension, float(start)) if dimension and start.ndim == 0 else start[()]


def need_positive(kind: str, name: str, **values: Any) -> None:
    """Raises `ModelError` E142 for a time that is not positive."""
    for key, value in values.items():
        number = numbers_of(value)
        if number is not None and not np.all(number > 0.0):
            title = f'{kind} "{name}": {key} must be positive'
            raise wrong("E142", name, title, f"given: {number[()]}", f"a {key} of more than 0 s; without it, leave the block out")


def need_order(kind: str, name: str, **values: Any) -> None:
    """Raises `ModelError` E148 where the first of two values is above the second."""
    (low, low_value), (high, high_value) = values.items()
    one, two = numbers_of(low_value), numbers_of(high_value)
    if one is not None and two is not None and np.any(one > two):
        title = f'{kind} "{name}": {low} is above {high}'
        raise wrong("E148", name, title, f"{low} {one[()]}, {high} {two[()]}", f"{low} and {high} the other way round")


def coefficients(name: str, which: str, given: Any) -> np.ndarray:
    """Coefficients without leading zeros; only den must not vanish."""
    numbers = numbers_of(given)
    if numbers is None or numbers.ndim != 1 or not np.isfinite(numbers).all() or not numbers.size:
        title = f'transfer function "{name}": {which} is no list of coefficients'
        raise wrong("E145", name, title, f"given: {given!r}", "finite numbers, the highest power of s first")
    trimmed = np.trim_zeros(numbers, "f")
    if which == "den" and not trimmed.size:
        title = f'transfer function "{name}": den is zero'
        raise wrong("E145", name, title, f"given: {given!r}", "a polynomial with at least one coefficient that is not zero")
    return trimmed if trimmed.size else np.zeros(1)


def same_unit(given: Any, value: Any) -> Any:
    """A value with the unit of what was given."""
    return Parameter(value, given.unit) if isinstance(given, Parameter) else value


def static_block(
    name: str,
    op: Op,
    parameters: Mapping[str, Any],
    inputs: Sequence[str],
    unit: str,
    symbol: str,
    *,
    parameters_first: bool = False,
    breaks: Sequence[str] = (),
) -> Element:
    """A block without states, y = op(inputs, parameters)."""
    local = {"u" if len(inputs) == 1 else f"u{k}": path for k, path in enumerate(inputs, start=1)}
    arguments = [*parameters, *local] if parameters_first else [*local, *parameters]
    return Block(
        name, [("y", op, arguments)], inputs=local, parameters=parameters, units={"y": unit}, symbols={"y": symbol}, breaks=breaks
    )
