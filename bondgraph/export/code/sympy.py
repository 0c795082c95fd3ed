"""SymPy expressions of a compiled model: its routines with their common sub-expressions, which become callables in no time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from bondgraph.compile.pipeline import Compilable, compiled_form
from bondgraph.compile.state_names import labels_of
from bondgraph.errors import refusal
from bondgraph.export.code.content import BLOCKS, Content, content_of
from bondgraph.export.code.expressions import composed, expressions
from bondgraph.export.code.names import Entry, count, identifiers
from bondgraph.export.symbolic import inputs_of
from bondgraph.output.short_repr import brief
from bondgraph.tape.routine import Listing
from screws.renamed import answer_old_names


@brief
@dataclass(frozen=True)
class SymPyRoutine:
    """One routine: results that depend on common sub-expressions, and these on the arguments and on each other.

    Parameters
    ----------
    arguments : t, then tuples of the symbols x, u, p, m.
    steps : (symbol, expression) in order of evaluation; an expression knows arguments and earlier symbols only.
    results : an expression for each number that the routine gives.
    """

    arguments: tuple[Any, ...] = field(repr=False)
    steps: tuple[tuple[Any, Any], ...] = field(repr=False)
    results: tuple[Any, ...] = field(repr=False)

    def function(self, modules: Any = "numpy", **options: Any) -> Callable[..., list[Any]]:
        """A callable of t and the sequences x, u, p, m that gives the results, made by `sympy.lambdify`, whose `options` these
        are; the steps are handed over as its common sub-expressions."""
        import sympy

        def known(_: Any) -> tuple[list[tuple[Any, Any]], list[Any]]:
            return list(self.steps), list(self.results)

        made: Callable[..., list[Any]] = sympy.lambdify(self.arguments, [], modules, cse=known, **options)
        return made

    @answer_old_names
    def expanded(self, max_operations: int = 10_000) -> tuple[Any, ...]:
        """The results in the arguments alone, every step put in where it is used; for small models.

        Raises `ModelError` E272 where they would have more than `max_operations` operations.
        """
        sizes: dict[Any, int] = {}

        def size_of(expression: Any) -> int:
            size = int(expression.count_ops(visual=False)) + sum(sizes.get(symbol, 0) for symbol in expression.free_symbols)
            if size > max_operations:
                why = f"an expression would have more than {max_operations} operations"
                cure = "`steps` and `results`, which share what occurs twice"
                title = "the model is too large for equations in one piece"
                raise refusal("E272", title, cure, about="SymPy", why=why, places=())
            return size

        for symbol, expression in self.steps:
            sizes[symbol] = size_of(expression)
        for result in self.results:
            size_of(result)
        whole: dict[Any, Any] = {}
        for symbol, expression in self.steps:
            whole[symbol] = expression.xreplace(whole)
        return tuple(result.xreplace(whole) for result in self.results)


@brief
@dataclass(frozen=True)
class SymPyModel:
    """The routines of a model as expressions in its symbols.

    Parameters
    ----------
    t, x, u, p, m : symbols: time, states, parameters of sources (inputs), all other parameters, modes.
    names : symbol -> the user's name of it: "arm.pose[3]".
    units : symbol -> its unit, where it has one.
    start : (x, u, p, m) at the start: consistent states, and all parameters.
    rates, outputs, guards : dx/dt; values by name are `labels["outputs"]`; one number for each transition.
    resets, pushes : number of a transition -> x after it; what its impulse adds to the guards, then x without it.
    ticks : x after a tick of each clock, in the order in which those that are due together tick.
    clocks : (offset, period) of each, as symbols; no period (None) for one tick only.
    loops : of each nonlinear algebraic loop the residuals, then a Newton step for the states that follow it, which are to be
        found before a run, after events and ticks; and the places of these states in x.
    transitions : (place in m, its number before, its number after).
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
        """The rates as a callable of t and the sequences x, u, p, m; see `SymPyRoutine.function`."""
        return self.rates.function(modules, **options)


def sympy_model(model: Compilable) -> SymPyModel:
    """A model in SymPy: the routines that are compiled here, as expressions with common sub-expressions.

    Time derivatives, algebraic loops, dependent storages and constraints are solved, as in machine code, so that there is
    nothing left to differentiate or to solve.

    Parameters
    ----------
    model : compiled, or a graph, which is compiled first.

    Raises `ModelError` E100 for what is no model, E271 if an operation has no form in SymPy, E262 if an algebraic loop has no
    solution at the start.

    >>> from bondgraph import J1, C, Graph, R, Se
    >>> graph = Graph("rc").connect(loop := J1("loop"), C("c", capacitance=2.0))
    >>> graph = graph.connect(loop, R("r", 5.0)).connect(Se("u", 1.0), loop)
    >>> found = sympy_model(graph)
    >>> found.rates.expanded()
    ((u_value - c_q/c_capacitance)/r_resistance,)
    """
    compiled = compiled_form(model, "sympy_model")
    content = content_of(compiled, None, "sympy_model")
    symbols, names, units = _symbols(content)
    sources = set(inputs_of(compiled))
    given = [place for entry in content.p if entry.name in sources for place in range(entry.start, entry.start + entry.size)]
    others = sorted(set(range(count(content.p))) - set(given))
    (t,), x, own, m = symbols
    u, p = (tuple(own[place] for place in places) for places in (given, others))
    arguments = (t, x, u, p, m)
    prepare = content.routines["prepare"]

    def routine(steps: Listing) -> SymPyRoutine:
        return SymPyRoutine(arguments, *expressions(composed(prepare, steps, len(own)), symbols))

    clocks = tuple((own[tick.offset], None if tick.period is None else own[tick.period]) for tick in content.ticks)
    start, places = content.start, content.system.places
    return SymPyModel(
        name=content.system.name,
        t=t,
        x=x,
        u=u,
        p=p,
        m=m,
        names=MappingProxyType(names),
        units=MappingProxyType(units),
        start=(start.x, start.p[given], start.p[others], start.m),
        rates=routine(content.routines["rates"]),
        outputs=routine(content.routines["outputs"]),
        guards=routine(content.routines["guards"]),
        resets=MappingProxyType({k: routine(steps) for k, steps in content.resets.items()}),
        pushes=MappingProxyType({k: routine(steps) for k, steps in content.pushes.items()}),
        ticks=tuple(routine(tick.routine) for tick in content.ticks),
        clocks=clocks,
        loops=tuple((routine(steps), tuple(k for name in loop.guesses for k in places[name])) for loop, steps in content.loops),
        transitions=tuple((event.slot, event.source, event.target) for event in content.system.events),
        labels=MappingProxyType({word: _labels(content.tables[word]) for word in ("states", "outputs", "guards")}),
    )


def _labels(entries: Iterable[Entry]) -> tuple[str, ...]:
    return tuple(label for entry in entries for label in labels_of(entry.name, entry.shape))


def _symbols(content: Content) -> tuple[list[tuple[Any, ...]], dict[Any, str], dict[Any, str]]:
    """A symbol for every number of each block, the names and the units of all."""
    import sympy

    t = sympy.Symbol("t", real=True)
    blocks, names, units, taken = [(t,)], {t: "time"}, {t: "s"}, list(BLOCKS)
    for entries in (content.x, content.p, content.m):
        labels = _labels(entries)
        found = identifiers(labels, taken)
        taken += found
        blocks.append(tuple(sympy.Symbol(one, real=True) for one in found))
        names |= dict(zip(blocks[-1], labels, strict=True))
        units |= {blocks[-1][place]: e.unit for e in entries if e.unit for place in range(e.start, e.start + e.size)}
    return blocks, names, units
