"""Operations on small arrays: each a plain formula, written once, with its LaTeX form.

An operation runs on floats (the reference), on SymPy expressions (readable equations) and on the
scalars of the tape (code and derivatives). Only what the bond-graph language itself needs is here;
screws, surfaces and contact bring their own formulas from the package `screws`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, reduce
from operator import add
from typing import Any

import numpy as np

from bondgraph.model.copies import Frozen
from bondgraph.output.short_repr import short_repr
from screws.scalars import array, equal, where


@short_repr
@dataclass(frozen=True)
class Op(Frozen):
    """A formula: arrays of scalars in, one array or a tuple of arrays out."""

    name: str
    function: Callable[..., Any]
    latex: str = ""
    """LaTeX of the right-hand side with #1, #2 ... for its arguments; empty: name(arguments)."""
    source: str = ""
    """Where the formula is from: a work and its equations, "corrected" where they are wrong in print, entries apart by "; ":
    "VI02 (18), (20); VI02 (19), (21), corrected". docs/papers.md has the works and their equations; empty: from none. One line
    for all results, or one for each line that the results and their remarks take."""
    note: str = ""
    """For a reader of the source: the same in its notation, sentences with formulas between $ signs, all letters explained. A
    document prints each line once."""

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)


class Constant(Op):
    """A structural constant: part of the equations, not a parameter that can be changed later."""


@short_repr
@dataclass(frozen=True)
class Gate(Op):
    """(mode, value) -> value in some modes, zero in all others."""

    active: tuple[int, ...] = ()
    """These modes."""


@short_repr
@dataclass(frozen=True)
class Choice(Op):
    """(mode, held, released) -> held in some modes, released in all others."""

    active: tuple[int, ...] = ()
    """The former modes."""


def as_op(formula: Op | Callable[..., Any], name: str = "") -> Op:
    """Any callable as an operation, by default of its own name (f of a lambda); its LaTeX form is then `name(arguments)`."""
    own = getattr(formula, "__name__", "f")
    return formula if isinstance(formula, Op) else Op(name or ("f" if own == "<lambda>" else str(own)), formula)


def sources_of(*formulas: Op | Callable[..., Any] | None) -> str:
    """The `source` of what is derived from formulas: those of its operations, each once."""
    given = (entry for formula in formulas if isinstance(formula, Op) for entry in entries(formula.source))
    return "; ".join(dict.fromkeys(given))


def notes_of(*formulas: Op | Callable[..., Any] | None) -> str:
    """The `note` of what is derived from formulas: the lines of its operations' notes, each once."""
    given = (line for formula in formulas if isinstance(formula, Op) for line in formula.note.split("\n") if line)
    return "\n".join(dict.fromkeys(given))


def entries(source: str) -> list[str]:
    """The entries of a `source`, of all its lines, in their order."""
    return [entry for line in source.split("\n") for entry in line.split("; ") if entry]


IDENTITY = Op("identity", lambda x: x, "#1")


@cache
def combine(signs: tuple[int, ...]) -> Op:
    """Signed sum of as many arrays as there are signs (a junction's balance)."""

    def total(*terms: Any) -> Any:
        return reduce(add, (term if sign > 0 else -term for sign, term in zip(signs, terms, strict=True)))

    pieces = [f"{'+' if s > 0 else '-'}#{i}" for i, s in enumerate(signs, start=1)]
    return Op("sum", total, "".join(pieces).removeprefix("+"))


@cache
def zeros(shape: tuple[int, ...]) -> Op:
    """A constant zero of the given shape (no argument)."""
    return Op("zero", lambda: np.zeros(shape) if shape else 0.0, "0")


def constant(value: Any) -> Constant:
    """The structural constant of a value."""
    fixed = np.asarray(value, dtype=float)
    return Constant("constant", lambda: fixed if fixed.ndim else float(fixed), _number(fixed))


def _number(fixed: np.ndarray) -> str:
    if fixed.ndim == 0:
        return f"{float(fixed):g}"
    rows = np.atleast_2d(fixed)
    body = r" \\ ".join(" & ".join(f"{x:g}" for x in row) for row in rows)
    return r"\begin{bmatrix}" + body + r"\end{bmatrix}"


