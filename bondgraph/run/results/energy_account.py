"""Energy account of a run: energies stored, supplied, dissipated, injected and lost at events, and their residual."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from bondgraph.errors import ByName
from bondgraph.output.cells import cell, collapsible, line, table
from bondgraph.output.lazy import LazyTable
from bondgraph.output.short_repr import short_repr
from bondgraph.run.events.records import Events
from bondgraph.run.program import Program
from bondgraph.run.program.balances import JOULE, BalanceColumns
from screws.calls import explain_methods

_MAX_CHUNK_VALUES = 2**17


@short_repr
@dataclass(frozen=True)
class IslandBalance:
    """Energy balance of an island: elements whose bonds connect them only to one another.

    Parameters
    ----------
    domains : names of its domains.
    unit : unit of its energies; "J" if effort times flow is a power in W.
    elements : names of its storages, dissipators and sources.
    residual, in_play : as in `Ledger`, for these elements only.
    largest : largest |residual| over the run.
    """

    domains: tuple[str, ...]
    unit: str
    elements: tuple[str, ...]
    residual: np.ndarray
    in_play: float
    largest: float

    @property
    def relative_residual(self) -> float:
        """Largest |residual| over the run, relative to the energy scale of the island."""
        return relative(self.largest, self.in_play)


@short_repr
@dataclass(frozen=True)
class DomainBalance:
    """Energies of the elements of one domain over time, (k,) each, in the unit of their island; an element belongs to the domain
    of its first bond.

    Parameters
    ----------
    stored, supplied, dissipated, injected : as in `Ledger`.
    received : energy received from other domains since the start, through transformers, gyrators, fields and heat ports, less
        losses at events: stored - stored at start - supplied - injected + dissipated.
    """

    stored: np.ndarray
    supplied: np.ndarray
    dissipated: np.ndarray
    injected: np.ndarray
    received: np.ndarray


@explain_methods
@short_repr
@dataclass(frozen=True)
class Ledger:
    """Energies of a run since its start, at the times t (k,), in J unless `unit` is another unit.

    Islands, parts of a graph that no bond connects, exchange no power except heat through heat ports. A run is checked by the
    balance of each island, so that an error in a small island is not hidden by a large one. The totals omit islands with another
    unit, such as islands of a domain whose effort times flow is not a power in W.

    Parameters
    ----------
    stored : total energy of all storages (the value, not the change since the start), (k,).
    supplied, dissipated, injected : integrated powers, summed by role, (k,).
    lost : energy that resets at events have removed, (k,).
    residual : stored - stored at start - supplied - injected + dissipated + lost, (k,).
    in_play : energy scale: maximum over the run of the sum of |energy| of all storages, |integrated powers| and |lost|.
    elements : energy of every storage, and integrated power of every dissipator and source, over time by name, (k,) each; empty
        if the run kept only some quantities. Dissipators with a heat port, which only convert energy, are omitted.
    islands : balance of each island; empty if there is only one.
    domains : balance of each domain by name; empty if the run kept only some quantities.
    unit : unit of the totals; J unless no island is in J.
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
    islands: tuple[IslandBalance, ...] = ()
    unit: str = JOULE
    domains: Mapping[str, DomainBalance] = field(default_factory=dict)

    @property
    def relative_residual(self) -> float:
        """Largest |residual| over the run, relative to the energy scale, for the island where this ratio is largest; 0 without
        any energy."""
        if self.islands:
            return max(island.relative_residual for island in self.islands)
        return relative(float(np.max(np.abs(self.residual), initial=0.0)), self.in_play)

    def summary(self) -> dict[str, float]:
        names = ("stored", "supplied", "dissipated", "injected", "lost")
        last = {name: float(getattr(self, name)[-1]) for name in names}
        start = {"stored at start": float(self.stored[0])}
        end = {"residual": float(self.residual[-1]), "in play": self.in_play, "relative residual": self.relative_residual}
        return ByName(start | last | end)

    def __str__(self) -> str:
        return "\n".join(f"{name:>18} {value: .9e}" for name, value in self.summary().items())

    def _repr_html_(self) -> str:
        return cell(line("energy account", "from the start to the end of the run"), self.tables())

    def tables(self) -> str:
        units = {"relative residual": "1"}
        rows = [(name, value, units.get(name, self.unit)) for name, value in self.summary().items()]
        units_of = {name: island.unit for island in self.islands for name in (*island.elements, *island.domains)}
        ends = [(name, course[-1], units_of.get(name, self.unit)) for name, course in self.elements.items()]
        roles = ("stored", "supplied", "dissipated", "injected", "received")
        by_domain = [
            (name, *(getattr(balance, role)[-1] for role in roles), units_of.get(name, self.unit))
            for name, balance in self.domains.items()
        ]
        return (
            table(("", "at the end", ""), rows)
            + (collapsible("domain by domain", table(("domain", *roles, ""), by_domain)) if len(by_domain) > 1 else "")
            + (collapsible("element by element", table(("element", "energy", ""), ends)) if ends else "")
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
    """Return the energy account of a run.

    Parameters
    ----------
    t, since : sample times (k,), and sample times since the start of the run, s.
    energies : energy per storage (k, storages), J.
    integrals : integrated powers (k, powers), J.
    events : all events of the run.
    start : energy per storage at the start, before any event, J.
    """
    balances, before = program.balances, events_before(since, events.since, bool(len(since)))

    def totals(columns: BalanceColumns) -> dict[str, np.ndarray]:
        lost = np.concatenate([[0.0], np.cumsum(events.lost_of(columns))])[before]
        return totals_of(columns, energies, integrals, lost, start)

    def most(in_play: np.ndarray, columns: BalanceColumns) -> float:
        return float(max(np.max(in_play, initial=0.0), np.abs(start[columns.storages]).sum()))

    names, courses = element_names(program, energies.shape[1], integrals.shape[1]), dict[str, np.ndarray]()
    for i, name in enumerate(names):
        if i < energies.shape[1]:
            courses[name] = energies[:, i]
        elif program.power_roles[i - energies.shape[1]] not in ("converted", "received"):
            courses[name] = integrals[:, i - energies.shape[1]]
    total, islands = totals(balances.total), []
    in_play = most(total.pop("in play"), balances.total)
    for island, columns in balances.islands:
        balance = totals(columns)
        residual, play = balance["residual"], most(balance["in play"], columns)
        largest = float(np.max(np.abs(residual), initial=0.0))
        islands.append(IslandBalance(island.domains, island.unit, members(names, program, columns), residual, play, largest))
    elements, domains = ByName(courses), LazyTable(lambda: _by_domain(program, energies, integrals, start))
    return Ledger(t, in_play=in_play, elements=elements, islands=tuple(islands), unit=balances.unit, domains=domains, **total)


def _by_domain(program: Program, energies: np.ndarray, integrals: np.ndarray, start: np.ndarray) -> dict[str, DomainBalance]:
    domain_of: dict[str, str] = {}
    for bond in program.bonds:
        for path in (bond.tail, bond.head):
            domain_of.setdefault(path, bond.domain)
    of_storages = [domain_of.get(path, "") for path in program.energy_names]
    of_powers = [domain_of.get(path, "") for path in program.power_names]
    balances = {}
    for domain in dict.fromkeys(name for name in domain_of.values() if name in {*of_storages, *of_powers}):
        storages = [k for k, name in enumerate(of_storages) if name == domain]
        stored, before = energies[:, storages].sum(axis=1), float(start[storages].sum())
        supplied, dissipated, injected = (
            integrals[:, [k for k, name in enumerate(of_powers) if name == domain and program.power_roles[k] == role]].sum(axis=1)
            for role in ("supplied", "dissipated", "injected")
        )
        received = stored - before - supplied - injected + dissipated
        balances[domain] = DomainBalance(stored, supplied, dissipated, injected, received)
    return balances


def relative(residual: float, in_play: float) -> float:
    return residual / in_play if in_play > 0.0 else residual


def element_names(program: Program, storages: int, powers: int) -> list[str]:
    names = list(program.energy_names) or [f"storage {i}" for i in range(storages)]
    taken = set(names)
    for i, name in enumerate(list(program.power_names) or [f"power {i}" for i in range(powers)]):
        names.append(f"{name} ({program.power_roles[i]})" if name in taken else name)
        taken.add(names[-1])
    return names


def members(names: list[str], program: Program, columns: BalanceColumns) -> tuple[str, ...]:
    powers = len(program.power_roles)
    split = len(names) - powers
    of_storages, of_powers = np.arange(split)[columns.storages], split + np.arange(powers)[columns.powers]
    return tuple(names[i] for i in (*of_storages, *of_powers))


def totals_of(
    columns: BalanceColumns, energies: np.ndarray, integrals: np.ndarray, lost: np.ndarray, start: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the totals of a balance by name, and the energy scale at each sample as "in play", (k,) each. `lost` (k,) is the
    energy that this balance has lost at events before each sample; the other arguments are those of `account`."""
    by_role = {role: _row_sums(integrals[:, role_column]) for role, role_column in columns.roles.items()}
    energies, integrals = energies[:, columns.storages], integrals[:, columns.powers]
    stored, at_start = energies.sum(axis=1), float(start[columns.storages].sum())
    passed_on = by_role.pop("converted") - by_role.pop("received")
    residual = stored - at_start - by_role["supplied"] - by_role["injected"] + by_role["dissipated"] + passed_on + lost
    scale = np.abs(energies).sum(axis=1) + np.abs(integrals).sum(axis=1) + np.abs(lost)
    return {"stored": stored, **by_role, "lost": lost, "residual": residual, "in play": scale}


def events_before(since: np.ndarray, events: np.ndarray, at_start: bool) -> np.ndarray:
    """Count the events, given by ascending times, before each sample. A sample at the time of an event shows the state before
    the event, except the first sample of a run (`at_start`)."""
    counts = np.searchsorted(events, since, side="left")
    if at_start:
        counts[since == since[0]] = np.searchsorted(events, since[0], side="right")
    return counts


def _row_sums(terms: np.ndarray) -> np.ndarray:
    """Return the sum of each row of terms (rows, k), added from left to right, because NumPy's order depends on its version and
    the processor."""
    total, step = np.zeros(len(terms)), max(1, _MAX_CHUNK_VALUES // max(terms.shape[1], 1))
    for first in range(0, len(terms) if terms.shape[1] else 0, step):
        part = slice(first, first + step)
        total[part] += np.add.accumulate(terms[part], axis=1)[:, -1]
    return total
