"""Builder of signal blocks: collects equations, inputs and states step by step, and makes the `Element`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bondgraph.elements import Block, Element
from bondgraph.model.laws import StateSpec
from bondgraph.model.ops import Op
from bondgraph.model.units import per_second
from bondgraph.signals import formulas

PID_LETTERS = {
    "kp": "K_p",
    "ki": "K_i",
    "kd": "K_d",
    "integral": "z",
    "integral_next": "z^{+}",
    "slope": "v",
    "slope_next": "v^{+}",
    "filtered": r"\hat u",
    "y_next": "y^{+}",
    "time_constant": r"T_{\mathrm{f}}",
    "filter_time": r"T_{\mathrm{f}}",
    "filter_period": r"T_{\mathrm{d}}",
    "lowest": r"y_{\min}",
    "highest": r"y_{\max}",
}
"""Letters of PID controllers."""


@dataclass
class BlockBuilder:
    """Arguments of `Block`, for blocks with optional parts."""

    name: str
    equations: list[tuple[str | Sequence[str], Op, Sequence[str]]] = field(default_factory=list)
    inputs: dict[str, str] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)
    states: dict[str, StateSpec] = field(default_factory=dict)
    rates: dict[str, str] = field(default_factory=dict)
    updates: dict[str, str] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    symbols: dict[str, str] = field(default_factory=dict)
    breaks: list[str] = field(default_factory=list)
    period: Any = None
    offset: Any = None

    def add(self, result: str, op: Op, *arguments: str) -> None:
        """Add an equation."""
        self.equations.append((result, op, arguments))

    def add_state(self, name: str, spec: StateSpec, rate: str) -> None:
        """Add a state, and the local name of its time derivative."""
        self.states[name], self.rates[name] = spec, rate

    def add_difference(self, of: str, state: str, spec: StateSpec, fresh: str, time: str, between: str = "period") -> None:
        """Add a state that is the filtered difference of a local value: (T state + value - value before) / (T + between).

        Parameters
        ----------
        spec : of the state, and of the previous value, which is a state too, as is the count of ticks since the last difference.
        fresh : local name of the state after the tick.
        time, between : parameters, T and the time between differences, a multiple of the period, s.
        """
        before = StateSpec(spec.initial, spec.nominal, per_second(spec.unit, -1), rf"\bar {of[0]}")
        self.states |= {state: spec, "previous": before, "count": StateSpec(-1.0, None, "1", r"\nu")}
        self.symbols |= {"previous_next": rf"\bar {of[0]}^{{+}}", "count_next": r"\nu^{+}"}
        results = [fresh, "previous_next", "count_next"]
        self.equations.append((results, formulas.DIFFERENCE, [of, "previous", state, "count", "period", between, time]))
        self.updates |= dict(zip((state, "previous", "count"), results, strict=True))

    def block(self) -> Element:
        """Return the block."""
        return Block(**vars(self))
