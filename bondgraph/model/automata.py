"""Automata (finite state machines) with transitions, and functions of start values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bondgraph.errors import Place
from bondgraph.model.arguments import names_of, need_name, refused
from bondgraph.model.ops import Frozen, Op, need_function
from bondgraph.output.short_repr import short_repr


@short_repr
@dataclass(frozen=True)
class Transition(Frozen):
    """Transition of an automaton: it fires at an upward zero crossing of guard(signals) while the automaton is in `source`."""

    source: str
    target: str
    guard: Op | Callable[..., Any]
    signals: Sequence[str]
    """Signals of the guard; a single signal may be a string. Lists of names are stored as tuples."""
    resets: Sequence[tuple[str, Op | Callable[..., Any], Sequence[str]]] = ()
    """Values of states after the transition: (state, op, signals)."""
    kind: str = ""
    """Name of its events in a result; "<automaton>: <source> to <target>" by default."""
    internal: bool = False
    """True for an event of the numerical method (a change of chart), not of the physics."""
    error: str | None = None
    """Reason why the run ends here; None to continue."""
    impact: Sequence[str] = ()
    """Constraints at which this transition applies impulses, which change each of their flows f to -e f (restitution e)."""
    accumulates: str | None = None
    """State entered once firings of this transition accumulate (Zeno), such as the rest state of a bouncing ball."""
    passes: str | None = None
    """State entered instead of the target, without a jump, if the quantity that the impulse would stop passes through zero by
    itself; for a target that slips, if its flow is zero within rounding error."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "signals", names_of(self.signals, "signals"))
        object.__setattr__(self, "impact", names_of(self.impact, "impact"))
        edge = f"of the transition from {self.source} to {self.target}"
        rising = "a transition fires as its guard rises through zero: lambda s: s - 1.0 for a signal that rises above 1"
        need_function(f"the guard {edge}", self.guard, _arguments(self.signals), "transition", rising)
        for state, op, args in self.resets:
            need_function(f"the reset of {state} {edge}", op, _arguments(names_of(args, "signals of a reset")), "transition")
        resets = tuple((state, op, names_of(args, "signals of a reset")) for state, op, args in self.resets)
        object.__setattr__(self, "resets", resets)


def _arguments(paths: Sequence[str]) -> list[str]:
    return [f"s{k}" for k in range(1, len(paths) + 1)] if len(paths) > 1 else ["s"] * len(paths)


@short_repr
@dataclass(frozen=True)
class Automaton(Frozen):
    """Automaton (finite state machine); its mode is the signal `<name>.mode`, the index of its state."""

    name: str
    states: Sequence[str]
    initial: str
    transitions: Sequence[Transition]
    place: Place | None = None
    """Source line that added the automaton to its graph."""

    def __post_init__(self) -> None:
        need_name("automaton", self.name)
        object.__setattr__(self, "states", names_of(self.states, "states"))
        edges = (self.transitions,) if isinstance(self.transitions, Transition) else self.transitions
        if not isinstance(edges, Sequence) or not all(isinstance(edge, Transition) for edge in edges):
            raise refused("transitions", edges, "a Transition, or several", "(Transition(source, target, guard, signals),)")
        object.__setattr__(self, "transitions", tuple(edges))


@short_repr
@dataclass(frozen=True)
class Start:
    """Function that computes start values from floats: results = function(*arguments) before every run.

    A result named after an automaton is the name of its start state; any other result is the start value of a state.
    """

    function: Callable[..., tuple[Any, ...]]
    arguments: tuple[str, ...]
    results: tuple[str, ...]
    place: Place | None = None
