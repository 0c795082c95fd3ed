"""Energy account of a run that is computed while the run proceeds, with a bounded number of samples."""

from __future__ import annotations

import numpy as np

from bondgraph.run.events.log import Log
from bondgraph.run.events.records import Events
from bondgraph.run.program import Program
from bondgraph.run.results.energy_account import IslandBalance, Ledger, element_names, events_before, members, totals_of

MAX_SAMPLES = 5000
"""Approximate maximum number of samples of an account; in a longer run, one sample represents each group of consecutive
samples."""

_OF_ISLAND = ("residual", "energy scale so far", "largest residual so far")
_COLUMNS = ("t", "stored", "supplied", "dissipated", "injected", "lost", "residual", "in play")


class RunningAccount:
    """Running energy account of a run with parameters p, from its event log and the energies of the storages at the `start`
    (storages,), J; `samples` is the number of samples of the run."""

    def __init__(self, program: Program, p: np.ndarray, log: Log, start: np.ndarray, samples: int):
        self._program, self._p, self._log, self._start = program, p, log, start
        self._balances = [program.balances.total, *(columns for _, columns in program.balances.islands)]
        self._group_size = max(1, -(-samples // MAX_SAMPLES))
        room = -(-samples // self._group_size) + 2
        islands = len(self._balances) - 1
        self._rows = np.zeros((room, len(_COLUMNS) + len(_OF_ISLAND) * islands))
        self._numbers, self._deviations = np.full(room, -1), np.zeros(room)
        self._seen, self._logged = 0, 0
        self._in_play = [float(np.abs(start[columns.storages]).sum()) for columns in self._balances]
        self._largest, self._lost = [0.0] * (1 + islands), np.zeros(1 + islands)
        self._later_losses = np.zeros(0), np.zeros((0, 1 + islands))

    def take(self, t: np.ndarray, since: np.ndarray, energies: np.ndarray, integrals: np.ndarray) -> None:
        """Add samples at times t on the user's clock (k,) and times since the start (k,), s, with energies (k, storages) and
        integrated powers (k, powers), J."""
        if not len(t):
            return
        lost = self._lost_before(since)
        totals, residuals, plays, tops = dict[str, np.ndarray](), list[np.ndarray](), list[np.ndarray](), list[np.ndarray]()
        for k, columns in enumerate(self._balances):
            balance = totals_of(columns, energies, integrals, lost[:, k], self._start)
            totals = totals or balance
            residuals.append(balance["residual"])
            plays.append(np.fmax.accumulate(np.concatenate([[self._in_play[k]], balance["in play"]]))[1:])
            tops.append(np.fmax.accumulate(np.concatenate([[self._largest[k]], np.abs(residuals[k])]))[1:])
            self._in_play[k], self._largest[k] = float(plays[k][-1]), float(tops[k][-1])
        of_islands = [column for each in zip(residuals[1:], plays[1:], tops[1:], strict=True) for column in each]
        totals = {"t": t, **totals, "in play": plays[0]}
        rows = np.column_stack([*(totals[name] for name in _COLUMNS), *of_islands])
        deviation = _furthest(residuals[1:], plays[1:]) if of_islands else np.abs(residuals[0])
        numbers = self._seen + np.arange(len(t))
        self._seen += len(t)
        if numbers[0] == 0:
            self._put(0, rows[0], 0)
        self._put(-1, rows[-1], numbers[-1])
        if self._group_size == 1:
            slots = numbers + 1
            self._rows[slots], self._numbers[slots] = rows, numbers
            return
        for group in np.unique(numbers // self._group_size):
            indices = np.flatnonzero(numbers // self._group_size == group)
            furthest, slot = indices[int(np.argmax(deviation[indices]))], int(group) + 1
            if self._numbers[slot] < 0 or deviation[furthest] > self._deviations[slot]:
                self._put(slot, rows[furthest], numbers[furthest])
                self._deviations[slot] = deviation[furthest]

    def _put(self, slot: int, row: np.ndarray, number: int) -> None:
        self._rows[slot], self._numbers[slot] = row, number

    def _lost_before(self, since: np.ndarray) -> np.ndarray:
        new = Events(self._program, self._p, 0.0, self._log.rows[self._logged :])
        self._logged = len(self._log)
        times = np.concatenate([self._later_losses[0], new.since])
        taken = np.concatenate([self._later_losses[1], np.column_stack([new.lost_of(columns) for columns in self._balances])])
        lost = np.cumsum(np.concatenate([self._lost[None], taken]), axis=0)
        lost_before = lost[events_before(since, times, self._seen == 0)]
        gone = int(np.searchsorted(times, since[-1], side="left"))
        self._lost, self._later_losses = lost[gone], (times[gone:], taken[gone:])
        return lost_before

    def ledger(self, until: float) -> Ledger:
        indices = np.flatnonzero(self._numbers >= 0)
        _, first = np.unique(self._numbers[indices], return_index=True)
        rows = self._rows[indices[first]]
        rows = rows[rows[:, 0] <= until]
        columns = dict(zip(_COLUMNS, rows.T, strict=False))
        in_play = float(np.max(columns.pop("in play"), initial=float(np.abs(self._start[self._balances[0].storages]).sum())))
        program, islands = self._program, []
        names = element_names(program, len(self._start), len(program.power_roles))
        for k, (island, of_island) in enumerate(program.balances.islands):
            offset = len(_COLUMNS) + len(_OF_ISLAND) * k
            residual, play, largest = rows[:, offset : offset + len(_OF_ISLAND)].T
            most = float(np.max(play, initial=float(np.abs(self._start[of_island.storages]).sum())))
            top = float(np.max(largest, initial=0.0))
            islands.append(IslandBalance(island.domains, island.unit, members(names, program, of_island), residual, most, top))
        return Ledger(**columns, in_play=in_play, elements={}, islands=tuple(islands), unit=program.balances.unit)


def _furthest(residuals: list[np.ndarray], in_play: list[np.ndarray]) -> np.ndarray:
    return np.max([np.abs(r) / np.where(most > 0.0, most, 1.0) for r, most in zip(residuals, in_play, strict=True)], axis=0)
