"""State equations: a compiled model -> x' = f(x, u, p, t) in SymPy, with every other variable eliminated or defined."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from bondgraph.assembly.stages import Stages, stages_of
from bondgraph.assembly.system import System
from bondgraph.compile.pipeline import Compilable, compiled_form
from bondgraph.compile.state_names import labels_of, own_states, unknown_name
from bondgraph.errors import ModelError, Problem, raise_if_any, refusal
from bondgraph.export.forms.cases import CASES, Modes, combinations, count_of, grouped, in_words, piecewise
from bondgraph.export.forms.closed_form import LinearSystem, StateEquations
from bondgraph.export.forms.letters import letters_of
from bondgraph.export.forms.parts import part_of
from bondgraph.export.roles import updates_of
from bondgraph.export.symbolic import inputs_of, symbol_of
from bondgraph.model.names import names_of
from bondgraph.tracing.on_tape.values import scalars_of

if TYPE_CHECKING:
    from bondgraph.export.forms.algebra.definitions import Definitions
    from bondgraph.export.forms.algebra.elimination import Limits

STATEMENTS, SCALARS = 60, 240
"""Most statements, and most scalars that they compute, of a model whose equations are written in one piece where that can be
read; what only serves the energy ledger does not count."""


def state_equations(
    model: Compilable,
    *,
    part: str | None = None,
    numbers: bool = False,
    outputs: Sequence[str] = (),
    modes: Mapping[str, str] | None = None,
    varying: Sequence[str] = (),
) -> StateEquations:
    """Readable state equations.

    Linear algebraic loops, dependent storages, ideal constraints and switches are solved with symbols. Where modes matter,
    expressions are `Piecewise` in them, every combination of which is worked out by itself. What would be too long to put in
    has a name and a line of its own, after the equations: values by the names they have in the model, common parts as s1, s2 ...
    Of large models modes are symbols, and unknowns that depend on each other are given by their linear equations A w = b.

    Parameters
    ----------
    model : compiled, or a graph, which is compiled first.
    part : path of a nested graph or of an element: its states alone. What comes from outside of it is an input.
    numbers : put in the numbers of all parameters but those of sources.
    outputs : names of further values that are wanted in the same form, such as the flow of a source.
    modes : automaton -> the state to hold it in, so that its modes are not told apart.
    varying : parameters that change in time; the derivative of `u.value` is then the symbol `u.value'`, else it is zero.

    Numbers are computed exactly, and written as the decimals that they are; as fractions where all that were given are whole.

    Raises `ModelError` E100 for what is no model; E272 for what can be solved in one combination of modes only, where there are
    too many; E273 for a loop that is not linear; E274 for a formula that takes no symbols; E250 for an unknown name in
    `varying`, E251 in `outputs`, E122 in `modes`, E275 as `part`.

    >>> from bondgraph import J1, C, Graph, R, compile_model
    >>> graph = Graph("rc").connect(loop := J1("loop"), C("c", capacitance=2.0)).connect(loop, R("r", 5.0))
    >>> print(state_equations(compile_model(graph)))
    c.q' = -c.q/(c.capacitance*r.resistance)
    >>> print(state_equations(compile_model(graph), numbers=True))
    c.q' = -c.q/10
    """
    import sympy

    from bondgraph.export.forms.algebra.canonical import decimal
    from bondgraph.export.forms.algebra.elimination import BY_PARTS, READABLE

    compiled = compiled_form(model, "state_equations")
    system = compiled.system
    outputs, varying = names_of(outputs, "outputs"), [system.resolve(name) for name in names_of(varying, "varying")]
    held = dict(modes or {})
    raise_if_any(system.name, list(_unknown(system, outputs, varying, held)))
    chosen = part_of(compiled, part)
    labels = tuple(label for state in chosen.states for label in labels_of(state.name, np.shape(state.initial)))
    sampled = updates_of(system)
    wanted = [sampled[state.name][0] if state.name in sampled else state.rate for state in chosen.states]
    wanted += [system.resolve(name) for name in outputs]
    stages = stages_of(system, wanted, chosen.outside)
    inputs = inputs_of(compiled)
    given, slopes = given_symbols(system, {*inputs, *varying}, varying, numbers)
    given |= {name: symbol_of(system, name) for name in (*chosen.outside, *system.modes)}
    beyond = [symbol for name in chosen.outside for symbol in scalars_of(given[name])]
    slopes |= {symbol: sympy.Symbol(f"{symbol.name}'", real=True) for symbol in beyond}
    moving = {s for n in ("time", *inputs, *varying, *(state.name for state in chosen.states)) for s in scalars_of(given[n])}
    moving |= {slope for slope in slopes.values() if slope.is_Symbol} | set(beyond)
    names = labels + tuple(label for name in outputs for label in labels_of(name, _shape(system, name)))
    asked = _Asked(system, stages, given, slopes, moving, held, wanted, names)
    small = _is_small(system, stages.statements)
    definitions, found = _found(asked, READABLE if small else BY_PARTS)
    if small and (definitions.meant or definitions.systems):
        definitions, found = _found(asked, BY_PARTS)
    put_in = [] if not numbers else [v for n, value in system.parameters.items() if n not in inputs for v in np.ravel(value)]
    whole = all(float(number).is_integer() for number in (*put_in, *definitions.floats))
    groups = {name: grouped([(free, decimal(e, whole)) for free, e in each]) for name, each in found.items()}
    joined = {name: piecewise(system, each) for name, each in groups.items()}
    needed = definitions.needed(joined.values())
    meant = {symbol.name: decimal(expression, whole) for symbol, expression in needed.items()}
    systems = tuple(
        LinearSystem(s.unknowns, *(m.applyfunc(lambda e: decimal(e, whole)) for m in (s.A, s.b)))
        for s in definitions.needed_systems([*joined.values(), *needed.values()])
    )
    everything = [*joined.values(), *meant.values(), *(m for s in systems for m in (s.A, s.b))]
    occurring = {symbol.name for expression in everything for symbol in expression.free_symbols}
    ticks = {
        label: (clock.offset, str(clock.period))
        for state in chosen.states
        if state.name in sampled
        for clock in (sampled[state.name][1],)
        for label in labels_of(state.name, np.shape(state.initial))
    }
    occurring |= {name for clock in ticks.values() for name in clock}
    symbols = [label for name in inputs for label in labels_of(name, _shape(system, name)) if label in occurring]
    symbols += sorted({s.name for b in beyond for s in (b, slopes[b]) if s.name in occurring})
    return StateEquations(
        name=system.name,
        equations=MappingProxyType({name: joined[name] for name in labels}),
        outputs=MappingProxyType({name: joined[name] for name in names[len(labels) :]}),
        ticks=MappingProxyType(ticks),
        definitions=MappingProxyType(meant),
        systems=systems,
        states=labels,
        inputs=tuple(symbols),
        parameters=MappingProxyType(numbers_of(system, occurring - set(symbols))),
        letters=MappingProxyType(letters_of(compiled, inputs, outputs)),
        cases=MappingProxyType({name: in_words(system, each) for name, each in groups.items()}),
        modes=MappingProxyType({mode: states for mode, (states, _) in system.modes.items()}),
    )


@dataclass(frozen=True)
class _Asked:
    """What is wanted of which system, and what is known of it."""

    system: System
    stages: Stages
    given: Mapping[str, Any]
    slopes: Mapping[Any, Any]
    moving: Collection[Any]
    held: Mapping[str, str]
    wanted: Sequence[str]
    names: Sequence[str]
    """A label for every scalar of what is wanted."""


def _found(asked: _Asked, limits: Limits) -> tuple[Definitions, dict[str, list[tuple[Modes, Any]]]]:
    """Definitions, and what every label is in which modes; where these are too many or expressions long, modes are symbols."""
    import sympy

    from bondgraph.export.forms.algebra.canonical import canonical
    from bondgraph.export.forms.algebra.definitions import Definitions
    from bondgraph.export.forms.algebra.elimination import READABLE, eliminated

    system, stages, held = asked.system, asked.stages, asked.held
    apart = limits is READABLE and count_of(system, stages.statements, held) <= CASES
    if not apart and stages.yielding and count_of(system, stages.statements, held) > 1:
        raise _only_in_one_mode(system, stages, held)
    definitions = Definitions([n for name in asked.given for n in labels_of(name, _shape(system, name))], limits.longest)
    found: dict[str, list[tuple[Modes, Any]]] = {name: [] for name in asked.names}
    for combination in combinations(system, stages.statements, held, apart):
        env = {**asked.given, **{mode: sympy.Integer(k) for mode, k in combination}}
        values = eliminated(system, stages, env, asked.slopes, definitions, limits)
        scalars = [sympy.S(scalar) for name in asked.wanted for scalar in scalars_of(values[name])]
        for name, scalar in zip(asked.names, scalars, strict=True):
            free = tuple((mode, k) for mode, k in combination if mode.removesuffix(".mode") not in held)
            found[name].append((free, canonical(scalar, asked.moving) if limits is READABLE else scalar))
    return definitions, found


def numbers_of(system: System, occurring: Collection[str]) -> dict[str, float]:
    """Numbers of the parameters that occur, by label."""
    return {
        label: float(number)
        for name, value in system.parameters.items()
        for label, number in zip(labels_of(name, np.shape(value)), np.ravel(value), strict=True)
        if label in occurring
    }


def _unknown(system: System, outputs: Sequence[str], varying: Sequence[str], modes: Mapping[str, str]) -> Iterator[Problem]:
    for name in outputs:
        if system.resolve(name) not in system.values:
            yield unknown_name("E251", name, "value of the model", [*system.values, *system.aliases])
    for name in varying:
        if name not in system.parameters:
            yield unknown_name("E250", name, "parameter, so no input", system.parameters)
    for name, state in modes.items():
        known = system.modes.get(f"{name}.mode")
        if known is None:
            yield unknown_name("E122", name, "automaton", [mode.removesuffix(".mode") for mode in system.modes])
        elif state not in known[0]:
            yield unknown_name("E122", state, f'state of the automaton "{name}"', known[0])


def _is_small(system: System, needed: Collection[int]) -> bool:
    scalars = sum(math.prod(_shape(system, out)) for index in needed for out in system.statements[index].outs)
    return len(needed) <= STATEMENTS and scalars <= SCALARS


def _only_in_one_mode(system: System, stages: Stages, held: Mapping[str, str]) -> ModelError:
    read = {arg for index in stages.statements for arg in system.statements[index].args}
    free = {mode.removesuffix(".mode"): states for mode, (states, _) in system.modes.items() if mode in read}
    cure = ", ".join(f'"{name}": "{states[0]}"' for name, states in free.items() if name not in held)
    count = count_of(system, stages.statements, held)
    title = "constraints that switch need one combination of modes at a time"
    why = f"the equations have {count} combinations of modes, and {CASES} are written side by side"
    return refusal("E272", title, f"modes={{{cure}}}, or another such combination", about=system.name, why=why, places=())


def _shape(system: System, name: str) -> tuple[int, ...]:
    return system.values[system.resolve(name)].shape or ()


def given_symbols(
    system: System, kept: Collection[str], varying: Sequence[str], numbers: bool
) -> tuple[dict[str, Any], dict[Any, Any]]:
    """States, parameters and time as symbols or exact numbers; and the time derivatives of what moves by itself."""
    import sympy

    from bondgraph.export.forms.algebra.canonical import rational

    given: dict[str, Any] = {"time": symbol_of(system, "time")}
    given |= {state.name: symbol_of(system, state.name) for state in own_states(system)[0]}
    for name, value in system.parameters.items():
        if numbers and name not in kept:
            exactly = np.array([rational(float(number)) for number in np.ravel(value)], dtype=object)
            given[name] = exactly.reshape(np.shape(value)) if np.shape(value) else exactly[0]
        else:
            given[name] = symbol_of(system, name)
    slopes = {given["time"]: sympy.S.One}
    for name in varying:
        for symbol in scalars_of(given[name]):
            slopes[symbol] = sympy.Symbol(f"{symbol.name}'", real=True)
    return given, slopes
