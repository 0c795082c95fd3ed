"""Taylor coefficients of the solution of x' = f(t, x) by recurrences over the operations of f on a tape.

R. E. Moore, Interval Analysis, 1966, chapter 11; A. Griewank, A. Walther, Evaluating Derivatives, 2008, chapter 13. A product
is a convolution; a function y of a has y' = s a' with its slope s, written on the tape, so that y_k = sum_j j a_j s_(k-j) / k.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from bondgraph.tape import opcodes as op
from bondgraph.tape.nodes import Nodes
from bondgraph.tape.routine import reachable
from bondgraph.tape.scalar import Tape, TapeScalar

MOST_OPERATIONS = 100
"""Maximum number of operations on values that change along the solution; beyond it Runge-Kutta methods are faster."""
_LEAST_ORDER, _ENOUGH, _MOST_TERMS = 4, 12, 8_500
"""Minimum order, order allowed for code of any length, and, for higher orders, the maximum of (number of operations) order^2:
longer code exceeds the instruction cache, and takes twice the time per instruction."""
_LINEAR, _OTHERS = (op.ADD, op.SUBTRACT, op.NEGATIVE), (op.MULTIPLY, op.RECIPROCAL, op.SQRT)
"""Operations with their own recurrences; for all other operations, recurrences follow from the derivatives."""
_FIRST_IS_FIXED, _SECOND_IS_FIXED = (op.WHERE,), (op.POWER,)
"""Operations with a recurrence if the condition, or the exponent, is constant along the solution."""


class NoSeries(Exception):
    """Error for a solution without recurrences; the message gives the reason."""


def order_for(tolerance: float) -> int:
    """Return the order that reaches a relative error with the least work (A. Jorba, M. Zou, A software package for the numerical
    integration of ODEs by means of high-order Taylor methods, Experimental Mathematics 14, 2005, section 3.1)."""
    return max(_LEAST_ORDER, math.ceil(1.0 - 0.5 * math.log(tolerance)))


def taylor_coefficients(
    tape: Tape, rates: Sequence[TapeScalar | float], others: Sequence[TapeScalar | float], order: int
) -> list[TapeScalar]:
    """Return the Taylor coefficients of the states "x" with these `rates`, and of the integrals of `others`, order by
    order from 1 to `order`, or to a lower order if the code would be too long: functions of the inputs of the tape.

    Raises `NoSeries` for an operation without a recurrence, and for too many operations.
    """
    states, time = [x.index for x in tape.inputs("x", len(rates))], tape.inputs("t", 1)[0].index
    inputs = {x: [x] for x in states} | {time: [time, tape.constant(1.0), *[tape.constant(0.0)] * order]}
    roots = [tape.scalar(value).index for value in (*rates, *others)]
    series = _Series(tape, inputs, roots)
    order = min(order, max(_ENOUGH, int(math.sqrt(_MOST_TERMS / max(series.count, 1)))))
    rows: list[TapeScalar] = []
    for k in range(order):
        series.extend(k)
        row = [tape.multiply(tape.constant(1.0 / (k + 1)), series.at(root, k)) for root in roots]
        for x, value in zip(states, row, strict=False):
            inputs[x].append(value)
        rows += (TapeScalar(tape, value) for value in row)
    return rows


class _Series:
    """Positions on the tape of the Taylor coefficients of the nodes that the `roots` need; `inputs` contains the given
    coefficients."""

    def __init__(self, tape: Nodes, inputs: dict[int, list[int]], roots: Iterable[int]):
        self._tape, self._of, self._zero = tape, inputs, tape.constant(0.0)
        self._slopes: dict[int, int] = {}
        self._moving = set(inputs)
        self._order = sorted(self._needed(roots) & self._moving - inputs.keys())
        if refused := {op.NAMES[tape.nodes[a][0]] for a in self._order if not self._has_rule(a)}:
            raise NoSeries(f"its rates contain functions without a Taylor series: {', '.join(sorted(refused))}")
        self.count = len(self._order)
        if self.count > MOST_OPERATIONS:
            raise NoSeries(f"its rates take {self.count} operations: above {MOST_OPERATIONS}, Runge-Kutta methods are faster")

    def _needed(self, roots: Iterable[int]) -> set[int]:
        """Return the nodes that the roots need, and the slopes of functions among them; record which nodes change along the
        solution."""
        waiting, needed = list(roots), set[int]()
        while waiting:
            reached = reachable(self._tape, waiting, skip=needed)
            needed.update(reached)
            waiting = []
            for a in reached:
                code, *arguments = self._tape.nodes[a]
                if code <= op.INPUT or self._moving.isdisjoint(arguments):
                    continue
                self._moving.add(a)
                slope = op.OPERATIONS[code].slope
                if slope is not None and code not in (*_LINEAR, *_OTHERS):
                    self._slopes[a] = slope(self._tape, arguments[0], a)
                    waiting.append(self._slopes[a])
        return needed

    def _has_rule(self, a: int) -> bool:
        code, *arguments = self._tape.nodes[a]
        fixed = arguments[0] if code in _FIRST_IS_FIXED else arguments[1] if code in _SECOND_IS_FIXED else None
        return code in (*_LINEAR, *_OTHERS) or a in self._slopes or (fixed is not None and fixed not in self._moving)

    def at(self, a: int, k: int) -> int:
        if a in self._moving:
            return self._of[a][k]
        return a if k == 0 else self._zero

    def extend(self, k: int) -> None:
        for a in self._order:
            self._of.setdefault(a, []).append(a if k == 0 else self._next(a, k))

    def _next(self, y: int, k: int) -> int:
        """Return coefficient k > 0 of the value y of an operation."""
        tape = self._tape
        code, a, *others = tape.nodes[y]
        if code in _LINEAR:
            return int(getattr(tape, op.NAMES[code])(self.at(a, k), *(self.at(b, k) for b in others)))
        if code == op.WHERE:
            return tape.where(a, self.at(others[0], k), self.at(others[1], k))
        if code == op.MULTIPLY:
            return self._square(a, 0, k) if a == others[0] else self._convolution(a, others[0], 0, k)
        if code == op.RECIPROCAL:
            return tape.negative(tape.multiply(y, self._convolution(a, y, 1, k)))
        if code == op.SQRT:
            rest = tape.subtract(self.at(a, k), self._square(y, 1, k))
            return tape.multiply(rest, tape.multiply(tape.constant(0.5), tape.reciprocal(y)))
        if code == op.POWER:
            exponent = others[0]
            weights = {j: tape.subtract(tape.multiply(tape.constant(j), exponent), tape.constant(k - j)) for j in range(1, k + 1)}
            total = tape.multiply(self._convolution(a, y, 1, k, weights), tape.reciprocal(a))
        else:
            total = self._convolution(a, self._slopes[y], 1, k, {j: tape.constant(j) for j in range(1, k + 1)})
        return tape.multiply(tape.constant(1.0 / k), total)

    def _convolution(self, a: int, b: int, first: int, k: int, weights: Mapping[int, int] | None = None, last: int = -1) -> int:
        """Return the sum of a_j b_(k-j) times the weight of j, for j from `first` to `last` (by default k); the latest
        coefficients come last, so that earlier products need not wait for them."""
        tape, total = self._tape, self._zero
        for j in sorted(range(first, (k if last < 0 else last) + 1), key=lambda j: max(j, k - j)):
            factor = self.at(a, j) if weights is None else tape.multiply(weights[j], self.at(a, j))
            total = tape.add(total, tape.multiply(factor, self.at(b, k - j)))
        return total

    def _square(self, a: int, first: int, k: int) -> int:
        """Return the sum of a_j a_(k-j) for j from `first` to k - `first`."""
        tape = self._tape
        twice = tape.multiply(tape.constant(2.0), self._convolution(a, a, first, k, last=(k - 1) // 2))
        return twice if k % 2 else tape.add(twice, tape.multiply(self.at(a, k // 2), self.at(a, k // 2)))
