"""Finished run in machine code: its end, samples and events, and its `Result`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from bondgraph.run.accuracy.reference.error_weights import Rounding
from bondgraph.run.events.records import Events
from bondgraph.run.program import Program
from bondgraph.run.results.result import MACHINE_CODE, Result, Statistics
from bondgraph.run.settings import Settings
from bondgraph.run.status import Status
from bondgraph.run.steppers.segment import Effort, Selection


class RunCost(NamedTuple):
    """Cost of a run beyond its counts: method, tolerance per step, steps at the rounding of the rates, total time, s."""

    choice: Selection
    local_rtol: float
    rounding: Rounding
    wall_time: float


@dataclass(frozen=True, eq=False)
class MachineRun:
    """A run in machine code.

    Parameters
    ----------
    status : last status of the integrator, or `Status.NOT_STARTED`.
    t, x, q, m : end of the run; rows (samples, n + quadratures), modes (samples, modes) : at the sample times.
    logged : rows of its events, in pieces (k, width); ticks : count of ticks.
    effort : cost of the run.
    """

    status: Status
    t: float
    x: np.ndarray
    q: np.ndarray
    m: np.ndarray
    rows: np.ndarray
    modes: np.ndarray
    logged: tuple[np.ndarray, ...]
    ticks: int
    effort: Effort

    @property
    def done(self) -> bool:
        """True if it reached its end; otherwise Python has to continue."""
        return self.status == Status.STOP

    @property
    def events(self) -> int:
        """Return the number of events."""
        return sum(map(len, self.logged))

    def at(self, samples: np.ndarray) -> MachineRun:
        """Return the run with some of its samples, by index (k,)."""
        return replace(self, rows=self.rows[samples], modes=self.modes[samples])

    def result(self, program: Program, settings: Settings, start_energies: np.ndarray, spent: RunCost) -> Result:
        """Return the result of a finished run; `start_energies` (storages,), J, are the energies before anything happened."""
        effort, choice, n = self.effort, spent.choice, program.states
        statistics = Statistics(
            solver=MACHINE_CODE,
            method=choice.method,
            steps=effort.steps,
            rejected=effort.rejected,
            rates=effort.rates,
            jacobians=effort.jacobians,
            guards=effort.guards,
            events=self.events,
            ticks=self.ticks,
            wall_time=spent.wall_time,
            integration_time=effort.seconds,
            local_rtol=spent.local_rtol,
            rounding=spent.rounding,
        )
        return Result(
            program=program,
            p=settings.p,
            t=settings.dates,
            since=settings.times,
            x=np.ascontiguousarray(self.rows[:, :n]),
            m=self.modes,
            integrals=np.ascontiguousarray(self.rows[:, n:]),
            start_energies=start_energies,
            events=Events.from_machine_code(program, settings.p, settings.t_start, self.logged),
            failure=None,
            statistics=statistics,
        )
