"""Linear form x' = A x + B u, y = C x + D u of a linear model in SymPy, in terms of its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bondgraph.assembly.stages import stages_of
from bondgraph.compile.compiled import Compiled
from bondgraph.compile.pipeline import Compilable, compiled_form
from bondgraph.compile.state_names import own_states
from bondgraph.errors import FixedEntries, ModelError, refusal
from bondgraph.export.forms.algebra.canonical import canonical
from bondgraph.export.forms.algebra.elimination import IN_ONE_PIECE, eliminate
from bondgraph.export.forms.expression_text import ExpressionWriter, latex_lines, letter_of, plain_lines
from bondgraph.export.forms.records import StateEquations
from bondgraph.export.forms.state_form import is_inside, known_symbols, state_equations
from bondgraph.export.symbolic import inputs_of, symbol_of
from bondgraph.model.laws import IdealConstraint
from bondgraph.output.cells import Typeset
from bondgraph.output.lazy import sympy
from bondgraph.output.short_repr import short_repr
from bondgraph.tracing.on_tape.values import scalars_of


@short_repr
@dataclass(frozen=True)
class LinearEquations(Typeset):
    """Linear equations x' = A x + B u, y = C x + D u, exact for any values of their parameters."""

    name: str
    A: Any
    """State matrix (n, n); A, B, C and D are SymPy matrices in parameters."""
    B: Any
    """Input matrix (n, inputs)."""
    C: Any
    """Output matrix (outputs, n)."""
    D: Any
    """Feedthrough matrix (outputs, inputs)."""
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    """Parameters of sources that occur, and their time derivatives u' if they vary in time."""
    outputs: tuple[str, ...]
    parameters: Mapping[str, float]
    """Value of every other parameter that occurs."""
    letters: Mapping[str, str] = field(repr=False)
    """LaTeX of each symbol, by its name."""
    modes: Mapping[str, tuple[str, ...]] = field(repr=False)
    """Names of the states of each mode signal."""

    def __str__(self) -> str:
        parts = {"A": self.A, "B": self.B} | ({"C": self.C, "D": self.D} if self.outputs else {})
        vectors = [f"x = [{', '.join(self.states)}]", f"u = [{', '.join(self.inputs)}]"]
        vectors += [f"y = [{', '.join(self.outputs)}]"] if self.outputs else []
        equation = "x' = A x + B u" + (", y = C x + D u" if self.outputs else "")
        return plain_lines(ExpressionWriter(self.letters, self.modes), "\n".join([equation, *vectors]), parts)

    def latex(self) -> str:
        """Return an `align*` environment with the equations and their matrices."""
        writer = ExpressionWriter(self.letters, self.modes)
        x, u, y = (
            sympy.latex(sympy.Matrix([sympy.Symbol(letter_of(self.letters, name)) for name in names])) if names else "0"
            for names in (self.states, self.inputs, self.outputs)
        )
        equation = rf"\dot{{x}} &= A\,x + B\,u, & x &= {x}, \quad u = {u}"
        if self.outputs:
            equation += rf" \\ y &= C\,x + D\,u, & y &= {y}"
        return latex_lines(writer, equation, {"A": self.A, "B": self.B, "C": self.C, "D": self.D})


def linear_equations(
    model: Compilable,
    *,
    part: str | None = None,
    numbers: bool = False,
    outputs: Sequence[str] = (),
    modes: Mapping[str, str] | None = None,
    varying: Sequence[str] = (),
) -> LinearEquations:
    """Return A, B, C and D of a linear model, as SymPy matrices in its parameters.

    Arguments and errors are those of `state_equations`, with `ModelError` E276 also for a statement that is not linear in
    states and inputs, a sampled block, or friction in several directions that may slip.

    >>> from bondgraph import J1, C, Graph, I, Se, compile_model
    >>> graph = Graph("lc").connect(loop := J1("loop"), C("c", capacitance=2.0))
    >>> graph = graph.connect(loop, I("l", 5.0)).connect(Se("u", 1.0), loop)
    >>> print(linear_equations(compile_model(graph), numbers=True))
    x' = A x + B u
    x = [c.q, l.p]
    u = [u.value]
    A = [   0  1/5]
        [-1/2    0]
    B = [0]
        [1]
    """
    compiled = compiled_form(model, "linear_equations")
    _refuse_directions(compiled, part, modes or {})
    equations = state_equations(compiled, part=part, numbers=numbers, outputs=outputs, modes=modes, varying=varying)
    if equations.ticks:
        element = compiled.model.elements[next(iter(equations.ticks)).rpartition(".")[0]]
        why = (f'"{next(iter(equations.ticks))}" changes only at ticks',)
        cures = ("`state_equations` for the exact equations", "a continuous block instead")
        raise refusal(
            "E276", f'"{element.name}" is sampled', *cures, about=compiled.system.name, why=why, places=(element.place,)
        )
    x, u = ([sympy.Symbol(name, real=True) for name in names] for names in (equations.states, equations.inputs))
    expanded = _expanded(equations)
    rows = [_row(expression, x, u) for expression in expanded.values()]
    if None in rows:  # perhaps only terms with coefficients of zero, such as a cubic term, are nonlinear
        zeros = {sympy.Symbol(name, real=True): sympy.S.Zero for name, number in equations.parameters.items() if number == 0.0}
        rows = [_row(expression.xreplace(zeros), x, u) for expression in expanded.values()]
    for name, row in zip(expanded, rows, strict=True):
        if row is None:
            raise _not_linear(compiled, equations, name)
    matrix = sympy.Matrix(len(rows), len(x) + len(u), [entry for row in rows for entry in row or ()])
    n, k = len(equations.equations), len(x)
    return LinearEquations(
        equations.name,
        *(matrix[:n, :k], matrix[:n, k:], matrix[n:, :k], matrix[n:, k:]),
        equations.states,
        equations.inputs,
        tuple(equations.outputs),
        FixedEntries({p: v for p, v in equations.parameters.items() if p in {s.name for s in matrix.free_symbols}}),
        equations.letters,
        equations.modes,
    )


