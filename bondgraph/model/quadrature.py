"""Energies of constitutive laws by quadrature: the work of a law along the ray from zero.

The integral of law(s x) . x over s from 0 to 1 is split where the law has jumps and kinks. If all pieces are polynomials in s of
degree 30 or less, a Gauss-Legendre rule integrates them, otherwise the double exponential rule, which tolerates a vertical slope
at the end points (Takahasi and Mori 1974), but neither a peak narrower than a tenth of its piece, nor more than about nine
oscillations.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from bondgraph.model.mechanics import tape_and_symbols
from bondgraph.model.ops import Op, sources_of
from bondgraph.tape import opcodes as op
from bondgraph.tape.differentiate import jacobian
from bondgraph.tape.interpret import interpreter
from bondgraph.tape.routine import Routine, listing, reachable
from bondgraph.tape.scalar import Tape, TapeScalar, TraceError
from bondgraph.tape.specialise import substitute
from screws.scalars import equal, maximum, minimum, where

MAX_DEGREE = 30
_SELECTIONS = op.SELECTS | {op.SIGN, op.SEARCHSORTED}
MAX_BREAKS = 64
STEP, REACH = 0.0625, 3.125
"""Step and largest node of the double exponential rule, before the transformation."""

RAY = "ray"
"""Name of the input s on the tape."""
Rule = tuple[np.ndarray, np.ndarray]
"""Nodes and weights on the interval from 0 to 1."""


def work(law: Op) -> Op:
    """Return the operation (x, ...) -> work of a law from 0 to x: the energy of a storage with output law(x)."""
    function = law.function  # the only variable closed over, so that equal laws compare as equal formulas

    def formula(x: Any, *others: Any) -> Any:
        return _along_ray(lambda at: function(at, *others), x, others)

    return _derived("energy", formula, law)


def complement(law: Op) -> Op:
    """Return the operation (y, ...) -> law(y) . y - work of the law from 0 to y: the energy of a storage whose state is law(y),
    from its co-energy by Legendre's transformation."""
    function = law.function

    def formula(y: Any, *others: Any) -> Any:
        return _power(function(y, *others), y) - _along_ray(lambda at: function(at, *others), y, others)

    return _derived("energy", formula, law)


def _derived(name: str, formula: Callable[..., Any], law: Op) -> Op:
    formula.__dict__["__wrapped__"] = law.function  # messages name the arguments of the user's formula
    return Op(name, formula, "", sources_of(law), law.note)


def double_exponential() -> Rule:
    """Return nodes and weights of the double exponential rule; nodes near 0 lose no digits."""
    t = np.arange(-REACH, REACH + STEP / 2.0, STEP)
    u = np.pi * np.sinh(t)
    return 1.0 / (1.0 + np.exp(-u)), STEP * np.pi * np.cosh(t) / (2.0 * np.cosh(u / 2.0)) ** 2


