"""Loop analysis of networks with ideal diodes and switches, which gives voltages and currents with error bounds.

Implicit Euler makes each branch a resistance and a voltage, u = r i - e. Of all loop currents that the diodes allow, the actual
currents minimise

    1/2 i^T r i - e^T i   subject to   Kirchhoff's current law   and   i >= 0 in diodes.

This is the complementarity problem of the diodes (Cottle; Millar's content). Scaled by the loops' resistances, it is the
projection of a point onto a cone, which Lawson and Hanson's active-set method solves in finitely many steps, without
enumerating modes.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import nnls

from campaigns.ideal.halving import Reference, Trajectory, halved
from campaigns.ideal.records import Branch, Network

WIRE = 1e-9
"""Resistance (Ohm) in series with each branch; all other resistances are of order one."""
SHORT = 1e-5
"""Voltage drop across `WIRE`, relative to the largest source, that reveals a short-circuited source if it lasts two steps; an
impulse, as in the charging of a capacitor, lasts one step."""
NOTHING = 1e-6
"""Voltages and currents, relative to the largest source, that count as zero."""
ORDER = "DSVCRL"
"""Order in which branches join the tree, which leaves large impedances to the branches that close the loops."""


def channels(network: Network) -> list[str]:
    return [branch.name for branch in network.branches if branch.kind in "CLR"]


def analysed(network: Network, samples: np.ndarray, step: float = 2e-3) -> Reference:
    """Return the values of `channels`, with error bounds, at `samples`, which must be multiples of `step`."""
    return halved(lambda h: _trajectory(network, samples, h), samples, step, NOTHING * _drive(network))


def _drive(network: Network) -> float:
    return max((abs(branch.wave.mean) + abs(branch.wave.size) for branch in network.branches), default=0.0)


def _trajectory(network: Network, samples: np.ndarray, h: float) -> Trajectory:
    branches = network.branches
    drops = {"R": lambda b: b.value, "V": lambda b: b.value, "L": lambda b: b.value / h, "C": lambda b: h / b.value}
    resistance = np.array([drops[b.kind](b) if b.kind in drops else 0.0 for b in branches]) + WIRE
    coils, capacitors = ([k for k, b in enumerate(branches) if b.kind == kind] for kind in "LC")
    sources, diodes = ([k for k, b in enumerate(branches) if b.kind == kind] for kind in "VD")
    shown = [k for k, b in enumerate(branches) if b.kind in "CLR"]
    ideal = [k for k, b in enumerate(branches) if b.kind in "DS" or (b.kind == "V" and not b.value)]
    known: dict[tuple[bool, ...], tuple[np.ndarray, ...]] = {}
    current, voltage = np.zeros(len(branches)), np.zeros(len(branches))
    at, rows = {round(t / h) for t in samples}, []
    if 0 in at:
        rows.append(np.zeros(len(shown)))
    last, ends, is_shorted = round(samples[-1] / h), math.inf, False
    for k in range(1, last + 1):
        conducting = tuple(b.conducts((k - 0.5) * h) for b in branches)
        if conducting not in known:
            loops = _loops(branches, conducting)
            root = np.linalg.cholesky(loops.T @ (resistance[:, None] * loops))
            scaled = solve_triangular(root, loops.T, lower=True)
            cone = scaled[:, diodes]
            sizes = np.linalg.norm(cone, axis=0)
            known[conducting] = scaled, cone / np.where(sizes > 0.0, sizes, 1.0)
        scaled, cone = known[conducting]
        drive = np.zeros(len(branches))
        drive[coils] = resistance[coils] * current[coils]
        drive[capacitors] = -voltage[capacitors]
        drive[sources] = [-branches[s].wave.at(k * h) for s in sources]
        current = scaled.T @ _allowed(scaled @ drive, cone)
        voltage = resistance * current - drive
        was_shorted, is_shorted = is_shorted, WIRE * float(np.abs(current[ideal]).max(initial=0.0)) > SHORT * _drive(network)
        if was_shorted and is_shorted:
            ends = (k - 2) * h
            break
        if k in at:
            rows.append(np.where([branches[s].kind == "C" for s in shown], voltage[shown], current[shown]))
    rows += [np.full(len(shown), np.nan)] * (len(samples) - len(rows))
    return Trajectory(np.array(rows).reshape(len(samples), len(shown)), ends)


def _allowed(free: np.ndarray, cone: np.ndarray) -> np.ndarray:
    """Return the point nearest to `free` whose products with the columns of `cone` are non-negative."""
    return free + cone @ nnls(cone, -free)[0] if cone.size else free


def _loops(branches: tuple[Branch, ...], conducting: tuple[bool, ...]) -> np.ndarray:
    """Return the fundamental loops of the branches that conduct, (branches, loops)."""
    tree: dict[int, list[tuple[int, int, float]]] = {}
    columns = []
    for k in sorted((k for k, on in enumerate(conducting) if on), key=lambda k: (ORDER.index(branches[k].kind), k)):
        tail, head = branches[k].tail, branches[k].head
        path = _tree_path(tree, head, tail)
        if path is None:
            tree.setdefault(tail, []).append((k, head, 1.0))
            tree.setdefault(head, []).append((k, tail, -1.0))
        else:
            column = np.zeros(len(branches))
            column[k] = 1.0
            for branch, sign in path:
                column[branch] = sign
            columns.append(column)
    return np.array(columns).reshape(len(columns), len(branches)).T


def _tree_path(tree: dict[int, list[tuple[int, int, float]]], begin: int, end: int) -> list[tuple[int, float]] | None:
    """Return the branches of a tree on the path between two nodes, with their directions, or None without a path."""
    paths: dict[int, list[tuple[int, float]]] = {begin: []}
    queue = [begin]
    for node in queue:
        for branch, other, sign in tree.get(node, ()):
            if other not in paths:
                paths[other] = [*paths[node], (branch, sign)]
                queue.append(other)
    return paths.get(end)
