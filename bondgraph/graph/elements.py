"""The elements of the language: each function returns one frozen `Element`, ready to be connected in a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bondgraph.domains import DOMAINS, Domain
from bondgraph.errors import ModelError, Place, Problem, caller_place
from bondgraph.graph.gradient import gradient
from bondgraph.graph.laws import (
    Equation,
    Gyrator,
    IdealConstraint,
    Junction,
    Law,
    Parameter,
    Resistor,
    SignalBlock,
    SkewGyrator,
    Source,
    StateSpec,
    Storage,
    Transformer,
)
from bondgraph.ops import Op, as_op, zeros
from screws.linear import solve_spd


@dataclass(frozen=True)
class Port:
    """A place where a bond can end. Dimension, domain and frame are None where the bond decides."""

    name: str
    dimension: int | None = None
    domain: Domain | None = None
    frame: str | None = None


@dataclass(frozen=True, eq=False)
class Element:
    """A node of the graph: its kind and name, what it does (law), and where the user created it."""

    kind: str
    name: str
    law: Law
    ports: tuple[Port, ...] = ()
    """Empty for junctions, which have as many ports as bonds."""
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    signals: tuple[str, ...] = ()
    symbols: Mapping[str, str] = field(default_factory=dict)
    """LaTeX of this element's signals (`flow`, `effort`, a state's name)."""
    domain: Domain | None = None
    frame: str | None = None
    place: Place | None = None

    def port(self, name: str) -> PortRef:
        """Reference to one named port of this element, for `Graph.connect`."""
        return PortRef(self, name)


@dataclass(frozen=True)
class PortRef:
    """One named port of an element or of a nested graph."""

    owner: Any
    name: str


def _domain(domain: Domain | str | None, name: str) -> Domain | None:
    if domain is None or isinstance(domain, Domain):
        return domain
    if domain not in DOMAINS:
        problem = Problem(
            "E127",
            f'"{name}" is of a domain that does not exist: {domain!r}',
            (f"there are: {', '.join(DOMAINS)}",),
            (caller_place(),),
            ("one of these names, or a Domain of your own",),
        )
        raise ModelError(name, [problem])
    return DOMAINS[domain]


def _parameters(values: Mapping[str, Any], units: Mapping[str, str] | None = None) -> dict[str, Parameter]:
    units = units or {}
    return {
        name: value if isinstance(value, Parameter) else Parameter(value, units.get(name, ""))
        for name, value in values.items()
    }


def _size(value: Any) -> int | None:
    """Bond dimension that a start value or source value implies; None where a scalar fits every dimension."""
    shape = _shape(value)
    return shape[0] if shape else None


def _shape(value: Any) -> tuple[int, ...]:
    """Shape of a value, () where it is no array; `checks.check_numbers` says so later, with all other problems."""
    try:
        return np.shape(value.value if isinstance(value, Parameter) else value)
    except ValueError:
        return ()


def _one_of(kind: str, name: str, **choices: Any) -> str:
    given = [key for key, value in choices.items() if value is not None]
    if len(given) != 1:
        wanted = ", ".join(choices)
        problem = Problem(
            "E110",
            f'{kind} "{name}" needs exactly one of {wanted}',
            (f"given: {', '.join(given) or 'none'}",),
            (caller_place(),),
            (f'{kind}("{name}", {next(iter(choices))}=...)',),
        )
        raise ModelError(name, [problem])
    return given[0]


def _only_with_formula(kind: str, name: str, how: str, formula: str, **given: Any) -> None:
    """Refuse arguments that belong to a formula of the user's own and would be ignored without one."""
    extra = [key for key, value in given.items() if value]
    if extra:
        problem = Problem(
            "E110",
            f'{kind} "{name}" has {how}, which leaves no use for {", ".join(extra)}',
            (f"{', '.join(extra)} belong to a formula of your own",),
            (caller_place(),),
            (f'{kind}("{name}", {formula}=...) with {", ".join(extra)}, or {how} alone',),
        )
        raise ModelError(name, [problem])


