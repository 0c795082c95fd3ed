"""Joint limits: events where a coordinate reaches a limit, and elastic stops that push back; springs at joints."""

from __future__ import annotations

from typing import Any

import numpy as np
from screwbond.models.chains.trees import Tree

from bondgraph import Automaton, Element, Graph, Op, Parameter, R, Transition
from bondgraph.errors import refusal
from screws.scalars import array, maximum

LIMIT_ACTIONS = ("report", "end", "stop", "ignore")

STATES = ("inside", "below", "above")


def beyond_limits(tree: Tree, q: Any) -> list[str]:
    lower, upper = tree.limits.T
    beyond = np.any((q < lower) | (q > upper), axis=tuple(range(np.ndim(q) - 1)))
    units = ["rad" if angle else "m" for angle in tree.is_angle]
    return [f"{tree.coordinates[k]} ({lower[k]:g} to {upper[k]:g} {units[k]})" for k in np.flatnonzero(beyond)]


def _excess(tree: Tree, q: Any) -> list[tuple[int, Any, float]]:
    excesses = []
    for k, (lower, upper) in enumerate(tree.limits):
        x = q[k] if np.ndim(q) else q
        if np.isfinite(lower):
            excesses.append((k, maximum(lower - x, 0.0), -1.0))
        if np.isfinite(upper):
            excesses.append((k, maximum(x - upper, 0.0), 1.0))
    return excesses


def energy(tree: Tree, q: Any, stiffness: Any) -> Any:
    springs = [_entry(stiffness, k) * (x * x) * 0.5 for k, x, _ in _excess(tree, q)]
    return sum(springs[1:], springs[0])


def force(tree: Tree, q: Any, stiffness: Any) -> np.ndarray:
    total: list[Any] = [0.0] * tree.freedoms
    for k, x, out in _excess(tree, q):
        total[k] = total[k] + out * (_entry(stiffness, k) * x)
    return array(total)


def spring_energy(q: Any, stiffness: Any, rest: np.ndarray) -> Any:
    springs = [0.5 * _entry(stiffness, k) * (_entry(q, k) - x) * (_entry(q, k) - x) for k, x in enumerate(rest)]
    return sum(springs[1:], springs[0])


def spring_force(q: Any, stiffness: Any, rest: np.ndarray) -> np.ndarray:
    return array([_entry(stiffness, k) * (_entry(q, k) - x) for k, x in enumerate(rest)])


def _entry(values: Any, k: int) -> Any:
    return values[k] if np.ndim(values) else values


def dissipation(tree: Tree, factor: float, unit: str) -> Element:
    """Return the R of the stops: the spring's force times `factor` times the velocity. On rebound it is at most the spring's
    force, so that a stop never pulls."""

    def effort(v: Any, factor: Any, q: Any, stiffness: Any) -> Any:
        total: list[Any] = [0.0] * tree.freedoms
        for k, x, out in _excess(tree, q):
            push = _entry(stiffness, k) * x
            speed = out * _entry(v, k)
            total[k] = total[k] + out * push * maximum(factor * speed, -1.0)
        return array(total) if np.ndim(v) else total[0]

    return R(
        "stops",
        effort=Op("stops", effort, "\\max(#2\\,#1, -1)\\,k\\,x(#3)"),
        parameters={"dissipation": Parameter(factor, unit)},
        signals=["mechanism.q", "mechanism.stop stiffness"],
        dimension=tree.freedoms,
        symbols={"dissipation": r"\chi"},
    )


def add_limit_events(graph: Graph, tree: Tree, *, ends: bool) -> None:
    watched = [k for k in range(tree.freedoms) if np.isfinite(tree.limits[k]).any()]
    names = [f"limits of {tree.coordinates[k]}" for k in watched]
    for name, k in zip(names, watched, strict=True):
        graph.add_automaton(_automaton(tree, name, k, ends))

    def start(q: Any) -> tuple[str, ...]:
        at = np.atleast_1d(np.asarray(q, dtype=float))
        if ends and (beyond := beyond_limits(tree, at)):
            cures = "a start within them: np.clip(q, *tree.limits.T)", 'limits="report"'
            raise refusal("E339", f'"{graph.name}" starts beyond the limits of {", ".join(beyond[:6])}', *cures, about=graph.name)
        lower, upper = tree.limits[:, 0], tree.limits[:, 1]
        return tuple("below" if at[k] < lower[k] else "above" if at[k] > upper[k] else "inside" for k in watched)

    graph.start(start, ["mechanism.q"], names)


def _automaton(tree: Tree, name: str, k: int, ends: bool) -> Automaton:
    coordinate, unit = tree.coordinates[k], "rad" if tree.is_angle[k] else "m"
    transitions = []
    for limit, side, which, sign in zip(tree.limits[k], STATES[1:], ("lower limit", "upper limit"), (-1.0, 1.0), strict=True):
        if not np.isfinite(limit):
            continue
        reason = f"{coordinate} reached its {which}, {limit:g} {unit}" if ends else None
        beyond, within = (_distance(k, float(limit), way) for way in (sign, -sign))
        transitions += [
            Transition("inside", side, beyond, ("mechanism.q",), kind=f"{which} of {coordinate} reached", error=reason),
            Transition(side, "inside", within, ("mechanism.q",), kind=f"{which} of {coordinate} left"),
        ]
    return Automaton(name, STATES, "inside", tuple(transitions))


def _distance(k: int, limit: float, sign: float) -> Op:
    joint, bound = f"#1_{{{k + 1}}}", f"{abs(limit):g}"
    beyond = f"{joint} {'-' if limit > 0 else '+'} {bound}" if sign > 0 else f"{'' if limit > 0 else '-'}{bound} - {joint}"
    return Op("limit", lambda q: sign * (_entry(q, k) - limit), beyond)
