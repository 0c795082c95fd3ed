"""Values that jump with time or states, so that they have no time derivative.

A value can only jump where a comparison, `sign`, `floor` or lookup changes. These places are located by moving one input at a
time from the sample states; a value jumps if the difference between its values on both sides does not shrink with the distance.
Hence an interpolation is continuous, and a step in one entry of a table is not.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.tape import opcodes as op
from bondgraph.tape.interpret import evaluate_nodes
from bondgraph.tape.nodes import table_values
from bondgraph.tape.routine import reachable
from bondgraph.tracing.on_tape.context import TracingContext

MAX_ROWS = 4096
"""Largest number of places that are located at once."""

MAX_INPUTS = 16
"""Largest number of inputs that are moved to find the place of one switch, time first."""

SECANTS = 40
FAR, NEAR = 2.0**-20, 2.0**-30
"""Distances from a place, as fractions of the moving input; from the first to the second, the difference of a continuous value
shrinks."""

SHRINKS, SMALLEST = 0.5, 1e-10
"""Ratio of the nearer to the farther difference above which a value jumps; smallest jump, relative to the largest value."""


def first_discontinuous(context: TracingContext, groups: Sequence[Sequence[Any]]) -> int | None:
    return next((k for k, group in enumerate(groups) if is_discontinuous(context, group)), None)


def is_discontinuous(context: TracingContext, scalars: Sequence[Any]) -> bool:
    """Return True if values depend on a state that a clock changes, or jump where time or states move. A value selected by a mode
    jumps only at an event, which does not count."""
    reached = sorted(context.reached(scalars))
    if not context.ticking.isdisjoint(reached):
        return True
    switches = [switch for position in reached if (switch := _switch(context, position)) is not None]
    if not switches:
        return False
    places = _Places(context, [context.tape.scalar(scalar).index for scalar in scalars])
    return any(places.has_jump(switch) for switch in switches)


@dataclass(frozen=True)
class _Switch:
    """Node that changes where the difference of the values at `operands`, or the only value, equals a level: a constant in
    `levels`, the value of a node in `level_nodes`, or an integer up to `last`."""

    operands: tuple[int, ...]
    levels: np.ndarray
    level_nodes: tuple[int, ...] = ()
    last: float = 0.0


def _switch(context: TracingContext, position: int) -> _Switch | None:
    code, *arguments = context.tape.nodes[position]
    if code in (op.LESS, op.LESS_EQUAL, op.SIGN):
        return _Switch(tuple(arguments), np.zeros(1))
    if code == op.FLOOR:
        return _Switch((arguments[0],), np.empty(0), last=np.inf)
    if code not in op.LOOKUPS:
        return None
    table = context.tape.nodes[arguments[1]]
    if code == op.TAKE:
        count = len(table_values(table)) if table[0] == op.TABLE else table[3]
        return _Switch((arguments[0],), np.empty(0), last=count - 1.0)
    if table[0] == op.TABLE:
        return _Switch((arguments[0],), table_values(table)[:MAX_ROWS])
    return _Switch((arguments[0],), np.empty(0), tuple(context.tape.entries_of(arguments[1])))


class _Places:
    """Places where switches change, and the values of the nodes `roots` on both sides of them."""

    def __init__(self, context: TracingContext, roots: Sequence[int]):
        self._tape, self._roots = context.tape, roots
        samples, names = context.sampled.states, list(context.tape.blocks)
        self._blocks = [np.zeros((len(samples), length)) for length in context.tape.blocks.values()]
        for number, name in enumerate(("t", "x", "p", "m")):
            for row, sample in enumerate(samples):
                self._blocks[names.index(name)][row] = sample[number]
        self._moving = names.index("t"), names.index("x")
        self._sizes = np.max(np.abs(np.nan_to_num(self._values(self._blocks, roots))), axis=0, initial=0.0)

    def has_jump(self, switch: _Switch) -> bool:
        for block, column in itertools.islice(self._inputs(switch.operands), MAX_INPUTS):
            blocks, levels = self._rows(switch)
            at, is_place = self._locate(switch, blocks, levels, block, column)
            if is_place.any():
                return self._jumps([each[is_place] for each in blocks], block, column, at[is_place])
        return False

    def _inputs(self, operands: Sequence[int]) -> Iterator[tuple[int, int]]:
        nodes = [self._tape.nodes[position] for position in reachable(self._tape, operands)]
        for block in self._moving:
            yield from ((block, node[2]) for node in nodes if node[0] == op.INPUT and node[1] == block)

    def _values(self, blocks: Sequence[np.ndarray], nodes: Sequence[int]) -> np.ndarray:
        values: dict[int, Any] = {}
        evaluate_nodes(self._tape, nodes, blocks, values)
        return np.stack([np.broadcast_to(values[node], len(blocks[0])) for node in nodes], axis=1).astype(float)

    def _rows(self, switch: _Switch) -> tuple[list[np.ndarray], np.ndarray]:
        """Return the sample states, each repeated for all its levels, and these levels."""
        blocks = self._blocks
        if switch.level_nodes:
            levels = self._values(blocks, switch.level_nodes)
        elif len(switch.levels):
            levels = np.tile(switch.levels, (len(blocks[0]), 1))
        else:
            below = np.floor(np.nan_to_num(self._difference(switch, blocks)))
            levels = np.clip(below[:, None] + np.arange(-8.0, 9.0), -np.inf if switch.last == np.inf else 1.0, switch.last)
        count = max(1, MAX_ROWS // levels.shape[1])
        levels = levels[:count]
        return [np.repeat(block[:count], levels.shape[1], axis=0) for block in blocks], levels.ravel()

    def _difference(self, switch: _Switch, blocks: Sequence[np.ndarray]) -> np.ndarray:
        values = self._values(blocks, switch.operands)
        return values[:, 0] - values[:, 1] if len(switch.operands) == 2 else values[:, 0]

    def _moved(self, blocks: Sequence[np.ndarray], block: int, column: int, to: np.ndarray) -> list[np.ndarray]:
        moved = list(blocks)
        moved[block] = moved[block].copy()
        moved[block][:, column] = to
        return moved

    def _locate(
        self, switch: _Switch, blocks: list[np.ndarray], levels: np.ndarray, block: int, column: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return values of an input at which the switch should change, found by the secant method, and True for each at which
        it does."""

        def excess(to: np.ndarray) -> np.ndarray:
            return self._difference(switch, self._moved(blocks, block, column, to)) - levels

        with np.errstate(all="ignore"):
            before = blocks[block][:, column].copy()
            now = before + 0.01 * np.where(before == 0.0, 1.0, np.abs(before))
            before_excess, now_excess = excess(before), excess(now)
            for _ in range(SECANTS):
                step = now_excess * (now - before) / (now_excess - before_excess)
                moves = np.isfinite(step) & (now_excess != 0.0) & (np.abs(step) > np.spacing(np.abs(now)))
                if not moves.any():
                    break
                following = np.where(moves, now - step, now)
                following_excess = excess(following)
                before, before_excess = np.where(moves, now, before), np.where(moves, now_excess, before_excess)
                now, now_excess = following, following_excess
            apart = NEAR * self._scale(now)
            return now, excess(now - apart) * excess(now + apart) < 0.0

    def _jumps(self, blocks: Sequence[np.ndarray], block: int, column: int, at: np.ndarray) -> bool:
        with np.errstate(all="ignore"):
            sides = [
                self._values(self._moved(blocks, block, column, at + sign * apart * self._scale(at)), self._roots)
                for apart in (FAR, NEAR)
                for sign in (-1.0, 1.0)
            ]
            far, near = np.abs(sides[1] - sides[0]), np.abs(sides[3] - sides[2])
            size = np.maximum(self._sizes, np.max(np.abs(np.nan_to_num(sides)), axis=(0, 1)))
            return bool(np.any((near > SHRINKS * far) & (near > SMALLEST * size)))

    def _scale(self, at: np.ndarray) -> np.ndarray:
        return np.where(at == 0.0, 1.0, np.abs(at))
