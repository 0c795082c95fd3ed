"""Signal blocks: signals in, signals and states out, no power."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bondgraph.errors import caller_place
from bondgraph.graph.arguments import formula_name, parameters_of
from bondgraph.graph.element import Element
from bondgraph.graph.laws import Equation, SignalBlock, StateSpec
from bondgraph.ops import Op, as_op


def Block(
    name: str,
    equations: Sequence[tuple[str | Sequence[str], Op | Callable[..., Any], Sequence[str]]],
    *,
    inputs: Mapping[str, str] | None = None,
    states: Mapping[str, StateSpec] | None = None,
    rates: Mapping[str, str] | None = None,
    parameters: Mapping[str, Any] | None = None,
    symbols: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
) -> Element:
    """Signals in, signals out: `equations` are (outs, formula, args) over local names.

    `inputs` maps local names to signal paths, `states` names state variables, `rates` says which local name is the time
    derivative of which state. Every local name is the signal `<name>.<local>`.
    """
    written = tuple(
        Equation((outs,) if isinstance(outs, str) else tuple(outs), as_op(op, formula_name(op)), tuple(args))
        for outs, op, args in equations
    )
    inputs = inputs or {}
    law = SignalBlock(
        tuple(inputs), dict(states or {}), written, dict(rates or {}), dict(symbols or {}), dict(units or {})
    )
    return Element(
        "block", name, law, (), parameters_of(parameters or {}), tuple(inputs.values()), dict(symbols or {}), None, None,
        caller_place(),
    )  # fmt: skip
