"""Results of a run by name, its events, its energy account, and what it cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bondgraph.run.events import Event
from bondgraph.run.failure import Failure
from bondgraph.run.ledger import Ledger, account
from bondgraph.run.program import Program, Slot

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Statistics:
    """What a run cost.

    Parameters
    ----------
    solver, method : "machine code", "dop853"; after a change of method "dop853, bdf".
    steps, rejected, rates, jacobians, guards : counts (of steps, rejected steps, evaluations).
    events : count of transitions.
    wall_time : of the whole call, s; integration_time : spent inside the integrator, s.
    local_rtol : relative tolerance per step that the integrator used.
    """

    solver: str
    method: str
    steps: int
    rejected: int
    rates: int
    jacobians: int
    guards: int
    events: int
    wall_time: float
    integration_time: float
    local_rtol: float

    @property
    def time_per_rate(self) -> float:
        """Seconds inside the integrator per evaluation of the rates: all overhead included."""
        return self.integration_time / max(self.rates, 1)


@dataclass(frozen=True)
class Result:
    """A finished run.

    Parameters
    ----------
    t : sample times (k,), s.
    x : states (k, n); m : modes (k, modes); integrals : integrated powers (k, powers), J.
    events : transitions in order.
    failure : None, or why the run ended before its time.
    statistics : what it cost.
    """

    program: Program = field(repr=False)
    p: np.ndarray = field(repr=False)
    t: np.ndarray = field(repr=False)
    x: np.ndarray = field(repr=False)
    m: np.ndarray = field(repr=False)
    integrals: np.ndarray = field(repr=False)
    start_energies: np.ndarray = field(repr=False)
    events: tuple[Event, ...]
    failure: Failure | None
    statistics: Statistics

    @property
    def ok(self) -> bool:
        """Whether the run reached its end."""
        return self.failure is None

    def __getitem__(self, name: str) -> np.ndarray:
        """Course of a named quantity, (k, *shape); a parameter is constant, (*shape)."""
        slot = self.program.layout[name]
        if slot.block == "p":
            return self.p[slot.start : slot.stop].reshape(slot.shape)
        if slot.block == "out":
            return _cut(self._outputs, slot)
        return _cut(self.x if slot.block == "x" else self.m, slot)

    def __contains__(self, name: object) -> bool:
        return name in self.program.layout

    def names(self) -> tuple[str, ...]:
        """All quantities that can be asked for."""
        return self.program.layout.names()

    @cached_property
    def _outputs(self) -> np.ndarray:
        return self._at(self.t, self.x, self.m)

    def _at(self, t: np.ndarray, x: np.ndarray, m: np.ndarray) -> np.ndarray:
        kernel = self.program.outputs
        if kernel is None:
            return np.zeros((len(t), 0))
        return kernel.many(t, x, self.p, m)

    def at_events(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """A quantity just before and just after every event, (events, *shape) each."""
        slot = self.program.layout[name]
        t = np.array([event.time for event in self.events])
        sides = []
        for side in ("before", "after"):
            x = np.array([getattr(event, f"x_{side}") for event in self.events]).reshape(len(t), self.x.shape[1])
            m = np.array([getattr(event, f"m_{side}") for event in self.events]).reshape(len(t), self.m.shape[1])
            if slot.block == "p":
                sides.append(np.broadcast_to(self[name], (len(t), *slot.shape)))
            elif slot.block == "out":
                sides.append(_cut(self._at(t, x, m), slot))
            else:
                sides.append(_cut(x if slot.block == "x" else m, slot))
        return sides[0], sides[1]

    def peak(self, name: str) -> tuple[float, float]:
        """Time and value of the largest sample of a scalar quantity, refined by the parabola through its neighbours."""
        values = np.asarray(self[name], dtype=float)
        if values.ndim != 1:
            raise ValueError(f"{name!r} is not a scalar; its shape is {values.shape[1:]}")
        top = int(np.argmax(values))
        if 0 < top < len(values) - 1:
            t, v = self.t[top - 1 : top + 2] - self.t[top], values[top - 1 : top + 2]
            second, first, _ = np.polyfit(t, v - v[1], 2)
            between = [event for event in self.events if self.t[top - 1] < event.time <= self.t[top + 1]]
            if second < 0.0 and not between:
                shift = -first / (2.0 * second)
                return float(self.t[top] + shift), float(v[1] + first * shift + second * shift**2)
        return float(self.t[top]), float(values[top])

    @cached_property
    def ledger(self) -> Ledger:
        """The energy account."""
        kernel = self.program.energies
        energies = np.zeros((len(self.t), 0)) if kernel is None else kernel.many(self.t, self.x, self.p, self.m)
        return account(self.program, self.t, energies, self.integrals, self.events, self.start_energies)

    def to_dataframe(self, names: Sequence[str] | None = None) -> pandas.DataFrame:
        """Quantities as columns over time; components of an array are "name[0]" or "name[0, 1]".

        Raises
        ------
        ImportError
            Where pandas is not installed.
        """
        import pandas

        columns: dict[str, Any] = {}
        for name in self.program.layout.names() if names is None else names:
            slot = self.program.layout[name]
            if slot.block == "p":
                continue
            values = self[name].reshape(len(self.t), -1)
            for i in range(values.shape[1]):
                place = ", ".join(str(int(k)) for k in np.unravel_index(i, slot.shape)) if slot.shape else ""
                columns[f"{name}[{place}]" if place else name] = values[:, i]
        return pandas.DataFrame(columns, index=pandas.Index(self.t, name="t"))


def _cut(block: np.ndarray, slot: Slot) -> np.ndarray:
    return block[:, slot.start : slot.stop].reshape(len(block), *slot.shape)
