"""Operations on small arrays: plain formulas, written once, with their LaTeX form.

An operation runs on floats (the reference), on SymPy expressions (readable equations) and on the scalars of the tape (code and
derivatives).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, reduce
from operator import add
from typing import Any, NoReturn, Self

import numpy as np

from bondgraph.errors import refusal
from bondgraph.output.short_repr import short_repr
from bondgraph.output.tex import array_latex
from screws.numeric_arguments import shortened
from screws.scalars import array, equal, where


class Unpicklable:
    """Object with formulas, which can be copied, but not pickled (E157)."""

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        why = "it contains functions, which cannot be pickled"
        cures = ("a module-level function that builds the graph in each process", "pickle the Result of a run instead")
        title = type(self).__name__
        raise refusal("E157", f"{title} cannot be pickled", *cures, about=str(getattr(self, "name", title)), why=why)


class Frozen(Unpicklable):
    """Frozen record with formulas; a copy of it is the record itself."""

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


@short_repr
@dataclass(frozen=True)
class Op(Frozen):
    """Operation: a formula of arrays of scalars that returns one array or a tuple of arrays."""

    name: str
    function: Callable[..., Any]
    latex: str = ""
    """LaTeX of the right-hand side with #1, #2 ... for its arguments; empty: name(arguments)."""
    source: str = ""
    """Source of the formula: a work and its equations, marked "corrected" if misprinted; entries are separated by "; ":
    "VI02 (18), (20); VI02 (19), (21), corrected". docs/papers.md lists the works and their equations. Empty without a source;
    else one line for all results, or one line for each printed line of results and remarks."""
    note: str = ""
    """Formula in the notation of the source: sentences with formulas between $ signs, all letters explained. A document prints
    each line once."""

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)


class Constant(Op):
    """Structural constant: part of the equations, not a parameter that can be changed later."""


@short_repr
@dataclass(frozen=True)
class Gate(Op):
    """Operation (mode, value) -> value in the `active` modes, zero in all others."""

    active: tuple[int, ...] = ()


@short_repr
@dataclass(frozen=True)
class Choice(Op):
    """Operation (mode, held, released) -> held in the `active` modes, released in all others."""

    active: tuple[int, ...] = ()


@dataclass(frozen=True)
class ForeignLibrary:
    """Library of foreign code instead of formulas: a functional mock-up unit.

    Parameters
    ----------
    file, digest : name of its file, and the SHA-256 of its bytes.
    inputs, outputs, parameters : names of its variables, in the order of the signals, states and parameters of the block.
    unit : the open library (a `run.program.library_ticks.Unit`); None in a model file.
    """

    file: str
    digest: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    parameters: tuple[str, ...]
    unit: Any = field(default=None, repr=False, compare=False)

    @property
    def states(self) -> tuple[str, ...]:
        return (*self.outputs, *(f"sampled {name}" for name in self.inputs), "steps taken")


def as_op(formula: Op | Callable[..., Any], name: str = "") -> Op:
    need_function("a formula", formula)
    function_name = getattr(formula, "__name__", "f")
    return (
        formula if isinstance(formula, Op) else Op(name or ("f" if function_name == "<lambda>" else str(function_name)), formula)
    )


def need_function(what: str, value: object, arguments: Sequence[str] = ("x",), about: str = "formula", *cures: str) -> None:
    if callable(value):
        return
    sample = f"lambda {', '.join(arguments)}: ..." if arguments else "lambda: ..."
    written = _as_lambda(value) if isinstance(value, str) else ""
    why = f"it must be a function, {sample}, which is called with symbols to record its operations"
    title, cures = f"{what} cannot be {shortened(value)}", (written,) if written else (sample, *cures)
    raise refusal("E150", title, *cures, about=about, why=why)


def _as_lambda(text: str) -> str:
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError:
        return ""
    called = {node.func for node in ast.walk(tree) if isinstance(node, ast.Call)}
    names = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and node not in called]
    return f"lambda {', '.join(dict.fromkeys(names))}: {text}".replace("lambda :", "lambda:")


def sources_of(*formulas: Op | Callable[..., Any] | None) -> str:
    sources = (entry for formula in formulas if isinstance(formula, Op) for entry in entries(formula.source))
    return "; ".join(dict.fromkeys(sources))


def notes_of(*formulas: Op | Callable[..., Any] | None) -> str:
    lines = (line for formula in formulas if isinstance(formula, Op) for line in formula.note.split("\n") if line)
    return "\n".join(dict.fromkeys(lines))


def entries(source: str) -> list[str]:
    return [entry for line in source.split("\n") for entry in line.split("; ") if entry]


IDENTITY = Op("identity", lambda x: x, "#1")


@cache
def combine(signs: tuple[int, ...]) -> Op:
    def total(*terms: Any) -> Any:
        return reduce(add, (term if sign > 0 else -term for sign, term in zip(signs, terms, strict=True)))

    pieces = [f"{'+' if s > 0 else '-'}#{i}" for i, s in enumerate(signs, start=1)]
    return Op("sum", total, "".join(pieces).removeprefix("+"))


@cache
def zeros(shape: tuple[int, ...]) -> Op:
    return Op("zero", lambda: np.zeros(shape) if shape else 0.0, "0")


