"""Algebraic signal blocks: sums, products, limits, tables, and logic, whose signals are 0 or 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np

from bondgraph.elements import Block, Element
from bondgraph.errors import refusal
from bondgraph.model.arguments import names_of, spelled_out
from bondgraph.model.ops import APPLY, combine
from bondgraph.signals import formulas
from bondgraph.signals.arguments import (
    Format,
    need_inputs,
    need_order,
    numbers_of,
    of_result,
    result_of,
    shape_message,
    static_block,
)


@spelled_out
def gain(name: str, input: str, k: Any, **shown: Unpack[Format]) -> Element:
    """Gain y = k u; `k` is a number, a row (n,) or a matrix (m, n)."""
    return Block(name, [("y", APPLY, ["k", "u"])], inputs={"u": input}, parameters={"k": k}, **result_of(**shown))


@spelled_out
def summation(name: str, inputs: Mapping[str, int], **shown: Unpack[Format]) -> Element:
    """Sum y of the signals, each with its sign: `summation("error", {"goal.y": 1, "shaft.flow": -1})`.

    Raises `ModelError` E140 without inputs, E141 for a sign that is not 1 or -1.
    """
    need_inputs("summation", name, inputs)
    for path, sign in inputs.items():
        if sign not in (1, -1):
            title, cure = f'summation "{name}": "{path}" has the sign {sign!r}', "a gain in front of the sum for any other factor"
            raise refusal("E141", title, cure, about=name, why="a sign is 1 or -1")
    return static_block(name, combine(tuple(int(sign) for sign in inputs.values())), list(inputs), {}, **shown)


@spelled_out
def product(name: str, inputs: Sequence[str], **shown: Unpack[Format]) -> Element:
    """Product y of the signals, entry by entry. Raises `ModelError` E140 without inputs."""
    need_inputs("product", name, inputs)
    return static_block(name, formulas.product(len(inputs)), inputs, {}, **shown)


@spelled_out
def limiter(name: str, input: str, lowest: Any, highest: Any, **shown: Unpack[Format]) -> Element:
    """Limiter: y = u held between `lowest` and `highest`. Raises `ModelError` E148 if these are in the wrong order."""
    values = of_result(shown.get("unit", ""), lowest=lowest, highest=highest)
    need_order("limiter", name, **values)
    return static_block(name, formulas.LIMITER, [input], values, **shown)


@spelled_out
def dead_zone(name: str, input: str, lowest: Any, highest: Any, **shown: Unpack[Format]) -> Element:
    """Dead zone: y = u - lowest below `lowest`, 0 between, u - highest above `highest`. Raises `ModelError` E148 as `limiter`."""
    values = of_result(shown.get("unit", ""), lowest=lowest, highest=highest)
    need_order("dead zone", name, **values)
    return static_block(name, formulas.DEAD_ZONE, [input], values, **shown)


@spelled_out
def table(name: str, input: str, points: Sequence[float], values: Sequence[float], **shown: Unpack[Format]) -> Element:
    """Lookup table: piecewise linear y(u) through (points, values), both (n,), n > 1; the end values hold outside.

    `values` is a run-time parameter; the points belong to the equations.

    Raises `ModelError` E146 for points that are not finite and ascending, E147 for lengths that differ.
    """
    knots, ordinates = numbers_of(points), numbers_of(values)
    if knots is None or ordinates is None or knots.ndim != 1 or knots.shape != ordinates.shape or len(knots) < 2:
        title, cure = f'table "{name}": points and values do not fit together', "two lists of one length, two or more"
        raise refusal("E147", title, cure, about=name, why=f"points {shape_message(knots)}, values {shape_message(ordinates)}")
    bad = np.flatnonzero(~(np.isfinite(knots[:-1]) & np.isfinite(knots[1:]) & (np.diff(knots) > 0)))
    if bad.size:
        first = int(bad[0])
        title = f'table "{name}": points must be finite and ascending'
        why = f"{knots[first]:g} is followed by {knots[first + 1]:g}, at index {first + 1}"
        cure = "sort the points, each with its value; for a jump, two points close together"
        raise refusal("E146", title, cure, about=name, why=why)
    return static_block(
        name, formulas.lookup(tuple(knots.tolist())), [input], of_result(shown.get("unit", ""), values=values), **shown
    )


def comparator(name: str, input: str, threshold: Any = 0.0, *, symbol: str = "") -> Element:
    """Comparator: y = 1 where u > threshold, else 0; `threshold` is a number or the path of a second signal.

    The jump is no event: where the motion depends on its exact instant, use an `Automaton`.
    """
    if isinstance(threshold, str):
        return static_block(name, formulas.GREATER, [input, threshold], {}, symbol=symbol)
    return static_block(name, formulas.GREATER, [input], {"threshold": threshold}, symbol=symbol)


def logic(name: str, relation: str, inputs: Sequence[str], *, symbol: str = "") -> Element:
    """Logic, y = 0 or 1: "and" and "or" of any number of signals, "not" of one; a signal above 1/2 counts as true.

    Raises `ModelError` E140 for a wrong number of inputs, E149 for another relation.
    """
    if relation not in ("and", "or", "not"):
        title = f'logic "{name}": there is no relation {relation!r}'
        cure = 'one of these; any other is a chain of blocks, such as "not" of "and"'
        raise refusal("E149", title, cure, about=name, why="there are: and, or, not")
    inputs = names_of(inputs, "inputs")
    need_inputs("logic", name, inputs)
    if relation == "not" and len(inputs) != 1:
        title, cure = f'logic "{name}": "not" has {len(inputs)} inputs', '"and" or "or" first, and "not" of its result'
        raise refusal("E140", title, cure, about=name, why="it has one")
    op = formulas.NOT if relation == "not" else formulas.logic(relation, len(inputs))
    return static_block(name, op, inputs, {}, symbol=symbol)
