"""Energy account of a run: stored, supplied, dissipated, injected, and lost at switching -> residual."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bondgraph.output.cells import cell, collapsible, line, table
from bondgraph.output.short_repr import short_repr
from bondgraph.run.events.records import Events
from bondgraph.run.program import ROLES, Program

_AT_ONCE = 2**17
"""Numbers that are summed at once."""


@short_repr
@dataclass(frozen=True)
class Ledger:
    """Energies in J at the times t (k,) of a run, counted from its start.

    Parameters
    ----------
    stored : total energy of all storages (the value, not the change since the start), (k,).
    supplied, dissipated, injected : integrated powers, summed by role, (k,).
    lost : energy that resets at events removed, (k,).
    residual : stored - stored at start - supplied - injected + dissipated + lost, (k,).
    in_play : maximum over the run of the sum of |energy| of all storages and |integrated power| of all others, J.
    elements : energy of every storage, dissipator and source over time by name, (k,) each; empty if the run kept only some
        quantities.
    """

    t: np.ndarray
    stored: np.ndarray
    supplied: np.ndarray
    dissipated: np.ndarray
    injected: np.ndarray
    lost: np.ndarray
    residual: np.ndarray
    in_play: float
    elements: Mapping[str, np.ndarray]

    @property
    def relative_residual(self) -> float:
        """Largest |residual| over the run relative to the energy in play; 0 if there is no energy at all."""
        largest = float(np.max(np.abs(self.residual), initial=0.0))
        return largest / self.in_play if self.in_play > 0.0 else largest

    def summary(self) -> dict[str, float]:
        """Return the account at the end of the run, J."""
        names = ("stored", "supplied", "dissipated", "injected", "lost")
        last = {name: float(getattr(self, name)[-1]) for name in names}
        return {
            "stored at start": float(self.stored[0]),
            **last,
            "residual": float(self.residual[-1]),
            "in play": self.in_play,
            "relative residual": self.relative_residual,
        }

    def __str__(self) -> str:
        return "\n".join(f"{name:>18} {value: .9e}" for name, value in self.summary().items())

    def _repr_html_(self) -> str:
        return cell(line("energy account", "from the start to the end of the run"), self.tables())

    def tables(self) -> str:
        """Return HTML: the account at the end, and a collapsible table of its elements."""
        units = {"relative residual": "1"}
        rows = [(name, value, units.get(name, "J")) for name, value in self.summary().items()]
        ends = [(name, course[-1]) for name, course in self.elements.items()]
        return table(("", "at the end", ""), rows) + (
            collapsible("element by element", table(("element", "J"), ends)) if ends else ""
        )


def account(
    program: Program,
    t: np.ndarray,
    since: np.ndarray,
    energies: np.ndarray,
    integrals: np.ndarray,
    events: Events,
    start: np.ndarray,
) -> Ledger:
    """Draw up the account.

    Parameters
    ----------
    t, since : sample times (k,), and the same since the start of the run, s.
    energies : energy per storage (k, storages), J.
    integrals : integrated powers (k, powers), J.
    events : all events of the run.
    start : energy per storage at the start, before any event, J.
    """
    lost = np.concatenate([[0.0], np.cumsum(events.lost)])[events_before(since, events.since, bool(len(since)))]
    totals = totals_of(role_columns(program.power_roles), energies, integrals, lost, float(start.sum()))
    names = list(program.energy_names) or [f"storage {i}" for i in range(energies.shape[1])]
    others = list(program.power_names) or [f"power {i}" for i in range(integrals.shape[1])]
    courses = {name: energies[:, i] for i, name in enumerate(names)}
    for i, name in enumerate(others):
        courses[name if name not in courses else f"{name} ({program.power_roles[i]})"] = integrals[:, i]
    in_play = float(max(np.max(totals.pop("in play"), initial=0.0), np.abs(start).sum()))
    return Ledger(t, in_play=in_play, elements=courses, **totals)


@functools.lru_cache(maxsize=64)
def role_columns(roles: tuple[str, ...]) -> Mapping[str, np.ndarray | slice]:
    """Return the columns of powers of each role; `roles` are the roles of all powers."""
    columns = dict[str, np.ndarray | slice]()
    for role in ROLES:
        members = [column for column, power_role in enumerate(roles) if power_role == role]
        columns[role] = slice(None) if len(members) == len(roles) else np.array(members, dtype=int)
    return columns


def totals_of(
    columns: Mapping[str, np.ndarray | slice], energies: np.ndarray, integrals: np.ndarray, lost: np.ndarray, start: float
) -> dict[str, np.ndarray]:
    """Return the totals of an account by name, and what is "in play" at each sample, (k,) each. `columns` are the columns of each
    role, `start` is the energy stored at the start, J; all else as in `account`, up to the losses at events."""
    by_role = {role: _in_order(integrals[:, role_column]) for role, role_column in columns.items()}
    stored = energies.sum(axis=1)
    residual = stored - start - by_role["supplied"] - by_role["injected"] + by_role["dissipated"] + lost
    play = np.abs(energies).sum(axis=1) + np.abs(integrals).sum(axis=1) + np.abs(lost)
    return {"stored": stored, **by_role, "lost": lost, "residual": residual, "in play": play}


def events_before(since: np.ndarray, events: np.ndarray, starts: bool) -> np.ndarray:
    """Count the events, at ascending times, before each sample: a sample at the time of an event shows the state before it,
    except where the first sample `starts` the run."""
    counts = np.searchsorted(events, since, side="left")
    if starts:
        counts[since == since[0]] = np.searchsorted(events, since[0], side="right")
    return counts


def _in_order(terms: np.ndarray) -> np.ndarray:
    """Return the sum of every row of terms (rows, k), (rows,), term by term: NumPy's order depends on its version and on the
    processor."""
    total, step = np.zeros(len(terms)), max(1, _AT_ONCE // max(terms.shape[1], 1))
    for first in range(0, len(terms) if terms.shape[1] else 0, step):
        part = slice(first, first + step)
        total[part] += np.add.accumulate(terms[part], axis=1)[:, -1]
    return total
