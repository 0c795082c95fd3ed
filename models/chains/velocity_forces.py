"""Which formula of the velocity forces costs less for a chain: recursive Newton-Euler, or the derivatives of M(q)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bondgraph.model.mechanics import Mechanics
from bondgraph.tape import opcodes
from bondgraph.tape.scalar import Tape
from models.chains.dynamics import bias, inertia_numbers, mass_matrix
from models.chains.links import Chain


def recursion_is_shorter(chain: Chain) -> bool:
    """Whether M(q) and h(q, v) together take fewer operations with h by recursion than with h by differentiation.

    Both are traced and counted: few joints, many of them parallel, make the derivatives of M(q) short (the finger of a hand: 305
    operations for v' against 393), long or general chains the recursion (seven joints: 1457 against 1889).
    """
    lengths = []
    for recursive in (True, False):
        tape = Tape()
        n = chain.freedoms
        q, v = tape.inputs("q", n), tape.inputs("v", n)
        numbers = list(tape.inputs("numbers", len(inertia_numbers(chain))))
        mechanics = Mechanics(lambda at, *p: mass_matrix(chain, at, *p), None, None, None, False)
        h = bias(chain, q, v, *numbers) if recursive else mechanics.coriolis(q, v, *numbers)
        lengths.append(_moving(tape, [*mass_matrix(chain, q, *numbers).flat, *h]))
    return lengths[0] < lengths[1]


def _moving(tape: Tape, results: Sequence[Any]) -> int:
    """Operations on which the results depend, without those on parameters alone."""
    numbers = list(tape.blocks).index("numbers")
    moves = np.zeros(len(tape.nodes), dtype=bool)
    for index, node in enumerate(tape.nodes):
        if node[0] == opcodes.INPUT:
            moves[index] = node[1] != numbers
        elif node[0] != opcodes.CONSTANT:
            moves[index] = any(moves[a] for a in node[1:])
    seen: set[int] = set()
    stack = [tape.scalar(result).index for result in results]
    while stack:
        index = stack.pop()
        if index in seen or not moves[index]:
            continue
        seen.add(index)
        if tape.nodes[index][0] != opcodes.INPUT:
            stack += tape.nodes[index][1:]
    return len(seen)
