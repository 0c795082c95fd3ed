"""Fusions: which product of a program goes into which sum, as one fused multiply-add, which rounds once.

The decision follows from the program alone, not from a compiler, so that every processor, one run and lanes, LLVM and C have the
same bits. A product that one sum alone takes goes into it; of two products the first does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType

from bondgraph.tape import opcodes as op
from bondgraph.tape.nodes import Node
from bondgraph.tape.opcodes import Operation
from bondgraph.tape.routine import Listing

PLUS, MINUS, FROM = range(1000, 1003)
"""Codes of x y + z, x y - z and z - x y. They stand in programs that are printed, not on tapes."""


def _rounded_once(*_: float) -> float:
    raise TypeError("fused operations are printed, not interpreted")


_LLVM, _C = "call double @llvm.fma.f64(double {}, double {}, double {})", "fma({}, {}, {})"
_NEGATIVE = "%n{{v}} = fneg double {}\n"
_FUSED: Mapping[int, Operation] = MappingProxyType(
    {
        PLUS: Operation("x y + z", 3, _rounded_once, _LLVM.format("{x}", "{y}", "{z}"), _C.format("{x}", "{y}", "{z}")),
        MINUS: Operation(
            "x y - z",
            3,
            _rounded_once,
            _NEGATIVE.format("{z}") + _LLVM.format("{x}", "{y}", "%n{v}"),
            _C.format("{x}", "{y}", "-{z}"),
        ),
        FROM: Operation(
            "z - x y",
            3,
            _rounded_once,
            _NEGATIVE.format("{x}") + _LLVM.format("%n{v}", "{y}", "{z}"),
            _C.format("-{x}", "{y}", "{z}"),
        ),
    }
)


def operation_of(code: int) -> Operation:
    """Return the record of an instruction of a tape, or of a fused one."""
    return _FUSED[code] if code in _FUSED else op.OPERATIONS[code]


def fused(program: Listing) -> Listing:
    """Return a program with fused operations in the places of sums, without the products that went into them."""
    steps = program.steps
    uses = Counter([*program.outputs, *(a for step in steps if step[0] > op.INPUT for a in step[1:])])
    sums = {
        position: fusion
        for position, step in enumerate(steps)
        if step[0] in (op.ADD, op.SUBTRACT) and (fusion := _fusion(steps, step, uses))
    }
    absorbed = {product for product, _ in sums.values()}
    new: dict[int, int] = {}
    rewritten: list[Node] = []
    for position, step in enumerate(steps):
        if position in absorbed:
            continue
        new[position] = len(rewritten)
        node = sums[position][1] if position in sums else step
        rewritten.append((node[0], *(new[a] for a in node[1:])) if node[0] > op.INPUT else node)
    return Listing(tuple(rewritten), tuple(new[output] for output in program.outputs))


def _fusion(steps: tuple[Node, ...], step: Node, uses: Counter[int]) -> tuple[int, Node] | None:
    """Return the product that goes into a sum, and the fused operation."""
    code, *terms = step
    for k, product in enumerate(terms):
        if steps[product][0] == op.MULTIPLY and uses[product] == 1:
            kind = PLUS if code == op.ADD else FROM if k else MINUS
            return product, (kind, *steps[product][1:], terms[1 - k])
    return None
