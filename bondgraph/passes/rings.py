"""Rings of junctions that pass a value round, which nothing decides: refused before the statements are sorted."""

from __future__ import annotations

from collections.abc import Sequence

from bondgraph.assembly.system import System
from bondgraph.errors import Problem, raise_if_any
from bondgraph.model.element import Element, named
from bondgraph.model.laws import Junction
from bondgraph.model.model import Model


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
        junctions = [e for e in model.elements_at(paths) if paths.count(e.name) > 1]
        if not junctions:
            problems.append(_nobody_gives(name, model.elements_at([end.element for b in bonds for end in b.ends])))
            continue
        title = "algebraic loop without a unique solution"
        details = (f"a ring of junctions passes one value round, and nothing in it decides it: {named(junctions)}",)
        cures = ("one bond in place of two between like junctions, or a C, I or R in the ring",)
        problems.append(Problem("E206", title, details, tuple(e.place for e in junctions[:12]), cures))
    raise_if_any(model.name, problems)
    return system


def _nobody_gives(name: str, around: Sequence[Element]) -> Problem:
    laws = dict.fromkeys(type(e.law).__name__ for e in around)
    details = (f"at: {named(around) or 'no bond'}, of the laws {', '.join(laws) or 'of signals'}",)
    cures = ("in the function that writes the statements of a law of your own, one that gives it",)
    return Problem("E173", f'nothing gives the value "{name}"', details, tuple(e.place for e in around), cures)
