"""Reason why a finished run cannot be trusted: an energy balance, in total or of an island, does not close.

The account of a valid run closes to within `FAR` times its rtol. On the project's models, it closes to within 200 times rtol
for every method, and to within rtol for dop853.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bondgraph.run.events.guard_history import perturbations, rounding_error
from bondgraph.run.program.balances import BalanceColumns
from bondgraph.run.results.energy_account import IslandBalance, Ledger
from bondgraph.run.results.failure import ValidityConcern
from bondgraph.run.results.result import Result

FAR, MOST = 1e3, 0.1
"""Multiple of rtol, and fraction of the energy scale, above which a residual is reported."""

_PROBES, _OFF, _APART = 16, 1e-5, 1e-6

_ROUNDINGS = 64.0
"""Number of rounding errors of powers, over the whole run, up to which the energy scale counts as rounding error."""

_LISTED = 3

_AT_ONCE = 2**20
"""Maximum number of state values that are perturbed together (8 MB)."""


def validity_concerns(result: Result, ledger: Ledger, rtol: float) -> tuple[ValidityConcern, ...]:
    """Return a concern about the energy account of the island with the largest relative residual, if residuals far exceed what
    rtol promises."""
    most, program = min(FAR * rtol, MOST), result.program
    by_hand = program.energies is None and not program.islands  # the program has neither storages nor bonds
    if by_hand or not ledger.relative_residual > most:
        return ()
    turned = _turned_over(result)
    total = IslandBalance((), ledger.unit, (), ledger.residual, ledger.in_play, float(np.abs(ledger.residual).max(initial=0.0)))
    if ledger.islands:
        judged = [(each, columns) for each, (_, columns) in zip(ledger.islands, program.balances.islands, strict=True)]
    else:
        judged = [(total, program.balances.total)]
    doubtful = [
        balance
        for balance, columns in judged
        if balance.relative_residual > most
        and balance.largest > most * float(turned[:, columns.storages].sum(axis=1).max(initial=0.0))
        and not _is_rounding(result, columns, balance.in_play)
    ]
    if not doubtful:
        return ()
    balance = max(doubtful, key=lambda each: each.relative_residual)
    at = int(np.argmax(np.abs(np.diff(balance.residual, prepend=0.0))))
    suspect = _unbalanced(result, balance.elements) or (
        _busiest(ledger, balance.elements, at) if ledger.elements else _busiest(*_coarse(result, balance.elements))
    )
    residual = balance.relative_residual
    in_play = f"{balance.in_play:.3g} {balance.unit}"
    reason = (
        f"{_owner(balance)} energy account is off by {residual:.2g} of the energy scale ({in_play}), far beyond rtol = {rtol:g}"
    )
    return (ValidityConcern(reason, float(ledger.t[at]), suspect, residual, rtol),)


def _is_rounding(result: Result, columns: BalanceColumns, in_play: float) -> bool:
    """Return True if the energy scale is within the rounding errors of the powers, because the model is at rest."""
    program, chosen = result.program, _probed(result)
    t, x, m = result.t[chosen], result.x[chosen], result.m[chosen]
    if program.powers is None:
        return False
    with np.errstate(all="ignore"):
        now = program.powers.many(t, x, result.p, m)
        numbers = result.p * (1.0 + perturbations(len(result.p)))
        errors = rounding_error(now, np.array([program.powers.many(t, x, p, m) for p in numbers]))
    brought = float(errors[:, columns.powers].sum(axis=1).max(initial=0.0)) * float(result.since[-1] - result.since[0])
    return bool(np.isfinite(brought) and in_play <= _ROUNDINGS * brought)


def _owner(balance: IslandBalance) -> str:
    if not balance.elements:
        return "its"
    shown = [f'"{name}"' for name in balance.elements[:_LISTED]]
    others = len(balance.elements) - len(shown)
    listed = ", ".join([*shown, *([f"{others} more"] if others else [])])
    return f"the {' and '.join(balance.domains)} part of {listed}: its"


def _turned_over(result: Result) -> np.ndarray:
    """Return the summed magnitudes of the single states' energies in each storage, at some samples (samples, storages), J, so
    that energy that changes form within one storage counts although its sum stays zero."""
    program, n = result.program, result.program.states
    step = max(1, _AT_ONCE // max(n, 1))
    probed = _probed(result)
    if program.energies is None:
        return np.zeros((len(probed), 0))
    turned = np.zeros((len(probed), program.energies.n_out))
    for row, k in enumerate(probed):
        t, x, m = result.t[k], result.x[k], result.m[k]
        for first in range(0, n, step):
            columns = np.arange(first, min(first + step, n))
            apart = np.tile(x, (len(columns) + 1, 1))
            apart[np.arange(len(columns)), columns] *= 1.0 + _APART
            with np.errstate(all="ignore"):
                held = program.energies.many(t, apart, result.p, m)
            change = np.abs(held[:-1] - held[-1]) / _APART
            turned[row] += np.where(np.isfinite(change), change, 0.0).sum(axis=0)
    return turned


def _probed(result: Result) -> np.ndarray:
    return np.unique(np.linspace(0, len(result.t) - 1, _PROBES).astype(int))


def _coarse(result: Result, elements: Sequence[str]) -> tuple[Ledger, Sequence[str], int]:
    """Return the energy account of a result, `elements`, and the index at which the residual of their island, or of the whole
    model without elements, grows most."""
    ledger = result.account()
    residual = next((island.residual for island in ledger.islands if island.elements == elements), ledger.residual)
    return ledger, elements, int(np.argmax(np.abs(np.diff(residual, prepend=0.0))))


def _busiest(ledger: Ledger, elements: Sequence[str], at: int) -> str:
    """Return the element, among `elements` or, if there are none, among all, whose energy or work changes most where the
    residual grows most."""
    before = max(at - 1, 0)
    courses = {name: course for name, course in ledger.elements.items() if not elements or name in elements}
    moved = {name: abs(float(course[at] - course[before])) for name, course in courses.items()}
    if not any(moved.values()):
        moved = {name: float(np.abs(course).max()) for name, course in courses.items()}
    return max(moved, key=lambda name: moved[name], default="")


def _unbalanced(result: Result, elements: Sequence[str]) -> str:
    """Return the storage, among `elements` or, if there are none, among all, whose change of energy differs most from the
    power into it, or ""."""
    program = result.program
    if program.energies is None:
        return ""
    chosen = _probed(result)
    t, x, m = result.t[chosen], result.x[chosen], result.m[chosen]
    with np.errstate(all="ignore"):
        rates = program.rates.many(t, x, result.p, m)
        sizes = np.abs(x).max(axis=0, initial=0.0)
        pace = np.max(np.abs(rates) / np.where(sizes > 0.0, sizes, np.inf), axis=1, initial=0.0)
        h = (1e-5 / np.where(pace > 0.0, pace, 1.0))[:, None]
        ahead = program.energies.many(t, x + h * rates, result.p, m)
        behind = program.energies.many(t, x - h * rates, result.p, m)
        slopes = (ahead - behind) / (2.0 * h)
    worst, guilty = _OFF, ""
    for i, name in enumerate(program.energy_names):
        if f"{name}.power" not in program.layout or (elements and name not in elements):
            continue
        power = result[f"{name}.power"][chosen]
        size = float(max(np.abs(power).max(), np.abs(slopes[:, i]).max()))
        off = float(np.abs(power - slopes[:, i]).max()) / size if size > 0.0 else 0.0
        if off > worst:
            worst, guilty = off, name
    return guilty
