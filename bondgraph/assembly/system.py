"""System: the equations of a model as typed statements `outs = op(args)` over named values, and the roles of the values."""

from __future__ import annotations

import itertools
from collections import ChainMap
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from bondgraph.assembly.indeterminate import Indeterminate, IndeterminateCircuits
from bondgraph.model.automata import Start
from bondgraph.model.ops import ForeignLibrary, Op
from bondgraph.output.short_repr import short_repr
from bondgraph.units import Conversion
from screws.scalars import array


@dataclass(frozen=True)
class Value:
    """Type of a named quantity: shape, unit and symbol; quantities of equal type share one record."""

    shape: tuple[int, ...] | None
    """Shape; None until the statements have been evaluated once."""
    unit: str = ""
    symbol: str = ""
    frame: str | None = None
    near: float | np.ndarray | None = None
    """Initial guess given by the element, if any, from which the search for the value starts."""


@short_repr
class Statement(NamedTuple):
    """outs = op(args); `element` is the path of the element to which the statement belongs."""

    outs: tuple[str, ...]
    op: Op
    args: tuple[str, ...]
    element: str

    def results(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Return the values of the outs; for a single out, a list or tuple from the formula becomes an array."""
        values = self.op(*arguments)
        if len(self.outs) > 1:
            return tuple(values)
        return (array(values) if isinstance(values, (tuple, list)) else values,)


@dataclass(frozen=True)
class State:
    """A state variable: its start value, its nominal size (0 without a hint), and the name of its time derivative."""

    name: str
    initial: Any
    nominal: Any
    rate: str
    spread: Any = None
    """Distance of random samples from the start value, if the nominal size is unknown."""
    held: bool = False
    """True if only ticks and resets change the state; its rate is then zero."""

    @property
    def typical(self) -> np.ndarray:
        """Typical size for random states of analyses and checks: `spread`, else the nominal size, else 1."""
        if self.spread is not None:
            return np.asarray(self.spread)
        hints = np.abs(np.asarray(self.nominal, dtype=float))
        return np.where(hints > 0.0, hints, 1.0)


@short_repr
@dataclass(frozen=True)
class LoweredTransition:
    """A transition of an automaton in terms of values: guard value, and the values that states are reset to."""

    automaton: str
    slot: int
    source: int
    target: int
    guard: str
    resets: tuple[tuple[str, str], ...]
    kind: str
    internal: bool
    error: str | None
    impulse: bool = False
    """True if constraints become active, switches change or bodies collide at this event, so that states jump by impulses."""

    impact: tuple[str, ...] = ()
    """Constraints whose flow this event reverses or stops."""
    accumulates: int | None = None
    """State of the automaton once this event accumulates (Zeno)."""
    passes: int | None = None
    """State of the automaton if the quantity that this event would stop crosses zero by itself."""

    contradicting: tuple[tuple[str, ...], str] | None = None
    """Elements whose equations may contradict each other in a mode, and a description of the mode; a contradiction ends the
    run."""
    paradox: tuple[str, ...] = ()
    """Friction and normal constraints that may have no solution, or several (Painlevé paradox); such a case ends the run."""

    @property
    def added_by_tracing(self) -> bool:
        return self.contradicting is not None or bool(self.paradox)

    @property
    def stays(self) -> bool:
        return self.source == self.target


@dataclass(frozen=True)
class Clock:
    """Ticks at offset + n period, at which states take new values; without a period, a time at which signals jump."""

    element: str
    offset: str
    period: str | None = None
    updates: tuple[tuple[str, str], ...] = ()
    """Pairs (state, value after the tick)."""
    delay: str = ""
    """Parameter that is a delay: the states take their new values after this delay, not at ticks."""
    history: Callable[[float], float] | float | None = None
    """Values before the start, as in `laws.SignalBlock`."""
    library: ForeignLibrary | None = None
    parameters: tuple[str, ...] = ()
    """Names of the parameters of a block with a `library`, as in `laws.SignalBlock`."""


@dataclass(frozen=True)
class ModeSignal:
    """Signal of an automaton: the index of its state."""

    automaton: str
    slot: int
    """Position among all modes."""
    states: tuple[str, ...]
    start: str

    def state_in(self, m: np.ndarray) -> str:
        """Return the state of the automaton, given the values of all modes."""
        return self.states[int(m[self.slot])]


class Power(NamedTuple):
    """A power that the energy ledger integrates, with its role: dissipated, supplied or injected; at a heat port, converted by
    the dissipator or received as heat."""

    element: str
    value: str
    role: str


@dataclass(frozen=True)
class BoxLayout:
    """Layout of a box complementarity problem of ideal elements: rows and columns of the entries of its matrix, and the
    friction of each row.

    Per row: True in `gated` if a mode switches it, the slot of its friction (-1 without friction), and the modes in which this
    friction sticks, slips with its lower effort, and slips with its upper effort.
    """

    count: int
    entries: tuple[tuple[int, int], ...]
    gated: tuple[bool, ...]
    slots: tuple[int, ...]
    sticks: tuple[int, ...]
    lows: tuple[int, ...]
    highs: tuple[int, ...]


@dataclass(frozen=True)
class Unknown:
    """A value without a statement: the solution of `residual` = 0, which has the same shape."""

    value: str
    residual: str
    element: str
    reason: Literal["derivative causality", "constraint", "switch", "friction", "algebraic loop"]
    """The unknown of "friction" is its flow."""
    held: str = ""
    """Residual of a constraint or switch while it is active."""
    vanishing: str = ""
    """Flow (or effort) that is zero while the constraint or switch is active."""
    stopped: str = ""
    """Name of a value that an impulse may bring to zero: `vanishing` while the element is active, otherwise 0; "" if `vanishing`
    decays gradually."""
    algebraic: bool = False
    """True if `vanishing` depends on the unknowns themselves, so that its time derivative is not needed."""
    sense: int = 1
    """Sign of the power of a constraint or switch: +1 if value times `vanishing` is power in, -1 if it is power out."""


@dataclass(frozen=True)
class ConstraintMatrixLayout:
    """Layout of the constraint (Delassus) matrix A = J M^-1 J^T of the position constraints that are always active."""

    flows: tuple[str, ...]
    """The element of each scalar flow that a constraint makes zero."""
    owners: tuple[str, ...]
    pattern: tuple[tuple[int, int], ...]
    repeating: tuple[int, ...] = ()
    """Indices of the rows that belong to dependent sets, each of which has redundant rows."""


@dataclass(frozen=True)
class Loop:
    """An algebraic loop: statements `start` to `stop` (excluded), which depend on each other through `unknowns`."""

    start: int
    stop: int
    unknowns: tuple[Unknown, ...]
    guesses: tuple[str, ...] = ()
    """States that track the unknowns of a nonlinear loop along the run, from which Newton iteration starts."""
    sizes: tuple[float, ...] = ()
    """Natural size of each scalar unknown of a nonlinear loop."""
    weights: tuple[float, ...] = ()


@short_repr
@dataclass(frozen=True)
class System:
    """Statements of a model and the roles of its values; sorted after the passes."""

    name: str
    statements: Sequence[Statement]
    values: Mapping[str, Value]
    states: tuple[State, ...]
    parameters: Mapping[str, Any]
    modes: Mapping[str, ModeSignal]
    events: tuple[LoweredTransition, ...]
    energies: tuple[tuple[str, str], ...]
    """Pairs (storage, value of its stored energy)."""
    powers: tuple[Power, ...]
    starts: tuple[Start, ...]
    aliases: Mapping[str, str]
    """Name under which the value of each alias is computed."""
    unknowns: tuple[Unknown, ...] = ()
    """Unknowns whose residuals contain time derivatives, of dependent storages, constraints, switches and friction."""
    loops: tuple[Loop, ...] = ()
    """Algebraic loops, once the statements are sorted; they do not overlap."""
    clocks: tuple[Clock, ...] = ()
    """Clocks in the order of simultaneous ticks."""
    same: tuple[tuple[str, str], ...] = ()
    """Pairs of names for the same value, until aliases are removed."""
    closing: ConstraintMatrixLayout | None = None
    conversions: Mapping[str, Conversion] = field(default_factory=dict)
    indeterminate: tuple[Indeterminate | IndeterminateCircuits, ...] = ()
    """Statically indeterminate modes, some of them found by tracing."""
    boxes: tuple[BoxLayout, ...] = ()
    """Complementarity problems of dry friction, found by tracing."""

    @cached_property
    def initial(self) -> Mapping[str, np.ndarray]:
        return {state.name: np.asarray(state.initial, dtype=float) for state in self.states}

    @cached_property
    def initial_row(self) -> np.ndarray:
        return np.concatenate([np.zeros(0), *map(np.ravel, self.initial.values())])

    @cached_property
    def places(self) -> Mapping[str, range]:
        return _indices({state.name: state.initial for state in self.states})

    def in_statement_units(self, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return parameters by name in the units that statements use, from values in declared units."""
        if not self.conversions:
            return parameters
        return {name: self.conversions[name](value) if name in self.conversions else value for name, value in parameters.items()}

    @cached_property
    def parameter_places(self) -> Mapping[str, range]:
        return _indices(self.parameters)

    @cached_property
    def source_places(self) -> tuple[int, ...]:
        sources = {power.element for power in self.powers if power.role == "supplied"}
        named = ((name.rpartition(".")[0], where) for name, where in self.parameter_places.items())
        return tuple(k for element, where in named if element in sources for k in where)

    @cached_property
    def producers(self) -> dict[str, Statement]:
        return {out: statement for statement in self.statements for out in statement.outs}

    @property
    def implicit(self) -> tuple[Unknown, ...]:
        """Unknowns whose residuals contain time derivatives, and unknowns of ideal elements in nonlinear loops."""
        return (*self.unknowns, *(u for loop in self.loops for u in loop.unknowns if u.held))

    @property
    def guesses(self) -> frozenset[str]:
        """States that track the unknowns of nonlinear loops, and depend on the other states."""
        return frozenset(name for loop in self.loops for name in loop.guesses)

    def resolve(self, name: str) -> str:
        return self.aliases.get(name, name)


def _indices(values: Mapping[str, Any]) -> dict[str, range]:
    sizes = [int(np.size(value)) for value in values.values()]
    ends = itertools.accumulate(sizes)
    return {name: range(end - size, end) for name, size, end in zip(values, sizes, ends, strict=True)}


def is_internal(name: str) -> bool:
    """Return True for an intermediate value of an element, loop or transition, False for a port, bond, state or signal."""
    return name.count(":") > ("->" in name) or name.endswith(" along the arrow")


Numbers = Sequence[Any] | np.ndarray


def environment(system: System, t: Any, x: Numbers, p: Numbers, m: Numbers) -> dict[str, Any]:
    """Return the inputs by name, cut out of the flat blocks t, x, p, m; parameters are converted from their declared units."""
    env: dict[str, Any] = {"time": t}
    for block, items in (
        (x, [(s.name, np.shape(s.initial)) for s in system.states]),
        (p, [(name, np.shape(value)) for name, value in system.parameters.items()]),
    ):
        start = 0
        for name, shape in items:
            size = int(np.prod(shape))
            env[name] = np.asarray(block[start : start + size]).reshape(shape) if shape else block[start]
            start += size
    env |= {name: convert(env[name]) for name, convert in system.conversions.items()}
    env |= {name: m[index] for index, name in enumerate(system.modes)}
    return env


def evaluate_statements(
    system: System, t: float, x: np.ndarray, p: np.ndarray, m: np.ndarray, solved: Mapping[str, Any]
) -> dict[str, Any]:
    """Evaluate all values by name with floats; `solved` holds unknowns and time derivatives, which are not computed."""
    env = environment(system, np.float64(t), x, p, m) | dict(solved)  # 1 / t is infinite at t = 0, as in compiled code
    with np.errstate(all="ignore"):
        for statement in system.statements:
            if len(statement.outs) > 1 or statement.outs[0] not in env:
                _evaluate(statement, env)
    return env


def evaluate_value(system: System, name: str, inputs: Mapping[str, Any]) -> Any:
    producers = system.producers
    env = ChainMap(dict[str, Any](), cast(MutableMapping[str, Any], inputs))  # results go into the first mapping

    def evaluate(value: str) -> None:
        if value not in env:
            for arg in producers[value].args:
                evaluate(arg)
            _evaluate(producers[value], env)

    evaluate(name)
    return env[name]


def _evaluate(statement: Statement, env: MutableMapping[str, Any]) -> None:
    env.update(zip(statement.outs, statement.results([env[arg] for arg in statement.args]), strict=True))