def _solve(matrix: Any, right: Any) -> Any:
    """matrix^-1 right for a scalar, a diagonal (n,) or a symmetric positive definite (n, n) matrix."""
    return solve_spd(matrix, right) if np.ndim(matrix) == 2 else right / matrix


def _times(matrix: Any, vector: Any) -> Any:
    return matrix @ vector if np.ndim(matrix) == 2 else matrix * vector


def _half_dot(a: Any, b: Any) -> Any:
    return a * b / 2 if np.ndim(a) == 0 else (a @ b) / 2


_BY_INVERSE = (
    Op("divide", lambda x, m: _solve(m, x), "#2^{-1}\\,#1"),
    Op("energy", lambda x, m: _half_dot(x, _solve(m, x)), "\\tfrac12 #1^T #2^{-1} #1"),
)
_BY_PRODUCT = (Op("multiply", lambda x, k: _times(k, x), "#2\\,#1"),
               Op("energy", lambda x, k: _half_dot(x, _times(k, x)), "\\tfrac12 #1^T #2\\,#1"))  # fmt: skip


def _initial(initial: Any, dimension: int | None) -> Any:
    try:
        start = np.asarray(initial, dtype=float)
    except (TypeError, ValueError):
        return initial
    if start.ndim == 0 and isinstance(dimension, int) and dimension > 1:
        return np.full(dimension, float(start))
    return start[()]


