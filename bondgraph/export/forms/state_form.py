"""State equations x' = f(x, u, p, t) of a compiled model in SymPy, with every other variable eliminated or defined."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.assembly.stages import Stages, stages_of
from bondgraph.assembly.system import State, System
from bondgraph.compile.compiled import Compiled
from bondgraph.compile.pipeline import Compilable, compiled_form
from bondgraph.compile.state_names import own_states, unknown_name
from bondgraph.errors import FixedEntries, ModelError, Problem, raise_if_any, refusal
from bondgraph.export.forms.algebra.canonical import canonical, decimal, rational
from bondgraph.export.forms.algebra.definitions import Definitions
from bondgraph.export.forms.algebra.elimination import BY_PARTS, READABLE, Limits, eliminate
from bondgraph.export.forms.expression_text import letters_of
from bondgraph.export.forms.records import Case, LinearSystem, StateEquations
from bondgraph.export.symbolic import inputs_of, symbol_of
from bondgraph.export.value_roles import tick_updates
from bondgraph.model.arguments import names_of
from bondgraph.output.lazy import sympy
from bondgraph.output.tables import labels_of
from bondgraph.tracing.on_tape.values import scalars_of
from bondgraph.units import Conversion


@dataclass(frozen=True)
class PartSelection:
    states: tuple[State, ...]
    outside: frozenset[str]


def part_of(compiled: Compiled, path: str | None) -> PartSelection:
    """Return the states of the elements at a path or below it; None selects the whole model. Raises E275 for an unknown path."""
    system, elements = compiled.system, compiled.model.elements
    states = own_states(system)[0]
    if path is None:
        return PartSelection(states, frozenset())
    if not any(is_inside(element, path) for element in elements):
        paths = [*compiled.model.groups, *elements]
        raise ModelError(system.name, [unknown_name("E275", path, "part of the model", paths)])
    outside = {out for s in system.statements if not is_inside(s.element, path) for out in s.outs}
    unknowns = (*system.unknowns, *(u for loop in system.loops for u in loop.unknowns))
    outside |= {u.value for u in unknowns if not is_inside(u.element, path) or u.residual in outside}
    outside |= {state.name for state in states if not is_inside(_owner(compiled, state), path)}
    selected = tuple(state for state in states if state.name not in outside)
    return PartSelection(selected, frozenset(outside))


def is_inside(element: str, path: str | None) -> bool:
    return path is None or element == path or element.startswith(f"{path}.")


def _owner(compiled: Compiled, state: State) -> str:
    path = state.name
    while path and path not in compiled.model.elements:
        path = path.rpartition(".")[0]
    return path


MAX_COMBINATIONS = 16

Modes = tuple[tuple[str, int], ...]
"""Mode signals, each with the index of its state."""


def mode_combinations(
    system: System, statements: Collection[int], fixed_modes: Mapping[str, str], enumerate_modes: bool
) -> list[Modes]:
    read = {arg for index in statements for arg in system.statements[index].args}
    choices = []
    for name, mode in system.modes.items():
        if name in read:
            fixed = fixed_modes.get(mode.automaton)
            if enumerate_modes or fixed is not None or len(mode.states) == 1:
                choices.append([(name, k) for k, state in enumerate(mode.states) if fixed in (None, state)])
    return list(itertools.product(*choices)) if enumerate_modes else [tuple(choice[0] for choice in choices)]


def free_automata(system: System, statements: Collection[int], fixed_modes: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    read = {arg for index in statements for arg in system.statements[index].args}
    modes = (mode for name, mode in system.modes.items() if name in read)
    return {mode.automaton: mode.states for mode in modes if mode.automaton not in fixed_modes}


def group_by_expression(results: Sequence[tuple[Modes, Any]]) -> list[tuple[list[Modes], Any]]:
    groups: dict[Any, list[Modes]] = {}
    for combination, expression in results:
        groups.setdefault(expression, []).append(combination)
    return sorted(((when, e) for e, when in groups.items()), key=lambda group: len(group[0]))


def piecewise(system: System, groups: Sequence[tuple[list[Modes], Any]]) -> Any:
    def holds(combination: Modes) -> Any:
        return sympy.And(*(sympy.Eq(symbol_of(system, mode), k) for mode, k in combination))

    *pieces, (_, otherwise) = groups
    if not pieces:
        return otherwise
    return sympy.Piecewise(*((e, sympy.Or(*map(holds, when))) for when, e in pieces), (otherwise, True))


def cases_in_words(system: System, groups: Sequence[tuple[list[Modes], Any]]) -> tuple[Case, ...]:
    def words(combination: Modes) -> str:
        return ", ".join(f"{system.modes[name].automaton}: {system.modes[name].states[k]}" for name, k in combination)

    out = [("; ".join(map(words, when)), expression) for when, expression in groups]
    if len(groups) > 1 and len(groups[-1][0]) > 2:
        out[-1] = ("otherwise", groups[-1][1])
    return tuple(out)


MAX_STATEMENTS, MAX_SCALARS = 60, 240
"""Maximum numbers of statements, and of scalars that they compute, for which equations are written in one piece if possible; the
energy balance is not counted."""


def state_equations(
    model: Compilable,
    *,
    part: str | None = None,
    numbers: bool = False,
    outputs: Sequence[str] = (),
    modes: Mapping[str, str] | None = None,
    varying: Sequence[str] = (),
) -> StateEquations:
    """Return the state equations x' = f(x, u, p, t) of a model as SymPy expressions.

    Linear algebraic loops, dependent storages, ideal constraints and switches are solved symbolically. If the equations depend on
    modes, each combination of modes is derived separately, and the expressions are `Piecewise`. Long expressions get a name and
    a separate line after the equations: values keep their names in the model, and common parts are named s1, s2 ... Above 16
    combinations, and in large models, modes are symbols. In large models, unknowns that depend on each other are given by their
    linear equations A w = b.

    Parameters
    ----------
    model : compiled, or a graph, which is compiled first.
    part : path of a nested graph or an element, to return only its states. Values from outside are inputs.
    numbers : True to substitute the values of all parameters except source parameters.
    outputs : names of other values to return in the same form, such as the flow of a source.
    modes : state to which an automaton is fixed, by automaton, so that its modes are not distinguished.
    varying : parameters that change in time; the derivative of `u.value` is then the symbol `u.value'`, else it is zero.

    Numbers are computed exactly and written as decimals, or as fractions if all given numbers are integers.

    Raises `ModelError` E100 if `model` is not a model; E335 for delays, E693 for FMUs; E272 if the equations can only be solved
    for one combination of modes, but several exist; E273 for a nonlinear loop; E274 for a formula that does not accept symbols;
    E250 for an unknown name in `varying`, E251 in `outputs`, E122 in `modes`, E275 in `part`.

    >>> from bondgraph import J1, C, Graph, R, compile_model
    >>> graph = Graph("rc").connect(loop := J1("loop"), C("c", capacitance=2.0)).connect(loop, R("r", 5.0))
    >>> print(state_equations(compile_model(graph)))
    c.q' = -c.q/(c.capacitance*r.resistance)
    >>> print(state_equations(compile_model(graph), numbers=True))
    c.q' = -c.q/10
    """
    compiled = compiled_form(model, "state_equations")
    system = compiled.system
    outputs, varying = names_of(outputs, "outputs"), [system.resolve(name) for name in names_of(varying, "varying")]
    held = dict(modes or {})
    raise_if_any(system.name, list(_unknown(system, outputs, varying, held)))
    selection = part_of(compiled, part)
    labels = tuple(label for state in selection.states for label in labels_of(state.name, np.shape(state.initial)))
    sampled = tick_updates(system)
    requested = [sampled[state.name][0] if state.name in sampled else state.rate for state in selection.states]
    requested += [system.resolve(name) for name in outputs]
    stages = stages_of(system, requested, selection.outside)
    inputs = inputs_of(compiled)
    known_values, slopes = known_symbols(system, {*inputs, *varying}, varying, numbers)
    known_values |= {name: symbol_of(system, name) for name in (*selection.outside, *system.modes)}
    beyond = [symbol for name in selection.outside for symbol in scalars_of(known_values[name])]
    slopes |= {symbol: sympy.Symbol(f"{symbol.name}'", real=True) for symbol in beyond}
    names_of_moving = ("time", *inputs, *varying, *(state.name for state in selection.states))
    moving = {s for name in names_of_moving for s in scalars_of(symbol_of(system, name))}
    moving |= {slope for slope in slopes.values() if slope.is_Symbol} | set(beyond)
    names = labels + tuple(label for name in outputs for label in labels_of(name, _shape(system, name)))
    request = _Request(system, stages, known_values, slopes, moving, held, requested, names)
    small = _is_small(system, stages.statements)
    definitions, results = _solve(request, READABLE if small else BY_PARTS)
    if small and (definitions.expressions or definitions.systems):
        definitions, results = _solve(request, BY_PARTS)
    inserted = [] if not numbers else [v for n, value in system.parameters.items() if n not in inputs for v in np.ravel(value)]
    keep_fractions = all(float(number).is_integer() for number in (*inserted, *definitions.floats))
    groups = {
        name: group_by_expression([(free, decimal(e, keep_fractions)) for free, e in each]) for name, each in results.items()
    }
    joined = {name: piecewise(system, each) for name, each in groups.items()}
    needed = definitions.needed(joined.values())
    definitions_by_name = {symbol.name: decimal(expression, keep_fractions) for symbol, expression in needed.items()}
    systems = tuple(
        LinearSystem(s.unknowns, *(m.applyfunc(lambda e: decimal(e, keep_fractions)) for m in (s.A, s.b)))
        for s in definitions.needed_systems([*joined.values(), *needed.values()])
    )
    everything = [*joined.values(), *definitions_by_name.values(), *(m for s in systems for m in (s.A, s.b))]
    occurring = {symbol.name for expression in everything for symbol in expression.free_symbols}
    ticks = {
        label: (clock.offset, str(clock.period))
        for state in selection.states
        if state.name in sampled
        for clock in (sampled[state.name][1],)
        for label in labels_of(state.name, np.shape(state.initial))
    }
    occurring |= {name for clock in ticks.values() for name in clock}
    symbols = [label for name in inputs for label in labels_of(name, _shape(system, name)) if label in occurring]
    symbols += sorted({s.name for s in (*beyond, *slopes.values()) if s.is_Symbol and s.name in occurring})
    return StateEquations(
        name=system.name,
        equations=FixedEntries({name: joined[name] for name in labels}),
        outputs=FixedEntries({name: joined[name] for name in names[len(labels) :]}),
        ticks=FixedEntries(ticks),
        definitions=FixedEntries(definitions_by_name),
        systems=systems,
        states=labels,
        inputs=tuple(symbols),
        parameters=FixedEntries(numbers_of(system, occurring - set(symbols))),
        letters=FixedEntries(letters_of(compiled, inputs, outputs)),
        cases=FixedEntries({name: cases_in_words(system, each) for name, each in groups.items()}),
        modes=FixedEntries({name: mode.states for name, mode in system.modes.items()}),
    )


@dataclass(frozen=True)
class _Request:
    system: System
    stages: Stages
    known_values: Mapping[str, Any]
    slopes: Mapping[Any, Any]
    moving: Collection[Any]
    held: Mapping[str, str]
    requested: Sequence[str]
    names: Sequence[str]


def _solve(request: _Request, limits: Limits) -> tuple[Definitions, dict[str, list[tuple[Modes, Any]]]]:
    """Return definitions, and a list of (modes, expression) for each label. Modes are symbols if `limits` is not READABLE or
    the combinations of modes are too many; raise E272 if switching constraints need a single combination."""
    system, stages, held = request.system, request.stages, request.held
    free_states = free_automata(system, stages.statements, held)
    count = math.prod(map(len, free_states.values()))
    enumerate_modes = limits is READABLE and count <= MAX_COMBINATIONS
    if not enumerate_modes and stages.yielding and count > 1:
        cure = ", ".join(f'"{name}": "{states[0]}"' for name, states in free_states.items())
        title = "the equations of switching constraints need one combination of modes"
        limit = f"the limit is {MAX_COMBINATIONS}" if count > MAX_COMBINATIONS else "they are too long to be written for each"
        why = f"the equations have {count} combinations of modes; {limit}"
        raise refusal("E272", title, f"modes={{{cure}}}, or another combination of modes", about=system.name, why=why, places=())
    definitions = Definitions([n for name in request.known_values for n in labels_of(name, _shape(system, name))], limits.longest)
    results: dict[str, list[tuple[Modes, Any]]] = {name: [] for name in request.names}
    for combination in mode_combinations(system, stages.statements, held, enumerate_modes):
        env = {**request.known_values, **{mode: sympy.Integer(k) for mode, k in combination}}
        values = eliminate(system, stages, env, request.slopes, definitions, limits)
        scalars = [sympy.S(scalar) for name in request.requested for scalar in scalars_of(values[name])]
        for name, scalar in zip(request.names, scalars, strict=True):
            free = tuple((mode, k) for mode, k in combination if system.modes[mode].automaton not in held)
            results[name].append((free, canonical(scalar, request.moving) if limits is READABLE else scalar))
    return definitions, results


def numbers_of(system: System, occurring: Collection[str]) -> dict[str, float]:
    return {
        label: float(number)
        for name, value in system.parameters.items()
        for label, number in zip(labels_of(name, np.shape(value)), np.ravel(value), strict=True)
        if label in occurring
    }


def _unknown(system: System, outputs: Sequence[str], varying: Sequence[str], modes: Mapping[str, str]) -> Iterator[Problem]:
    for name in outputs:
        if system.resolve(name) not in system.values:
            yield unknown_name("E251", name, "a value of the model", [*system.values, *system.aliases])
    for name in varying:
        if name not in system.parameters:
            yield unknown_name("E250", name, "a parameter, so not an input", system.parameters)
    for name, state in modes.items():
        mode = system.modes.get(f"{name}.mode")
        if mode is None:
            yield unknown_name("E122", name, "an automaton", [each.automaton for each in system.modes.values()])
        elif state not in mode.states:
            yield unknown_name("E122", state, f'a state of the automaton "{name}"', mode.states)


def _is_small(system: System, needed: Collection[int]) -> bool:
    scalars = sum(math.prod(_shape(system, out)) for index in needed for out in system.statements[index].outs)
    return len(needed) <= MAX_STATEMENTS and scalars <= MAX_SCALARS


def _shape(system: System, name: str) -> tuple[int, ...]:
    return system.values[system.resolve(name)].shape or ()


def known_symbols(
    system: System, kept: Collection[str], varying: Sequence[str], numbers: bool
) -> tuple[dict[str, Any], dict[Any, Any]]:
    def exactly(value: Any) -> Any:
        numbers = np.array([rational(float(number)) for number in np.ravel(value)], dtype=object)
        return numbers.reshape(np.shape(value)) if np.shape(value) else numbers[0]

    symbols: dict[str, Any] = {"time": symbol_of(system, "time")}
    symbols |= {state.name: symbol_of(system, state.name) for state in own_states(system)[0]}
    for name, value in system.parameters.items():
        if numbers and name not in kept:
            symbols[name] = exactly(value)
        else:
            symbols[name] = symbol_of(system, name)
    slopes = {symbols["time"]: sympy.S.One}
    for name in varying:
        for symbol in scalars_of(symbols[name]):
            slopes[symbol] = sympy.Symbol(f"{symbol.name}'", real=True)
    for name, convert in system.conversions.items():  # in SI units, from numbers in the declared unit
        symbols[name] = Conversion(exactly(convert.factor), exactly(convert.divisor), exactly(convert.shift))(symbols[name])
    return symbols, slopes
