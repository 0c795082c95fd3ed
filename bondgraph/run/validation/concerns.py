"""Check of the energy balance of a finished run: the run cannot be trusted if the balance of an island does not close.

The account of a valid run closes to within `RTOL_FACTOR` times its rtol. On the project's models, it closes to within 200 times
rtol for every method, and to within rtol for dop853.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bondgraph.run.events.guard_history import perturbations, rounding_error
from bondgraph.run.program.balances import BalanceColumns
from bondgraph.run.results.energy_account import IslandBalance, Ledger
from bondgraph.run.results.failure import ValidityConcern
from bondgraph.run.results.result import Result

RTOL_FACTOR, MAX_RESIDUAL = 1e3, 0.1
"""Residuals are reported above RTOL_FACTOR times rtol or, if smaller, MAX_RESIDUAL, relative to the energy scale."""

_MAX_SAMPLES = 16
_POWER_MISMATCH = 1e-5
"""Smallest relative difference between a storage's power and its change of energy that makes it the suspect."""
_PERTURBATION = 1e-6

_ROUNDING_ERRORS = 64.0
"""Number of rounding errors of powers, over the whole run, up to which the energy scale counts as rounding error."""

_MAX_LISTED = 3

_MAX_CHUNK_VALUES = 2**20
"""Maximum number of state values that are perturbed together (8 MB)."""


def validity_concerns(result: Result, ledger: Ledger, rtol: float) -> tuple[ValidityConcern, ...]:
    """Return a concern about the energy account with the largest relative residual, if the account of an island, or of the whole
    model if it has none, is off by more than the limits and by more than rounding error."""
    most, program = min(RTOL_FACTOR * rtol, MAX_RESIDUAL), result.program
    has_no_balance = program.energies is None and not program.islands  # the program has neither storages nor bonds
    if has_no_balance or not ledger.relative_residual > most:
        return ()
    converted = _converted_energies(result)
    total = IslandBalance((), ledger.unit, (), ledger.residual, ledger.in_play, float(np.abs(ledger.residual).max(initial=0.0)))
    if ledger.islands:
        balances = [(each, columns) for each, (_, columns) in zip(ledger.islands, program.balances.islands, strict=True)]
    else:
        balances = [(total, program.balances.total)]
    doubtful = [
        balance
        for balance, columns in balances
        if balance.relative_residual > most
        and balance.largest > most * float(converted[:, columns.storages].sum(axis=1).max(initial=0.0))
        and not _is_rounding(result, columns, balance.in_play)
    ]
    if not doubtful:
        return ()
    balance = max(doubtful, key=lambda each: each.relative_residual)
    suspect = _unbalanced_storage(result, balance.elements)
    if not suspect:
        suspect = _most_active_element(ledger if ledger.elements else result.account(), balance.elements)
    at, residual, account = _largest_change(balance.residual), balance.relative_residual, f"the energy account{_owner(balance)}"
    in_play = f"{balance.in_play:.3g} {balance.unit}"
    reason = f"{account} is off by {residual:.2g} of the energy scale ({in_play}), more than rtol = {rtol:g} allows"
    return (ValidityConcern(reason, float(ledger.t[at]), suspect, residual, rtol),)


def _is_rounding(result: Result, columns: BalanceColumns, in_play: float) -> bool:
    """Return True if the energy scale is within the rounding errors of the powers over the run, as in a model at rest."""
    program, chosen = result.program, _samples(result)
    t, x, m = result.t[chosen], result.x[chosen], result.m[chosen]
    if program.powers is None:
        return False
    with np.errstate(all="ignore"):
        now = program.powers.many(t, x, result.p, m)
        parameters = result.p * (1.0 + perturbations(len(result.p)))
        errors = rounding_error(now, np.array([program.powers.many(t, x, p, m) for p in parameters]))
    error = float(errors[:, columns.powers].sum(axis=1).max(initial=0.0)) * float(result.since[-1] - result.since[0])
    return bool(np.isfinite(error) and in_play <= _ROUNDING_ERRORS * error)


