"""One-port elements: storages C and I, resistors R, sources, ideal constraints, switches, diodes, and the Euler junction
structure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Never, Unpack

import numpy as np

from bondgraph.elements.binding import Signals, bound, paths_of
from bondgraph.elements.curves import Curve
from bondgraph.errors import ModelError, refusal
from bondgraph.model.arguments import (
    bounded,
    choice,
    in_unit,
    names_of,
    need_coefficient,
    need_domain,
    need_mapping,
    one_of,
    only_domain,
    only_with_formula,
    size_of,
    spelled_out,
    start_of,
    unit_of_start,
)
from bondgraph.model.automata import Automaton, Transition
from bondgraph.model.domains import COEFFICIENTS, Domain
from bondgraph.model.element import Element, OnePort, Port, one_port
from bondgraph.model.laws import (
    IdealConstraint,
    IdealSwitch,
    Parameter,
    Resistor,
    SkewGyrator,
    Source,
    StateSpec,
    Storage,
    Variable,
)
from bondgraph.model.mechanics import gradient
from bondgraph.model.ops import Op, as_op
from screws.linear import solve_spd


def _solve(matrix: Any, right: Any) -> Any:
    """Return matrix^-1 right for a scalar, a diagonal (n,) or a symmetric positive definite (n, n) matrix."""
    return solve_spd(matrix, right) if np.ndim(matrix) == 2 else right / matrix


def _times(matrix: Any, vector: Any) -> Any:
    return matrix @ vector if np.ndim(matrix) == 2 else matrix * vector


def _half_dot(a: Any, b: Any) -> Any:
    return a * b / 2 if np.ndim(a) == 0 else (a @ b) / 2


BY_INVERSE = (
    Op("divide", lambda x, m: _solve(m, x), "#2^{-1}\\,#1"),
    Op("energy", lambda x, m: _half_dot(x, _solve(m, x)), "\\tfrac12 #1^T #2^{-1} #1"),
)


BY_PRODUCT = (
    Op("multiply", lambda x, k: _times(k, x), "#2\\,#1"),
    Op("energy", lambda x, k: _half_dot(x, _times(k, x)), "\\tfrac12 #1^T #2\\,#1"),
)


@partial(spelled_out, law="resistance (effort = R flow), effort=lambda f: ... or flow=lambda e: ...")
def R(
    name: str,
    resistance: Any = None,
    *,
    damping: Any = None,
    conductance: Any = None,
    effort: Callable[..., Any] | None = None,
    flow: Callable[..., Any] | None = None,
    relation: Callable[..., Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    signals: Signals = (),
    passive: bool = False,
    guess: Mapping[str, Any] | None = None,
    heat: bool = False,
    **port: Unpack[OnePort],
) -> Element:
    """Return an R dissipator: e = R f (`resistance`, in mechanics `damping`), f = G e (`conductance`), or a user's relation
    `effort`(f, *parameters, *signals) and / or its inverse `flow`(e, *parameters, *signals), or, if neither can be written,
    `relation`(e, f, *parameters, *signals) = 0, which Newton iteration solves for the unknowns.

    A relation that is declared `passive` is tested at many values when the model is checked, and refused if it delivers power,
    reads signals, or is a `relation` of several components.
    `guess`, {"effort": 72.0} or {"flow": 14.0}, picks the nearest of several solutions of an algebraic loop at the start.

    With `heat` it has a second port, `r.port("heat")`, out of which its power flows as heat (an RS): as the entropy flow
    power / temperature at a bond of the domain "thermal", or as the power itself at a pseudo-bond of the domain "heat". Signals:
    `<name>.heat.effort`, `<name>.heat.flow`. While the port is unconnected, the heat goes to the surroundings.

    Raises `ModelError` E110 unless one law is given, E563 for a keyword of another domain.
    """
    linear = {"resistance": resistance, "damping": damping, "conductance": conductance}
    formulas = {"effort": effort, "flow": flow, "relation": relation}
    if any(formula is not None for formula in formulas.values()):
        if relation is not None or any(value is not None for value in linear.values()):
            one_of("R", name, **linear, effort=effort or flow, relation=relation)
        if isinstance(effort, Curve):
            formulas["flow"] = flow or effort.inverse
        elif isinstance(flow, Curve):
            formulas["effort"] = flow.inverse
        ops = {
            word: as_op(bound(name, formula, 2 if word == "relation" else 1, parameters, signals), word)
            for word, formula in formulas.items()
            if formula is not None
        }
        law = Resistor(ops.get("effort"), ops.get("flow"), passive, relation=ops.get("relation"))
        values = parameters or {}
    else:
        word = one_of("R", name, **linear)
        law_word = COEFFICIENTS[word].makes
        need_coefficient("R", name, word, linear[word], f"{law_word}=lambda {'f' if law_word == 'effort' else 'e'}: ...")
        need_domain("R", name, word, port.get("domain"))
        only_with_formula("R", name, word, "effort", parameters=parameters, signals=signals)
        law = _BY_PRODUCT if COEFFICIENTS[word].makes == "effort" else _BY_INVERSE
        values = {word: linear[word]}
        port["dimension"] = _size(port.get("dimension"), values[word])
    element = one_port("R", name, law, values, paths_of(signals), **port)
    need_mapping("guess", guess, '"effort": 72.0')
    guessed = {key: in_unit(name, f"the guess of {key}", value, "") for key, value in (guess or {}).items()}
    return replace(element, guess=guessed, heat=heat) if guessed or heat else element


_BY_PRODUCT, _BY_INVERSE = (
    Resistor(BY_PRODUCT[0], BY_INVERSE[0], linear=True),
    Resistor(BY_INVERSE[0], BY_PRODUCT[0], linear=True),
)


@spelled_out
def Constraint(
    name: str,
    *,
    position: Callable[..., Any] | None = None,
    coordinates: Mapping[str, int] | Sequence[str] = (),
    holds: str = "position",
    signals: Signals = (),
    parameters: Mapping[str, Any] | None = None,
    alpha1: float = 10.0,
    alpha0: float = 25.0,
    alpha2: float = 0.0,
    automaton: str | None = None,
    active: Sequence[str] = (),
    closing: str = "impulse",
    restitution: float | None = None,
    measured: bool = False,
    initial: Any = 0.0,
    **port: Unpack[OnePort],
) -> Element:
    """Return an ideal constraint: the flow of its bond is held at zero by an effort that is a Lagrange multiplier (index
    reduction with Baumgarte stabilisation).

    The effort is such that h'' + alpha1 h' + alpha0 h + alpha2 h^3 = 0, with h' the flow and h its integral (a state that starts
    at `initial`) or `position`(*parameters, *coordinates, *signals): errors decay with the double pole -5 1/s by default. It
    models a source of zero flow between ports, a loop closure or a joint; unlike an Sf it never conflicts with an I.

    Parameters
    ----------
    coordinates : signals q_k whose rates are flows, with their dimensions, {"place.q": 2} (or names alone, each of dimension
        1). Each has a port ("1", "2" ... in their order), to be connected where q_k' is the flow; the compiler derives
        h' = sum of J_k q_k' and the efforts J_k^T lambda from the position, so that no MTF is needed. `dimension` is then the
        number of scalars of h.
    holds : "position", h = 0 (in a switched constraint h is a gap, measured even while the constraint is off), or "velocity":
        then there is no h, and the flow obeys f' = -alpha1 f (a clutch locks at any angle).
    automaton, active : a switched constraint is active while the automaton is in one of the `active` states; else its effort is
        zero.
    closing : "impulse": when the constraint becomes active, the flow jumps to zero and momentum is conserved (a plastic impact);
        "smooth": the flow decays by alpha1 and alpha0, without an impact.
    restitution : e of a `Transition` with `impact` on this constraint, which turns the flow f into -e f.
    measured : True if the rates of the signals of `position` include a drift correction, as for contact coordinates: then the
        derivative of the position is not compared with the flow, which remains h' (E170).

    Signals: `<name>.h`, `<name>.h'`, and `<name>.multiplier`, the effort in the direction of h.

    A position that reads signals must match your MTF: compilation compares h' with the flow (E170). Raises `ModelError` E110 for
    an unknown `holds` or `closing`, and for `coordinates` without `position`.

    Source: Baumgarte 1972; Bortoff 2018, (22) and (23); Bortoff 2020, (6) (the cubic term) and fig. 1 (the state machine).
    """
    choice("Constraint", name, holds=(holds, ("position", "velocity")), closing=(closing, ("impulse", "smooth")))
    if coordinates and position is None:
        title = f'Constraint "{name}" has coordinates, but no position'
        raise refusal("E110", title, "position=lambda q: ..., a function of the coordinates", about=name)
    dimensions = coordinates if isinstance(coordinates, Mapping) else dict.fromkeys(names_of(coordinates, "coordinates"), 1)
    dimension = port.get("dimension")
    read = (*dimensions, *paths_of(signals))
    named = {path: path for path in dimensions} | dict(signals) if isinstance(signals, Mapping) else read
    position = bound(name, position, 0, parameters, named)
    law = IdealConstraint(
        None if position is None else as_op(position, "h"),
        StateSpec(start_of(name, initial, dimension), unit=unit_of_start(initial)),
        automaton=automaton,
        active=names_of(active, "active"),
        impulsive=closing == "impulse",
        stores_position=holds == "position",
        coordinates=len(dimensions),
        conditions=dimension or 1,
        measured=bool(measured),
    )
    stabilisers = {"alpha1": alpha1, "alpha0": alpha0, "alpha2": alpha2} if holds == "position" else {"alpha1": alpha1}
    values = {**(parameters or {}), **{name: bounded(value) for name, value in stabilisers.items()}}
    if restitution is not None:
        values["restitution"] = bounded(restitution, max_value=1.0)
    port["dimension"] = _size(dimension, initial)
    element = one_port("constraint", name, law, values, read, **port)
    ports = tuple(Port(str(k), size, element.domain, element.frame) for k, size in enumerate(dimensions.values(), start=1))
    return replace(element, ports=ports) if ports else element


@spelled_out
def Se(
    name: str, effort: Any = None, *, parameters: Mapping[str, Any] | None = None, signals: Signals = (), **port: Unpack[OnePort]
) -> Element:
    """Return an effort source. Its `effort` is a number or array (a run-time parameter), or a function of parameters and
    signals, as in `Se("u", effort=lambda t: sin(2 * t), signals=["time"])`. None is a structural zero: a free degree of
    freedom. Raises `ModelError` E150 for an element as the effort."""
    return _source("Se", name, "effort", effort, parameters, signals, port)


@spelled_out
def Sf(
    name: str, flow: Any = None, *, parameters: Mapping[str, Any] | None = None, signals: Signals = (), **port: Unpack[OnePort]
) -> Element:
    """Return a flow source, the counterpart of `Se`. None is a structural zero: ground."""
    return _source("Sf", name, "flow", flow, parameters, signals, port)


_VALUE = Op("value", lambda v: v, "#1")


def _source(
    kind: str, name: str, gives: Variable, value: Any, parameters: Mapping[str, Any] | None, signals: Signals, port: OnePort
) -> Element:
    if callable(value):
        formula = bound(name, value, 0, parameters, signals)
        return one_port(kind, name, Source(gives, as_op(formula, gives)), parameters or {}, paths_of(signals), **port)
    if isinstance(value, Element):
        title, cure = (
            f'{kind} "{name}": {gives} is the element "{value.name}"',
            f'{kind}("{name}", lambda y: y, signals=["{value.name}.y"])',
        )
        raise refusal("E150", title, cure, about=name, why="a source reads the signal of a block by its path")
    if value is None:
        return one_port(kind, name, Source(gives), {}, paths_of(signals), **port)
    port["dimension"] = _size(port.get("dimension"), value)
    return one_port(kind, name, Source(gives, _VALUE), {"value": value}, paths_of(signals), **port)


def EulerJunction(
    name: str,
    matrix: Callable[..., Any],
    *,
    signals: Signals = (),
    dimension: int,
    parameters: Mapping[str, Any] | None = None,
    domain: Domain | str | None = None,
    symbols: Mapping[str, str] | None = None,
    frame: str | None = None,
) -> Element:
    """Return an MGY on one port: e = J f with J = matrix(*parameters, *signals) skew-symmetric, so that it absorbs no power."""
    law = SkewGyrator(as_op(bound(name, matrix, 0, parameters, signals), "J"))
    return one_port(
        "MGY", name, law, parameters or {}, paths_of(signals), dimension=dimension, domain=domain, symbols=symbols, frame=frame
    )


@partial(spelled_out, law="stiffness, capacitance or compliance, or energy=lambda q: ..., whose gradient is the effort")
def C(
    name: str,
    *ambiguous: Never,
    capacitance: Any = None,
    compliance: Any = None,
    stiffness: Any = None,
    elastance: Any = None,
    output: Callable[..., Any] | None = None,
    energy: Callable[..., Any] | None = None,
    inverse: Callable[..., Any] | None = None,
    charge: Callable[..., Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    signals: Signals = (),
    initial: Any = 0.0,
    nominal: Any = None,
    **port: Unpack[OnePort],
) -> Element:
    """Return a C storage: its state q is the integral of the flow, its effort a function of q.

    Give `capacitance` or `compliance` (e = q / C), `stiffness` or `elastance` (e = K q), a scalar, diagonal (n,) or symmetric
    (n, n), by its usual name, since a bare 50.0 would be ambiguous; or a formula: `energy`(q, *parameters, *signals) in J, whose
    gradient is the effort; `output`(q, ...), the effort, whose energy from q = 0 is found by quadrature unless `energy` gives it
    too; or `charge`(e, ...), the inverse law q(e), which Newton iteration solves for the effort. If something else sets the
    effort (derivative causality), Newton iteration from `initial` finds the q with this effort; q = `inverse`(e, *parameters,
    *signals), in addition to `output` or `energy`, saves this iteration.

    Raises `ModelError` E110 for no law, or for several that do not belong together as above; E562 for a number without its name;
    E563 for a keyword of another domain.
    """
    linear = {"capacitance": capacitance, "compliance": compliance, "stiffness": stiffness, "elastance": elastance}
    if ambiguous:
        raise _ambiguous(name, *ambiguous)
    formulas = {
        "output": output,
        "energy": energy,
        "inverse": inverse,
        "charge": charge,
        "parameters": parameters,
        "signals": signals,
    }
    return _storage("C", name, ("effort", "q"), linear, formulas, (initial, nominal), port)


@partial(spelled_out, law="inertia or mass, or energy=lambda p: ..., whose gradient is the flow")
def I(  # noqa: E743 - the name of the element in the literature
    name: str,
    inertia: Any = None,
    *,
    mass: Any = None,
    inductance: Any = None,
    inertance: Any = None,
    output: Callable[..., Any] | None = None,
    energy: Callable[..., Any] | None = None,
    inverse: Callable[..., Any] | None = None,
    flux: Callable[..., Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    signals: Signals = (),
    initial: Any = 0.0,
    nominal: Any = None,
    **port: Unpack[OnePort],
) -> Element:
    """Return an I storage: its state p is the integral of the effort, its flow a function of p.

    Give `inertia`, or `mass`, `inductance` or `inertance`, which imply the domain (f = p / I; a scalar, a diagonal (n,) or a
    symmetric positive definite (n, n) matrix), or a formula: `energy`(p, *parameters, *signals) in J, whose gradient is the flow;
    `output`(p, ...), the flow, with the energy by quadrature as for a C; or `flux`(f, ...), the inverse law p(f). If
    something else sets the flow (derivative causality), p = `inverse`(f, *parameters, *signals) saves the Newton iteration, as
    for a C.

    Raises `ModelError` E110 and E563 as for a C.
    """
    linear = {"inertia": inertia, "mass": mass, "inductance": inductance, "inertance": inertance}
    formulas = {
        "output": output,
        "energy": energy,
        "inverse": inverse,
        "flux": flux,
        "parameters": parameters,
        "signals": signals,
    }
    return _storage("I", name, ("flow", "p"), linear, formulas, (initial, nominal), port)


def _size(dimension: int | None, *values: Any) -> int | None:
    return next(filter(None, map(size_of, values)), None) if dimension is None else dimension


def _storage(
    kind: str,
    name: str,
    stored: tuple[Variable, str],
    linear: Mapping[str, Any],
    formulas: Mapping[str, Any],
    start: tuple[Any, Any],
    port: OnePort,
) -> Element:
    initial, nominal = start
    size = port["dimension"] = _size(port.get("dimension"), initial, *linear.values())
    port["domain"] = port.get("domain") or only_domain(linear)
    unit = unit_of_start(initial)  # K of a start value in degC, which the check of units refuses
    start_in_si = in_unit(name, "its start value", initial, unit)
    state = (*stored, StateSpec(start_of(name, start_in_si, size), nominal, unit))
    law, values = _law(kind, name, state, formulas, port.get("domain"), linear)
    return one_port(kind, name, law, values, paths_of(formulas["signals"]), **port)


def _law(
    kind: str,
    name: str,
    stored: tuple[Variable, str, StateSpec],
    formulas: Mapping[str, Any],
    domain: Domain | str | None,
    linear: Mapping[str, Any],
) -> tuple[Storage, Mapping[str, Any]]:
    by_output = "charge" if kind == "C" else "flux"
    values, signals = formulas["parameters"], formulas["signals"]
    output, energy, inverse, state = (
        None if (formula := bound(name, formulas[each], 1, values, signals)) is None else as_op(formula, word)
        for each, word in (("output", stored[0]), ("energy", "energy"), ("inverse", "state"), (by_output, by_output))
    )
    curve = formulas["output"]
    if isinstance(curve, Curve):
        energy = energy or as_op(curve.integral(), "energy")
        inverse = inverse or (None if curve.inverse is None else as_op(curve.inverse, "state"))
    of_state = {"output": output} if output is not None else {"energy": energy, "output": None}
    laws = {**linear, **of_state, by_output: state}
    if inverse is not None and all(law is None for law in laws.values()):
        raise _inverse_alone(kind, name, stored, by_output)
    word = one_of(kind, name, **laws)
    companions = ("energy", "inverse") if word == by_output else ("parameters", "signals", "energy", "inverse")
    if word not in of_state:
        only_with_formula(kind, name, word, "output", **{each: formulas[each] for each in companions})
    if word in linear:
        need_coefficient(kind, name, word, linear[word], f"output=lambda {stored[1]}: ...")
        need_domain(kind, name, word, domain)
        ops, others = (BY_PRODUCT, BY_INVERSE) if COEFFICIENTS[word].makes == stored[0] else (BY_INVERSE, BY_PRODUCT)
        return Storage(*stored, *ops, inverse=others[0], linear=True), {word: linear[word]}
    if word == by_output:
        return Storage(*stored, None, None, inverse=state), values or {}
    by_gradient = output is None and energy is not None
    gives = gradient(energy) if output is None and energy is not None else output
    return Storage(*stored, gives, energy, inverse=inverse, by_gradient=by_gradient), values or {}


def _inverse_alone(kind: str, name: str, stored: tuple[Variable, str, StateSpec], by_output: str) -> ModelError:
    gives, state, _ = stored
    title = f'{kind} "{name}" has inverse({gives[0]}), the {state} of its {gives}, but no law to be inverted'
    why = f"inverse supplements output({state}) or energy({state}); it is used if something else sets the {gives}"
    cures = (f'{kind}("{name}", {by_output}=lambda {gives[0]}: ...) if the {gives} is to be solved for', "output= as well")
    return refusal("E110", title, *cures, about=name, why=why)


def _ambiguous(name: str, *numbers: Any) -> ModelError:
    shown, *more = (
        f'Parameter({each.value!r}, "{each.unit}")' if isinstance(each, Parameter) else repr(each) for each in numbers
    )
    arguments = ", ".join((shown, *more))
    title = (
        f'C("{name}", {arguments}) is ambiguous: a stiffness, e = K q, or its inverse, a capacitance or compliance, e = q / C?'
    )
    cures = (f'C("{name}", {word}={shown})' for word in ("stiffness", "compliance", "capacitance"))
    return refusal("E562", title, *cures, about=name)


def Switch(
    name: str,
    *,
    automaton: str,
    closed: Sequence[str],
    alpha1: float = 10.0,
    heat: bool = False,
    domain: Domain | str | None = None,
    symbols: Mapping[str, str] | None = None,
) -> Element:
    """Return an ideal switch: its effort is zero while the automaton is in one of the `closed` states, else its flow is zero.

    When it closes on charged capacitors or opens on a current, an impulse redistributes charge or flux, which are conserved, and
    the energy ledger records the energy as lost. Rounding errors decay with `alpha1`, 1/s.

    With `heat` it has a port "heat", as on an `R`. An ideal switch absorbs no power: only rounding errors leave through the heat
    port, not the energy lost in an impulse. Model the heat of a real switch by an R in series.
    """
    law = IdealSwitch(automaton, active=names_of(closed, "closed"))
    element = one_port("Sw", name, law, {"alpha1": bounded(alpha1)}, dimension=1, domain=domain, symbols=symbols)
    return replace(element, heat=heat) if heat else element


def Diode(
    name: str,
    *,
    initial: str = "open",
    alpha1: float = 10.0,
    heat: bool = False,
    domain: Domain | str | None = None,
    symbols: Mapping[str, str] | None = None,
) -> Element:
    """Return an ideal diode: it conducts flow into the element without effort, and blocks flow out of it.

    Positive power flows into the element, as for any one-port, whichever way the half arrow of its bond points. At a 1-junction
    the diode conducts along the half arrow if the arrow points to the diode; reversing the arrow reverses the diode. At a
    0-junction it conducts from the node to ground. A diode that feeds a node needs its own 1-junction, `j = J1("j")`: `connect(j,
    d).connect(j, node)` conducts from ground into the node.

    Its automaton has its name and the states "open" and "closed"; it opens as the flow falls through zero and closes as the
    effort rises through zero. Signals: `<name>.mode`, `<name>.inflow` (the flow into it; the negative of the bond's if the arrow
    points away). `heat` as for `Switch`.
    """
    closes = Transition("open", "closed", Op("e", lambda e: e, "#1"), (f"{name}.effort",), kind=f"{name} closes")
    opens = Transition("closed", "open", Op("-f", lambda f: -f, "-#1"), (f"{name}.inflow",), kind=f"{name} opens")
    law = IdealSwitch(name, active=("closed",))
    element = one_port("Diode", name, law, {"alpha1": bounded(alpha1)}, dimension=1, domain=domain, symbols=symbols)
    return replace(element, automaton=Automaton(name, ("open", "closed"), initial, (closes, opens)), heat=heat)
