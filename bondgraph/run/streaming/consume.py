"""Consumer of the samples of a run, page by page: it sends requested quantities, and checks and drops all other values."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from bondgraph.run.hybrid import Hybrid
from bondgraph.run.program import Program
from bondgraph.run.streaming.energy_account import RunningAccount
from bondgraph.run.streaming.quantities import ChosenQuantities
from bondgraph.run.validation.checked_result import check_stride, has_constraints
from bondgraph.run.validation.lost_solution import SolutionCheck, energies_at
from bondgraph.run.validation.surface_contacts import watched_contacts

KEPT_SAMPLES = 16
"""Number of samples whose states are kept to examine a run that cannot be trusted."""


class SampleConsumer:
    """Consumer of the samples of the run that `begin` sets.

    Parameters
    ----------
    chosen : requested quantities.
    requested : times of the requested samples since the start and on the user's clock, (k,) s each; further samples may serve to
        check constraints or contacts.
    send : function that takes times (k,) and values, by name, of valid samples.
    """

    def __init__(
        self,
        chosen: ChosenQuantities,
        requested: tuple[np.ndarray, np.ndarray],
        send: Callable[[np.ndarray, Mapping[str, np.ndarray]], object],
    ):
        self._chosen, self._requested, self._send = chosen, requested, send
        self.seen = self.sent = 0
        self.last: tuple[np.ndarray, np.ndarray] | None = None
        self._kept = list[tuple[np.ndarray, ...]]()

    def begin(self, run: Hybrid) -> None:
        self._run, program, settings, (since, _) = run, run.bound.program, run.settings, self._requested
        self._is_requested = np.isin(settings.times, since)
        self._all = bool(self._is_requested.all())
        self._is_kept = _kept_samples_mask(program, self._is_requested)
        self._search = SolutionCheck(program, settings.p, settings.rtol)
        self.account = RunningAccount(program, settings.p, run.log, run.start_energies, len(since))

    def take(self, x: np.ndarray, q: np.ndarray, m: np.ndarray) -> None:
        program, settings, first = self._run.bound.program, self._run.settings, self.seen
        rows = slice(first, first + len(x))
        self.seen = rows.stop
        energies = energies_at(program, settings.dates[rows], settings.p, x, m)
        broken = self._search.see(settings.dates[rows], x, m, q, energies)
        # The first sample is always kept, whatever its values.
        valid = rows.stop if broken is None else max(broken.sample, 1)
        if valid <= first:
            return
        count = min(valid - first, len(x))
        kept = np.flatnonzero(self._is_kept[rows][:count])
        if len(kept):
            self._kept.append((first + kept, x[kept], m[kept], q[kept]))
        requested = self._is_requested[rows][:count]
        since, dates = (times[self.sent : self.sent + int(requested.sum())] for times in self._requested)
        if self._all:
            self._forward(since, dates, x[:count], q[:count], m[:count], energies[:count])
        elif len(dates):
            x, q, m = x[:count][requested], q[:count][requested], m[:count][requested]
            self._forward(since, dates, x, q, m, energies_at(program, dates, settings.p, x, m))

    def _forward(
        self, since: np.ndarray, dates: np.ndarray, x: np.ndarray, q: np.ndarray, m: np.ndarray, energies: np.ndarray
    ) -> None:
        p = self._run.settings.p
        self.sent += len(x)
        self.account.take(dates, since, energies, q)
        self.last = x[-1].copy(), m[-1].copy()
        self._send(dates.copy(), self._chosen.values(dates, x, p, m))

    def finish(self) -> int:
        lost = self._search.result()
        if lost is None:
            return self.seen
        self._run.end_before(lost)
        return max(lost.sample, 1)

    def kept_samples(self, valid: int) -> tuple[np.ndarray, ...]:
        numbers, x, m, q = (np.concatenate(parts) for parts in zip(*self._kept, strict=True))
        is_valid = numbers < valid
        return numbers[is_valid], np.ascontiguousarray(x[is_valid]), m[is_valid], np.ascontiguousarray(q[is_valid])

    def times(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        settings, (since, dates) = self._run.settings, self._requested
        if self._all:
            return settings.times[:count], settings.dates[:count]
        return since[:count].copy(), dates[:count].copy()

    def requested_count(self, valid: int) -> int:
        return int(self._is_requested[:valid].sum())


def _kept_samples_mask(program: Program, is_requested: np.ndarray) -> np.ndarray:
    kept, requested = np.zeros(len(is_requested), dtype=bool), np.flatnonzero(is_requested)
    kept[requested[np.linspace(0, len(requested) - 1, KEPT_SAMPLES).astype(int)]] = True
    if has_constraints(program) or watched_contacts(program):
        kept[:: check_stride(len(is_requested))] = True
    return kept