def _owner(balance: IslandBalance) -> str:
    if not balance.elements:
        return ""
    shown = [f'"{name}"' for name in balance.elements[:_MAX_LISTED]]
    others = len(balance.elements) - len(shown)
    listed = ", ".join([*shown, *([f"{others} more"] if others else [])])
    return f" of the {' and '.join(balance.domains)} part with {listed}"


def _converted_energies(result: Result) -> np.ndarray:
    """Return the sum over states of |x dE/dx| for the energy E of each storage, at some samples (samples, storages), J, so that
    energy that changes form within one storage counts although its sum stays zero."""
    program, n = result.program, result.program.states
    step = max(1, _MAX_CHUNK_VALUES // max(n, 1))
    samples = _samples(result)
    if program.energies is None:
        return np.zeros((len(samples), 0))
    converted = np.zeros((len(samples), program.energies.n_out))
    for row, k in enumerate(samples):
        t, x, m = result.t[k], result.x[k], result.m[k]
        for first in range(0, n, step):
            columns = np.arange(first, min(first + step, n))
            perturbed = np.tile(x, (len(columns) + 1, 1))
            perturbed[np.arange(len(columns)), columns] *= 1.0 + _PERTURBATION
            with np.errstate(all="ignore"):
                energies = program.energies.many(t, perturbed, result.p, m)
            change = np.abs(energies[:-1] - energies[-1]) / _PERTURBATION
            converted[row] += np.where(np.isfinite(change), change, 0.0).sum(axis=0)
    return converted


def _samples(result: Result) -> np.ndarray:
    return np.unique(np.linspace(0, len(result.t) - 1, _MAX_SAMPLES).astype(int))


def _largest_change(residual: np.ndarray) -> int:
    return int(np.argmax(np.abs(np.diff(residual, prepend=0.0))))


def _most_active_element(ledger: Ledger, elements: Sequence[str]) -> str:
    """Return the element whose energy or work changes most at the sample where the residual changes most; if none changes there,
    the one whose energy or work is largest in the run. Only `elements` are considered, if there are any; "" without elements."""
    at = _largest_change(next((island.residual for island in ledger.islands if island.elements == elements), ledger.residual))
    before = max(at - 1, 0)
    courses = {name: course for name, course in ledger.elements.items() if not elements or name in elements}
    moved = {name: abs(float(course[at] - course[before])) for name, course in courses.items()}
    if not any(moved.values()):
        moved = {name: float(np.abs(course).max()) for name, course in courses.items()}
    return max(moved, key=lambda name: moved[name], default="")


def _unbalanced_storage(result: Result, elements: Sequence[str]) -> str:
    """Return the storage, among `elements` or, if there are none, among all, whose change of energy differs most from the
    power into it, or "" if the difference is small for all."""
    program = result.program
    if program.energies is None:
        return ""
    chosen = _samples(result)
    t, x, m = result.t[chosen], result.x[chosen], result.m[chosen]
    with np.errstate(all="ignore"):
        rates = program.rates.many(t, x, result.p, m)
        sizes = np.abs(x).max(axis=0, initial=0.0)
        pace = np.max(np.abs(rates) / np.where(sizes > 0.0, sizes, np.inf), axis=1, initial=0.0)
        h = (1e-5 / np.where(pace > 0.0, pace, 1.0))[:, None]
        ahead = program.energies.many(t, x + h * rates, result.p, m)
        behind = program.energies.many(t, x - h * rates, result.p, m)
        slopes = (ahead - behind) / (2.0 * h)
    worst, suspect = _POWER_MISMATCH, ""
    for i, name in enumerate(program.energy_names):
        if f"{name}.power" not in program.layout or (elements and name not in elements):
            continue
        power = result[f"{name}.power"][chosen]
        size = float(max(np.abs(power).max(), np.abs(slopes[:, i]).max()))
        off = float(np.abs(power - slopes[:, i]).max()) / size if size > 0.0 else 0.0
        if off > worst:
            worst, suspect = off, name
    return suspect