def _gauss(degree: int) -> Rule:
    nodes, weights = np.polynomial.legendre.leggauss(degree // 2 + 1)
    return (nodes + 1.0) / 2.0, weights / 2.0


def _power(output: Any, x: Any) -> Any:
    return output @ x if np.ndim(x) else output * x


def _along_ray(formula: Callable[[Any], Any], x: Any, others: Sequence[Any]) -> Any:
    """Return the integral of formula(s x) . x over s from 0 to 1, on a tape, symbolically or in floats, according to x and
    `others`."""
    tape, is_symbolic = tape_and_symbols(x, others)
    if tape is not None:
        return _on_tape(tape, formula, x)
    return _symbolic(formula, x) if is_symbolic else _in_floats(formula, x)


def _in_floats(formula: Callable[[Any], Any], x: Any) -> float:
    tape, row = Tape(), np.ravel(np.asarray(x, dtype=float))
    inputs = tape.inputs("x", len(row))
    ray = _Ray(tape, formula, inputs.reshape(np.shape(x)) if np.shape(x) else inputs[0])
    at, power = np.empty(len(ray.breaks)), np.empty(1)
    interpreter(listing(Routine("breaks", tape, (("x", len(row)),), tuple(ray.breaks))))((row,), at)
    law = interpreter(listing(Routine("power", tape, (("x", len(row)), (RAY, 1)), (ray.power,))))

    def power_at(s: float) -> float:
        law((row, np.array([s])), power)
        return float(power[0])

    return float(_sum(power_at, at.tolist(), ray.rule))


def _symbolic(formula: Callable[[Any], Any], x: Any) -> Any:
    """Integrate polynomials, and leave other integrals unevaluated; for a scalar x the upper limit is x, not 1."""
    sympy = sys.modules["sympy"]
    s = sympy.Dummy("s", real=True)
    if not np.shape(x):
        integrand, end = sympy.S(formula(s)), x
    else:
        integrand, end = sympy.S(_power(formula(s * np.asarray(x, dtype=object)), np.asarray(x, dtype=object))), sympy.S.One
    if integrand.is_polynomial(s):
        return sympy.integrate(sympy.expand(integrand), (s, 0, end))
    return sympy.Integral(integrand, (s, 0, end))


def _on_tape(tape: Tape, formula: Callable[[Any], Any], x: Any) -> TapeScalar:
    ray = _Ray(tape, formula, x)

    def power_at(s: Any) -> TapeScalar:
        return substitute(tape, [ray.power], {ray.s.index: tape.scalar(s).index})[0]

    return tape.scalar(_sum(power_at, ray.breaks, ray.rule))


def _sum(power_at: Callable[[Any], Any], breaks: Sequence[Any], rule: Rule) -> Any:
    nodes, weights = (each.tolist() for each in rule)
    total: Any = 0.0
    for begin, end in itertools.pairwise((0.0, *breaks, 1.0)):
        width = end - begin
        total = total + width * sum(weight * power_at(begin + width * s) for s, weight in zip(nodes, weights, strict=True))
    return total


class _Ray:
    """Power x . law(s x) of a law on a tape as a function of the input s, its ascending breakpoints, and the quadrature rule."""

    def __init__(self, tape: Tape, formula: Callable[[Any], Any], x: Any):
        (self.s,) = tape.inputs(RAY if RAY not in tape.blocks else f"{RAY} {len(tape.blocks)}", 1)
        self.power = tape.scalar(_power(formula(self.s * x), x))
        law = _Piecewise(tape, self.s.index, self.power.index)
        self.breaks = _sorted(law.breaks())
        degree = law.degree(self.power.index)
        self.rule = double_exponential() if degree is None else _gauss(degree)


def _sorted(breaks: Sequence[Any]) -> list[Any]:
    row = list(breaks)
    for last in range(len(row) - 1, 0, -1):
        for k in range(last):
            row[k], row[k + 1] = minimum(row[k], row[k + 1]), maximum(row[k], row[k + 1])
    return row


class NoQuadrature(TraceError):
    """Error of a law for which quadrature cannot compute the energy."""


class _Piecewise:
    """A scalar on a tape as a piecewise function of the input s."""

    def __init__(self, tape: Tape, s: int, root: int):
        self.tape, self.s = tape, s
        self.varying: set[int] = set()
        self.order = reachable(tape, [root])
        for position in self.order:
            if position == s or (tape.nodes[position][0] > op.INPUT and not self.varying.isdisjoint(tape.nodes[position][1:])):
                self.varying.add(position)

    def breaks(self) -> list[TapeScalar]:
        """Return the values of s, clipped to [0, 1], at which a jump or kink may lie, without the constants 0 and 1."""
        roots: dict[int, TapeScalar] = {}
        for position in self.order:
            if position in self.varying:
                for switching in self._differences(position):
                    for branch in self.branches(switching):
                        root = self._root(branch)
                        if root is not None and root.value not in (0.0, 1.0):
                            roots[root.index] = root
            if len(roots) > MAX_BREAKS:
                raise NoQuadrature(f"it has more than {MAX_BREAKS} jumps and kinks")
        return list(roots.values())

    def _differences(self, position: int) -> Iterator[int]:
        """Yield the differences whose signs determine a node's formula."""
        tape = self.tape
        code, *arguments = tape.nodes[position]
        if code in (op.LESS, op.LESS_EQUAL, op.EQUAL, op.MINIMUM, op.MAXIMUM):
            yield tape.subtract(*arguments)
        elif code in (op.ABSOLUTE, op.SIGN):
            yield arguments[0]
        elif code == op.SEARCHSORTED:
            yield from (tape.subtract(arguments[0], entry) for entry in tape.entries_of(arguments[1]))
        elif code == op.FLOOR:
            raise NoQuadrature("it has infinitely many steps, because of `floor`")

    def branches(self, position: int) -> list[int]:
        """Return formulas that contain no selection, such that for each s the node equals one of them."""
        tape, below = self.tape, reachable(self.tape, [position])
        if self.s not in below or not any(tape.nodes[a][0] in _SELECTIONS for a in below):
            return [position]
        code, *arguments = tape.nodes[position]
        if code in (op.WHERE, op.MINIMUM, op.MAXIMUM):
            choices = [branch for argument in arguments[-2:] for branch in self.branches(argument)]
        elif code == op.ABSOLUTE:
            choices = [each for branch in self.branches(arguments[0]) for each in (branch, tape.negative(branch))]
        elif code == op.SIGN:
            choices = [tape.constant(-1.0), tape.constant(1.0)]
        elif code == op.TAKE:
            choices = tape.entries_of(arguments[1])
        elif code == op.SEARCHSORTED:
            choices = [tape.constant(float(k)) for k in range(1 + len(tape.entries_of(arguments[1])))]
        else:
            rows = itertools.product(*(self.branches(argument) for argument in arguments))
            choices = [tape.apply(code, *row) for row in itertools.islice(rows, MAX_BREAKS**2)]
        return list(dict.fromkeys(choices))

    def _root(self, position: int) -> TapeScalar | None:
        """Return the zero of an affine function of s, clipped to [0, 1]; None if the function is constant."""
        tape = self.tape
        slope = tape.scalar(jacobian([TapeScalar(tape, position)], [TapeScalar(tape, self.s)]).dense()[0, 0])
        if self.s in reachable(tape, [slope.index]):
            raise NoQuadrature("it has a jump or kink where a function that is not linear in its argument changes sign")
        if slope.value == 0.0:
            return None
        (start,) = substitute(tape, [TapeScalar(tape, position)], {self.s: tape.constant(0.0)})
        return minimum(maximum(where(equal(slope, 0.0), 0.0, -start / slope), 0.0), 1.0)  # type: ignore[no-any-return]

    def degree(self, root: int) -> int | None:
        """Return the largest degree of the polynomials in s that form a node; None if it contains other functions or the degree
        exceeds `MAX_DEGREE`."""
        degrees: dict[int, int | None] = {}
        for position in self.order:
            if position in self.varying:
                code, *arguments = self.tape.nodes[position]
                degrees[position] = 1 if position == self.s else self._degree(code, arguments, degrees)
        degree = degrees.get(root, 0)
        return degree if degree is None or degree <= MAX_DEGREE else None

    def _degree(self, code: int, arguments: Sequence[int], degrees: dict[int, int | None]) -> int | None:
        if code in op.FLAT or code == op.SEARCHSORTED:
            return 0
        of = [degrees.get(argument, 0) for argument in arguments]
        if code == op.WHERE:
            of = of[1:]
        elif code == op.TAKE:
            of = [0]
        finite = [each for each in of if each is not None]
        if len(finite) < len(of):
            return None
        if code in (op.ADD, op.SUBTRACT, op.NEGATIVE, op.WHERE, op.MINIMUM, op.MAXIMUM, op.ABSOLUTE, op.TAKE):
            return max(finite)
        if code == op.MULTIPLY:
            return sum(finite)
        if code == op.DIVIDE and arguments[1] not in self.varying:
            return finite[0]
        exponent = self.tape.value(arguments[1]) if code == op.POWER else None
        if exponent is not None and exponent >= 0.0 and exponent == int(exponent):
            return finite[0] * int(exponent)
        return None