def C(
    name: str,
    capacitance: Any = None,
    *,
    stiffness: Any = None,
    output: Callable[..., Any] | None = None,
    energy: Callable[..., Any] | None = None,
    inverse: Callable[..., Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    signals: Sequence[str] = (),
    initial: Any = 0.0,
    nominal: Any = 1.0,
    dimension: int | None = None,
    domain: Domain | str | None = None,
    symbols: Mapping[str, str] | None = None,
    frame: str | None = None,
) -> Element:
    """C storage: its state q is the integral of the flow, its effort a function of q.

    Give `capacitance` (e = q / C), `stiffness` (e = K q, scalar or symmetric (n, n)), or `energy`(q, *parameters, *signals)
    in J, whose gradient is the effort; `output` gives that gradient as a formula of your own. Where something else sets
    its effort (derivative causality), such a C needs q = inverse(e, *parameters, *signals) as well.
    """
    dimension = dimension or _size(initial) or (None if stiffness is None else _size(stiffness))
    dimension = dimension or (None if capacitance is None else _size(capacitance))
    if output is None and energy is not None and capacitance is None and stiffness is None:
        output = gradient(as_op(energy, "energy"))
    how = _one_of("C", name, capacitance=capacitance, stiffness=stiffness, output=output)
    spec = StateSpec(_initial(initial, dimension), nominal)
    if how == "output":
        if energy is None:
            _one_of("C", name, energy=energy)
        assert output is not None and energy is not None
        back = as_op(inverse, "state") if inverse else None
        law = Storage("q", spec, as_op(output, "effort"), as_op(energy, "energy"), inverse=back)
        values = _parameters(parameters or {})
    else:
        _only_with_formula(
            "C", name, how, "output", energy=energy, inverse=inverse, parameters=parameters, signals=signals
        )
        ops, others = (_BY_INVERSE, _BY_PRODUCT) if how == "capacitance" else (_BY_PRODUCT, _BY_INVERSE)
        law = Storage("q", spec, *ops, inverse=others[0])
        values = _parameters({how: capacitance if how == "capacitance" else stiffness})
    port = Port("1", dimension, _domain(domain, name), frame)
    return Element(
        "C",
        name,
        law,
        (port,),
        values,
        tuple(signals),
        dict(symbols or {}),
        _domain(domain, name),
        frame,
        caller_place(),
    )


def I(  # noqa: E743 - the name of the element in the literature
    name: str,
    inertia: Any = None,
    *,
    output: Callable[..., Any] | None = None,
    energy: Callable[..., Any] | None = None,
    inverse: Callable[..., Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    signals: Sequence[str] = (),
    initial: Any = 0.0,
    nominal: Any = 1.0,
    dimension: int | None = None,
    domain: Domain | str | None = None,
    symbols: Mapping[str, str] | None = None,
    frame: str | None = None,
) -> Element:
    """I storage: its state p is the integral of the effort, its flow a function of p.

    Give `inertia` (f = p / I; a scalar, a diagonal (n,) or a symmetric positive definite (n, n) matrix), or
    `energy`(p, *parameters, *signals) in J, whose gradient is the flow; `output` gives that gradient as your own formula. Where
    something else sets its flow (derivative causality), such an I needs p = inverse(f, *parameters, *signals) as well.
    """
    dimension = dimension or _size(initial) or (None if inertia is None else _size(inertia))
    if output is None and energy is not None and inertia is None:
        output = gradient(as_op(energy, "energy"))
    how = _one_of("I", name, inertia=inertia, output=output)
    spec = StateSpec(_initial(initial, dimension), nominal)
    if how == "output":
        if energy is None:
            _one_of("I", name, energy=energy)
        assert output is not None and energy is not None
        back = as_op(inverse, "state") if inverse else None
        law = Storage("p", spec, as_op(output, "flow"), as_op(energy, "energy"), inverse=back)
        values = _parameters(parameters or {})
    else:
        _only_with_formula(
            "I", name, how, "output", energy=energy, inverse=inverse, parameters=parameters, signals=signals
        )
        law = Storage("p", spec, *_BY_INVERSE, inverse=_BY_PRODUCT[0])
        values = _parameters({"inertia": inertia})
    port = Port("1", dimension, _domain(domain, name), frame)
    return Element(
        "I",
        name,
        law,
        (port,),
        values,
        tuple(signals),
        dict(symbols or {}),
        _domain(domain, name),
        frame,
        caller_place(),
    )


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
            _one_of("R", name, resistance=resistance, conductance=conductance, effort=effort or flow)
        law = Resistor(as_op(effort, "effort") if effort else None, as_op(flow, "flow") if flow else None)
        values = _parameters(parameters or {})
    else:
        how = _one_of("R", name, resistance=resistance, conductance=conductance)
        _only_with_formula("R", name, how, "effort", parameters=parameters, signals=signals)
        by_product, by_inverse = _BY_PRODUCT[0], _BY_INVERSE[0]
        law = Resistor(by_product, by_inverse) if how == "resistance" else Resistor(by_inverse, by_product)
        values = _parameters({how: resistance if how == "resistance" else conductance})
        dimension = dimension or _size(next(iter(values.values())))
    port = Port("1", dimension, _domain(domain, name), frame)
    return Element(
        "R",
        name,
        law,
        (port,),
        values,
        tuple(signals),
        dict(symbols or {}),
        _domain(domain, name),
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
    law = IdealConstraint(as_op(position, "h") if position else None, StateSpec(_initial(initial, dimension)))
    values = _parameters({**(parameters or {}), "alpha1": alpha1, "alpha0": alpha0, "alpha2": alpha2})
    port = Port("1", dimension or _size(initial), _domain(domain, name), frame)
    return Element(
        "constraint",
        name,
        law,
        (port,),
        values,
        tuple(signals),
        dict(symbols or {}),
        _domain(domain, name),
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
        law, values = Source(as_op(value, variable)), _parameters(parameters or {})
    elif value is None:
        law, values = Source(zeros((dimension,) if dimension and dimension > 1 else ())), {}
    else:
        law, values = Source(Op("value", lambda v: v, "#1")), _parameters({"value": value})
        dimension = dimension or _size(value)
    port = Port("1", dimension, _domain(domain, name), frame)
    return Element(
        kind,
        name,
        law,
        (port,),
        values,
        tuple(signals),
        dict(symbols or {}),
        _domain(domain, name),
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


def _two_port(
    kind: str,
    name: str,
    law: Law,
    values: Mapping[str, Parameter],
    signals: Sequence[str],
    dimensions: tuple[int | None, int | None],
    domains: tuple[Domain | str | None, Domain | str | None],
    frames: tuple[str | None, str | None],
    symbols: Mapping[str, str] | None,
) -> Element:
    ports = tuple(
        Port(label, dimension, _domain(domain, name), frame)
        for label, dimension, domain, frame in zip("12", dimensions, domains, frames, strict=True)
    )
    return Element(kind, name, law, ports, values, tuple(signals), dict(symbols or {}), None, None, caller_place())


def _ratio_shape(kind: str, name: str, ratio: Any, most: int, fits: str) -> tuple[int, ...]:
    """Shape of a ratio; E128 where it has more axes than the element can use, or none of a length."""
    shape = _shape(ratio)
    if len(shape) > most or 0 in shape or (kind == "GY" and len(shape) == 1):
        problem = Problem(
            "E128",
            f'{kind} "{name}": ratio has shape {shape}',
            (f"shapes that fit: {fits}",),
            (caller_place(),),
            ("a ratio of a fitting shape",),
        )
        raise ModelError(name, [problem])
    return shape


_GIVEN = Op("ratio", lambda n: n, "#1")


def TF(
    name: str,
    ratio: Any,
    *,
    structural: bool = False,
    domains: tuple[Domain | str | None, Domain | str | None] = (None, None),
    frames: tuple[str | None, str | None] = (None, None),
    symbols: Mapping[str, str] | None = None,
) -> Element:
    """Transformer, power from port 1 to port 2: f2 = N f1, e1 = N^T e2.

    `ratio` is a scalar, a row (n1,) or a matrix (n2, n1). With `structural` its numbers belong to the equations
    (a selection of components, say) and are no run-time parameter.
    """
    shape = _ratio_shape("TF", name, ratio, 2, "(), (n1,) and (n2, n1)")
    dimensions = (None, None) if shape == () else (shape[0], 1) if len(shape) == 1 else (shape[1], shape[0])
    if structural:
        from bondgraph.ops import constant

        law = Transformer(constant(ratio.value if isinstance(ratio, Parameter) else ratio), shape == ())
        return _two_port("TF", name, law, {}, (), dimensions, domains, frames, symbols)
    law = Transformer(_GIVEN, shape == ())
    return _two_port("TF", name, law, _parameters({"ratio": ratio}), (), dimensions, domains, frames, symbols)


def MTF(
    name: str,
    matrix: Callable[..., Any],
    *,
    signals: Sequence[str],
    parameters: Mapping[str, Any] | None = None,
    dimensions: tuple[int | None, int | None] = (None, None),
    domains: tuple[Domain | str | None, Domain | str | None] = (None, None),
    frames: tuple[str | None, str | None] = (None, None),
    symbols: Mapping[str, str] | None = None,
) -> Element:
    """Modulated transformer: f2 = N f1, e1 = N^T e2 with N = matrix(*parameters, *signals)."""
    law = Transformer(as_op(matrix, "N"), dimensions in ((1, 1), (None, None)))
    return _two_port("MTF", name, law, _parameters(parameters or {}), signals, dimensions, domains, frames, symbols)


def GY(
    name: str,
    ratio: Any,
    *,
    domains: tuple[Domain | str | None, Domain | str | None] = (None, None),
    symbols: Mapping[str, str] | None = None,
) -> Element:
    """Gyrator, power from port 1 to port 2: e1 = r f2, e2 = r^T f1; `ratio` is a scalar or a matrix (n1, n2)."""
    shape = _ratio_shape("GY", name, ratio, 2, "() and (n1, n2)")
    dimensions = (None, None) if shape == () else (shape[0], shape[1])
    law = Gyrator(_GIVEN, shape == ())
    return _two_port("GY", name, law, _parameters({"ratio": ratio}), (), dimensions, domains, (None, None), symbols)


def MGY(
    name: str,
    matrix: Callable[..., Any],
    *,
    signals: Sequence[str],
    parameters: Mapping[str, Any] | None = None,
    dimensions: tuple[int | None, int | None] = (None, None),
    domains: tuple[Domain | str | None, Domain | str | None] = (None, None),
    symbols: Mapping[str, str] | None = None,
) -> Element:
    """Modulated gyrator: e1 = r f2, e2 = r^T f1 with r = matrix(*parameters, *signals)."""
    law = Gyrator(as_op(matrix, "r"), dimensions in ((1, 1), (None, None)))
    return _two_port(
        "MGY", name, law, _parameters(parameters or {}), signals, dimensions, domains, (None, None), symbols
    )


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
    port = Port("1", dimension, _domain(domain, name), frame)
    return Element(
        "MGY", name, law, (port,), _parameters(parameters or {}), tuple(signals), dict(symbols or {}), None, frame,
        caller_place(),
    )  # fmt: skip


def _junction(
    type_: int,
    name: str,
    automaton: str | None,
    active: Sequence[str],
    dimension: int | None,
    domain: Domain | str | None,
    symbols: Mapping[str, str] | None,
    frame: str | None,
) -> Element:
    law = Junction(type_, automaton, tuple(active))
    kind = ("X" if automaton else "") + str(type_)
    ports = (Port("any", dimension, _domain(domain, name), frame),)
    signals = (f"{automaton}.mode",) if automaton else ()
    return Element(
        kind, name, law, ports, {}, signals, dict(symbols or {}), _domain(domain, name), frame, caller_place()
    )


def J0(
    name: str,
    *,
    dimension: int | None = None,
    domain: Domain | str | None = None,
    symbols: Mapping[str, str] | None = None,
    frame: str | None = None,
) -> Element:
    """0-junction: one common effort, flows balance."""
    return _junction(0, name, None, (), dimension, domain, symbols, frame)


def J1(
    name: str,
    *,
    dimension: int | None = None,
    domain: Domain | str | None = None,
    symbols: Mapping[str, str] | None = None,
    frame: str | None = None,
) -> Element:
    """1-junction: one common flow, efforts balance."""
    return _junction(1, name, None, (), dimension, domain, symbols, frame)


def X0(
    name: str,
    *,
    automaton: str,
    active: Sequence[str],
    dimension: int | None = None,
    domain: Domain | str | None = None,
    symbols: Mapping[str, str] | None = None,
    frame: str | None = None,
) -> Element:
    """Switched 0-junction: a 0-junction while the automaton is in one of the `active` states; else every variable
    that it gives to a bond is zero, so no power passes."""
    return _junction(0, name, automaton, active, dimension, domain, symbols, frame)


def X1(
    name: str,
    *,
    automaton: str,
    active: Sequence[str],
    dimension: int | None = None,
    domain: Domain | str | None = None,
    symbols: Mapping[str, str] | None = None,
    frame: str | None = None,
) -> Element:
    """Switched 1-junction: a 1-junction while the automaton is in one of the `active` states; else every variable
    that it gives to a bond is zero, so no power passes."""
    return _junction(1, name, automaton, active, dimension, domain, symbols, frame)


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
        Equation((outs,) if isinstance(outs, str) else tuple(outs), as_op(op, _formula_name(op)), tuple(args))
        for outs, op, args in equations
    )
    inputs = inputs or {}
    law = SignalBlock(
        tuple(inputs), dict(states or {}), written, dict(rates or {}), dict(symbols or {}), dict(units or {})
    )
    return Element(
        "block", name, law, (), _parameters(parameters or {}), tuple(inputs.values()), dict(symbols or {}), None, None,
        caller_place(),
    )  # fmt: skip


def _formula_name(formula: Any) -> str:
    """The name of a function as the user gave it; a lambda has none."""
    name = getattr(formula, "__name__", "f")
    return "f" if name == "<lambda>" else str(name)
