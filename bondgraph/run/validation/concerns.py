"""Find why a finished run cannot be trusted: an energy balance that does not close.

A run without doubt keeps its account to `FAR` times its rtol. Measured on the project's models, every method keeps it to 200
times rtol, dop853 to once.
"""

from __future__ import annotations

import numpy as np

from bondgraph.run.results.energy_account import Ledger
from bondgraph.run.results.failure import ValidityConcern
from bondgraph.run.results.result import Result

FAR, MOST = 1e3, 0.1
"""A doubt from a residual of so many times rtol, and in any case from this part of the energy in play."""

_PROBES, _OFF, _APART = 16, 1e-5, 1e-6

_AT_ONCE = 2**20
"""Numbers of states that are changed at once: 8 MB."""


def validity_concerns(result: Result, ledger: Ledger, rtol: float) -> tuple[ValidityConcern, ...]:
    """The energy account of a run, if its residual is far above what rtol promises."""
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
    """The most energy that states have had apart, J: what goes from one form to another within a storage, such as an `IC` that
    falls, is in play though the whole stays nothing."""
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
    """Some samples of a run, all along it."""
    return np.unique(np.linspace(0, len(result.t) - 1, _PROBES).astype(int))


def _coarse(result: Result) -> tuple[Ledger, int]:
    """The account at the samples of a result that has but a few, and where its residual grows most."""
    ledger = result.account()
    return ledger, int(np.argmax(np.abs(np.diff(ledger.residual, prepend=0.0))))


def _busiest(ledger: Ledger, at: int) -> str:
    """The element whose energy or work changes most where the residual grows most."""
    before = max(at - 1, 0)
    moved = {name: abs(float(course[at] - course[before])) for name, course in ledger.elements.items()}
    if not any(moved.values()):
        moved = {name: float(np.abs(course).max()) for name, course in ledger.elements.items()}
    return max(moved, key=lambda name: moved[name], default="")


def _unbalanced(result: Result) -> str:
    """The storage whose energy does not change as the power into it says, at states of the run; "" if all do."""
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
