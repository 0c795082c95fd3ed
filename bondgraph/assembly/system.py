"""System: what a model means - typed statements `outs = op(args)` over named values, and the part each value plays."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from bondgraph.model.automata import Start
from bondgraph.model.ops import Op
from bondgraph.output.short_repr import short_repr


@dataclass(frozen=True)
class Value:
    """What a named quantity is: shape, unit, and how it is written in a paper. Quantities that are alike share one."""

    shape: tuple[int, ...] | None
    """None until the statements have been evaluated once."""
    unit: str = ""
    symbol: str = ""
    frame: str | None = None
    near: float | np.ndarray | None = None
    """Where a search for it begins, if its element says so: of several solutions the one near there is meant."""


@short_repr
class Statement(NamedTuple):
    """outs = op(args); `element` is the path of the element that it comes from."""

    outs: tuple[str, ...]
    op: Op
    args: tuple[str, ...]
    element: str


@dataclass(frozen=True)
class State:
    """A state variable: where it starts, its usual size (0 without a hint), and which value is its time derivative."""

    name: str
    initial: Any
    nominal: Any
    rate: str
    spread: Any = None
    """How far from its start it is tried, where its usual size is not known."""
    held: bool = False
    """Whether only ticks and resets change it: its rate is zero."""

    @property
    def typical(self) -> np.ndarray:
        """The usual size, 1 where there is no hint: for random states of analyses and checks."""
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
    """Whether constraints begin to hold or bodies collide here, so that states jump by impulses."""
    impact: tuple[str, ...] = ()
    """Constraints whose flow this event turns round."""
    accumulates: int | None = None
    """State of the automaton that holds where this event accumulates."""

    contradicting: tuple[tuple[str, ...], str] | None = None
    """Of a mode in which equations may contradict each other, which then ends the run: (elements, the mode in words)."""
    paradox: tuple[str, ...] = ()
    """Friction and the constraints that it follows, of an end of the run where these have no or several solutions."""

    @property
    def found(self) -> bool:
        """Whether it is no transition of the model, but an end of the run that was found while tracing."""
        return self.contradicting is not None or bool(self.paradox)

    @property
    def stays(self) -> bool:
        """Whether it leads back to its own state."""
        return self.source == self.target


@dataclass(frozen=True)
class Clock:
    """Ticks at offset + n period: states that take new values there. Without a period, times at which signals jump."""

    element: str
    offset: str
    period: str | None = None
    updates: tuple[tuple[str, str], ...] = ()
    """(state, value after the tick)."""


class Power(NamedTuple):
    """A power that the energy ledger integrates: its value, and whether it is supplied or dissipated."""

    element: str
    value: str
    role: str


@dataclass(frozen=True)
class Indeterminate:
    """A mode in which the motion is unique, but not how ideal elements share what it takes: efforts and flows that are shares by
    least norm. Or, where `unique` is false, one in which not even the motion is decided, which ends a run."""

    mode: Mapping[str, str]
    """Automaton -> state."""
    places: Mapping[int, int]
    """The same as slot -> index of the state."""
    quantities: tuple[str, ...]
    unique: bool = True
    contradicts: bool = False
    """Whether its equations have a solution only in some states, so that a run that stays there ends."""

    def __str__(self) -> str:
        return " and ".join(f'"{state}" of "{automaton}"' for automaton, state in self.mode.items())


@dataclass(frozen=True)
class Unknown:
    """A value that no statement gives; it is such that the value `residual`, of the same shape, is zero."""

    value: str
    residual: str
    element: str
    reason: str
    """"derivative causality", "constraint", "switch" or "algebraic loop"."""
    held: str = ""
    """Of a constraint or switch: its residual while it holds."""
    vanishing: str = ""
    """Of these: the flow (or effort) that is zero while it holds."""
    stopped: str = ""
    """The same where an impulse may bring it to zero, and 0 in modes in which it does not hold; "" where it decays."""
    algebraic: bool = False
    """Whether `vanishing` depends on the unknowns themselves, so that no time derivative of it is needed."""
    sense: int = 1
    """Of a constraint or switch: +1 where value times `vanishing` is power that it takes, -1 where it is power that it gives."""


@dataclass(frozen=True)
class Closing:
    """Constraints, and those that always hold positions as rows of one matrix A = J M^-1 J^T; known once the system is traced."""

    flows: tuple[str, ...]
    """The element of each scalar that a constraint makes vanish."""
    owners: tuple[str, ...]
    """The element of each row."""
    pattern: tuple[tuple[int, int], ...]
    """(row, column) of the entries that are not zero everywhere."""
    repeating: tuple[int, ...] = ()
    """Rows among which some repeat others."""


@dataclass(frozen=True)
class Loop:
    """An algebraic loop: statements `start` to `stop` (excluded), which depend on each other through `unknowns`."""

    start: int
    stop: int
    unknowns: tuple[Unknown, ...]
    guesses: tuple[str, ...] = ()
    """Of a nonlinear loop: states that follow the unknowns along the run, from which Newton's method starts."""


