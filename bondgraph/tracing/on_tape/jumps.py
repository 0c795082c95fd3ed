"""Values that certainly jump: a derivative with respect to time does not exist for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bondgraph.tape import opcodes as op
from bondgraph.tape.scalar import Tape
from bondgraph.tracing.on_tape.context import Ground


def first_jump(ground: Ground, groups: Sequence[Sequence[Any]]) -> int | None:
    """The first of some groups of values that `jumps`; None where none does."""
    if not jumps(ground, [scalar for group in groups for scalar in group], any_condition=True):
        return None
    return next((k for k, group in enumerate(groups) if jumps(ground, group)), None)


def jumps(ground: Ground, scalars: Sequence[Any], any_condition: bool = False) -> bool:
    """Whether values depend on a state that a clock changes, on a sign or a comparison taken as a number, or on a choice between
    two different numbers (a step), while states or time decide it.

    A choice between formulas may be continuous and is let pass; what a mode decides jumps at an event, which accounts for it.
    With `any_condition` a comparison by which one value is chosen counts where another uses it: the answer "no" is as certain.
    """
    tape, selected = ground.tape, ground.reached(scalars)
    if selected & ground.ticking:
        return True
    roots = {tape.scalar(scalar).index for scalar in scalars}
    conditions = set() if any_condition else {tape.nodes[i][1] for i in selected if tape.nodes[i][0] == op.WHERE}
    used = {a for i in selected if tape.nodes[i][0] not in op.CONDITIONS for a in _operands(tape, i)} | roots
    moving: dict[int, bool] = {}
    for position in sorted(selected):
        node = tape.nodes[position]
        if node[0] == op.INPUT:
            moving[position] = list(tape.blocks)[node[1]] not in ("p", "m")
        elif node[0] == op.CONSTANT:
            moving[position] = False
        else:
            moving[position] = any(moving[a] for a in node[1:])
        if node[0] in (op.SIGN, op.FLOOR) and moving[position]:
            return True
        if node[0] in op.CONDITIONS and moving[position] and position in used and position not in conditions:
            return True
        if node[0] == op.WHERE and moving[node[1]] and node[2] != node[3] and not moving[node[2]] and not moving[node[3]]:
            return True
    return False


def _operands(tape: Tape, position: int) -> tuple[int, ...]:
    node = tape.nodes[position]
    return () if node[0] <= op.INPUT else tuple(node[2:] if node[0] == op.WHERE else node[1:])
