"""SymPy expressions of a compiled model: its routines with common subexpressions, which `lambdify` turns into functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bondgraph.compile.pipeline import Compilable, compiled_form
from bondgraph.errors import FixedEntries, refusal
from bondgraph.export.code.content import BLOCKS, Content, Entry, content_of, count, identifiers
from bondgraph.export.code.self_contained import with_prepare
from bondgraph.export.symbolic import elementary_forms, inputs_of
from bondgraph.output.lazy import sympy
from bondgraph.output.short_repr import short_repr
from bondgraph.output.tables import labels_of
from bondgraph.tape import opcodes as op
from bondgraph.tape.nodes import table_values
from bondgraph.tape.routine import Listing
from screws.names import answer_old_names

MAX_INLINE_OPERATIONS = 24


def forms() -> dict[int, Callable[..., Any]]:
    def unevaluated(function: Any) -> Callable[..., Any]:
        return lambda *arguments: function(*arguments, evaluate=False)

    elementary = elementary_forms()
    slow = (op.MINIMUM, op.MAXIMUM, op.LESS, op.LESS_EQUAL, op.EQUAL)
    return (
        elementary
        | {code: unevaluated(elementary[code]) for code in slow}
        | {
            op.BOTH: unevaluated(sympy.And),
            op.EITHER: unevaluated(sympy.Or),
            op.OPPOSITE: unevaluated(sympy.Not),
            op.WHERE: lambda condition, a, b: sympy.Piecewise((a, condition), (b, True), evaluate=False),
        }
    )


def expressions(code: Listing, symbols: Sequence[Sequence[Any]]) -> tuple[tuple[tuple[Any, Any], ...], tuple[Any, ...]]:
    texts = forms()
    uses = [0] * len(code.steps)
    for step in code.steps:
        for a in step[1:] if step[0] > op.INPUT else ():
            uses[a] += 1
    for output in code.outputs:
        uses[output] += 1
    values: list[Any] = []
    sizes: list[int] = []
    steps: list[tuple[Any, Any]] = []

    def named(position: int) -> None:
        condition = code.steps[position][0] in op.CONDITIONS
        symbol = sympy.Symbol(f"c{position}") if condition else sympy.Symbol(f"v{position}", real=True)
        steps.append((symbol, values[position]))
        values[position], sizes[position] = symbol, 0

    def numeric(position: int) -> Any:
        value = values[position]
        if isinstance(value, tuple):
            return value
        return sympy.Piecewise((1, value), (0, True), evaluate=False) if code.steps[position][0] in op.CONDITIONS else value

    def compared(position: int) -> Any:
        """Return a step as a number without `Piecewise`: SymPy would fold its cases into a comparison, sometimes wrongly."""
        if numeric(position).has(sympy.Piecewise):
            if code.steps[position][0] in op.CONDITIONS:
                symbol = sympy.Symbol(f"v{position}", real=True)
                if (symbol, numeric(position)) not in steps:
                    steps.append((symbol, numeric(position)))
                return symbol
            named(position)
        return numeric(position)

    def truth(position: int) -> Any:
        is_condition = code.steps[position][0] in op.CONDITIONS
        return values[position] if is_condition else sympy.Ne(compared(position), 0, evaluate=False)

    for position, (kind, *arguments) in enumerate(code.steps):
        if kind <= op.INPUT:
            values.append(_leaf(kind, arguments, symbols))
            sizes.append(0)
            continue
        operation = op.OPERATIONS[kind]
        if kind not in texts:
            title = f'the operation "{operation.name}" has no form in SymPy'
            raise refusal("E271", title, "run the compiled model instead", about="SymPy", places=())
        if kind in (op.MULTIPLY, op.DIVIDE) and any(code.steps[a][0] == op.CONSTANT for a in arguments):
            for a in arguments:
                if getattr(values[a], "is_Add", False):
                    named(a)  # else SymPy would expand the product, and terms of the sum would no longer cancel
        number = compared if operation.is_condition else numeric
        operands = [truth(a) if k < operation.truths else number(a) for k, a in enumerate(arguments)]
        values.append(texts[kind](*operands))
        sizes.append(1 + sum(sizes[a] for a in arguments))
        if uses[position] > 1 or sizes[position] > MAX_INLINE_OPERATIONS:
            named(position)
    return tuple(steps), tuple(numeric(output) for output in code.outputs)


def _leaf(kind: int, arguments: Sequence[Any], symbols: Sequence[Sequence[Any]]) -> Any:
    if kind in (op.CONSTANT, op.TABLE):
        return _number(arguments[0]) if kind == op.CONSTANT else tuple(map(_number, table_values((kind, *arguments))))
    block, first, *count = arguments
    return tuple(symbols[block][first : first + count[0]]) if count else symbols[block][first]


def _number(value: float) -> Any:
    if not np.isfinite(value):
        return sympy.nan if np.isnan(value) else sympy.oo if value > 0 else -sympy.oo
    return sympy.Integer(int(value)) if float(value).is_integer() and abs(value) < 2.0**53 else sympy.Float(value, 17)


@short_repr
@dataclass(frozen=True)
class SymPyRoutine:
    """Routine as common subexpressions of the arguments and of earlier subexpressions, and results in terms of both.

    Parameters
    ----------
    arguments : t, then tuples of the symbols x, u, p, m.
    steps : (symbol, expression) in order of evaluation; an expression contains only arguments and earlier symbols.
    results : an expression for each number that the routine returns.
    """

    arguments: tuple[Any, ...] = field(repr=False)
    steps: tuple[tuple[Any, Any], ...] = field(repr=False)
    results: tuple[Any, ...] = field(repr=False)

    def function(self, modules: Any = "numpy", **options: Any) -> Callable[..., list[Any]]:
        """Return a function of t and the sequences x, u, p, m, made by `sympy.lambdify` with these `options` and the steps as
        `cse`."""
        common_steps = list(self.steps), list(self.results)
        compiled_function: Callable[..., list[Any]] = sympy.lambdify(
            self.arguments, [], modules, cse=lambda _: common_steps, **options
        )
        return compiled_function

    @answer_old_names
    def expanded(self, max_operations: int = 10_000) -> tuple[Any, ...]:
        """Return the results in terms of the arguments, with all steps substituted; for small models.

        Raises `ModelError` E272 if an expression would have more than `max_operations` operations.
        """
        sizes: dict[Any, int] = {}

        def size_of(expression: Any) -> int:
            size = int(expression.count_ops(visual=False)) + sum(sizes.get(symbol, 0) for symbol in expression.free_symbols)
            if size > max_operations:
                why = f"an expression would exceed {max_operations} operations"
                cure = "`steps` and `results`, which share common subexpressions"
                title = "the model is too large for expanded equations"
                raise refusal("E272", title, cure, about="SymPy", why=why, places=())
            return size

        for symbol, expression in self.steps:
            sizes[symbol] = size_of(expression)
        for result in self.results:
            size_of(result)
        expansions: dict[Any, Any] = {}
        for symbol, expression in self.steps:
            expansions[symbol] = expression.xreplace(expansions)
        return tuple(result.xreplace(expansions) for result in self.results)


@short_repr
@dataclass(frozen=True)
class SymPyModel:
    """Routines of a model as expressions in its symbols.

    Parameters
    ----------
    t, x, u, p, m : symbols: time, states, parameters of sources (inputs), all other parameters, modes.
    names : the user's name of each symbol, such as "arm.pose[3]".
    units : unit of each symbol, if it has one.
    start : (x, u, p, m) at the start: consistent states, and all parameters.
    rates, outputs, guards : dx/dt; values, named by `labels["outputs"]`; one number for each transition.
    resets : x after each transition that changes it, by index of the transition.
    pushes : by index of a transition, the changes of the guards by its impulse, then x without the impulse.
    ticks : x after a tick of each clock, in the order of simultaneous ticks.
    clocks : (offset, period) of each clock, as symbols; the period is None for a single tick.
    loops : for each nonlinear algebraic loop, the residuals and a Newton step for the states that hold its unknowns, to be solved
        before a run and after events, ticks and changes of p; and the indices of these states in x.
    transitions : (index in m, mode before, mode after).
    labels : the user's names of the results of `rates` ("states"), `outputs` and `guards`.
    """

    name: str
    t: Any
    x: tuple[Any, ...]
    u: tuple[Any, ...]
    p: tuple[Any, ...]
    m: tuple[Any, ...]
    names: Mapping[Any, str] = field(repr=False)
    units: Mapping[Any, str] = field(repr=False)
    start: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] = field(repr=False)
    rates: SymPyRoutine
    outputs: SymPyRoutine
    guards: SymPyRoutine
    resets: Mapping[int, SymPyRoutine]
    pushes: Mapping[int, SymPyRoutine]
    ticks: tuple[SymPyRoutine, ...]
    clocks: tuple[tuple[Any, Any], ...]
    loops: tuple[tuple[SymPyRoutine, tuple[int, ...]], ...]
    transitions: tuple[tuple[int, int, int], ...]
    labels: Mapping[str, tuple[str, ...]] = field(repr=False)

    def function(self, modules: Any = "numpy", **options: Any) -> Callable[..., list[Any]]:
        """Return the rates as a function of t and the sequences x, u, p, m; see `SymPyRoutine.function`."""
        return self.rates.function(modules, **options)


def sympy_model(model: Compilable) -> SymPyModel:
    """Return a model in SymPy: the compiled routines as expressions with common subexpressions.

    Time derivatives, linear algebraic loops, dependent storages and constraints are already solved, as in machine code; nonlinear
    loops are in `loops`. A graph is compiled first.

    Raises `ModelError` E100 if `model` is not a model, E335 for delays, E693 for FMUs, E271 if an operation has no form in SymPy,
    E262 if no solution of an algebraic loop is found at the start.

    >>> from bondgraph import J1, C, Graph, R, Se
    >>> graph = Graph("rc").connect(loop := J1("loop"), C("c", capacitance=2.0))
    >>> graph = graph.connect(loop, R("r", 5.0)).connect(Se("u", 1.0), loop)
    >>> symbolic = sympy_model(graph)
    >>> symbolic.rates.expanded()
    ((u_value - c_q/c_capacitance)/r_resistance,)
    """
    compiled = compiled_form(model, "sympy_model")
    content = content_of(compiled, None, "sympy_model")
    symbols, names, units = _symbols(content)
    sources = set(inputs_of(compiled))
    source_indices = [index for entry in content.p if entry.name in sources for index in entry.indices]
    other_indices = sorted(set(range(count(content.p))) - set(source_indices))
    (t,), x, symbols_of_p, m = symbols
    u, p = (tuple(symbols_of_p[index] for index in indices) for indices in (source_indices, other_indices))
    arguments = (t, x, u, p, m)
    prepare = content.routines["prepare"]

    def routine(steps: Listing) -> SymPyRoutine:
        return SymPyRoutine(arguments, *expressions(with_prepare(prepare, steps, len(symbols_of_p)), symbols))

    clocks = tuple(
        (symbols_of_p[tick.offset], None if tick.period is None else symbols_of_p[tick.period]) for tick in content.ticks
    )
    start, state_indices = content.start, content.system.places
    return SymPyModel(
        name=content.system.name,
        t=t,
        x=x,
        u=u,
        p=p,
        m=m,
        names=FixedEntries(names),
        units=FixedEntries(units),
        start=(start.x, start.p[source_indices], start.p[other_indices], start.m),
        rates=routine(content.routines["rates"]),
        outputs=routine(content.routines["outputs"]),
        guards=routine(content.routines["guards"]),
        resets=FixedEntries({k: routine(steps) for k, steps in content.resets.items()}),  # type: ignore[misc, arg-type]
        pushes=FixedEntries({k: routine(steps) for k, steps in content.pushes.items()}),  # type: ignore[misc, arg-type]
        ticks=tuple(routine(tick.routine) for tick in content.ticks),
        clocks=clocks,
        loops=tuple(
            (routine(steps), tuple(k for name in loop.guesses for k in state_indices[name])) for loop, steps in content.loops
        ),
        transitions=tuple((event.slot, event.source, event.target) for event in content.system.events),
        labels=FixedEntries({word: _labels(content.tables[word]) for word in ("states", "outputs", "guards")}),
    )


def _labels(entries: Iterable[Entry]) -> tuple[str, ...]:
    return tuple(label for entry in entries for label in labels_of(entry.name, entry.shape))


def _symbols(content: Content) -> tuple[list[tuple[Any, ...]], dict[Any, str], dict[Any, str]]:
    t = sympy.Symbol("t", real=True)
    blocks, names, units, taken = [(t,)], {t: "time"}, {t: "s"}, list(BLOCKS)
    for entries in (content.x, content.p, content.m):
        labels = _labels(entries)
        words = identifiers(labels, taken)
        taken += words
        blocks.append(tuple(sympy.Symbol(word, real=True) for word in words))
        names |= dict(zip(blocks[-1], labels, strict=True))
        units |= {blocks[-1][index]: e.unit for e in entries if e.unit for index in e.indices}
    return blocks, names, units
