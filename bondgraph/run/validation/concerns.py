"""Find why a finished run cannot be trusted: an energy balance that does not close.

The account of a valid run closes to `FAR` times its rtol. Measured on the project's models, it closes to 200 times rtol for every
method, and to rtol for dop853.
"""

from __future__ import annotations

import numpy as np

from bondgraph.run.results.energy_account import Ledger
from bondgraph.run.results.failure import ValidityConcern
from bondgraph.run.results.result import Result

FAR, MOST = 1e3, 0.1
"""A residual above this multiple of rtol raises doubt, and in any case one above this fraction of the energy in play."""

_PROBES, _OFF, _APART = 16, 1e-5, 1e-6

_AT_ONCE = 2**20
"""Numbers of states that are perturbed at once: 8 MB."""


def validity_concerns(result: Result, ledger: Ledger, rtol: float) -> tuple[ValidityConcern, ...]:
    """Return a concern about the energy account of a run if its residual is far above what rtol promises."""
    residual, most = ledger.relative_residual, min(FAR * rtol, MOST)
    if result.program.energies is None or not residual > most:
        return ()
    if np.abs(ledger.residual).max() <= most * _turned_over(result):
        return ()
    grown = np.abs(np.diff(ledger.residual, prepend=0.0))
    at = int(np.argmax(grown))
    suspect = _unbalanced(result) or (_busiest(ledger, at) if ledger.elements else _busiest(*_coarse(result)))
    reason = (
        f"its energy account is off by {residual:.2g} of the energy in play ({ledger.in_play:.3g} J), far beyond rtol = {rtol:g}"
    )
    return (ValidityConcern(reason, float(ledger.t[at]), suspect, residual, rtol),)


def _turned_over(result: Result) -> float:
    """Return the largest energy that the states have one by one, in total, J: energy that changes its form within one storage,
    such as a falling `IC`, is in play although its sum stays zero."""
    program, n, most = result.program, result.program.states, 0.0
    step = max(1, _AT_ONCE // max(n, 1))
    assert program.energies is not None
    for k in _probed(result):
        t, x, m, turned = result.t[k], result.x[k], result.m[k], 0.0
        for first in range(0, n, step):
            columns = np.arange(first, min(first + step, n))
            apart = np.tile(x, (len(columns) + 1, 1))
            apart[np.arange(len(columns)), columns] *= 1.0 + _APART
            with np.errstate(all="ignore"):
                held = program.energies.many(t, apart, result.p, m)
            change = np.abs(held[:-1] - held[-1]) / _APART
            turned += float(change[np.isfinite(change)].sum())
        most = max(most, turned)
    return most


def _probed(result: Result) -> np.ndarray:
    """Return some samples all along a run."""
    return np.unique(np.linspace(0, len(result.t) - 1, _PROBES).astype(int))


def _coarse(result: Result) -> tuple[Ledger, int]:
    """Return the account at a few samples of a result, and the index at which its residual grows most."""
    ledger = result.account()
    return ledger, int(np.argmax(np.abs(np.diff(ledger.residual, prepend=0.0))))


def _busiest(ledger: Ledger, at: int) -> str:
    """Return the element whose energy or work changes most where the residual grows most."""
    before = max(at - 1, 0)
    moved = {name: abs(float(course[at] - course[before])) for name, course in ledger.elements.items()}
    if not any(moved.values()):
        moved = {name: float(np.abs(course).max()) for name, course in ledger.elements.items()}
    return max(moved, key=lambda name: moved[name], default="")


def _unbalanced(result: Result) -> str:
    """Return the storage whose energy does not change by the power into it, at states of the run; "" if there is none."""
    program = result.program
    assert program.energies is not None
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
        if f"{name}.power" not in program.layout:
            continue
        power = result[f"{name}.power"][chosen]
        size = float(max(np.abs(power).max(), np.abs(slopes[:, i]).max()))
        off = float(np.abs(power - slopes[:, i]).max()) / size if size > 0.0 else 0.0
        if off > worst:
            worst, guilty = off, name
    return guilty
