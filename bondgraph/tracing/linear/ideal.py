"""Ideal: what the unknowns of a linear system on a tape mean -> the same for some of its equations, or in one mode.

Where equations do not decide all unknowns, ideal elements share what they take by what they mean (`indeterminate`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bondgraph.tracing.on_tape.values import Entries, nonzero, through

Derived = Callable[[Sequence[Mapping[int, Any]], Sequence[Any]], Sequence[tuple[Mapping[int, Any], Any]]]
"""(combinations of equations, their right sides) -> the equations (entries, right side) of their rates; without entries where
they have none."""


@dataclass(frozen=True)
class IdealReaction:
    """An effort or flow by which an ideal element keeps what vanishes at zero: slopes with respect to the unknowns, value without
    them, and the size that it is limited to, if it is."""

    element: str
    slopes: Mapping[int, Any]
    offset: Any
    limit: Any = None

    def at(self, w: Sequence[Any]) -> Any:
        """What it is where the unknowns are w."""
        return sum((slope * w[j] for j, slope in self.slopes.items()), self.offset)


@dataclass(frozen=True)
class Ideal:
    """What the unknowns of a linear system mean, for where its equations do not decide all of them."""

    reactions: tuple[IdealReaction, ...]
    senses: Mapping[int, Any]
    """Equation of an element that holds -> +1 where its reaction times what vanishes is power taken, else -1."""
    moves: Entries
    """(state, unknown) -> how much the unknown changes the state's rate."""
    derived: Derived
    demanded: Callable[[Sequence[Any]], Sequence[Any]]
    """Right sides without what only draws positions back to zero: where nothing moves any more, that demands nothing."""
    motion: bool = True
    """Whether this is the motion, not an impulse."""

    def part(self, rows: Sequence[int], columns: Sequence[int], solution: Sequence[Any]) -> Ideal:
        """Restricted to some equations and unknowns; the others are as in `solution`."""
        row, column = {i: k for k, i in enumerate(rows)}, {j: k for k, j in enumerate(columns)}
        reactions = []
        for r in self.reactions:
            own = {column[j]: value for j, value in r.slopes.items() if j in column}
            if own:
                others = [value * solution[j] for j, value in r.slopes.items() if j not in column]
                reactions.append(IdealReaction(r.element, own, sum(others, r.offset), r.limit))

        def derived(combinations: Sequence[Mapping[int, Any]], right: Sequence[Any]) -> Any:
            placed = []
            for entries, value in self.derived([{rows[i]: c for i, c in each.items()} for each in combinations], right):
                moved = sum((e * solution[j] for j, e in entries.items() if j not in column), 0.0)
                placed.append(({column[j]: e for j, e in entries.items() if j in column}, value - moved))
            return placed

        senses = {row[i]: value for i, value in self.senses.items() if i in row}
        moves = {(i, column[j]): value for (i, j), value in self.moves.items() if j in column}
        return replace(self, reactions=tuple(reactions), senses=senses, moves=moves, derived=derived)

    def folded(self, fold: Callable[[Sequence[Any]], Sequence[Any]]) -> Ideal:
        """With all scalars folded, as in one mode."""
        reactions = []
        for r in self.reactions:
            bound = {} if r.limit is None else {"limit": r.limit}
            whole = through(fold, {**r.slopes, "offset": r.offset, **bound})
            offset, limit = whole.pop("offset"), whole.pop("limit", None)
            reactions.append(IdealReaction(r.element, nonzero(whole), offset, limit))

        def derived(combinations: Sequence[Mapping[int, Any]], right: Sequence[Any]) -> Any:
            wholes = [through(fold, {**entries, "right": value}) for entries, value in self.derived(combinations, right)]
            rights = [whole.pop("right") for whole in wholes]
            return list(zip(map(nonzero, wholes), rights, strict=True))

        senses, moves = through(fold, self.senses), nonzero(through(fold, self.moves))
        return replace(self, reactions=tuple(reactions), senses=senses, moves=moves, derived=derived)
