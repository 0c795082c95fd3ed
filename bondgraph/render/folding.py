"""Folding: a model and the names of nested graphs in; those that are drawn as one box each, so that a page can be read, out."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator

from bondgraph.errors import Problem, raise_if_any
from bondgraph.model.laws import Junction
from bondgraph.model.model import Model
from bondgraph.model.names import names_of

MOST = 60
"""Nodes of a diagram beyond which nested graphs are folded, unless one says otherwise."""


def folds(model: Model, folded: Collection[str] | None, unfolded: Collection[str]) -> tuple[str, ...]:
    """Paths of the nested graphs that are folded: those named, "all", or, for None, the innermost ones, level by level, until
    no more than `MOST` nodes are left; `unfolded` stay open, and so does what they are in.

    Raises `ModelError`: E134 for a path that is no nested graph, E586 for one that is to be folded and unfolded.
    """
    opened = names_of(unfolded, "unfolded")
    named = () if folded is None else model.groups if folded == "all" else names_of(folded, "folded")
    known = ", ".join(model.groups[:8]) or "there is none"
    problems = [
        Problem("E134", f'"{path}" cannot be {done}: it is no nested graph', cures=(f"the path of a nested graph: {known}",))
        for paths, done in ((named, "folded"), (opened, "unfolded"))
        for path in paths
        if path not in model.groups
    ]
    around = {path for inner in opened for path in outer(inner)}
    if folded != "all":
        problems += [
            Problem("E586", f'"{path}" is to be folded, and it or what is in it unfolded', cures=("one of the two",))
            for path in named
            if path in around
        ]
    raise_if_any(model.name, problems)
    if folded is not None:
        return tuple(path for path in named if path not in around)
    deepest = max((path.count(".") for path in model.groups), default=-1)
    found: tuple[str, ...] = ()
    for depth in range(deepest, -1, -1):
        if _nodes(model, found) <= MOST:
            break
        found = tuple(path for path in model.groups if path.count(".") >= depth and path not in around)
    return found


def _nodes(model: Model, folded: Collection[str]) -> int:
    """How many nodes a diagram has: elements, automata that no element shows, and what is folded."""
    shown = {law.automaton for element in model.elements.values() if isinstance(law := element.law, Junction)} | {*model.elements}
    paths = [*model.elements, *(path for path in model.automata if path not in shown)]
    groups = [path.rpartition(".")[0] for path in paths]
    homes = [next((whole for whole in outer(group) if whole in folded), None) for group in groups]
    return len({home for home in homes if home}) + sum(home is None for home in homes)


def outer(path: str) -> Iterator[str]:
    """The paths of the graphs around what is in a nested graph, outermost first, its own last; none outside of all."""
    return itertools.accumulate(path.split("."), "{}.{}".format) if path else iter(())
