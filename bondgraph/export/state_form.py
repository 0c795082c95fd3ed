"""State equations: a small compiled model -> x' = f(x, u, p, t) in SymPy, with every other variable eliminated."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from bondgraph.assembly.stages import stages_of
from bondgraph.assembly.system import System
from bondgraph.compile.compiled import Compiled
from bondgraph.compile.pipeline import Compilable, compiled_form
from bondgraph.compile.state_names import labels_of, own_states, unknown_name
from bondgraph.errors import Problem, raise_if_any
from bondgraph.export.closed_form import Case, StateEquations
from bondgraph.export.growth import too_large
from bondgraph.export.symbolic import inputs_of, symbol_of
from bondgraph.export.symbols import dotted, value_latex
from bondgraph.model.laws import Source
from bondgraph.model.names import names_of
from bondgraph.tracing.on_tape.values import scalars_of

STATEMENTS, SCALARS = 60, 240
"""Most statements, and most scalars that they compute, of a model whose equations are for reading; what only serves the
energy ledger does not count."""
CASES = 16
"""Most combinations of modes that are written side by side."""

Modes = tuple[tuple[str, int], ...]
"""Mode signals, and the index of the state that each is in."""


def state_equations(
    model: Compilable,
    *,
    numbers: bool = False,
    outputs: Sequence[str] = (),
    modes: Mapping[str, str] | None = None,
    varying: Sequence[str] = (),
) -> StateEquations:
    """Readable state equations of a small model.

    Linear algebraic loops, dependent storages, ideal constraints and switches are solved with symbols. Where modes matter,
    expressions are `Piecewise` in them, every combination of which is worked out by itself.

    Parameters
    ----------
    model : compiled, or a graph, which is compiled first.
    numbers : put in the numbers of all parameters but those of sources.
    outputs : names of further values that are wanted in the same form, such as the flow of a source.
    modes : automaton -> the state to hold it in, so that its modes are not told apart.
    varying : parameters that change in time; the derivative of `u.value` is then the symbol `u.value'`, else it is zero.

    Raises `ModelError` E100 for what is no model; E272 for a model of more than 60 statements, or expressions beyond reading;
    E273 for a loop that is not linear; E274 for a formula that takes no symbols; E250 for an unknown name in `varying`, E251 in
    `outputs`, E122 in `modes`.

    >>> from bondgraph import J1, C, Graph, R, compile_model
    >>> graph = Graph("rc").connect(loop := J1("loop"), C("c", 2.0)).connect(loop, R("r", 5.0))
    >>> print(state_equations(compile_model(graph)))
    c.q' = -c.q/(c.capacitance*r.resistance)
    >>> print(state_equations(compile_model(graph), numbers=True))
    c.q' = -c.q/10
    """
    import sympy

    from bondgraph.export.canonical import canonical, decimal
    from bondgraph.export.elimination import eliminated

    compiled = compiled_form(model, "state_equations")
    system = compiled.system
    outputs, varying = names_of(outputs, "outputs"), [system.resolve(name) for name in names_of(varying, "varying")]
    held = dict(modes or {})
    raise_if_any(system.name, list(_unknown(system, outputs, varying, held)))
    states, _, labels = own_states(system)
    wanted = [state.rate for state in states] + [system.resolve(name) for name in outputs]
    stages = stages_of(system, wanted)
    needed = stages.statements
    _refuse_large(system, needed)
    inputs = inputs_of(compiled)
    given, slopes = _given(system, {*inputs, *varying}, varying, numbers)
    moving = {s for n in ("time", *inputs, *varying, *(state.name for state in states)) for s in scalars_of(given[n])}
    moving |= {slope for slope in slopes.values() if slope.is_Symbol}
    names = labels + tuple(label for name in outputs for label in labels_of(name, _shape(system, name)))
    found: dict[str, list[tuple[Modes, Any]]] = {name: [] for name in names}
    for combination in _combinations(system, needed, held):
        env = {**given, **{mode: sympy.Integer(k) for mode, k in combination}}
        values = eliminated(system, stages, env, slopes)
        scalars = [scalar for name in wanted for scalar in scalars_of(values[name])]
        for name, scalar in zip(names, scalars, strict=True):
            free = tuple((mode, k) for mode, k in combination if mode.removesuffix(".mode") not in held)
            found[name].append((free, decimal(canonical(sympy.S(scalar), moving))))
    groups = {name: _grouped(each) for name, each in found.items()}
    whole = {name: _piecewise(system, each) for name, each in groups.items()}
    occurring = {symbol.name for expression in whole.values() for symbol in expression.free_symbols}
    numbers_of = {
        label: float(number)
        for name, value in system.parameters.items()
        for label, number in zip(labels_of(name, np.shape(value)), np.ravel(value), strict=True)
        if label in occurring
    }
    symbols = tuple(label for name in inputs for label in labels_of(name, _shape(system, name)) if label in occurring)
    return StateEquations(
        name=system.name,
        equations=MappingProxyType({name: whole[name] for name in labels}),
        outputs=MappingProxyType({name: whole[name] for name in names[len(labels) :]}),
        states=labels,
        inputs=symbols,
        parameters=MappingProxyType({name: value for name, value in numbers_of.items() if name not in symbols}),
        letters=MappingProxyType(_letters(compiled, inputs, outputs, varying)),
        cases=MappingProxyType({name: _cases(system, each) for name, each in groups.items()}),
    )


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


def _refuse_large(system: System, needed: Collection[int]) -> None:
    if len(needed) > STATEMENTS:
        raise too_large(system, f"it has {len(needed)} statements, and {STATEMENTS} are the limit")
    scalars = sum(math.prod(_shape(system, out)) for index in needed for out in system.statements[index].outs)
    if scalars > SCALARS:
        raise too_large(system, f"its statements give {scalars} scalars, and {SCALARS} are the limit")


def _shape(system: System, name: str) -> tuple[int, ...]:
    return system.values[system.resolve(name)].shape or ()


def _given(system: System, kept: Collection[str], varying: Sequence[str], numbers: bool) -> tuple[dict[str, Any], dict[Any, Any]]:
    """States, parameters and time as symbols or exact numbers; and the time derivatives of what moves by itself."""
    import sympy

    from bondgraph.export.canonical import rational

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


def _combinations(system: System, needed: Collection[int], held: Mapping[str, str]) -> list[Modes]:
    """All combinations of the modes that matter."""
    read = {arg for index in needed for arg in system.statements[index].args}
    choices = []
    for mode, (states, _) in system.modes.items():
        if mode in read:
            fixed = held.get(mode.removesuffix(".mode"))
            choices.append([(mode, k) for k, state in enumerate(states) if fixed in (None, state)])
    count = math.prod(map(len, choices))
    if count > CASES:
        cures = f"modes={{...}} for one combination of {', '.join(c[0][0].removesuffix('.mode') for c in choices)}"
        raise too_large(system, f"its switches have {count} combinations, and {CASES} are the limit", cures)
    return list(itertools.product(*choices))


def _grouped(found: Sequence[tuple[Modes, Any]]) -> list[tuple[list[Modes], Any]]:
    """Combinations of modes by their expression, the largest group last."""
    groups: dict[Any, list[Modes]] = {}
    for combination, expression in found:
        groups.setdefault(expression, []).append(combination)
    return sorted(((when, e) for e, when in groups.items()), key=lambda group: len(group[0]))


def _piecewise(system: System, groups: Sequence[tuple[list[Modes], Any]]) -> Any:
    import sympy

    def holds(combination: Modes) -> Any:
        return sympy.And(*(sympy.Eq(symbol_of(system, mode), k) for mode, k in combination))

    *pieces, (_, otherwise) = groups
    if not pieces:
        return otherwise
    return sympy.Piecewise(*((e, sympy.Or(*map(holds, when))) for when, e in pieces), (otherwise, True))


def _cases(system: System, groups: Sequence[tuple[list[Modes], Any]]) -> tuple[Case, ...]:
    """The same with words for the modes."""

    def words(combination: Modes) -> str:
        return ", ".join(f"{mode.removesuffix('.mode')}: {system.modes[mode][0][k]}" for mode, k in combination)

    out = [("; ".join(map(words, when)), expression) for when, expression in groups]
    if len(groups) > 1 and len(groups[-1][0]) > 2:
        out[-1] = ("otherwise", groups[-1][1])
    return tuple(out)


def _letters(compiled: Compiled, inputs: Sequence[str], outputs: Sequence[str], varying: Sequence[str]) -> dict[str, str]:
    """LaTeX of every name that may occur; a source's value is written as the effort or flow that it is."""
    system, elements = compiled.system, compiled.model.elements
    letters: dict[str, str] = {}
    for name in dict.fromkeys((*system.values, *outputs)):
        path, _, local = name.rpartition(".")
        letter = value_latex(system, name)
        if name in inputs and local == "value" and isinstance(law := elements[path].law, Source):
            letter = elements[path].symbols.get(law.gives) or value_latex(system, f"{path}.{law.gives}")
        shape = _shape(system, name)
        for label, index in zip(labels_of(name, shape), np.ndindex(*shape), strict=True):
            letters[label] = _component(letter, index)
    for name in varying:
        letters |= {f"{n}'": dotted(letters[n]) for n in labels_of(name, _shape(system, name))}
    return letters


def _component(letter: str, index: tuple[int, ...]) -> str:
    """A component's letter, with indices from 1 as in the literature."""
    if not index:
        return letter
    places = ",".join(str(k + 1) for k in index)
    if "_" not in letter:
        return rf"{letter}_{{{places}}}"
    if letter.endswith("}}") and letter.count("_{") == 1 and "^" not in letter:
        return f"{letter[:-1]},{places}}}"
    return rf"\left({letter}\right)_{{{places}}}"
