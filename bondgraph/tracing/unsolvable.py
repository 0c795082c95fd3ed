"""Implicit equations without a unique solution, in words: which elements, why, and what to try."""

from __future__ import annotations

from bondgraph.equations.system import System
from bondgraph.errors import Problem
from bondgraph.graph.laws import Junction
from bondgraph.graph.model import Model
from bondgraph.passes.rings import elements_at, named
from bondgraph.tracing.implicit import Unsolvable, Untraceable


def untraceable(stuck: Untraceable, model: Model) -> Problem:
    """The problem of a formula that cannot be recorded (E129), with its element."""
    path = stuck.statement.element
    element = model.elements.get(path)
    return Problem(
        "E129",
        f'the formula of {element.kind if element else "automaton"} "{path}" cannot be compiled',
        (f"{type(stuck.error).__name__}: {stuck.error}",),
        (element.place if element else None,),
        ("sin, exp, where, less ... of screws.scalars in place of math, NumPy's functions and `if`",),
    )


def unsolvable(stuck: Unsolvable, system: System, model: Model) -> Problem:
    """The problem of an algebraic loop (E205 not linear, E206 singular), of a derivative of what depends on the unknowns
    themselves (E207), of redundant constraints and dependent storages (E208), of
    the derivative of what jumps (E209), or of a mode without a solution (E212)."""
    if stuck.modes:
        return _in_mode(stuck, model)
    if stuck.loop is not None:
        return _of_loop(stuck, system, model)
    owners = elements_at(model, [unknown.element for unknown in stuck.unknowns])
    if stuck.reason == "nonlinear":
        return Problem(
            "E205",
            "unknown efforts or flows in a relation that is not linear",
            (f"unknown is what these give: {named(owners)}",),
            tuple(e.place for e in owners),
            ("a C or I (a little compliance or inertia) that decides them",),
        )
    if stuck.reason == "index":
        elements = elements_at(model, stuck.suspects)
        needed = ", ".join(f"the {'flow' if e.kind == 'I' else 'effort'} at {named([e])}" for e in elements)
        return Problem(
            "E207",
            "a derivative is needed of what is unknown itself",
            (f"{needed} must be differentiated, and depends on what these give: {named(owners)}",),
            tuple(e.place for e in dict.fromkeys([*elements, *owners])),
            (
                "an R between them by its other relation (effort= in place of flow=, or both)",
                "an Sf of zero in place of a constraint that holds no inertia",
                "a small C or I between them",
            ),
        )
    if stuck.reason == "jump":
        return _of_jump(stuck, model)
    elements = elements_at(model, stuck.suspects)
    constraints = [e for e in elements if e.kind == "constraint"]
    return Problem(
        "E208",
        "redundant constraints" if constraints else "dependent storages whose shares are not determined",
        (f"these repeat or contradict the others: {named(elements)}",),
        tuple(e.place for e in elements),
        ("leave one of them out, or put a C (a little compliance) in its place",)
        + (("joints with more freedoms: a spherical or universal one for a revolute",) if constraints else ()),
    )


def _of_jump(stuck: Unsolvable, model: Model) -> Problem:
    """What follows a value that jumps would need an infinite effort or flow."""
    elements = elements_at(model, stuck.suspects)
    return Problem(
        "E209",
        "a derivative is needed of what jumps",
        (f"{named(elements)} must follow a value with a sign, a comparison or a step in it",),
        tuple(e.place for e in elements),
        (
            "an R between the source and what follows it (a resistance, a compliance of the drive)",
            "a smooth course in place of the step: a ramp, tanh, or a lowpass",
        ),
    )


def _in_mode(stuck: Unsolvable, model: Model) -> Problem:
    """What has a solution in some modes and none in another: that mode, and the elements that then contradict each other."""
    elements = elements_at(model, stuck.suspects)
    mode = " and ".join(f'"{state}" of "{automaton}"' for automaton, state in stuck.modes.items())
    automata = [model.automata[name] for name in stuck.modes]
    return Problem(
        "E212",
        f"the mode {mode} has no valid causality",
        (f"then these contradict or repeat each other, or leave something undecided: {named(elements)}",),
        (*(e.place for e in elements), *(a.place for a in automata)),
        (
            "an R (a resistance) in series with a switch that shorts an effort source or a capacitor",
            "an R (a large resistance) across each of several switches that are open in series",
            "one automaton for switches that must never be closed, or open, at the same time",
        ),
    )


def _of_loop(stuck: Unsolvable, system: System, model: Model) -> Problem:
    """The loop by the elements whose relations close it; junctions only pass values on."""
    assert stuck.loop is not None
    paths = dict.fromkeys(s.element for s in system.statements[stuck.loop.start : stuck.loop.stop])
    elements = elements_at(model, list(paths))
    closing = [e for e in elements if not isinstance(e.law, Junction)] or elements
    details = [f"what each of these gives depends on what it gets in return: {named(closing)}"]
    junctions = [e for e in elements if isinstance(e.law, Junction)]
    if junctions and closing is not elements:
        details.append(f"joined at {named(junctions)}")
    cure = "a small storage (C or I) in the loop, which decides what now depends on itself"
    if all(e.kind == "block" for e in closing):
        cure = "a state in one of the blocks, or equations that do not need each other's result"
    code, title = ("E205", "algebraic loop that is not linear") if stuck.reason == "nonlinear" else (
        "E206", "algebraic loop without a unique solution"
    )  # fmt: skip
    return Problem(code, title, tuple(details), tuple(e.place for e in closing[:12]), (cure,))
