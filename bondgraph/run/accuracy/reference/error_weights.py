"""Error weights of states, independent of units: running sizes, natural scales, rounding noise.

    w_i = rtol max(size_i, |x_i|, floor_i) + h noise_i

`size` is the largest |x_i| at the ends of accepted steps, after ticks and after resets; `floor` is a fraction of the natural
scale (`natural_scales`), or the user's `atol`; `noise`, zero until noise is suspected, is the measured rounding of the rates
(`rounding_noise`) times the factor by which a step accumulates it. Where w_i is zero, nothing drives x_i, and its error does not
count.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import numpy as np

from bondgraph.run.accuracy.reference.natural_scales import column_scales, natural_scales
from bondgraph.run.accuracy.reference.rounding_noise import rounding
from bondgraph.run.bound import Bound

SCALE_PART = 0.1
"""Fraction of the natural scale against which errors are measured while a state is smaller."""
RENEWALS = tuple(2**k for k in range(2, 12))
"""Numbers of steps after which the scales are refreshed."""
NEVER = 2**62
MODE_SETS = 64
"""Number of mode sets that are remembered; beyond it the oldest are forgotten."""
ACCUMULATED_NOISE, MAX_NOISE_GAIN = 8.0, 64.0
"""Rounding errors of a rate that a step accumulates, per root of the number of states; largest factor by which repeated noise
tests raise it."""
RETRY_LIMITS = (2, 4, 4096)
"""Rejected steps before a noise test: the first time, after noise was found, and at most."""
MAX_RETRIES, DECISIVE = 3, 10.0
"""Rejections of one step before the noise is measured where none is known, twice as many each further time; factor on the
tolerance there, as the noise must explain the rejections."""
PERSISTENT = 2.0
"""Largest gain of the noise so far from which that of its drivers counts: rejections went on though the noise was known."""
MAX_DRIVEN = 1e-3
"""Fraction of the size of a state that the noise of others drives, up to which it counts in the longest step."""
SIGNIFICANT, POWER_ROUNDING = 0.1, 1e-6
"""Fraction of the tolerance above which noise matters; fraction of the largest power below which its noise is rounding."""
ZERO_ENERGY, VISIBLE_ENERGY, TRIAL_FACTORS, USUAL_STEP = 1e-24, 1e-6, 30, 1e-3
"""Fraction of the energy in play that counts as zero; fraction that is visible next to others, within this many factors of a
hundred; typical step as a fraction of the longest."""


@dataclass(frozen=True)
class Rounding:
    """Rounding limit of a run, where the tolerance lies below the errors that rounding lets a step reach.

    Parameters
    ----------
    steps : number of steps that were controlled to the rounding of the rates instead of the tolerance.
    rtol : largest tolerance of these steps; 0 without any.
    states : names of the states with noisy rates.
    """

    steps: int = 0
    rtol: float = 0.0
    states: tuple[str, ...] = ()


_NO_ROUNDING = Rounding()


class Weights:
    """Sizes, floors and noise of states, then of integrated powers, (n + quadratures,) each; machine code shares the arrays.

    Parameters
    ----------
    absolute : (n,) the user's floors in the states' units, None to use natural scales.
    rtol : the user's relative tolerance; longest : longest step, s.
    """

    def __init__(self, bound: Bound, rtol: float, absolute: np.ndarray | None, longest: float):
        self._bound, self._rtol, self._absolute, self._longest = bound, rtol, absolute, longest
        self._n, self._nq = bound.program.states, bound.quadratures
        width = self._n + self._nq
        self.size, self.floor, self.noise = np.zeros(width), np.zeros(width), np.zeros(width)
        # Largest rounding of a step where it was decisive, and rates of the parts that implicit methods damp.
        self.exceeded, self.speed = np.zeros(width), np.zeros(width)
        self.scale = np.zeros(self._n)
        # Energies per square in the modes for which they were computed, -1 if not yet.
        self._squares, self._square_modes = np.full(self._n, -1.0), np.full(bound.program.modes, np.nan)
        self.energy, self._spread = 0.0, 0.0
        self.patience, self._boost, self._boosted = RETRY_LIMITS[0], 1.0, 1.0
        self._seen: deque[bytes] = deque(maxlen=MODE_SETS)

    @property
    def known(self) -> np.ndarray:
        """Return the size of each state so far, or from its couplings (n,)."""
        return np.fmax(self.size[: self._n], self.scale)

    def see(self, x: np.ndarray) -> None:
        """Update the sizes with states x of the run."""
        finite = np.where(np.isfinite(x), np.abs(x), 0.0)
        np.maximum(self.size[: self._n], finite, out=self.size[: self._n])

    def begin(self, t: float, x: np.ndarray, q: np.ndarray, m: np.ndarray) -> None:
        """Begin a segment: its scales are new if its modes are, or if a state has none yet."""
        self.see(x)
        if not self._remember(m) or not self.known.all():
            self.refresh(t, x, m)
        held = self._bound.energies(t, x, m)
        near = self._bound.energies(t, x + self._rtol * np.fmax(self.size, self.floor)[: self._n], m)
        energy = _ordered_sum(np.abs(held)) + float(np.fmax.reduce(np.abs(q), initial=0.0))
        # Energy below the rounding of the states is no measure of errors.
        if energy > _ordered_sum(np.abs(near - held)):
            self.energy = max(self.energy, energy)
        self._measure_powers()

    def check(self) -> None:
        """Raise exceptions from Python callbacks, if machine code calls them."""

    def scales_of(self, t: float, x: np.ndarray, m: np.ndarray, columns: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """Return natural scales of changes of the states other than the run's own: `columns` (k, n) with their rates (k, n)."""
        return column_scales(self._bound, t, x, m, columns, rates, self._longest)

    def _remember(self, m: np.ndarray) -> bool:
        """Return True if the run has already begun a segment in these modes."""
        seen = m.tobytes() in self._seen
        if not seen:
            self._seen.append(m.tobytes())
        return seen

    def rounding(self, steps: int, relative: float, t: float, x: np.ndarray, m: np.ndarray) -> Rounding:
        """Return the rounding limit of a run up to x, `steps` of whose steps, at tolerance `relative`, were controlled to the
        rounding of the rates."""
        if not steps:
            return _NO_ROUNDING
        with np.errstate(all="ignore"):
            ratios = self.exceeded[: self._n] / (relative * np.maximum(self.size, self.floor)[: self._n])
        reached = np.array([i for i in np.flatnonzero(ratios > 1.0) if not self._at_rest(int(i), t, x, m)], dtype=int)
        if not reached.size:
            return _NO_ROUNDING
        names = tuple(self._bound.program.layout.label("x", int(i)) for i in reached)
        # The factor by which repeated noise tests raise the weights is no rounding of a step.
        return Rounding(steps, self._rtol * max(1.0, float(ratios[reached].max()) / self._boosted), names)

    def _at_rest(self, state: int, t: float, x: np.ndarray, m: np.ndarray) -> bool:
        """Return True if all energy that a state has had is rounding of the energy in play, or zero: a motion that a symmetry
        forbids. A state without energy of its own, such as a free angle, is at rest if all states with energy that drive it
        are."""
        if self._energy_per_square(state, t, x, m) > 0.0:
            return self._has_zero_energy(state, t, x, m)
        couplings = self._bound.jacobian_couplings(t, self.known, m)
        moving = False
        for driver in couplings.structure.columns[couplings.structure.rows == state].tolist():
            if self._energy_per_square(driver, t, x, m) > 0.0:
                moving = True
                if not self._has_zero_energy(driver, t, x, m):
                    return False
        return moving

    def _has_zero_energy(self, state: int, t: float, x: np.ndarray, m: np.ndarray) -> bool:
        return self._energy_per_square(state, t, x, m) * (self.size[state] * self.size[state]) < ZERO_ENERGY * self.energy

    def _energy_per_square(self, state: int, t: float, x: np.ndarray, m: np.ndarray) -> float:
        """Return the energy that a change of one state at x gives a storage, over its square; 0 if no energy is even in it. Try
        increasing changes, as a small one is lost in the rounding of other energies."""
        if not np.array_equal(self._square_modes, m):
            self._square_modes[:], self._squares[:] = m, -1.0
        if self._squares[state] < 0.0:
            self._squares[state] = 0.0
            here, moved = self._bound.energies(t, x, m), x.copy()
            for power in range(TRIAL_FACTORS):
                along = float(self.known[state]) * 10.0 ** (2 * power)
                with np.errstate(all="ignore"):
                    moved[state] = x[state] + along
                    above = self._bound.energies(t, moved, m)
                    moved[state] = x[state] - along
                    even = np.abs(above + self._bound.energies(t, moved, m) - 2.0 * here)
                    seen = np.isfinite(even) & (even > VISIBLE_ENERGY * np.fmax(np.abs(here), self.energy))
                if seen.any():
                    self._squares[state] = float(even[seen].max()) / along / along / 2.0
                    break
        return float(self._squares[state])

    def refresh(self, t: float, x: np.ndarray, m: np.ndarray) -> None:
        """Refresh the natural scales."""
        n, hint = self._n, self._bound.program.nominal
        scales = natural_scales(self._bound, t, x, m, self.size[:n], self._longest)
        self.scale[:] = np.fmax(scales, hint)
        self.floor[:n] = SCALE_PART * self.scale if self._absolute is None else self._absolute / self._rtol
        with np.errstate(all="ignore"):
            held, beyond = (self._bound.energies(t, y, m) for y in (x, x + self.scale))
            change = np.abs(beyond - held)
        self._spread = SCALE_PART * _ordered_sum(change[np.isfinite(change)])
        self._measure_powers()

    def _measure_powers(self) -> None:
        self.floor[self._n :] = max(self.energy, self._spread)

    def test_noise(self, t: float, x: np.ndarray, m: np.ndarray, h: float, relative: float, implicit: bool = False) -> None:
        """Refresh the scales after rejected steps of length h at tolerance `relative`, and test whether that tolerance is below
        the rounding of the rates."""
        self.refresh(t, x, m)
        if self.noise.any():
            self._boost = min(2.0 * self._boost, MAX_NOISE_GAIN)
            self._boosted = max(self._boosted, self._boost)
        significant = self._measure_noise(t, x, m, h, relative, implicit)
        self.patience = RETRY_LIMITS[1] if significant else min(2 * self.patience, RETRY_LIMITS[2])

    def decay(self, t: float, x: np.ndarray, m: np.ndarray, h: float, relative: float, implicit: bool = False) -> None:
        """Lower the noise gain, and measure the noise again after long use."""
        self._boost = max(0.5 * self._boost, 1.0)
        self._measure_noise(t, x, m, h, relative, implicit)

    def _propagated_noise(self, t: float, x: np.ndarray, m: np.ndarray, blur: np.ndarray) -> np.ndarray:
        """Return the noise of powers (quadratures,), W, from the noise `blur` (n,) of states."""
        with np.errstate(all="ignore"):
            sharp = self._bound.powers(t, x, m)
            change = np.abs(self._bound.powers(t, x + blur, m) - sharp)
        return np.where(np.isfinite(change), change, 0.0)

    def _driven_noise(self, at: tuple[float, np.ndarray, np.ndarray], noise: np.ndarray, h: float, relative: float) -> np.ndarray:
        """Return the noise (n,) that states get from the noise of their drivers within the longest step, where it is significant.

        Noise bounds no step, however long, where a state is at rest, such as a position that a symmetry holds at zero, or where
        it comes from a driver at rest, such as the spin that rounding gives to a body in flight; a driver is also at rest if its
        own noise since the start of the run may have made it what it is.
        """
        couplings, longest = self._bound.jacobian_couplings(*at), max(h, self._longest)
        rows, columns = couplings.structure.rows, couplings.structure.columns
        products = couplings.values * noise[columns]
        magnitude = np.fmax(self.size, self.floor)[: self._n]
        is_significant = longest * (longest * np.bincount(rows, products, self._n)) > SIGNIFICANT * (relative * magnitude)
        concerned = is_significant.copy()
        concerned[columns[is_significant[rows]]] = True
        rest = concerned & (self.size[: self._n] <= at[0] * noise)
        for state in np.flatnonzero(concerned & ~rest):
            rest[state] = self._at_rest(int(state), *at)
        counts = is_significant[rows] & (rest[rows] | rest[columns])
        driven = longest * np.bincount(rows, np.where(counts, products, 0.0), self._n)
        return np.where(rest, driven, np.fmin(driven, MAX_DRIVEN * magnitude / longest))

    def _measure_noise(self, t: float, x: np.ndarray, m: np.ndarray, h: float, relative: float, implicit: bool) -> bool:
        """Measure the noise; keep it only if it matters for a step of length h. Implicit methods damp fast states."""
        n = self._n
        sigma = rounding(self._bound, t, x, m, self.known, self._longest)
        with np.errstate(all="ignore"):
            largest = np.fmax.reduce(np.abs(self._bound.powers(t, x, m)), initial=0.0)
        noise = ACCUMULATED_NOISE * math.sqrt(max(n, 1)) * self._boost * sigma
        couplings, tolerance = self._bound.jacobian_couplings(t, x, m), relative * np.fmax(self.size, self.floor)
        # A position that a symmetry holds at zero moves within a step by the noise of its velocity.
        rows, columns = couplings.structure.rows, couplings.structure.columns
        driven = h * np.bincount(rows, couplings.values * noise[columns], n)
        for state in np.flatnonzero(h * driven > SIGNIFICANT * tolerance[:n]):
            noise[state] += driven[state] if self._at_rest(int(state), t, x, m) else 0.0
        noise[n:] += self._propagated_noise(t, x, m, max(h, USUAL_STEP * self._longest) * noise[:n])
        # Near a singular point, such as the logarithm of zero, the scatter of a power is not rounding; if all energy in play is
        # rounding, it is.
        noise[n:] = np.where((noise[n:] < POWER_ROUNDING * largest) | (h * noise[n:] >= self.floor[n:]), noise[n:], 0.0)
        if implicit:
            with np.errstate(all="ignore"):
                self.speed[:n] = couplings.diagonal
        moves = h * noise / (1.0 + h * self.speed)
        matters = bool(np.any((moves > SIGNIFICANT * tolerance) & (noise > 0.0)))
        if matters and self._boosted >= PERSISTENT:
            noise[:n] += self._driven_noise((t, x, m), noise[:n], h, relative)
        self.noise[:] = noise if matters else 0.0
        return matters


def _ordered_sum(values: np.ndarray) -> float:
    """Return the sum of values (k,) in sequence, as machine code adds them; NumPy adds pairwise."""
    return float(np.add.accumulate(values)[-1]) if len(values) else 0.0
