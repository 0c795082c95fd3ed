"""Laws without power: equations between signals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bondgraph.model.laws.given import StateSpec
from bondgraph.model.laws.law import Law
from bondgraph.model.ops import Op
from bondgraph.output.short_repr import brief


@brief
@dataclass(frozen=True)
class Equation:
    """Equation outs = op(args) over the local names of a block."""

    outs: tuple[str, ...]
    op: Op
    args: tuple[str, ...]


@brief
@dataclass(frozen=True)
class SignalBlock(Law):
    """Signal block without power: sensors, kinematics, controllers."""

    inputs: tuple[str, ...] = ()
    """Local names of the element's signals, in their order."""
    kept: dict[str, StateSpec] = field(default_factory=dict)
    """State variables by local name."""
    equations: tuple[Equation, ...] = ()
    rates: dict[str, str] = field(default_factory=dict)
    """Local names of time derivatives by state; a state without one is held between ticks and resets."""
    symbols: dict[str, str] = field(default_factory=dict)
    """LaTeX by local name."""
    units: dict[str, str] = field(default_factory=dict)
    """Units by local name."""
    updates: dict[str, str] = field(default_factory=dict)
    """Local names of values after a tick by state; all are evaluated before any is set."""
    period: str | None = None
    """Parameter that is the time between ticks, s: they are at offset + n period, n = 0, 1, ..."""
    offset: str | None = None
    """Parameter that is the time of the first tick, s."""
    breaks: tuple[str, ...] = ()
    """Parameters that are times of jumps or kinks of a result, s: an integrator restarts there."""

    def states(self) -> Mapping[str, StateSpec]:
        return self.kept

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        return (*self.kept, *(out for equation in self.equations for out in equation.outs))
