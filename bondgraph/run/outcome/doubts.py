"""What a finished run cannot be trusted in: values that are not finite at its samples, or no solution of their loop; an energy
account that does not close.

A run without doubt keeps its account to `FAR` times its rtol. Measured on the project's models, every method keeps it to 200
times rtol (BDF without damping; the explicit method to one).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondgraph.run.outcome.failure import Doubt
from bondgraph.run.outcome.ledger import Ledger
from bondgraph.run.outcome.result import Result
from bondgraph.run.program import NewtonLoop, Program

if TYPE_CHECKING:
    from bondgraph.emit.kernel import Kernel

FAR, MOST = 1e3, 0.1
"""A doubt from a residual of so many times rtol, and in any case from this part of the energy in play."""

_PROBES, _OFF, _APART = 16, 1e-5, 1e-6

FLAT = 1e-6
"""Part of an unknown to which rounding leaves Newton's method where a curve is flat."""

ZERO = 1e-6
"""Part of the guess for an unknown below which it is zero, and what is left of it is rounding of the formulas."""


@dataclass(frozen=True)
class LostSolution:
    """The first sample at which a value is not finite, or solves its equations no more: kind of failure, in words, suspect."""

    sample: int
    kind: str
    reason: str
    suspect: str


def first_lost(
    program: Program, t: np.ndarray, p: np.ndarray, x: np.ndarray, m: np.ndarray, q: np.ndarray, rtol: float
) -> LostSolution | None:
    """The first of the samples at t (k,) at which states x (k, n), integrated powers q (k, powers), energies, powers or rates
    are not finite, or Newton's method has not reached the solution of an algebraic loop; None if there is none."""
    found: list[LostSolution] = []
    if not len(t):
        return None

    def look(values: np.ndarray, what: str, names: tuple[str, ...]) -> None:
        finite = np.isfinite(values)
        if not finite.all():
            k, i = np.argwhere(~finite)[0]
            name = names[i] if i < len(names) else program.layout.label("x", int(i))
            of = f'{what} of "{name}"' if name else what
            found.append(LostSolution(int(k), "not finite", f"{of} is not finite", name))

    def computed(kernel: Kernel | None) -> np.ndarray:
        with np.errstate(all="ignore"):
            return np.zeros((len(t), 0)) if kernel is None else kernel.many(t, x, p, m)

    look(x, "the state", ())
    look(computed(program.energies), "the energy", program.energy_names)
    look(computed(program.powers), "the power", program.power_names)
    look(q, "the work", program.power_names)
    look(computed(program.rates), "the rate", ())
    for loop in program.loops:
        astray = np.flatnonzero(_astray(loop, t, p, x, m, max(FAR * rtol, FLAT)))
        if len(astray):
            named = ", ".join(loop.elements)
            reason = f"Newton's method has lost the solution of the algebraic loop through {named}"
            found.append(LostSolution(int(astray[0]), "algebraic loop", reason, named))
    return min(found, key=lambda lost: lost.sample, default=None)


def _astray(loop: NewtonLoop, t: np.ndarray, p: np.ndarray, x: np.ndarray, m: np.ndarray, tolerance: float) -> np.ndarray:
    """At which samples the steps that are taken at every evaluation leave a further one, of this part of the largest unknown; one
    that is zero has no part."""
    x, places = x.copy(), list(loop.states)
    for _ in range(loop.steps):
        with np.errstate(all="ignore"):
            x[:, places] += loop.kernel.many(t, x, p, m)[:, len(places) :]
            further = loop.kernel.many(t, x, p, m)[:, len(places) :]
    sizes = np.fmax(np.nanmax(np.abs(x[:, places]), axis=0, initial=0.0), ZERO * np.array(loop.near))
    return np.asarray(np.any(np.abs(further) > tolerance * sizes, axis=1))


def doubts_of(result: Result, ledger: Ledger, rtol: float) -> tuple[Doubt, ...]:
    """The energy account of a run, if its residual is far above what rtol promises."""
    residual, most = ledger.relative_residual, min(FAR * rtol, MOST)
    if result.program.energies is None or not residual > most:
        return ()
    if np.abs(ledger.residual).max() <= most * _turned_over(result):
        return ()
    grown = np.abs(np.diff(ledger.residual, prepend=0.0))
    at = int(np.argmax(grown))
    suspect = _unbalanced(result) or _busiest(ledger, at)
    reason = (
        f"its energy account is off by {residual:.2g} of the energy in play ({ledger.in_play:.3g} J), far beyond rtol = {rtol:g}"
    )
    return (Doubt(reason, float(ledger.t[at]), suspect, residual, rtol),)


def _turned_over(result: Result) -> float:
    """The most energy that states have had apart, J: what goes from one form to another within a storage, such as an `IC` that
    falls, is in play though the whole stays nothing."""
    program, most = result.program, 0.0
    assert program.energies is not None
    parts = np.vstack([np.eye(program.states), np.zeros((1, program.states))]) * _APART
    for k in _probed(result):
        with np.errstate(all="ignore"):
            held = program.energies.many(result.t[k], result.x[k] * (1.0 + parts), result.p, result.m[k])
        apart = np.abs(held[:-1] - held[-1]) / _APART
        most = max(most, float(apart[np.isfinite(apart)].sum()))
    return most


def _probed(result: Result) -> np.ndarray:
    """Some samples of a run, all along it."""
    return np.unique(np.linspace(0, len(result.t) - 1, _PROBES).astype(int))


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