def _refuse_directions(compiled: Compiled, part: str | None, modes: Mapping[str, str]) -> None:
    """Raise E276 for friction in several directions that may slip, before solving anything symbolically."""
    for path, element in compiled.model.elements.items():
        law = element.law
        if isinstance(law, IdealConstraint) and law.noted and modes.get(path) not in law.active and is_inside(path, part):
            why = ("while slipping, its effort follows the direction of its flow",)
            cures = (
                f'modes={{"{path}": "{law.active[0]}"}}, in which it sticks',
                "`bondgraph.analysis.linearise`, at an operating point",
            )
            title = f'"{path}" is not linear'
            raise refusal("E276", title, *cures, about=compiled.system.name, why=why, places=(element.place,))


def _row(expression: Any, x: Sequence[Any], u: Sequence[Any]) -> list[Any] | None:
    row = [canonical(sympy.diff(expression, s), ()) for s in (*x, *u)]
    rest = canonical(expression.xreplace(dict.fromkeys([*x, *u], sympy.S.Zero)), ())
    changing = {*x, *u, sympy.Symbol("time", real=True)}
    return None if rest != 0 or any(entry.free_symbols & changing for entry in row) else row


def _expanded(equations: StateEquations) -> dict[str, Any]:
    values: dict[Any, Any] = {}
    for system in equations.systems:
        needed = {s.name for m in (system.A, system.b) for s in m.free_symbols}
        _add_values(equations, needed, values)
        solution = system.A.xreplace(values).LUsolve(system.b.xreplace(values))
        values |= {sympy.Symbol(n, real=True): sympy.cancel(w) for n, w in zip(system.unknowns, solution, strict=True)}
    _add_values(equations, set(equations.definitions), values)
    return {name: e.xreplace(values) for name, e in {**equations.equations, **equations.outputs}.items()}


def _add_values(equations: StateEquations, names: set[str], values: dict[Any, Any]) -> None:
    needed = set(names)
    while more := {s.name for n in needed for s in equations.definitions.get(n, sympy.S.Zero).free_symbols} - needed:
        needed |= more
    for name, meant in equations.definitions.items():
        if name in needed:
            values[sympy.Symbol(name, real=True)] = meant.xreplace(values)


def _not_linear(compiled: Compiled, equations: StateEquations, name: str) -> ModelError:
    system = compiled.system
    known_values, slopes = known_symbols(system, inputs_of(compiled), (), False)
    known_values |= {mode: symbol_of(system, mode) for mode in system.modes}
    moving = [sympy.Symbol(n, real=True) for n in (*equations.states, *equations.inputs)]
    stages = stages_of(system, [state.rate for state in own_states(system)[0]] + [system.resolve(n) for n in equations.outputs])
    values = eliminate(system, stages, known_values, slopes, None, IN_ONE_PIECE)
    time = symbol_of(system, "time")
    needed = [s for index, s in enumerate(system.statements) if index in stages.statements]
    curved = (
        s for s in needed if any(_is_nonlinear(sympy.S(e), moving, time) for out in s.outs for e in scalars_of(values[out]))
    )
    culprit = next(curved, needed[-1])
    element = compiled.model.elements.get(culprit.element)
    why = (
        f"first in: {culprit.outs[0]} = {culprit.op.name}({', '.join(culprit.args)})",
        f'so the rate of "{name}" is not a sum of states and inputs with constant coefficients',
    )
    title = f'"{culprit.element}" is not linear'
    cures = ("`state_equations` for the exact equations", "`bondgraph.analysis.linearise`, at an operating point")
    return refusal("E276", title, *cures, about=system.name, why=why, places=(element.place if element else None,))


def _is_nonlinear(expression: Any, moving: Sequence[Any], time: Any) -> bool:
    met = [s for s in moving if s in expression.free_symbols]
    if any(sympy.simplify(sympy.diff(expression, s, t)) != 0 for s in met for t in (*met, time)):
        return True
    offset = expression.xreplace(dict.fromkeys(moving, sympy.S.Zero))
    return bool(met or time in offset.free_symbols) and sympy.simplify(offset) != 0
