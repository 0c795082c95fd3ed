"""Ideal elements behind the unknowns of a linear system on a tape, restricted to a part of its equations or to one mode.

If equations do not determine all unknowns, ideal elements share an effort or flow by their reactions (`indeterminate`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bondgraph.tracing.on_tape.values import Entries, nonzero, through

Derived = Callable[[Sequence[Mapping[int, Any]], Sequence[Any]], Sequence[tuple[Mapping[int, Any], Any]]]
"""(combinations of equations, their right sides) -> the equations (entries, right side) of their rates; without entries if there
are none."""


@dataclass(frozen=True)
class IdealReaction:
    """An effort or flow by which an ideal element keeps its vanishing quantity at zero: slopes by the unknowns, value without
    them, and the limit of its size, if it has one."""

    element: str
    slopes: Mapping[int, Any]
    offset: Any
    limit: Any = None

    def at(self, w: Sequence[Any]) -> Any:
        """Return its value for the unknowns w."""
        return sum((slope * w[j] for j, slope in self.slopes.items()), self.offset)


@dataclass(frozen=True)
class Ideal:
    """Reactions of ideal elements in a linear system, for the case that its equations do not determine all unknowns."""

    reactions: tuple[IdealReaction, ...]
    senses: Mapping[int, Any]
    """Equation of a holding element -> +1 if its reaction times its vanishing quantity is power taken, else -1."""
    moves: Entries
    """(state, unknown) -> slope of the state's rate by the unknown."""
    derived: Derived
    demanded: Callable[[Sequence[Any]], Sequence[Any]]
    """Right sides without the stabilisation of positions, which demands nothing at rest."""
    motion: bool = True
    """True for the motion, False for an impulse."""

    def part(self, rows: Sequence[int], columns: Sequence[int], solution: Sequence[Any]) -> Ideal:
        """Restrict to some equations and unknowns; the other unknowns are those of `solution`."""
        row, column = {i: k for k, i in enumerate(rows)}, {j: k for k, j in enumerate(columns)}
        reactions = []
        for r in self.reactions:
            inner = {column[j]: value for j, value in r.slopes.items() if j in column}
            if inner:
                others = [value * solution[j] for j, value in r.slopes.items() if j not in column]
                reactions.append(IdealReaction(r.element, inner, sum(others, r.offset), r.limit))

        def derived(combinations: Sequence[Mapping[int, Any]], right: Sequence[Any]) -> Any:
            equations = []
            for entries, value in self.derived([{rows[i]: c for i, c in each.items()} for each in combinations], right):
                moved = sum((e * solution[j] for j, e in entries.items() if j not in column), 0.0)
                equations.append(({column[j]: e for j, e in entries.items() if j in column}, value - moved))
            return equations

        senses = {row[i]: value for i, value in self.senses.items() if i in row}
        moves = {(i, column[j]): value for (i, j), value in self.moves.items() if j in column}
        return replace(self, reactions=tuple(reactions), senses=senses, moves=moves, derived=derived)

    def folded(self, fold: Callable[[Sequence[Any]], Sequence[Any]]) -> Ideal:
        """Fold all scalars, as in one mode."""
        reactions = []
        for r in self.reactions:
            bound = {} if r.limit is None else {"limit": r.limit}
            folded = through(fold, {**r.slopes, "offset": r.offset, **bound})
            offset, limit = folded.pop("offset"), folded.pop("limit", None)
            reactions.append(IdealReaction(r.element, nonzero(folded), offset, limit))

        def derived(combinations: Sequence[Mapping[int, Any]], right: Sequence[Any]) -> Any:
            equations = [through(fold, {**entries, "right": value}) for entries, value in self.derived(combinations, right)]
            rights = [equation.pop("right") for equation in equations]
            return list(zip(map(nonzero, equations), rights, strict=True))

        senses, moves = through(fold, self.senses), nonzero(through(fold, self.moves))
        return replace(self, reactions=tuple(reactions), senses=senses, moves=moves, derived=derived)
