"""Implicit equations without a unique solution, in words: which elements, why, and what to try."""

from __future__ import annotations

from collections.abc import Sequence

from bondgraph.equations.implicit import Unsolvable
from bondgraph.equations.system import System
from bondgraph.errors import Problem, raise_if_any
from bondgraph.graph.element import Element
from bondgraph.graph.laws import Junction
from bondgraph.graph.model import Model


def unsolvable(stuck: Unsolvable, system: System, model: Model) -> Problem:
    """The problem of an algebraic loop (E205 not linear, E206 singular), of a derivative of what depends on the unknowns
    themselves (E207), or of redundant constraints and dependent storages (E208)."""
    if stuck.loop is not None:
        return _of_loop(stuck, system, model)
    owners = _elements(model, [unknown.element for unknown in stuck.unknowns])
    if stuck.reason == "nonlinear":
        return Problem(
            "E205",
            "unknown efforts or flows in a relation that is not linear",
            (f"unknown is what these give: {_named(owners)}",),
            tuple(e.place for e in owners),
            ("a C or I (a little compliance or inertia) that decides them",),
        )
    if stuck.reason == "index":
        elements = _elements(model, stuck.suspects)
        needed = ", ".join(f"the {'effort' if e.kind == 'C' else 'flow'} at {_named([e])}" for e in elements)
        return Problem(
            "E207",
            "a derivative is needed of what is unknown itself",
            (f"{needed} must be differentiated, and depends on what these give: {_named(owners)}",),
            tuple(e.place for e in dict.fromkeys([*elements, *owners])),
            (
                "an R between them by its other relation (effort= in place of flow=, or both)",
                "an Sf of zero in place of a constraint that holds no inertia",
                "a small C or I between them",
            ),
        )
    elements = _elements(model, stuck.suspects)
    constraints = [e for e in elements if e.kind == "constraint"]
    return Problem(
        "E208",
        "redundant constraints" if constraints else "dependent storages whose shares are not determined",
        (f"these repeat or contradict the others: {_named(elements)}",),
        tuple(e.place for e in elements),
        ("leave one of them out, or put a C (a little compliance) in its place",),
    )


def refuse_rings(system: System, model: Model) -> System:
    """The same system; `ModelError` E206 where junctions pass a value round in a ring and nothing else decides it."""
    given = {"time", *(s.name for s in system.states), *system.parameters, *system.modes}
    given |= {u.value for u in system.unknowns} | {out for s in system.statements for out in s.outs}
    lost = dict.fromkeys(arg for s in system.statements for arg in s.args if arg not in given)
    problems = []
    for name in lost:
        shared = {n for n, kept in system.aliases.items() if kept == name} | {name}
        bonds = [b for b in model.bonds if {f"{b.name}:effort", f"{b.name}:flow"} & shared]
        paths = [end.element for b in bonds for end in b.ends if isinstance(model.elements[end.element].law, Junction)]
        junctions = [e for e in _elements(model, paths) if paths.count(e.name) > 1]
        problems.append(
            Problem(
                "E206",
                "algebraic loop without a unique solution",
                (f"a ring of junctions passes one value round, and nothing in it decides it: {_named(junctions)}",),
                tuple(e.place for e in junctions[:12]),
                ("one bond in place of two between like junctions, or a C, I or R in the ring",),
            )
        )
    raise_if_any(model.name, problems)
    return system


def _of_loop(stuck: Unsolvable, system: System, model: Model) -> Problem:
    """The loop by the elements whose relations close it; junctions only pass values on."""
    assert stuck.loop is not None
    paths = dict.fromkeys(s.element for s in system.statements[stuck.loop.start : stuck.loop.stop])
    elements = _elements(model, list(paths))
    closing = [e for e in elements if not isinstance(e.law, Junction)] or elements
    details = [f"what each of these gives depends on what it gets in return: {_named(closing)}"]
    junctions = [e for e in elements if isinstance(e.law, Junction)]
    if junctions and closing is not elements:
        details.append(f"joined at {_named(junctions)}")
    cure = "a small storage (C or I) in the loop, which decides what now depends on itself"
    if all(e.kind == "block" for e in closing):
        cure = "a state in one of the blocks, or equations that do not need each other's result"
    code, title = ("E205", "algebraic loop that is not linear") if stuck.reason == "nonlinear" else (
        "E206", "algebraic loop without a unique solution"
    )  # fmt: skip
    return Problem(code, title, tuple(details), tuple(e.place for e in closing[:12]), (cure,))


def _elements(model: Model, paths: Sequence[str]) -> list[Element]:
    return [model.elements[path] for path in dict.fromkeys(paths) if path in model.elements]


def _named(elements: Sequence[Element], most: int = 12) -> str:
    shown = [f'{e.kind} "{e.name}"' for e in elements[:most]]
    return ", ".join(shown + ([f"{len(elements) - most} more"] if len(elements) > most else []))
