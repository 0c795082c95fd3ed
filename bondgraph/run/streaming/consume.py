"""Consumption of the samples of a run page by page: keep or send the wanted quantities, and check and drop all other
values."""

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

PROBES = 16
"""Number of samples whose states are kept to examine a run that cannot be trusted."""


class SampleConsumer:
    """Consumer of the samples of the run that `begin` sets.

    Parameters
    ----------
    chosen : requested quantities.
    wanted : times of the requested samples since the start and on the user's clock, (k,) s; further samples may serve to check
        constraints.
    send : function that takes times (k,) and values, by name, of valid samples.
    """

    def __init__(
        self,
        chosen: ChosenQuantities,
        wanted: tuple[np.ndarray, np.ndarray],
        send: Callable[[np.ndarray, Mapping[str, np.ndarray]], object],
    ):
        self._chosen, self._wanted, self._send = chosen, wanted, send
        self.seen = self.sent = 0
        self.last: tuple[np.ndarray, np.ndarray] | None = None
        self._stays = list[tuple[np.ndarray, ...]]()

    def begin(self, run: Hybrid) -> None:
        self._run, program, settings, (since, _) = run, run.bound.program, run.settings, self._wanted
        self._own = np.isin(settings.times, since)
        self._all = bool(self._own.all())
        self._stay = _staying(program, self._own)
        self._search = SolutionCheck(program, settings.p, settings.rtol)
        self.account = RunningAccount(program, settings.p, run.log, run.start_energies, len(since))

    def take(self, x: np.ndarray, q: np.ndarray, m: np.ndarray) -> None:
        """Consume states (k, n), integrated powers (k, powers) and modes (k, modes) of the next samples."""
        program, settings, first = self._run.bound.program, self._run.settings, self.seen
        rows = slice(first, first + len(x))
        self.seen = rows.stop
        energies = energies_at(program, settings.dates[rows], settings.p, x, m)
        broken = self._search.see(settings.dates[rows], x, m, q, energies)
        # The first sample is always kept, whatever its values.
        holding = rows.stop if broken is None else max(broken.sample, 1)
        if holding <= first:
            return
        count = min(holding - first, len(x))
        stays = np.flatnonzero(self._stay[rows][:count])
        if len(stays):
            self._stays.append((first + stays, x[stays], m[stays], q[stays]))
        wanted = self._own[rows][:count]
        since, dates = (times[self.sent : self.sent + int(wanted.sum())] for times in self._wanted)
        if self._all:
            self._keep(since, dates, x[:count], q[:count], m[:count], energies[:count])
        elif len(dates):
            x, q, m = x[:count][wanted], q[:count][wanted], m[:count][wanted]
            self._keep(since, dates, x, q, m, energies_at(program, dates, settings.p, x, m))

    def _keep(
        self, since: np.ndarray, dates: np.ndarray, x: np.ndarray, q: np.ndarray, m: np.ndarray, energies: np.ndarray
    ) -> None:
        p = self._run.settings.p
        self.sent += len(x)
        self.account.take(dates, since, energies, q)
        self.last = x[-1].copy(), m[-1].copy()
        self._send(dates.copy(), self._chosen.values(dates, x, p, m))

    def finish(self) -> int:
        """End the run before a lost solution, if any, after the last sample; return the number of valid samples."""
        lost = self._search.result()
        if lost is None:
            return self.seen
        self._run.end_before(lost)
        return max(lost.sample, 1)

    def staying(self, holding: int) -> tuple[np.ndarray, ...]:
        """Return the indices (k,), states (k, n), modes (k, modes) and integrated powers (k, powers) of the samples that were
        kept among the first `holding`."""
        numbers, x, m, q = (np.concatenate(parts) for parts in zip(*self._stays, strict=True))
        wanted = numbers < holding
        return numbers[wanted], np.ascontiguousarray(x[wanted]), m[wanted], np.ascontiguousarray(q[wanted])

    def times(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        settings, (since, dates) = self._run.settings, self._wanted
        if self._all:
            return settings.times[:count], settings.dates[:count]
        return since[:count].copy(), dates[:count].copy()

    def asked(self, holding: int) -> int:
        return int(self._own[:holding].sum())


def _staying(program: Program, wanted: np.ndarray) -> np.ndarray:
    """Return a mask (k,) of the samples to keep: a few of the `wanted` samples (k,), and those at which constraints and
    contacts are checked."""
    stay, asked = np.zeros(len(wanted), dtype=bool), np.flatnonzero(wanted)
    stay[asked[np.linspace(0, len(asked) - 1, PROBES).astype(int)]] = True
    if has_constraints(program) or watched_contacts(program):
        stay[:: check_stride(len(wanted))] = True
    return stay
