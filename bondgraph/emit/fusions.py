"""Fusions: products and sums of a program that become fused multiply-adds, which round once.

The decision depends only on the program, not on a compiler, so that all processors, single runs and lanes, LLVM and C give
identical results, bit for bit. A product whose only use is in a sum is fused with it; of two such products, the first is fused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from bondgraph.tape import opcodes as op
from bondgraph.tape.nodes import Node
from bondgraph.tape.opcodes import Operation
from bondgraph.tape.routine import Listing

PLUS, MINUS, FROM = range(1000, 1003)
"""Codes of x y + z, x y - z and z - x y. They occur in printed programs, not on tapes."""


def _rounded_once(*_: float) -> float:
    raise TypeError("fused operations are printed, not interpreted")


_LLVM, _C = "call double @llvm.fma.f64(double {}, double {}, double {})", "fma({}, {}, {})"
_NEGATIVE = "%n{{v}} = fneg double {}\n"
_FUSED: Mapping[int, Operation] = MappingProxyType(
    {
        code: Operation(name, 3, _rounded_once, before + _LLVM.format(*llvm), _C.format(*c))
        for code, name, before, llvm, c in (
            (PLUS, "x y + z", "", ("{x}", "{y}", "{z}"), ("{x}", "{y}", "{z}")),
            (MINUS, "x y - z", _NEGATIVE.format("{z}"), ("{x}", "{y}", "%n{v}"), ("{x}", "{y}", "-{z}")),
            (FROM, "z - x y", _NEGATIVE.format("{x}"), ("%n{v}", "{y}", "{z}"), ("-{x}", "{y}", "{z}")),
        )
    }
)


def operation_of(code: int) -> Operation:
    return _FUSED[code] if code in _FUSED else op.OPERATIONS[code]


def fused(program: Listing) -> Listing:
    steps = program.steps
    uses = Counter([*program.outputs, *(a for step in steps if step[0] > op.INPUT for a in step[1:])])
    sums = {
        position: fusion
        for position, step in enumerate(steps)
        if step[0] in (op.ADD, op.SUBTRACT) and (fusion := _fusion(steps, step, uses))
    }
    absorbed = {product for product, _ in sums.values()}
    kept = {k: sums[k][1] if k in sums else step for k, step in enumerate(steps) if k not in absorbed}
    return _renumbered(kept, program.outputs)


def needed(program: Listing, outputs: Sequence[int]) -> Listing:
    steps, kept = program.steps, set(outputs)
    for position in range(len(steps) - 1, -1, -1):
        if position in kept and steps[position][0] > op.INPUT:
            kept.update(steps[position][1:])
    return _renumbered({position: steps[position] for position in sorted(kept)}, outputs)


def _renumbered(steps: Mapping[int, Node], outputs: Sequence[int]) -> Listing:
    new = {position: k for k, position in enumerate(steps)}
    nodes = ((node[0], *(new[a] for a in node[1:])) if node[0] > op.INPUT else node for node in steps.values())
    return Listing(tuple(nodes), tuple(new[output] for output in outputs))


def _fusion(steps: tuple[Node, ...], step: Node, uses: Counter[int]) -> tuple[int, Node] | None:
    code, *terms = step
    for k, product in enumerate(terms):
        if steps[product][0] == op.MULTIPLY and uses[product] == 1:
            kind = PLUS if code == op.ADD else FROM if k else MINUS
            return product, (kind, *steps[product][1:], terms[1 - k])
    return None