@short_repr
@dataclass(frozen=True)
class System:
    """Statements of a model and the roles of its values; sorted once it has been through the passes."""

    name: str
    statements: Sequence[Statement]
    values: Mapping[str, Value]
    states: tuple[State, ...]
    parameters: Mapping[str, Any]
    modes: Mapping[str, tuple[tuple[str, ...], str]]
    """Mode signal -> (names of its states, the start state)."""
    events: tuple[LoweredTransition, ...]
    energies: tuple[tuple[str, str], ...]
    """(storage, value of its stored energy)."""
    powers: tuple[Power, ...]
    starts: tuple[Start, ...]
    aliases: Mapping[str, str]
    """Every further name of a value -> the name it is computed under."""
    unknowns: tuple[Unknown, ...] = ()
    """Unknowns whose residuals hold time derivatives: flows and efforts of dependent storages, constraint efforts."""
    loops: tuple[Loop, ...] = ()
    """Algebraic loops, once the statements are sorted; they do not overlap."""
    clocks: tuple[Clock, ...] = ()
    """In the order in which those that tick together do so."""
    same: tuple[tuple[str, str], ...] = ()
    """Pairs of names of one value, until these have become one name."""
    closing: Closing | None = None
    indeterminate: tuple[Indeterminate, ...] = ()
    """Modes in which ideal elements share an effort or flow, once the statements are traced."""

    @cached_property
    def initial(self) -> Mapping[str, np.ndarray]:
        """Start values of the states by name, as far as they do not follow from others."""
        return {state.name: np.asarray(state.initial, dtype=float) for state in self.states}

    @cached_property
    def initial_row(self) -> np.ndarray:
        """All their numbers in a row, (n,)."""
        return np.concatenate([np.zeros(0), *map(np.ravel, self.initial.values())])

    @cached_property
    def places(self) -> Mapping[str, range]:
        """Places in x of the numbers of each state."""
        return _places({state.name: state.initial for state in self.states})

    @cached_property
    def parameter_places(self) -> Mapping[str, range]:
        """Places in p of the numbers of each parameter."""
        return _places(self.parameters)

    @cached_property
    def producers(self) -> dict[str, Statement]:
        """Of each value that is computed the statement that gives it."""
        return {out: statement for statement in self.statements for out in statement.outs}

    @property
    def guesses(self) -> frozenset[str]:
        """States that hold the unknowns of nonlinear loops, and follow from the others."""
        return frozenset(name for loop in self.loops for name in loop.guesses)

    def resolve(self, name: str) -> str:
        """The name under which a value is computed."""
        return self.aliases.get(name, name)


def _places(values: Mapping[str, Any]) -> dict[str, range]:
    """Places of the numbers of each value, one after the other."""
    sizes = [int(np.size(value)) for value in values.values()]
    ends = itertools.accumulate(sizes)
    return {name: range(end - size, end) for name, size, end in zip(values, sizes, ends, strict=True)}


def is_internal(name: str) -> bool:
    """Whether a name is a step inside an element, a loop or a transition, and no variable of a port, bond, state or signal."""
    return name.count(":") > ("->" in name) or name.endswith(" along the arrow")
