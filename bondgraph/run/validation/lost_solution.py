"""First sample of a run at which a value is not finite or no longer solves its equations."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondgraph.run.program import NewtonLoop, Program
from bondgraph.run.validation.concerns import RTOL_FACTOR

if TYPE_CHECKING:
    from bondgraph.emit.kernel import Kernel

NEWTON_ROUNDING = 1e-6
"""Relative rounding error that remains in an unknown of Newton's method where a curve is flat."""

ZERO_RATIO = 1e-9
"""Fraction of the natural size of an unknown below which it counts as zero, because it may be only a rounding error of
the formulas."""

ROUNDING = 1e-12
"""Newton step that rounding errors alone can cause, relative to the largest unknown of the loop, with both in natural sizes:
a current that symmetry holds at zero is a sum of other currents."""


@dataclass(frozen=True)
class LostSolution:
    """Loss of the solution: index of the first sample at which a value is not finite or no longer solves its equations, kind of
    failure, reason, suspected element or state, and states there (n,)."""

    sample: int
    kind: str
    reason: str
    suspect: str
    x: np.ndarray


def find_lost_solution(
    program: Program, t: np.ndarray, p: np.ndarray, x: np.ndarray, m: np.ndarray, q: np.ndarray, rtol: float
) -> LostSolution | None:
    """Find the first of the samples at t (k,) at which states x (k, n), integrated powers q (k, powers), energies, powers or
    rates are not finite, or Newton's method has not reached the solution of an algebraic loop; return None if there is no such
    sample."""
    search = SolutionCheck(program, p, rtol)
    search.see(t, x, m, q, energies_at(program, t, p, x, m))
    return search.result()


def energies_at(program: Program, t: np.ndarray, p: np.ndarray, x: np.ndarray, m: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return _computed(program.energies, t, p, x, m)


def _computed(kernel: Kernel | None, t: np.ndarray, p: np.ndarray, x: np.ndarray, m: np.ndarray) -> np.ndarray:
    return np.zeros((len(t), 0)) if kernel is None else kernel.many(t, x, p, m)


class SolutionCheck:
    """Version of `find_lost_solution` for samples that arrive piece by piece."""

    def __init__(self, program: Program, p: np.ndarray, rtol: float):
        self._program, self._p, self._seen = program, p, 0
        self._broken: LostSolution | None = None
        self._loops = [_LoopCheck(loop, max(RTOL_FACTOR * rtol, NEWTON_ROUNDING)) for loop in program.loops]

    def see(self, t: np.ndarray, x: np.ndarray, m: np.ndarray, q: np.ndarray, energies: np.ndarray) -> LostSolution | None:
        """Check the next samples, given as for `find_lost_solution`, with their energies (k, storages), J; return the first
        sample so far at which a value is not finite, or None."""
        if len(t):
            self._broken = self._broken or self._not_finite(t, x, m, q, energies)
            for loop in self._loops:
                loop.see(self._seen, t, self._p, x, m)
        self._seen += len(t)
        return self._broken

    def result(self) -> LostSolution | None:
        lost = [self._broken, *(loop.result() for loop in self._loops)]
        return min((one for one in lost if one is not None), key=lambda one: one.sample, default=None)

    def _not_finite(
        self, t: np.ndarray, x: np.ndarray, m: np.ndarray, q: np.ndarray, energies: np.ndarray
    ) -> LostSolution | None:
        program, losses = self._program, list[LostSolution]()

        def check(values: np.ndarray, what: str, names: tuple[str, ...]) -> None:
            if not (math.isfinite(values.sum()) or np.isfinite(values).all()):
                k, i = np.argwhere(~np.isfinite(values))[0]
                name = names[i] if i < len(names) else program.layout.label("x", int(i))
                of = f'{what} of "{name}"' if name else what
                losses.append(LostSolution(self._seen + int(k), "not finite", f"{of} is not finite", name, x[k].copy()))

        with np.errstate(all="ignore"):
            check(x, "the state", ())
            check(energies, "the energy", program.energy_names)
            check(_computed(program.powers, t, self._p, x, m), "the power", program.power_names)
            check(q, "the work", program.power_names)
            check(_computed(program.rates, t, self._p, x, m), "the rate", ())
        return min(losses, key=lambda lost: lost.sample, default=None)


class _LoopCheck:
    """Check for samples at which, after the Newton steps of an evaluation, the next step of an unknown exceeds both
    `tolerance` times its largest magnitude in the run and a bound for rounding errors."""

    def __init__(self, loop: NewtonLoop, tolerance: float):
        self._loop, self._tolerance = loop, tolerance
        self._sizes = np.zeros(len(loop.states))
        self._furthest = np.zeros(len(loop.states))
        self._suspects: list[tuple[int, np.ndarray, np.ndarray]] = []

    def _allowed(self) -> np.ndarray:
        natural = np.array(self._loop.sizes)
        zero = np.fmax(self._tolerance * ZERO_RATIO, ROUNDING * np.max(self._sizes / natural, initial=0.0))
        return np.fmax(self._tolerance * self._sizes, zero * natural)

    def see(self, first: int, t: np.ndarray, p: np.ndarray, x: np.ndarray, m: np.ndarray) -> None:
        """Check samples, starting at number `first`. A sample is recorded only if an unknown deviates more than in all earlier
        samples, because otherwise later growth of the unknowns clears it together with those samples."""
        loop, indices, before = self._loop, list(self._loop.states), x
        x = x.copy()
        for _ in range(loop.steps):
            with np.errstate(all="ignore"):
                x[:, indices] += loop.kernel.many(t, x, p, m)[:, len(indices) :]
                further = np.abs(loop.kernel.many(t, x, p, m)[:, len(indices) :])
        self._sizes = np.fmax(self._sizes, np.fmax.reduce(np.abs(x[:, indices]), axis=0, initial=0.0))
        ahead = np.fmax.accumulate(np.vstack([self._furthest, further]), axis=0)
        self._furthest = ahead[-1]
        suspect = np.any(further > self._allowed(), axis=1) & np.any(further > ahead[:-1], axis=1)
        self._suspects += [(first + int(k), further[k], before[k].copy()) for k in np.flatnonzero(suspect)]

    def result(self) -> LostSolution | None:
        allowed, named = self._allowed(), ", ".join(self._loop.elements)
        reason = f"Newton's method has lost the solution of the algebraic loop through {named}"
        lost = ((sample, x) for sample, further, x in self._suspects if np.any(further > allowed))
        return next((LostSolution(sample, "algebraic loop", reason, named, x) for sample, x in lost), None)
