"""Dry (Coulomb) friction with an exact stick state, along one direction or in a plane."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bondgraph.elements.binding import Signals, bound, paths_of
from bondgraph.errors import refusal
from bondgraph.model.arguments import bounded
from bondgraph.model.automata import Automaton, Transition
from bondgraph.model.domains import Domain
from bondgraph.model.element import Element, one_port
from bondgraph.model.laws import IdealConstraint, StateSpec
from bondgraph.model.ops import Op, constant
from screws.scalars import array, equal, less, maximum, minimum, sqrt, where

STICK, FORWARD, BACKWARD, SLIP, START = "stick", "forward", "backward", "slip", "start"
"""States of friction: common to both kinds, along one direction, and in several directions."""
SLIDING = (FORWARD, BACKWARD, SLIP, START)

_LETTERS = {"limit": r"e_{\mathrm{C}}", "stick_limit": r"e_{\mathrm{S}}", "viscous": "b"}


def Friction(
    name: str,
    limit: Any,
    *,
    stick_limit: Any = None,
    viscous: float = 0.0,
    scale: Callable[..., Any] | None = None,
    backward: Callable[..., Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    signals: Signals = (),
    dimension: int = 1,
    initial: str = STICK,
    alpha1: float = 10.0,
    heat: bool = False,
    domain: Domain | str | None = None,
    symbols: Mapping[str, str] | None = None,
    frame: str | None = None,
) -> Element:
    """Return dry (Coulomb) friction with an exact stick state: it sticks, with zero flow, while the effort needed to hold it is
    below `stick_limit` (by default `limit`); otherwise it slips with the effort `limit` + `viscous` |f| against the flow.

    At a dead centre no effort can hold the flow: the friction effort reverses there, without an impulse.

    Its automaton has its name and the states "stick", "forward" and "backward"; it starts slipping if its parts move relative to
    each other. `scale`(*parameters, *signals) multiplies both limits, for example the normal force if the limits are coefficients
    of friction; a run ends when it becomes negative. `backward` is the scale of negative efforts, if it differs. Both may be
    piecewise linear in variables that the friction itself affects, as in a gear whose loss follows its load.

    With a `dimension` of 2 (or more) it acts in all directions of a plane: limits apply to the size of the effort (a cone, if the
    normal force scales them), which opposes the flow during slip. Then the states are "stick", "start" (the first 1e-6 /
    `alpha1` seconds of slip) and "slip"; the signal `<name>.heading` is the last recorded direction of slip.

    If its effort has no influence on its flow, as with an Sf that commands the flow, it cannot hold the flow: it slips in the
    direction of the flow, and leaves "stick" as the flow leaves zero. While the commanded flow is zero, any effort below the
    limit is possible; the result is zero, marked as indeterminate. In series with a spring, with no inertia between them, it
    sticks while the spring's effort is below `stick_limit`; then it slides instantaneously until that effort equals the slip
    effort (Prandtl, Jenkin). In several directions it needs an inertia there.

    If the scale is the multiplier of an ideal constraint, the normal force depends on the friction that it causes. A run ends
    (E324) if their equation has no solution or several (Painleve); in a collision, friction contributes to the impulse.

    Parameters
    ----------
    limit, stick_limit : effort during slip, and effort at which slip begins (with `scale`: per unit of it), both non-negative,
        the second no less than the first.
    viscous : additional effort per flow, non-negative.
    initial : state at the start.
    alpha1 : rate, 1/s, at which a remaining flow decays while it sticks.
    scale, backward : formulas of the parameters, then the signals, or of arguments with their names; `backward` equals `scale` by
        default, and is for one dimension only.
    heat : True for a port "heat" as on an `R`, out of which its power flows as heat; the energy of an impulse is recorded as
        lost, and does not become heat.

    Raises `ModelError` E161 for an invalid `dimension`, or for `backward` in several directions.

    Source: Coulomb 1785; state machine as in Karnopp 1985; in a plane Moreau 1988.
    """
    if isinstance(dimension, bool) or not isinstance(dimension, int) or dimension < 1:
        title, why = f'friction "{name}" needs a positive whole number of directions', f"dimension = {dimension!r}"
        raise refusal("E161", title, f'Friction("{name}", ..., dimension=2)', about=name, why=why)
    if backward is not None and dimension > 1:
        title, why = f'friction "{name}" in {dimension} directions cannot have `backward`', "one scale applies in all directions"
        raise refusal("E161", title, f'Friction("{name}", ..., scale=...)', about=name, why=why)
    paths = paths_of(signals)
    size: Callable[..., Any] = bound(name, scale, 0, parameters, signals) or (lambda *_: 1.0)
    other: Callable[..., Any] = bound(name, backward, 0, parameters, signals) or size
    values = {
        "limit": bounded(limit),
        "stick_limit": bounded(limit if stick_limit is None else stick_limit, not_below="limit"),
        "viscous": bounded(viscous),
        **(parameters or {}),
        "alpha1": bounded(alpha1),
    }
    read = (*(f"{name}.{word}" for word in parameters or {}), *paths)
    states, slip, edges = _along_a_line(name, size, other, read) if dimension == 1 else _in_a_plane(name, size, read)
    for formula in (size,) * (scale is not None) + (other,) * (backward is not None):
        negative, kind = Op("-scale", lambda *arguments, f=formula: -f(*arguments)), f"{name} has a negative scale"
        wrong = (
            f'the scale of friction "{name}" is negative, so friction would drive motion; a compressive normal force is positive'
        )
        edges += [Transition(state, state, negative, read, kind=kind, error=wrong) for state in states]
    law = IdealConstraint(
        None,
        StateSpec(np.zeros(() if dimension == 1 else dimension)),
        Op("friction", slip),
        stores_position=False,
        noted=_stored_specs(dimension),
        automaton=name,
        active=(STICK,),
    )
    letters = {**_LETTERS, **({} if dimension == 1 else {"heading": "u"}), **(symbols or {})}
    element = one_port("friction", name, law, values, paths, dimension=dimension, domain=domain, symbols=letters, frame=frame)
    return replace(element, automaton=Automaton(name, states, initial, tuple(edges)), heat=heat)


def with_commanded_law(element: Element, automaton: Automaton) -> tuple[Element, Automaton]:
    """Return dry friction, and its automaton, for an effort that has no influence on the flow, as when a source sets the flow.

    Friction then cannot hold the flow. It leaves "stick" as the flow leaves zero; while the flow is zero, any effort below the
    limit is possible, and zero is chosen.
    """
    law, path = element.law_as(IdealConstraint), element.name
    assert law.released is not None
    slip, stick = law.released, float(automaton.states.index(STICK))

    def slipping(mode: Any, *arguments: Any) -> Any:
        effort = slip(mode, *arguments)
        if np.ndim(effort) == 0:
            return where(equal(mode, stick), 0.0, effort)
        return array([where(equal(mode, stick), 0.0, part) for part in effort])

    flow, rate, heading, alpha1 = f"{path}.h'", f"{path}.h''", f"{path}.heading", f"{path}.alpha1"
    began = (heading, Op("direction", _direction_soon), (flow, rate, heading, alpha1))
    guards = {
        FORWARD: (Op("f", lambda f: f, "#1"), ()),
        BACKWARD: (Op("-f", lambda f: -f, "-#1"), ()),
        START: (Op("|f|", length), (began,)),
    }
    edges = []
    for edge in automaton.transitions:
        if edge.source == STICK and edge.target in guards:
            guard, directed = guards[edge.target]
            kept = tuple(reset for reset in edge.resets if reset[0] != heading)
            edge = replace(edge, guard=guard, signals=(flow,), resets=(*directed, *kept))
        edges.append(edge)
    law = replace(law, active=(), released=Op("friction", slipping), impulsive=False)
    return replace(element, law=law), replace(automaton, transitions=tuple(edges))


def with_flow_law(element: Element, automaton: Automaton) -> tuple[Element, Automaton]:
    """Return dry friction along a line, whose flow follows from the effort of springs, and its automaton.

    When the slider comes to rest, the effort is at the limit, up to the error of the run. The state `beyond` stores the excess
    over the limit, so that the slider slips again only when the effort rises further.
    """
    law, path = element.law_as(IdealConstraint), element.name
    assert law.released is not None
    slip, beyond = law.released, f"{path}.beyond"

    def excess(guard: Any) -> Op:
        return Op(guard.name, lambda over, *arguments: guard(*arguments) - over)

    def slipping(mode: Any, flow: Any, _: Any, *arguments: Any) -> Any:
        return slip(mode, flow, *arguments)

    edges, leaving = [], [e for e in automaton.transitions if e.source == STICK and e.target in (FORWARD, BACKWARD)]
    for edge in automaton.transitions:
        if edge in leaving:
            edge = replace(edge, guard=excess(edge.guard), signals=(beyond, *edge.signals))
        elif edge.target == STICK and edge.source != STICK:
            guard = next(other.guard for other in leaving if other.target == edge.source)
            over = Op("beyond", lambda *arguments, guard=guard: maximum(guard(*arguments), 0.0))
            edge = replace(edge, resets=((beyond, over, leaving[0].signals),))
        edges.append(edge)
    noted = {"beyond": StateSpec(0.0)}
    law = replace(law, active=(FORWARD, BACKWARD), released=Op("friction", slipping), noted=noted)
    return replace(element, law=law), replace(automaton, transitions=tuple(edges))


def _direction_soon(flow: Any, rate: Any, heading: Any, alpha1: Any) -> Any:
    return direction([f + r * _FIRST / alpha1 for f, r in zip(flow, rate, strict=True)], heading)


def _stored_specs(dimension: int) -> dict[str, StateSpec]:
    if dimension == 1:
        return {}
    return {"heading": StateSpec(np.eye(dimension)[0]), "pace": StateSpec(0.0), "began": StateSpec(0.0, unit="s")}


_Parts = tuple[tuple[str, ...], Callable[..., Any], list[Transition]]


def _along_a_line(name: str, size: Callable[..., Any], other: Callable[..., Any], signals: tuple[str, ...]) -> _Parts:
    """Return friction along a line: the mode is the direction of slip, so that the effort does not jump at a zero crossing of the
    flow. `size` and `other` return the scales of the limits for positive and negative efforts."""

    def slip(mode: Any, flow: Any, limit: Any, _: Any, viscous: Any, *arguments: Any) -> Any:
        if other is size:
            return where(equal(mode, 1.0), 1.0, -1.0) * limit * size(*arguments) + viscous * flow
        return where(equal(mode, 1.0), size(*arguments), -other(*arguments)) * limit + viscous * flow

    def exceeds(sign: float) -> Callable[..., Any]:
        largest = size if sign > 0.0 else other
        return lambda effort, most, *arguments: sign * effort - most * largest(*arguments)

    limits = (f"{name}.effort", f"{name}.stick_limit", *signals)
    edges = [
        Transition(STICK, FORWARD, Op("e - limit", exceeds(1.0)), limits, kind=f"{name} slips"),
        Transition(STICK, BACKWARD, Op("-e - limit", exceeds(-1.0)), limits, kind=f"{name} slips back"),
        Transition(FORWARD, STICK, Op("-f", lambda f: -f, "-#1"), (f"{name}.h'",), kind=f"{name} sticks", passes=BACKWARD),
        Transition(BACKWARD, STICK, Op("f", lambda f: f, "#1"), (f"{name}.h'",), kind=f"{name} sticks", passes=FORWARD),
    ]
    return (STICK, FORWARD, BACKWARD), slip, edges


def _in_a_plane(name: str, size: Callable[..., Any], signals: tuple[str, ...]) -> _Parts:
    """Return friction in a plane, whose effort keeps the direction `heading` as the flow passes through or near zero.

    The slider has come to rest when the flow's component along the heading falls to zero. `pace` is the highest speed stored; a
    flow far below it counts as small.
    """

    def slip(mode: Any, flow: Any, heading: Any, pace: Any, *others: Any) -> Any:
        _began, limit, _most, viscous, *arguments = others
        strength, along = limit * size(*arguments), _sliding(flow, heading, pace)
        at_first = equal(mode, 2.0)
        return array([strength * where(at_first, u, v) + viscous * f for u, v, f in zip(heading, along, flow, strict=True)])

    def exceeds(effort: Any, most: Any, *arguments: Any) -> Any:
        return length(effort) - most * size(*arguments)

    heading, pace, began = f"{name}.heading", f"{name}.pace", f"{name}.began"
    limits, flow = (f"{name}.effort", f"{name}.stick_limit", *signals), f"{name}.h'"
    driven = (heading, Op("direction", direction), (f"{name}.effort", heading)), (began, Op("time", lambda t: t, "#1"), ("time",))
    stored = (heading, Op("direction", direction), (flow, heading)), (pace, Op("faster", _faster), (flow, pace))
    started = ((pace, Op("pace", _gained), (flow, f"{name}.h''", f"{name}.alpha1")),)
    has_started = Op("t - began", lambda t, t0, alpha1: (t - t0) * alpha1 - _FIRST), ("time", began, f"{name}.alpha1")
    falls = Op("-f . u", lambda f, u: -_dot(f, u), r"-#1^\top #2")
    beyond = ((heading, Op("direction", lambda a, u: direction(a, -u)), (f"{name}.h''", heading)),)
    edges = [
        *(Transition(state, state, constant(-1.0), (), beyond, f"{name} changes direction") for state in (START, SLIP)),
        Transition(STICK, START, Op("|e| - limit", exceeds), limits, driven, f"{name} slips"),
        Transition(START, SLIP, *has_started, started, f"{name} has started", internal=True),
        Transition(START, STICK, falls, (flow, heading), kind=f"{name} sticks", passes=START),
        Transition(SLIP, STICK, falls, (flow, heading), kind=f"{name} sticks", passes=SLIP),
        Transition(SLIP, SLIP, Op("turned", _turned), (flow, heading, pace), stored, f"{name} turns", internal=True),
        Transition(SLIP, SLIP, Op("slows", _slows), (flow, f"{name}.h''", pace), stored, f"{name} slows down", internal=True),
    ]
    return (STICK, SLIP, START), slip, edges


_FIRST, _NO_FLOW = 1e-6, 1e-300
_STILL = 1e-8
"""Fraction of `pace` below which a flow takes the direction of `heading`; smaller than the accuracy of a run."""


def _sliding(flow: Any, heading: Any, pace: Any) -> Any:
    """Return the direction of the friction effort: the direction of the flow, or `heading` if the flow has passed through zero or
    is small relative to `pace`, so that the direction neither reverses within a step nor follows rounding errors."""
    still, forward = _STILL * pace, less(0.0, _dot(flow, heading))
    ahead = still * still / (length(flow) + still + _NO_FLOW)
    return direction([where(forward, f + ahead * u, u) for f, u in zip(flow, heading, strict=True)], heading)


def _turned(flow: Any, heading: Any, pace: Any) -> Any:
    """Return a guard that is positive while the angle between a flow that is not small and the heading is 60 to 120 degrees."""
    return _dot(flow, flow) - 4.0 * _dot(flow, heading) ** 2 - (_STILL * pace) ** 2


def _slows(flow: Any, rate: Any, pace: Any) -> Any:
    """Return a guard that is positive while the flow exceeds twice the pace and decreases."""
    return minimum(_dot(flow, flow) - 4.0 * pace * pace, -_dot(flow, rate))


def _gained(flow: Any, rate: Any, alpha1: Any) -> Any:
    return length(flow) + length(rate) / alpha1


def _faster(flow: Any, pace: Any) -> Any:
    return maximum(length(flow), pace)


def _dot(a: Any, b: Any) -> Any:
    return sum(p * q for p, q in zip(a, b, strict=True))


def length(v: Any) -> Any:
    """Return the length of a vector (n,), with the derivative zero at zero."""
    squared = _dot(v, v)
    return where(less(0.0, squared), sqrt(where(less(0.0, squared), squared, 1.0)), 0.0)


def direction(v: Any, near: Any) -> Any:
    squared = _dot(v, v)
    size = sqrt(where(less(0.0, squared), squared, 1.0))
    return array([where(less(0.0, squared), part / size, u) for part, u in zip(v, near, strict=True)])