def _through(matrix: Any, vector: Any) -> Any:
    """matrix @ vector: a scalar matrix multiplies, a (n,) matrix is one row, a bond of dimension 1 has a scalar."""
    shape = np.shape(matrix)
    if not shape:
        return matrix * vector
    rows = matrix if len(shape) == 2 else matrix.reshape(1, -1)
    out = rows @ vector if np.ndim(vector) else rows[:, 0] * vector if rows.shape[1] == 1 else rows @ array([vector])
    return out if rows.shape[0] > 1 else out[0]


def _through_transposed(matrix: Any, vector: Any) -> Any:
    shape = np.shape(matrix)
    if not shape:
        return matrix * vector
    return _through(matrix.reshape(-1, 1) if len(shape) == 1 else matrix.T, vector)


APPLY = Op("apply", _through, "#1\\,#2")
"""N f: scalar times array, row times vector, or matrix times vector."""
APPLY_TRANSPOSED = Op("apply transposed", _through_transposed, "#1^T\\,#2")
"""N^T e, the power-conjugate of `APPLY`."""
APPLY_INVERSE = Op("apply inverse", lambda ratio, x: x / ratio, "#1^{-1}\\,#2")
"""x / n for a scalar ratio n."""

SOUGHT = Op("sum", lambda x, a, b: x + a - b, "#1+#2-#3")
"""x such that a = b, which depends on x: x as that which it becomes with the difference added."""

NEGATE = Op("negate", lambda x: -x, "-#1")

POWER = Op("power", lambda effort, flow: effort @ flow if np.ndim(effort) else effort * flow, "#1 \\cdot #2")
"""Effort dot flow, W."""


def _one_of(mode: Any, active: tuple[int, ...]) -> Any:
    if len(active) == 1:
        return equal(mode, float(active[0]))
    return equal(sum(where(equal(mode, float(a)), 1.0, 0.0) for a in active), 1.0)


@cache
def gate(active: tuple[int, ...]) -> Gate:
    """(mode, value) -> value where the mode is one of the active ones, else zero (a switched junction)."""

    def gated(mode: Any, value: Any) -> Any:
        return choose(active)(mode, value, np.zeros(np.shape(value)) if np.ndim(value) else 0.0)

    return Gate("gate", gated, r"\left[#1\right]\,#2", active=active)


@cache
def choose(active: tuple[int, ...]) -> Choice:
    """(mode, held, released) -> held where the mode is one of the active ones, else released."""

    def chosen(mode: Any, held: Any, released: Any) -> Any:
        condition = _one_of(mode, active)
        if np.ndim(held) == 0:
            return where(condition, held, released)
        return array([where(condition, a, b) for a, b in zip(held, released, strict=True)])

    return Choice("choose", chosen, r"\begin{cases} #2 & \left[#1\right] \\ #3 & \text{else} \end{cases}", active=active)


def _same_shape(value: Any) -> Any:
    """Stand-in where only shapes matter; whoever runs the statements puts in the derivative along the motion."""
    return 0.0 * value


TIME_DERIVATIVE = Op("time derivative", _same_shape, r"\tfrac{d}{dt}\left(#1\right)")
"""d/dt of a value along the motion: by the chain rule, from its derivatives with respect to the states and to time."""

STABILISED = Op(
    "stabilised",
    lambda second, first, h, a1, a0, a2: second + a1 * first + a0 * h + a2 * (h * h * h),
    r"#1 + #4\,#2 + #5\,#3 + #6\,#3^3",
    "BO18 (23); BO20 (6)",
)
"""h'' + a1 h' + a0 h + a2 h^3, zero for a constraint; Bortoff 2018, (23), with the cubic term of Bortoff 2020, (6)."""

DAMPED = Op("damped", lambda second, first, a1: second + a1 * first, r"#1 + #3\,#2")
"""h'' + a1 h', zero for a constraint that holds a velocity and no position."""

SLIPPING = Op("excess", lambda effort, released: effort - released, "#1 - #2")
"""Zero where an effort is what its element gives by itself."""

REBOUND = Op("rebound", lambda flow, restitution: (1.0 + restitution) * flow, r"(1 + #2)\,#1")
"""Change of a flow by an impact, sign turned round: (1 + e) times the flow before it; Newton's law of restitution."""
