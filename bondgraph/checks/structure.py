"""Checks of junctions and signal blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from bondgraph.errors import Problem, caller_place
from bondgraph.model.laws import Junction, SignalBlock
from bondgraph.model.model import Model


def check_parts(model: Model) -> Iterator[Problem]:
    """A model has elements."""
    if not model.elements:
        cures = ("graph.connect(tail, head) or graph.add(part)",)
        yield Problem("E152", f'graph "{model.name}" has no elements', places=(caller_place(),), cures=cures)


def check_junctions(model: Model) -> Iterator[Problem]:
    """Every junction joins at least two bonds; at one that is a port of a graph, one may be all."""
    for path, element in model.elements.items():
        if not isinstance(element.law, Junction):
            continue
        bonds = len(model.bonds_at(path))
        if bonds < (1 if path in model.exposed else 2):
            title = f'junction {element.kind} "{path}" has {bonds} bond' + ("" if bonds == 1 else "s")
            cures = ("connect more elements to it, or connect its neighbour directly",)
            yield Problem("E115", title, ("a junction with fewer than two bonds joins nothing",), (element.place,), cures)


def check_blocks(model: Model) -> Iterator[Problem]:
    """Blocks define each local name once, use only names they have, and give every state something that changes it."""
    reset = {target for a in model.automata.values() for t in a.transitions for target, _, _ in t.resets}
    for path, element in model.elements.items():
        law = element.law
        if not isinstance(law, SignalBlock):
            continue
        given = [*element.parameters, *law.inputs, *law.kept]
        outs = [out for equation in law.equations for out in equation.outs]
        twice = [name for name, count in Counter(given + outs).items() if count > 1]
        used = {arg for equation in law.equations for arg in equation.args}
        used |= {*law.rates.values(), *law.updates.values(), *law.breaks}
        unknown = used - set(given) - set(outs)
        constant = {state for state in law.kept if f"{path}.{state}" not in reset} - set(law.rates) - set(law.updates)
        stateless = {*law.rates, *law.updates} - set(law.kept)
        unclocked = set(law.updates) if law.offset is None else set()
        timeless = {name for name in (law.period, law.offset, *law.breaks) if name} - set(element.parameters)
        for names, says, cure in (
            (twice, "defines twice", "one equation, parameter, input or state for each name"),
            (unknown, "uses but does not define", "an equation, parameter, input or state of this name"),
            (constant, "has no rate for its state", "rates={<state>: <local name>}, or a transition that resets it"),
            (stateless, "has a rate or update but no state", "states={<state>: StateSpec(<start>)}"),
            (unclocked, "has no clock for the updates of", "a period, an offset, or both"),
            (timeless, "takes times from what is no parameter of its own:", "a parameter in s"),
        ):
            if names:
                yield Problem("E118", f'block "{path}" {says} {", ".join(sorted(names))}', (), (element.place,), (cure,))
