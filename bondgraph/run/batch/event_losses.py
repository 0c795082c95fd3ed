"""Energy losses of a batch run at its events: from the rows of the log, find the loss before each sample, the number of
events, and the modes at the samples."""

from __future__ import annotations

import math

from bondgraph.emit.kernel_language.language import Reals, inline
from bondgraph.run.batch.fields import BatchTable, modes_at
from bondgraph.run.batch.native_measures import measure_event
from bondgraph.run.events.log import SCALARS


def reset_events(r: BatchTable) -> None:
    for b in range(r.balances):
        r.lost[b] = 0.0
        r.lost_totals[b] = 0.0
    r.lost_rows, r.event_count = 1, 0


@inline
def fill_losses(r: BatchTable, time: float) -> None:
    balances = r.balances
    while r.lost_rows < r.samples and not r.times[r.lost_rows] > time:
        lost = r.lost[balances * r.lost_rows :]
        for b in range(balances):
            lost[b] = r.lost_totals[b]
        r.lost_rows += 1


@inline
def add_energies(r: BatchTable, sign: float, clock: float, x: Reals, m: Reals) -> None:
    storages = r.table.weights.storages
    r.table.weights.energies(clock, x, r.table.p, m, r.energies)
    for i in range(storages):
        b = r.storage_balances[i]
        r.closing[b] = r.closing[b] + sign * r.energies[i]


def process_events(r: BatchTable) -> None:
    """Process the rows of the log, and empty the log. A sample at the exact time of an event shows the values before the event,
    except at the start (`results.energy_account`)."""
    events, closing = r.table.instants, r.closing
    n, modes = events.n, events.modes
    for k in range(events.logged):
        row = events.log[events.row_width * k :]
        since, clock = row[SCALARS.index("since")], row[SCALARS.index("clock")]
        measure_event(r, r.present, row)
        fill_losses(r, since)
        x = row[len(SCALARS) :]
        m = x[n * 2 :]
        for b in range(r.balances):
            closing[b] = 0.0
        if r.table.weights.storages > 0:
            add_energies(r, 1.0, clock, x, m)
            add_energies(r, -1.0, clock, x[n:], m[modes:])
        supplied = m[modes * 2 :]
        for i in range(events.quadratures):
            b = r.power_balances[i]
            closing[b] = closing[b] + supplied[i]
        for b in range(r.balances):
            r.lost_totals[b] = r.lost_totals[b] + closing[b]
            if since <= r.times[0]:
                r.lost[b] = r.lost_totals[b]
    r.event_count += events.logged
    events.events_left = events.events_left - events.logged
    events.logged = 0


def finish_events(r: BatchTable, run: int) -> None:
    events = r.table.instants
    if events is not None:
        process_events(r)
        for k in range(events.held_rows + 1, r.samples):
            m = modes_at(r, k)
            for i in range(r.table.mode_count):
                m[i] = r.table.m[i]
    fill_losses(r, math.inf)
    r.event_counts[run] = r.event_count
