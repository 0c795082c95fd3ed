"""What the errors of a run are measured against, in no unit of its own: running sizes, natural scales, rounding noise.

    w_i = rtol max(size_i, |x_i|, floor_i) + h noise_i

`size` is the largest |x_i| at the ends of accepted steps, after ticks and after resets; `floor` a part of the natural scale
(`scales`), or what the user asks for with `atol`; `noise`, zero until there is a doubt, the measured rounding of the rates
(`noise`) times the factor by which a step collects it. Where w_i is zero nothing drives x_i, and it does not count.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import numpy as np

from bondgraph.run.accuracy.fields import SEEN
from bondgraph.run.accuracy.reference.natural_scales import column_scales, natural_scales
from bondgraph.run.accuracy.reference.rounding_noise import rounding
from bondgraph.run.bound import Bound

ETA = 0.1
"""Part of the natural scale that errors are compared with while a state is smaller."""
RENEWALS = tuple(2**k for k in range(2, 12))
"""Counts of steps after which the scales are looked at anew."""
NEVER = 2**62
COLLECTED, BOOSTS = 8.0, 64.0
"""Roundings of a rate that a step collects, per root of the count of states; by what doubts that return raise it, at most."""
PATIENCE = (2, 4, 4096)
"""Failures after which there is a doubt: the first time, after noise was found, and at most."""
FRUITFUL, ROUNDED = 0.1, 1e-6
"""Part of the tolerance from which noise matters; part of the largest power below which its scatter is rounding."""
UNSEEN, SEEN_BESIDE, LADDER, SHORT = 1e-24, 1e-6, 30, 1e-3
"""Parts of the energy in play that are nothing, and that are seen beside others, within so many factors of a hundred; part of a
longest step that is a usual one."""


@dataclass(frozen=True)
class Rounding:
    """Where the tolerance lies below what rounding lets a step reach.

    Parameters
    ----------
    steps : how many steps were controlled to the rounding of the rates instead of the tolerance.
    rtol : the tolerance of these steps, the largest; 0 if there are none.
    states : names of those whose rates are so noisy.
    """

    steps: int = 0
    rtol: float = 0.0
    states: tuple[str, ...] = ()


_NONE = Rounding()


class Weights:
    """Sizes, floors and noise of states, then of integrated powers, (n + quadratures,) each; machine code shares the arrays.

    Parameters
    ----------
    absolute : (n,) what the user asks for instead of natural scales, in the states' units; None for those.
    rtol : the user's; longest : step, s.
    """

    def __init__(self, bound: Bound, rtol: float, absolute: np.ndarray | None, longest: float):
        self._bound, self._rtol, self._absolute, self._longest = bound, rtol, absolute, longest
        self._n, self._nq = bound.program.states, bound.quadratures
        width = self._n + self._nq
        self.size, self.floor, self.noise = np.zeros(width), np.zeros(width), np.zeros(width)
        # Largest rounding of a step where it has decided, and rates of what implicit methods hold.
        self.exceeded, self.speed = np.zeros(width), np.zeros(width)
        self.scale = np.zeros(self._n)
        # Energies per square in the modes for which they were found, -1 where not yet.
        self._squares, self._square_modes = np.full(self._n, -1.0), np.full(bound.program.modes, np.nan)
        self.energy, self._spread = 0.0, 0.0
        self.patience, self._boost, self._boosted = PATIENCE[0], 1.0, 1.0
        self._seen: deque[bytes] = deque(maxlen=SEEN)

    @property
    def known(self) -> np.ndarray:
        """How large each state has been, or is by its couplings (n,)."""
        return np.fmax(self.size[: self._n], self.scale)

    def see(self, x: np.ndarray) -> None:
        """The run has been at x."""
        finite = np.where(np.isfinite(x), np.abs(x), 0.0)
        np.maximum(self.size[: self._n], finite, out=self.size[: self._n])

    def begin(self, t: float, x: np.ndarray, q: np.ndarray, m: np.ndarray) -> None:
        """A leg begins: its scales are new where its modes are, and where something has none yet."""
        self.see(x)
        if not self._remember(m) or not self.known.all():
            self.renew(t, x, m)
        held = self._bound.energies(t, x, m)
        near = self._bound.energies(t, x + self._rtol * np.fmax(self.size, self.floor)[: self._n], m)
        energy = _sum(np.abs(held)) + float(np.fmax.reduce(np.abs(q), initial=0.0))
        # Energy that is lost in the blur of the states is no measure for errors.
        if energy > _sum(np.abs(near - held)):
            self.energy = max(self.energy, energy)
        self._measure_powers()

    def check(self) -> None:
        """After machine code has run: whatever came while it was answered is raised."""

    def scales_of(self, t: float, x: np.ndarray, m: np.ndarray, columns: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """Natural scales of changes of the states that are not the run's own: `columns` (k, n) with their rates (k, n)."""
        return column_scales(self._bound, t, x, m, columns, rates, self._longest)

    def _remember(self, m: np.ndarray) -> bool:
        """Whether a leg in these modes has begun before."""
        known = m.tobytes() in self._seen
        if not known:
            self._seen.append(m.tobytes())
        return known

    def rounding(self, steps: int, relative: float, t: float, x: np.ndarray, m: np.ndarray) -> Rounding:
        """What became of so many steps of the tolerance `relative`, to x, that were controlled to the rounding of the rates."""
        if not steps:
            return _NONE
        with np.errstate(all="ignore"):
            ratios = self.exceeded[: self._n] / (relative * np.maximum(self.size, self.floor)[: self._n])
        reached = np.array([i for i in np.flatnonzero(ratios > 1.0) if not self._at_rest(int(i), t, x, m)], dtype=int)
        if not reached.size:
            return _NONE
        names = tuple(self._bound.program.layout.label("x", int(i)) for i in reached)
        # What raises the weights when doubts return is no rounding that a step has.
        return Rounding(steps, self._rtol * max(1.0, float(ratios[reached].max()) / self._boosted), names)

    def _at_rest(self, place: int, t: float, x: np.ndarray, m: np.ndarray) -> bool:
        """Whether all energy that a state has had is rounding of what is in play, or none: motion that a symmetry forbids. One
        that can have no energy of its own, a free angle, is at rest where all that drives it and can have some is."""
        if self._energy_per_square(place, t, x, m) > 0.0:
            return self._rests(place, t, x, m)
        couplings = self._bound.jacobian_couplings(t, self.known, m)
        moving = False
        for driver in couplings.structure.columns[couplings.structure.rows == place].tolist():
            if self._energy_per_square(driver, t, x, m) > 0.0:
                moving = True
                if not self._rests(driver, t, x, m):
                    return False
        return moving

    def _rests(self, place: int, t: float, x: np.ndarray, m: np.ndarray) -> bool:
        return self._energy_per_square(place, t, x, m) * (self.size[place] * self.size[place]) < UNSEEN * self.energy

    def _energy_per_square(self, place: int, t: float, x: np.ndarray, m: np.ndarray) -> float:
        """Energy that a change of one state at x gives a storage, over its square; 0 where none is even in it. As
        a small change is lost in the rounding of other energies, ever larger ones are tried."""
        if not np.array_equal(self._square_modes, m):
            self._square_modes[:], self._squares[:] = m, -1.0
        if self._squares[place] < 0.0:
            self._squares[place] = 0.0
            here, moved = self._bound.energies(t, x, m), x.copy()
            for power in range(LADDER):
                along = float(self.known[place]) * 10.0 ** (2 * power)
                with np.errstate(all="ignore"):
                    moved[place] = x[place] + along
                    above = self._bound.energies(t, moved, m)
                    moved[place] = x[place] - along
                    even = np.abs(above + self._bound.energies(t, moved, m) - 2.0 * here)
                    seen = np.isfinite(even) & (even > SEEN_BESIDE * np.fmax(np.abs(here), self.energy))
                if seen.any():
                    self._squares[place] = float(even[seen].max()) / along / along / 2.0
                    break
        return float(self._squares[place])

    def renew(self, t: float, x: np.ndarray, m: np.ndarray) -> None:
        """Look at the natural scales anew."""
        n, hint = self._n, self._bound.program.nominal
        found = natural_scales(self._bound, t, x, m, self.size[:n], self._longest)
        self.scale[:] = np.fmax(found, hint)
        self.floor[:n] = ETA * self.scale if self._absolute is None else self._absolute / self._rtol
        with np.errstate(all="ignore"):
            held, beyond = (self._bound.energies(t, y, m) for y in (x, x + self.scale))
            change = np.abs(beyond - held)
        self._spread = ETA * _sum(change[np.isfinite(change)])
        self._measure_powers()

    def _measure_powers(self) -> None:
        self.floor[self._n :] = max(self.energy, self._spread)

    def question(self, t: float, x: np.ndarray, m: np.ndarray, h: float, relative: float, implicit: bool = False) -> None:
        """Steps of length h with the tolerance `relative` are rejected: new scales, and is it below the rounding of the rates?"""
        self.renew(t, x, m)
        if self.noise.any():
            self._boost = min(2.0 * self._boost, BOOSTS)
            self._boosted = max(self._boosted, self._boost)
        fruitful = self._listen(t, x, m, h, relative, implicit)
        self.patience = PATIENCE[1] if fruitful else min(2 * self.patience, PATIENCE[2])

    def relax(self, t: float, x: np.ndarray, m: np.ndarray, h: float, relative: float, implicit: bool = False) -> None:
        """Measure the noise anew after it has been in use for long."""
        self._boost = max(0.5 * self._boost, 1.0)
        self._listen(t, x, m, h, relative, implicit)

    def _carried(self, t: float, x: np.ndarray, m: np.ndarray, blur: np.ndarray) -> np.ndarray:
        """What the `blur` (n,) of states makes of powers (quadratures,), W."""
        with np.errstate(all="ignore"):
            sharp = self._bound.powers(t, x, m)
            found = np.abs(self._bound.powers(t, x + blur, m) - sharp)
        return np.where(np.isfinite(found), found, 0.0)

    def _listen(self, t: float, x: np.ndarray, m: np.ndarray, h: float, relative: float, implicit: bool) -> bool:
        """Measure the noise; keep it only where it matters for a step of length h. Implicit methods hold what is fast."""
        n = self._n
        sigma = rounding(self._bound, t, x, m, self.known, self._longest)
        with np.errstate(all="ignore"):
            largest = np.fmax.reduce(np.abs(self._bound.powers(t, x, m)), initial=0.0)
        noise = COLLECTED * math.sqrt(max(n, 1)) * self._boost * sigma
        couplings, tolerance = self._bound.jacobian_couplings(t, x, m), relative * np.fmax(self.size, self.floor)
        # A position that a symmetry holds at zero moves, within a step, by the noise of its velocity.
        rows, columns = couplings.structure.rows, couplings.structure.columns
        driven = h * np.bincount(rows, couplings.values * noise[columns], n)
        for place in np.flatnonzero(h * driven > FRUITFUL * tolerance[:n]):
            noise[place] += driven[place] if self._at_rest(int(place), t, x, m) else 0.0
        noise[n:] += self._carried(t, x, m, max(h, SHORT * self._longest) * noise[:n])
        # Beside a singular point, as at the logarithm of nothing, the scatter of a power is no rounding; where no energy is in
        # play but rounding it is.
        noise[n:] = np.where((noise[n:] < ROUNDED * largest) | (h * noise[n:] >= self.floor[n:]), noise[n:], 0.0)
        if implicit:
            with np.errstate(all="ignore"):
                self.speed[:n] = couplings.diagonal
        moves = h * noise / (1.0 + h * self.speed)
        matters = bool(np.any((moves > FRUITFUL * tolerance) & (noise > 0.0)))
        self.noise[:] = noise if matters else 0.0
        return matters


def _sum(values: np.ndarray) -> float:
    """The sum of values (k,), one after the other as machine code takes them; NumPy's own goes in pairs."""
    return float(np.add.accumulate(values)[-1]) if len(values) else 0.0
