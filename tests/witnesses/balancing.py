"""Balancing of couplings between states, the reference for the machine code in `balancing`.

An entry B_ij > 0 means that state j drives state i. Within a strong component, scales s balance the couplings into each state
with those out of it (E. E. Osborne, On pre-conditioning of matrices, J. ACM 7, 1960). With states in other units, x -> d x,
the scales become d s and the rates are unchanged.
"""

from __future__ import annotations

import numpy as np

from tests.inner.emit import power
from tests.inner.run import MAX_COUPLING, CouplingStructure, JacobianCouplings
from tests.inner.run import accuracy_balancing as rules


def fastest(couplings: JacobianCouplings) -> np.ndarray:
    """Return the fastest rate at which each state is coupled, 1/s (n,).

    A state without a rate of its own takes the rate of the states that drive it, or 0 if nothing drives it.
    """
    structure, values = couplings.structure, couplings.values
    inner = structure.inner
    rows, columns, held = structure.rows[inner], structure.columns[inner], values[inner]
    scales = _balanced(structure, values)
    rates = couplings.diagonal.copy()
    np.fmax.at(rates, rows, held * scales[columns] / scales[rows])
    for i in structure.order:
        drivers = structure.drivers[structure.drivers_at[i] : structure.drivers_at[i + 1]]
        if rates[i] == 0.0 and len(drivers):
            rates[i] = rates[drivers].max()
    return rates


def propagated(couplings: JacobianCouplings, speed: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Return scales (n,) propagated along the couplings from state to state; `speed` (n,) as from `fastest`, without zeros."""
    structure = couplings.structure
    rows, columns, part = structure.rows, structure.columns, structure.part
    across = np.where(part[rows] == part[columns], speed[rows], np.maximum(speed[rows], speed[columns]))
    gain = couplings.values / across
    for _ in range(len(scales)):
        reached = scales.copy()
        np.fmax.at(reached, rows, gain * scales[columns])
        if not np.any(reached > rules.MIN_GROWTH * scales):
            break
        scales = np.where(reached > rules.MIN_GROWTH * scales, reached, scales)
    return scales


def _balanced(structure: CouplingStructure, values: np.ndarray) -> np.ndarray:
    """Return scales s (n,) for which, within each strong component, the sums of B_ij s_j / s_i over the row and over the column
    of every state are about equal."""
    n, inner = len(structure.part), structure.inner
    scales = np.ones(n)
    _along_ears(structure, values, scales)
    rows, columns, held = structure.rows[inner], structure.columns[inner], values[inner]
    for _ in range(rules.MAX_SWEEPS):
        flows = held * scales[columns] / scales[rows]
        into, out_of = np.bincount(rows, flows, n), np.bincount(columns, flows, n)
        live = (into > 0.0) & (out_of > 0.0)
        if np.all(into[live] < rules.MAX_IMBALANCE * out_of[live]) and np.all(out_of[live] < rules.MAX_IMBALANCE * into[live]):
            break
        # All scales change simultaneously, so each takes half the step of a sequential update.
        scales[live] *= np.sqrt(np.sqrt(into[live] / out_of[live]))
    return scales


def _along_ears(structure: CouplingStructure, values: np.ndarray, scales: np.ndarray) -> None:
    """Set initial scales of strong components, one ear after another, with equally fast couplings along each ear."""
    for start, begin, end in zip(structure.ear_from, structure.ear_at, structure.ear_at[1:], strict=False):
        couplings, states = values[structure.ear_couplings[begin:end]], structure.ear_states[begin:end]
        total = scales[start] / scales[states[-1]]
        for coupling in couplings:
            total *= coupling
        rate = np.sqrt(total) if len(states) == 2 else power(total, 1.0 / len(states))
        if not 0.0 < rate < MAX_COUPLING:
            continue
        at = scales[start]
        for state, coupling in zip(states[:-1], couplings, strict=False):
            at *= coupling / rate
            scales[state] = at
