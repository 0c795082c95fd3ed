"""Variables of a functional mock-up unit, which the importer reads and sets, derived from the content of a model's code."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np

from bondgraph.assembly.system import System, is_internal
from bondgraph.errors import refusal
from bondgraph.export.code.content import Content, Entry
from bondgraph.tracing.input_ramps import dependents_of_rates, rate_refusal
from screws.names import similar_names

PLACES = 24
"""Number of low-order bits of a value reference that hold the index; the higher bits hold the kind."""


class VariableKind(IntEnum):
    """Kind of a variable: the leading bits of its value references."""

    TIME = 0
    STATE = 1
    RATE = 2
    PARAMETER = 3
    OUTPUT = 4
    MODE = 5
    INDICATOR = 6


@dataclass(frozen=True, eq=False)
class ModelVariable:
    """Variable of an FMU.

    Parameters
    ----------
    name : the user's name; a rate is "der(name)".
    first : index of its first number among the numbers of its kind.
    causality, variability : as the standard defines them.
    start : numbers (size,) at the start, if the importer may know or set them.
    aliases : other names of the value.
    states : names of the states of an automaton.
    description : further information for an importer.
    """

    kind: VariableKind
    name: str
    first: int
    causality: str
    variability: str
    shape: tuple[int, ...] = ()
    unit: str = ""
    start: np.ndarray | None = None
    aliases: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    description: str = ""

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def reference(self, number: int = 0) -> int:
        """Return the value reference of one of the variable's numbers; that of the first number also denotes the whole array."""
        return (self.kind << PLACES) + self.first + number


@dataclass(frozen=True)
class Interface:
    inputs: frozenset[str]
    outputs: Mapping[str, str]
    """User's name of each output, by the name under which it is computed."""
    constants: Mapping[str, str]
    """Quantities determined by each parameter that cannot be set: start values, or the times of clocks or time events."""
    hidden: frozenset[str] = frozenset()
    """Values that depend on the time derivative of an input, which an FMU does not know."""


def interface_of(
    content: Content, inputs: Sequence[str], outputs: Sequence[str], clocks: Collection[int], starts: Collection[int]
) -> Interface:
    """Return the checked interface; `clocks` and `starts` are the indices of the parameters that determine clocks and start
    values.

    Raises `ModelError` E600 for an input that is not a parameter, E601 for an output that the model does not compute, E602 for
    an input that determines clocks or start values.
    """
    system = content.system
    parameters = {entry.name: entry for entry in _listed(content.p)}
    values = {entry.name for entry in _listed((*content.x, *content.y))}
    constants: dict[str, str] = {}
    for reason, decided in (("the times of clocks or time events", clocks), ("start values", starts)):
        for name, entry in parameters.items():
            if not set(decided).isdisjoint(entry.indices):
                constants.setdefault(name, reason)
    for name in inputs:
        if name not in parameters:
            raise _unknown(system, "E600", f'the input "{name}" is not a parameter', name, parameters)
        if name in constants:
            title = f'the input "{name}" determines {constants[name]}'
            raise refusal("E602", title, "an input that acts only during the run", about=system.name)
    named: dict[str, str] = {}
    for name in outputs:
        computed = system.resolve(name)
        if computed not in values:
            raise _unknown(
                system,
                "E601",
                f'the output "{name}" is not a quantity that the model computes',
                name,
                [*values, *_shown(system.aliases)],
            )
        if named.setdefault(computed, name) != name:
            title = f'the outputs "{named[computed]}" and "{name}" are the same value'
            raise refusal("E601", title, "one output, with the name that the importer reads", about=system.name)
    return Interface(frozenset(inputs), named, constants)


def without_rates(system: System, interface: Interface) -> Interface:
    """Return the interface without the values that depend on the time derivative of an input.

    Raises `ModelError` E593 if an output or the run depends on it.
    """
    parts, values = dependents_of_rates(system, sorted(interface.inputs))
    for name, causes in {**parts, **{named: values.get(name, ()) for name, named in interface.outputs.items()}}.items():
        for cause in causes[:1]:
            raise rate_refusal("E593", name, cause, "which an FMU does not know", system.name)
    return replace(interface, hidden=frozenset(values))


