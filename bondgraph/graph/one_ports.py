"""Other one-ports: R, sources, ideal constraints, and the Euler junction structure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bondgraph.domains import Domain
from bondgraph.errors import caller_place
from bondgraph.graph.arguments import domain_of, one_of, only_with_formula, parameters_of, size_of, start_of
from bondgraph.graph.element import Element, Port
from bondgraph.graph.laws import IdealConstraint, Resistor, SkewGyrator, Source, StateSpec
from bondgraph.graph.linear import BY_INVERSE, BY_PRODUCT
from bondgraph.ops import Op, as_op, zeros


def R(
    name: str,
    resistance: Any = None,
    *,
    conductance: Any = None,
    effort: Callable[..., Any] | None = None,
    flow: Callable[..., Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    signals: Sequence[str] = (),
    dimension: int | None = None,
    domain: Domain | str | None = None,
    symbols: Mapping[str, str] | None = None,
    frame: str | None = None,
) -> Element:
    """R dissipator: e = R f (`resistance`), f = G e (`conductance`), or a relation of the user's own:
    `effort`(f, *parameters, *signals) and / or its inverse `flow`(e, *parameters, *signals)."""
    if effort is not None or flow is not None:
        if resistance is not None or conductance is not None:
            one_of("R", name, resistance=resistance, conductance=conductance, effort=effort or flow)
        law = Resistor(as_op(effort, "effort") if effort else None, as_op(flow, "flow") if flow else None)
        values = parameters_of(parameters or {})
    else:
        how = one_of("R", name, resistance=resistance, conductance=conductance)
        only_with_formula("R", name, how, "effort", parameters=parameters, signals=signals)
        by_product, by_inverse = BY_PRODUCT[0], BY_INVERSE[0]
        law = Resistor(by_product, by_inverse) if how == "resistance" else Resistor(by_inverse, by_product)
        values = parameters_of({how: resistance if how == "resistance" else conductance})
        dimension = dimension or size_of(next(iter(values.values())))
    port = Port("1", dimension, domain_of(domain, name), frame)
    return Element(
        "R",
        name,
        law,
        (port,),
        values,
        tuple(signals),
        dict(symbols or {}),
        domain_of(domain, name),
        frame,
        caller_place(),
    )


def Constraint(
    name: str,
    *,
    position: Callable[..., Any] | None = None,
    signals: Sequence[str] = (),
    parameters: Mapping[str, Any] | None = None,
    alpha1: float = 10.0,
    alpha0: float = 25.0,
    alpha2: float = 0.0,
    initial: Any = 0.0,
    dimension: int | None = None,
    domain: Domain | str | None = None,
    symbols: Mapping[str, str] | None = None,
    frame: str | None = None,
) -> Element:
    """Ideal constraint: the flow of its bond vanishes, by whatever effort that takes (a Lagrange multiplier).

    The effort is such that h'' + alpha1 h' + alpha0 h + alpha2 h^3 = 0, with h' the flow and h its integral (a state that
    starts at `initial`) or `position`(*parameters, *signals): what is off decays with the double pole -5 1/s by default.
    It accepts any flow source of zero between ports, a loop closure, a joint; unlike an Sf it never conflicts with an I.

    Source: Baumgarte 1972; Bortoff 2018, h'' of (9); Bortoff 2020, section 2 (the cubic term).
    """
    law = IdealConstraint(as_op(position, "h") if position else None, StateSpec(start_of(initial, dimension)))
    values = parameters_of({**(parameters or {}), "alpha1": alpha1, "alpha0": alpha0, "alpha2": alpha2})
    port = Port("1", dimension or size_of(initial), domain_of(domain, name), frame)
    return Element(
        "constraint",
        name,
        law,
        (port,),
        values,
        tuple(signals),
        dict(symbols or {}),
        domain_of(domain, name),
        frame,
        caller_place(),
    )


def _source(
    kind: str,
    variable: str,
    name: str,
    value: Any,
    parameters: Mapping[str, Any] | None,
    signals: Sequence[str],
    dimension: int | None,
    domain: Domain | str | None,
    symbols: Mapping[str, str] | None,
    frame: str | None,
) -> Element:
    if callable(value):
        law, values = Source(as_op(value, variable)), parameters_of(parameters or {})
    elif value is None:
        law, values = Source(zeros((dimension,) if dimension and dimension > 1 else ())), {}
    else:
        law, values = Source(Op("value", lambda v: v, "#1")), parameters_of({"value": value})
        dimension = dimension or size_of(value)
    port = Port("1", dimension, domain_of(domain, name), frame)
    return Element(
        kind,
        name,
        law,
        (port,),
        values,
        tuple(signals),
        dict(symbols or {}),
        domain_of(domain, name),
        frame,
        caller_place(),
    )


def Se(
    name: str,
    effort: Any = None,
    *,
    parameters: Mapping[str, Any] | None = None,
    signals: Sequence[str] = (),
    dimension: int | None = None,
    domain: Domain | str | None = None,
    symbols: Mapping[str, str] | None = None,
    frame: str | None = None,
) -> Element:
    """Effort source: a number or array (a run-time parameter), or a function of parameters and signals such as
    `Se("u", effort=lambda t: sin(2 * t), signals=["time"])`. None is a structural zero: a free degree of freedom."""
    return _source("Se", "effort", name, effort, parameters, signals, dimension, domain, symbols, frame)


def Sf(
    name: str,
    flow: Any = None,
    *,
    parameters: Mapping[str, Any] | None = None,
    signals: Sequence[str] = (),
    dimension: int | None = None,
    domain: Domain | str | None = None,
    symbols: Mapping[str, str] | None = None,
    frame: str | None = None,
) -> Element:
    """Flow source, as `Se` with the flow given. None is a structural zero: ground."""
    return _source("Sf", "flow", name, flow, parameters, signals, dimension, domain, symbols, frame)


def EulerJunction(
    name: str,
    matrix: Callable[..., Any],
    *,
    signals: Sequence[str],
    dimension: int,
    parameters: Mapping[str, Any] | None = None,
    domain: Domain | str | None = None,
    symbols: Mapping[str, str] | None = None,
    frame: str | None = None,
) -> Element:
    """MGY on one port: e = J f with J = matrix(*parameters, *signals) skew-symmetric, so that it takes no power."""
    law = SkewGyrator(as_op(matrix, "J"))
    port = Port("1", dimension, domain_of(domain, name), frame)
    return Element(
        "MGY", name, law, (port,), parameters_of(parameters or {}), tuple(signals), dict(symbols or {}), None, frame,
        caller_place(),
    )  # fmt: skip
