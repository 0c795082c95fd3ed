"""Laws without power: equations between signals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bondgraph.model.laws.given import StateSpec
from bondgraph.model.laws.law import Law
from bondgraph.model.ops import Op
from bondgraph.output.short_repr import short_repr


@short_repr
@dataclass(frozen=True)
class Equation:
    """outs = op(args) over the local names of a block."""

    outs: tuple[str, ...]
    op: Op
    args: tuple[str, ...]


@short_repr
@dataclass(frozen=True)
class SignalBlock(Law):
    """Signals in, signals and states out, no power: sensors, kinematics, controllers."""

    inputs: tuple[str, ...] = ()
    """Local names of the element's signals, in their order."""
    kept: dict[str, StateSpec] = field(default_factory=dict)
    """Its states."""
    equations: tuple[Equation, ...] = ()
    rates: dict[str, str] = field(default_factory=dict)
    """State -> local name of its time derivative; a state without one is held between ticks and resets."""
    symbols: dict[str, str] = field(default_factory=dict)
    """Local name -> LaTeX."""
    units: dict[str, str] = field(default_factory=dict)
    """Local name -> unit."""
    updates: dict[str, str] = field(default_factory=dict)
    """State -> local name of its value after a tick; all are evaluated before any is set."""
    period: str | None = None
    """Parameter that is the time between ticks, s: they are at offset + n period, n = 0, 1, ..."""
    offset: str | None = None
    """Parameter that is the time of the first tick, s."""
    breaks: tuple[str, ...] = ()
    """Parameters that are times at which a result jumps or bends, s: an integrator stops there and begins anew."""

    def states(self) -> Mapping[str, StateSpec]:
        return self.kept

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        return (*self.kept, *(out for equation in self.equations for out in equation.outs))
