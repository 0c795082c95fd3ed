"""Piecewise linear equations: residuals with a kink where an absolute value, minimum or maximum of the unknowns changes sides.

An example is friction proportional to a load that it changes itself. With every kink on a given side the equations are linear.
A connected part is solved for every combination of sides; the solution that lies on its assumed sides is used.

Source: Fujisawa and Kuh 1972, Piecewise-linear theory of nonlinear networks (one solution if all determinants have one sign).
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bondgraph.tape import opcodes as op
from bondgraph.tape.differentiate import active_nodes, sparsity_pattern
from bondgraph.tape.scalar import TapeScalar
from bondgraph.tape.specialise import substitute
from bondgraph.tracing.on_tape.context import TracingContext
from bondgraph.tracing.on_tape.values import Values, partials, scalars_of, shaped
from screws.scalars import equal, less, maximum, where

MAX_BENDS = 6
"""Maximum number of kinks of a connected part for which all combinations of sides are solved."""

_BENDING = (op.ABSOLUTE, op.MINIMUM, op.MAXIMUM)


@dataclass(frozen=True)
class Bends:
    """Kinks of residuals, by position on the tape, in ascending order, so that nested kinks come first."""

    context: TracingContext
    positions: tuple[int, ...]

    def on_sides(
        self, outputs: Sequence[Any], sides: Sequence[Any], free: Mapping[int, TapeScalar] | None = None
    ) -> tuple[list[TapeScalar], list[TapeScalar]]:
        """Return scalars with each kink on a side (1: its first argument is larger) or with a `free` value, and the difference of
        each kink's arguments."""
        tape, replaced, excess = self.context.tape, dict[int, int](), list[TapeScalar]()
        for position, side in zip(self.positions, sides, strict=True):
            code, *arguments = tape.nodes[position]
            a, *others = substitute(tape, [TapeScalar(tape, each) for each in arguments], replaced)
            b = others[0] if others else -a
            excess.append(tape.scalar(a - b))
            larger, smaller = (b, a) if code == op.MINIMUM else (a, b)
            chosen = where(equal(side, 1.0), larger, smaller) if isinstance(side, TapeScalar) else larger if side else smaller
            replaced[position] = tape.scalar((free or {}).get(position, chosen)).index
        return list(substitute(tape, outputs, replaced)), excess

    def straightened(self, values: Values, sides: Sequence[Any]) -> Values:
        scalars = [scalar for value in values.values() for scalar in scalars_of(value)]
        straight, out, start = self.on_sides(scalars, sides)[0], dict[str, Any](), 0
        for name, value in values.items():
            count = len(scalars_of(value))
            out[name] = shaped(straight[start : start + count], getattr(value, "shape", ())) if count else value
            start += count
        return out

    def groups(self, residuals: Sequence[Any], w: Sequence[TapeScalar]) -> list[list[int]]:
        _, excess = self.on_sides([], [1.0] * len(self.positions))
        starts, rows = sparsity_pattern([*residuals, *excess], w)
        part = list(range(len(residuals) + len(excess)))
        for start, stop in itertools.pairwise(starts):
            joined = {part[row] for row in rows[start:stop]}
            part = [min(joined) if label in joined else label for label in part]
        numbers = part[len(residuals) :]
        return [[k for k, label in enumerate(numbers) if label == each] for each in dict.fromkeys(numbers)]

    def sides(
        self, groups: Sequence[Sequence[int]], w: Sequence[TapeScalar], solve: Callable[[Sequence[float]], Sequence[Any]]
    ) -> list[Any]:
        """Return the side of each kink at the solution; `solve` gives the unknowns w for given sides.

        In each group, the combination whose solution violates its own sides least is chosen.
        """
        tape, best, chosen = self.context.tape, list[Any](), list[Any]()
        for number in range(2 ** max(map(len, groups))):
            sides = [0.0] * len(self.positions)
            for group in groups:
                for bit, k in enumerate(group):
                    sides[k] = float(not number >> bit & 1)
            solution = {each.index: tape.scalar(value).index for each, value in zip(w, solve(sides), strict=True)}
            excess = substitute(tape, self.on_sides([], sides)[1], solution)
            wrong = [functools.reduce(maximum, (-excess[k] if sides[k] else excess[k] for k in group), 0.0) for group in groups]
            if not best:
                best, chosen = wrong, list(sides)
                continue
            for i, group in enumerate(groups):
                better = less(wrong[i], best[i])
                best[i] = where(better, wrong[i], best[i])
                for k in group:
                    chosen[k] = where(better, sides[k], chosen[k])
        return chosen

    def folds(
        self,
        residuals: Sequence[Any],
        w: Sequence[TapeScalar],
        sides: Sequence[Any],
        solve: Callable[[Sequence[Any]], Sequence[Any]],
    ) -> tuple[tuple[frozenset[int], Any], ...]:
        """Return the equations that each kink affects, with the ratio of the determinants beyond and before the kink.

        If the ratio is not positive, there is no solution, or there are several. `solve` gives A^-1 b on the `sides`.
        """
        folds, tape = [], self.context.tape
        for k, position in enumerate(self.positions):
            (z,), excess = self.context.unknowns(1), self.on_sides([], sides)[1][k]
            slopes = partials(self.on_sides(residuals, sides, {position: z})[0], [z])
            through = solve([slopes.get((i, 0), 0.0) for i in range(len(w))])
            turn = sum((slope * through[j] for (_, j), slope in partials([excess], w).items()), 0.0)
            falls = -1.0 if tape.nodes[position][0] != op.MINIMUM else 1.0
            folds.append((frozenset(i for i, _ in slopes), 1.0 + where(equal(sides[k], 1.0), falls, -falls) * turn))
        return tuple(folds)


def bends_of(context: TracingContext, residuals: Sequence[Any], w: Sequence[TapeScalar]) -> Bends | None:
    roots, unknown = [context.tape.scalar(each).index for each in residuals], {scalar.index for scalar in w}
    positions = [k for k in active_nodes(context.tape, roots, unknown) if context.tape.nodes[k][0] in _BENDING]
    return Bends(context, tuple(sorted(positions))) if positions else None