def constant(value: Any) -> Constant:
    fixed = np.asarray(value, dtype=float)
    return Constant("constant", lambda: fixed if fixed.ndim else float(fixed), array_latex(fixed, 6))


def _apply(matrix: Any, vector: Any) -> Any:
    """Return matrix @ vector; a number scales the vector, (n,) is a single row, and a single component is a scalar."""
    shape = np.shape(matrix)
    if not shape:
        return matrix * vector
    rows = matrix if len(shape) == 2 else matrix.reshape(1, -1)
    out = rows @ vector if np.ndim(vector) else rows[:, 0] * vector if rows.shape[1] == 1 else rows @ array([vector])
    return out if rows.shape[0] > 1 else out[0]


def _apply_transposed(matrix: Any, vector: Any) -> Any:
    shape = np.shape(matrix)
    if not shape:
        return matrix * vector
    return _apply(matrix.reshape(-1, 1) if len(shape) == 1 else matrix.T, vector)


APPLY = Op("apply", _apply, "#1\\,#2")
"""Product N f: scalar times array, row times vector, or matrix times vector."""
APPLY_TRANSPOSED = Op("apply transposed", _apply_transposed, "#1^T\\,#2")
"""Product N^T e, the power-conjugate of `APPLY`."""
APPLY_INVERSE = Op("apply inverse", lambda ratio, x: x / ratio, "#1^{-1}\\,#2")
"""Quotient x / n for a scalar ratio n."""

SOUGHT = Op("sum", lambda x, a, b: x + a - b, "#1+#2-#3")
"""Unknown x for which a = b, both functions of x, as the fixed point x = x + a - b."""

NEGATE = Op("negate", lambda x: -x, "-#1")

POWER = Op("power", lambda effort, flow: effort @ flow if np.ndim(effort) else effort * flow, "#1 \\cdot #2")


def _heat(flow: Any) -> Any:
    return sum(flow[1:], flow[0]) if np.ndim(flow) else flow


HEAT_FLOW = Op("heat", _heat, "#1")
"""Power of a pseudo-bond, or energy of its storage: the sum of the components of its flow, or of their integrals."""


def share_of(part: float) -> Op:
    if part == 0.0:
        return zeros(())
    return HEAT_FLOW if part == 1.0 else Op(f"{part:g} of the heat", lambda flow: part * _heat(flow), f"{part:g}\\,#1")


@cache
def stack(count: int) -> Op:
    row = ", ".join(f"#{k + 1}" for k in range(count))
    return Op("stack", lambda *scalars: array(list(scalars)), rf"\left({row}\right)")


@cache
def entry(index: int) -> Op:
    return Op("entry", lambda x: x[index], rf"\left(#1\right)_{{{index + 1}}}")


def mode_is_active(mode: Any, active: tuple[int, ...]) -> Any:
    if len(active) == 1:
        return equal(mode, float(active[0]))
    return equal(sum(where(equal(mode, float(a)), 1.0, 0.0) for a in active), 1.0)


@cache
def gate(active: tuple[int, ...]) -> Gate:
    def gated(mode: Any, value: Any) -> Any:
        return choose(active)(mode, value, np.zeros(np.shape(value)) if np.ndim(value) else 0.0)

    return Gate("gate", gated, r"\left[#1\right]\,#2", active=active)


@cache
def choose(active: tuple[int, ...]) -> Choice:
    def chosen(mode: Any, held: Any, released: Any) -> Any:
        condition = mode_is_active(mode, active)
        if np.ndim(held) == 0:
            return where(condition, held, released)
        return array([where(condition, a, b) for a, b in zip(held, released, strict=True)])

    return Choice("choose", chosen, r"\begin{cases} #2 & \left[#1\right] \\ #3 & \text{else} \end{cases}", active=active)


TIME_DERIVATIVE = Op("time derivative", lambda value: 0.0 * value, r"\tfrac{d}{dt}\left(#1\right)")
"""Time derivative of a value along the motion: by the chain rule, from its derivatives with respect to the states and to time.
The zeros have its shape; the evaluator of the statements replaces them."""

STABILISED = Op(
    "stabilised",
    lambda second, first, h, a1, a0, a2: second + a1 * first + a0 * h + a2 * (h * h * h),
    r"#1 + #4\,#2 + #5\,#3 + #6\,#3^3",
    "BO18 (23); BO20 (6)",
)
"""Baumgarte stabilisation h'' + a1 h' + a0 h + a2 h^3 = 0 (Bortoff 2018, eq. 23; for a2, Bortoff 2020, eq. 6)."""

DAMPED = Op("damped", lambda second, first, a1: second + a1 * first, r"#1 + #3\,#2")
"""Stabilisation h'' + a1 h' = 0 of a constraint on velocity only."""

SLIPPING = Op("excess", lambda effort, released: effort - released, "#1 - #2")
"""Excess of an effort over the element's released effort."""

REBOUND = Op("rebound", lambda flow, restitution: (1.0 + restitution) * flow, r"(1 + #2)\,#1")
"""Minus the change of a flow in an impact: (1 + e) times the flow before it, by Newton's law of restitution."""
