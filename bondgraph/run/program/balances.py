"""Energy balances of the islands of a program, the parts of the graph that bonds connect.

Each balance closes by itself: islands exchange only signals, and heat through heat ports, which one island records as converted
and another as received.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bondgraph.model.domains import Domain
from bondgraph.model.model import Bond, Model

JOULE = "J"


@dataclass(frozen=True)
class Island:
    """Part of a graph whose elements are connected by bonds.

    Parameters
    ----------
    domains : names of its domains.
    unit : unit of effort times displacement: J, or another unit for pseudo-bonds, whose effort times flow is not a power in W.
    storages, powers : indices of its storages and of its powers in the program.
    """

    domains: tuple[str, ...]
    unit: str
    storages: tuple[int, ...]
    powers: tuple[int, ...]


def connected_islands(model: Model, storages: Sequence[str], powers: Sequence[str]) -> tuple[Island, ...]:
    """Return the islands that have storages or powers, in the order of their first bonds; `storages` and `powers` are the
    paths of their elements. If one of these elements has no bond, return (), which means one balance of the whole model."""
    components = _connected(model.bonds)
    if not all(path in components for path in (*storages, *powers)):
        return ()
    domains: dict[int, dict[int, Domain]] = {}
    for bond in model.bonds:
        domains.setdefault(components[bond.tail.element], {})[id(bond.domain)] = bond.domain
    members = {number: (list[int](), list[int]()) for number in domains}
    for kind, paths in enumerate((storages, powers)):
        for index, path in enumerate(paths):
            members[components[path]][kind].append(index)
    return tuple(
        Island(tuple(dict.fromkeys(each.name for each in kinds)), _unit(kinds), tuple(of_storages), tuple(of_powers))
        for number, (of_storages, of_powers) in members.items()
        if (of_storages or of_powers) and (kinds := list(domains[number].values()))
    )


def _connected(bonds: Sequence[Bond]) -> dict[str, int]:
    import networkx as nx

    graph = nx.from_edgelist((bond.tail.element, bond.head.element) for bond in bonds)
    return {path: number for number, paths in enumerate(nx.connected_components(graph)) for path in paths}


def _unit(domains: Sequence[Domain]) -> str:
    """Return the unit of effort times displacement, J if any domain uses J, because the value is equal on both sides of a
    transformer."""
    units = dict.fromkeys(domain.energy_unit for domain in domains)
    return JOULE if JOULE in units else next(iter(units))


Columns = np.ndarray | slice


@dataclass(frozen=True, eq=False)
class BalanceColumns:
    """Columns of the storages and powers of one balance among all energies and integrated powers, and of its powers by role."""

    storages: Columns
    powers: Columns
    roles: Mapping[str, Columns]


@dataclass(frozen=True, eq=False)
class Balances:
    """Balances of a program: the total of all islands whose energies are in `unit`, or of the whole model without islands, and,
    if there are several islands, the balance of each."""

    unit: str
    total: BalanceColumns
    islands: tuple[tuple[Island, BalanceColumns], ...]

    def island_of(self, storages: int, powers: int) -> tuple[np.ndarray, np.ndarray]:
        of_storages, of_powers = np.zeros(storages, dtype=np.int64), np.zeros(powers, dtype=np.int64)
        for k, (_, columns) in enumerate(self.islands):
            of_storages[columns.storages] = of_powers[columns.powers] = k
        return of_storages, of_powers


def balances(islands: Sequence[Island], roles: Sequence[str], known_roles: Sequence[str]) -> Balances:
    """Return the balances of these islands, or without islands one balance of the whole model in J; `roles` has one of the
    `known_roles` for each power."""
    units = list(dict.fromkeys(island.unit for island in islands))
    unit = JOULE if JOULE in units or not units else units[0]
    if len(units) > 1:
        counted = [island for island in islands if island.unit == unit]
        storages, powers = (_merged(each) for each in zip(*((i.storages, i.powers) for i in counted), strict=True))
        total = _columns(storages, powers, roles, known_roles)
    else:
        total = _columns(slice(None), slice(None), roles, known_roles)
    several = islands if len(islands) > 1 else ()
    parts = [(each, _columns(np.array(each.storages, int), np.array(each.powers, int), roles, known_roles)) for each in several]
    return Balances(unit, total, tuple(parts))


def _merged(indices: Sequence[tuple[int, ...]]) -> np.ndarray:
    return np.array(sorted(index for each in indices for index in each), dtype=int)


def _columns(storages: Columns, powers: Columns, roles: Sequence[str], known_roles: Sequence[str]) -> BalanceColumns:
    indices, columns = np.arange(len(roles))[powers].tolist(), dict[str, Columns]()
    for role in known_roles:
        members = [index for index in indices if roles[index] == role]
        columns[role] = slice(None) if len(members) == len(roles) else np.array(members, dtype=int)
    return BalanceColumns(storages, powers, columns)