def _unknown(system: System, code: str, title: str, name: str, names: Iterable[str]) -> Exception:
    near = ", ".join(f'"{each}"' for each in similar_names(name, names))
    cures = (f"one of {near}",) if near else ("a name in the model",)
    return refusal(code, title, *cures, about=system.name)


def _listed(entries: Iterable[Entry]) -> list[Entry]:
    return [entry for entry in entries if entry.identifier and entry.size]


def _shown(aliases: Iterable[str]) -> Iterator[str]:
    return (alias for alias in aliases if not is_internal(alias) and not alias.startswith("-"))


def variables_of(
    content: Content, interface: Interface, start: Mapping[str, np.ndarray], guards: int, exchange: bool
) -> tuple[ModelVariable, ...]:
    """Return all variables; `start` contains the arrays x, p and m, `guards` is the number of event indicators.

    Only an FMU for model `exchange` has rates and indicators. An output has only the user's name, without aliases. Empty arrays
    are left out: they would share the reference of the next variable.
    """
    system, aliases = content.system, _aliases(content)

    def variable(kind: VariableKind, entry: Entry, causality: str, variability: str, block: str = "") -> ModelVariable:
        begin = start[block][entry.start : entry.start + entry.size] if block else None
        named = ModelVariable(kind, entry.name, entry.start, causality, variability, entry.shape, entry.unit, begin)
        return replace(named, aliases=aliases.get(entry.name, ()))

    def shown(kind: VariableKind, entry: Entry, block: str = "") -> ModelVariable:
        named = interface.outputs.get(entry.name)
        if named is None:
            return variable(kind, entry, "local", "continuous", block)
        return replace(variable(kind, entry, "output", "continuous", block), name=named, aliases=())  # no start value

    def parameter(entry: Entry) -> ModelVariable:
        words = ("parameter", "tunable")
        if entry.name in interface.inputs:
            words = ("input", "continuous")
        elif entry.name in interface.constants:
            words = ("local", "constant")
        quantities = interface.constants.get(entry.name)
        named = variable(VariableKind.PARAMETER, entry, *words, "p")
        return replace(named, description=f"constant, because it determines {quantities}" if quantities else "")

    states = [shown(VariableKind.STATE, entry, "x") for entry in content.x if entry.size]
    result = [ModelVariable(VariableKind.TIME, "time", 0, "independent", "continuous", unit="s"), *states]
    if exchange:
        rates = ((each, f"der({each.name})") for each in states)
        result += [ModelVariable(VariableKind.RATE, name, each.first, "local", "continuous", each.shape) for each, name in rates]
    result += [parameter(entry) for entry in _listed(content.p)]
    result += [shown(VariableKind.OUTPUT, entry) for entry in _listed(content.y) if entry.name not in interface.hidden]
    for entry, mode in zip(content.m, system.modes.values(), strict=True):
        result.append(replace(variable(VariableKind.MODE, entry, "local", "discrete", "m"), states=mode.states))
    if exchange:
        result += [ModelVariable(VariableKind.INDICATOR, f"guard {k + 1}", k, "local", "continuous") for k in range(guards)]
    return _named_once(each for each in result if each.size)


def _aliases(content: Content) -> dict[str, tuple[str, ...]]:
    further: dict[str, list[str]] = {}
    for alias in _shown(content.system.aliases):
        further.setdefault(content.system.aliases[alias], []).append(alias)
    return {name: tuple(sorted(names)) for name, names in further.items()}


def _named_once(variables: Iterable[ModelVariable]) -> tuple[ModelVariable, ...]:
    taken, result = set[str](), list[ModelVariable]()
    every = list(variables)
    names = {variable.name for variable in every}
    for variable in every:
        name, number = variable.name, 2
        while name in taken:
            name, number = f"{variable.name} ({number})", number + 1
        taken.add(name)
        aliases = tuple(alias for alias in variable.aliases if alias not in names and alias not in taken)
        taken |= set(aliases)
        result.append(replace(variable, name=name, aliases=aliases))
    return tuple(result)
