"""Running energy account of a run, from energies, integrated powers and events, with a bounded number of samples."""

from __future__ import annotations

import numpy as np

from bondgraph.run.events.log import Log
from bondgraph.run.events.records import Events
from bondgraph.run.program import Program
from bondgraph.run.results.energy_account import Ledger, events_before, role_columns, totals_of

MAX_SAMPLES = 5000
"""Maximum number of samples of an account. Beyond it, each stretch of samples is represented by the one with the largest
residual."""


_COLUMNS = ("t", "stored", "supplied", "dissipated", "injected", "lost", "residual", "in play")


class RunningAccount:
    """Energy account of a run with parameters p that writes a `log` of its events, with this number of `samples`; `start` are the
    energies of the storages at its start (storages,), J."""

    def __init__(self, program: Program, p: np.ndarray, log: Log, start: np.ndarray, samples: int):
        self._program, self._p, self._log, self._start = program, p, log, start
        self._columns = role_columns(program.power_roles)
        self._stretch = max(1, -(-samples // MAX_SAMPLES))
        room = -(-samples // self._stretch) + 2
        self._rows = np.zeros((room, len(_COLUMNS)))
        self._numbers = np.full(room, -1)
        self._seen, self._logged = 0, 0
        self._lost, self._in_play = 0.0, float(np.abs(start).sum())
        self._ahead = np.zeros(0), np.zeros(0)

    def take(self, t: np.ndarray, since: np.ndarray, energies: np.ndarray, integrals: np.ndarray) -> None:
        """Add samples at dates t (k,) and times since the start (k,), s, with energies (k, storages) and integrated powers (k,
        powers), J."""
        if not len(t):
            return
        lost = self._lost_before(since)
        totals = totals_of(self._columns, energies, integrals, lost, float(self._start.sum()))
        in_play = np.fmax.accumulate(np.concatenate([[self._in_play], totals["in play"]]))[1:]
        self._in_play = float(in_play[-1])
        rows = np.column_stack([{"t": t, **totals, "in play": in_play}[name] for name in _COLUMNS])
        numbers = self._seen + np.arange(len(t))
        self._seen += len(t)
        if numbers[0] == 0:
            self._put(0, rows[0], 0)
        self._put(-1, rows[-1], numbers[-1])
        if self._stretch == 1:
            slots = numbers + 1
            self._rows[slots], self._numbers[slots] = rows, numbers
            return
        off = np.abs(totals["residual"])
        for stretch in np.unique(numbers // self._stretch):
            indices = np.flatnonzero(numbers // self._stretch == stretch)
            furthest, slot = indices[int(np.argmax(off[indices]))], int(stretch) + 1
            if self._numbers[slot] < 0 or off[furthest] > abs(self._rows[slot, _COLUMNS.index("residual")]):
                self._put(slot, rows[furthest], numbers[furthest])

    def _put(self, slot: int, row: np.ndarray, number: int) -> None:
        self._rows[slot], self._numbers[slot] = row, number

    def _lost_before(self, since: np.ndarray) -> np.ndarray:
        """Return the energy lost in events before each sample (k,), J."""
        new = Events(self._program, self._p, 0.0, self._log.rows[self._logged :])
        self._logged = len(self._log)
        times, taken = (np.concatenate(pair) for pair in zip(self._ahead, (new.since, new.lost), strict=True))
        lost = np.cumsum(np.concatenate([[self._lost], taken]))
        lost_before = lost[events_before(since, times, self._seen == 0)]
        gone = int(np.searchsorted(times, since[-1], side="left"))
        self._lost, self._ahead = float(lost[gone]), (times[gone:], taken[gone:])
        return np.asarray(lost_before)

    def ledger(self, until: float) -> Ledger:
        """Return the account up to a date, s."""
        indices = np.flatnonzero(self._numbers >= 0)
        _, first = np.unique(self._numbers[indices], return_index=True)
        rows = self._rows[indices[first]]
        rows = rows[rows[:, 0] <= until]
        columns = dict(zip(_COLUMNS, rows.T, strict=True))
        in_play = float(np.max(columns.pop("in play"), initial=float(np.abs(self._start).sum())))
        return Ledger(**columns, in_play=in_play, elements={})
