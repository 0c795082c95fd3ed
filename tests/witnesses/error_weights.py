"""Error weights of states, independent of units: w_i = rtol max(size_i, |x_i|, floor_i) + h noise_i.

`size` is the largest |x_i| so far; `floor` is a fraction of the natural scale, or `atol` / `rtol`; `noise` is the measured
rounding of the rates times the factor by which a step accumulates it. Where w_i is zero, nothing drives x_i, and its error
does not count.
"""

from __future__ import annotations

import math
from collections import deque

import numpy as np

from tests.inner.run import Bound
from tests.inner.run import error_weights as rules
from tests.witnesses.natural_scales import column_scales, natural_scales
from tests.witnesses.rounding_noise import rounding


class Weights:
    """Sizes, floors and noise of states, then of integrated powers, (n + quadratures,) each; machine code shares the arrays.

    Parameters
    ----------
    absolute : (n,) the user's floors in the states' units, None to use natural scales.
    rtol : the user's relative tolerance; longest : longest step, s.
    """

    def __init__(self, bound: Bound, rtol: float, absolute: np.ndarray | None, longest: float):
        self._bound, self._rtol, self._absolute, self._longest = bound, rtol, absolute, longest
        self._n, self._nq = bound.program.states, bound.program.quadratures
        width = self._n + self._nq
        self.size, self.floor, self.noise = np.zeros(width), np.zeros(width), np.zeros(width)
        # Largest rounding of a step where it was decisive, and rates of the parts that implicit methods damp.
        self.exceeded, self.speed = np.zeros(width), np.zeros(width)
        self.scale = np.zeros(self._n)
        # Energies per square in the modes for which they were computed, -1 if not yet.
        self.squares, self._square_modes = np.full(self._n, -1.0), np.full(bound.program.modes, np.nan)
        self.energy, self.spread = 0.0, 0.0
        self.rejections_before_test, self.boost, self.boosted = rules.NOISE_TEST_INTERVALS[0], 1.0, 1.0
        self._seen: deque[bytes] = deque(maxlen=rules.MODE_SETS)

    @property
    def state_sizes(self) -> np.ndarray:
        """Return the size (n,) of each state, or its natural scale if that is larger."""
        return np.fmax(self.size[: self._n], self.scale)

    def raise_sizes(self, x: np.ndarray) -> None:
        finite = np.where(np.isfinite(x), np.abs(x), 0.0)
        np.maximum(self.size[: self._n], finite, out=self.size[: self._n])

    def begin(self, t: float, x: np.ndarray, q: np.ndarray, m: np.ndarray) -> None:
        """Begin a segment, with new scales if its modes are new or if a state has no scale yet."""
        self.raise_sizes(x)
        if not self._remember(m) or not self.state_sizes.all():
            self.refresh(t, x, m)
        held = self._bound.energies(t, x, m)
        near = self._bound.energies(t, x + self._rtol * np.fmax(self.size, self.floor)[: self._n], m)
        energy = _ordered_sum(np.abs(held)) + float(np.fmax.reduce(np.abs(q), initial=0.0))
        # Energy below the rounding of the states is no measure of errors.
        if energy > _ordered_sum(np.abs(near - held)):
            self.energy = max(self.energy, energy)
        self._measure_powers()

    def check(self) -> None:
        """Raise pending exceptions of Python callbacks that machine code has called: here, none."""

    def scales_of(self, t: float, x: np.ndarray, m: np.ndarray, columns: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """Return natural scales for given changes of the states: `columns` (k, n) with their rates (k, n)."""
        return column_scales(self._bound, t, x, m, columns, rates, self._longest)

    def _remember(self, m: np.ndarray) -> bool:
        seen = m.tobytes() in self._seen
        if not seen:
            self._seen.append(m.tobytes())
        return seen

    def at_rest(self, state: int, t: float, x: np.ndarray, m: np.ndarray) -> bool:
        """Return True if all energy that a state has had is rounding error, or zero.

        A state without energy of its own, such as a free angle, is at rest if states with energy drive it and all of them
        are.
        """
        if self._energy_per_square(state, t, x, m) > 0.0:
            return self._has_zero_energy(state, t, x, m)
        couplings = self._bound.jacobian_couplings(t, self.state_sizes, m)
        moving = False
        for driver in couplings.structure.columns[couplings.structure.rows == state].tolist():
            if self._energy_per_square(driver, t, x, m) > 0.0:
                moving = True
                if not self._has_zero_energy(driver, t, x, m):
                    return False
        return moving

    def _has_zero_energy(self, state: int, t: float, x: np.ndarray, m: np.ndarray) -> bool:
        return self._energy_per_square(state, t, x, m) * (self.size[state] * self.size[state]) < rules.ZERO_ENERGY * self.energy

    def _energy_per_square(self, state: int, t: float, x: np.ndarray, m: np.ndarray) -> float:
        """Return the energy for a change of one state at x, divided by the square of the change; 0 if no energy has an even
        part."""
        if not np.array_equal(self._square_modes, m):
            self._square_modes[:], self.squares[:] = m, -1.0
        if self.squares[state] < 0.0:
            self.squares[state] = 0.0
            here, moved = self._bound.energies(t, x, m), x.copy()
            for power in range(rules.TRIAL_FACTORS):
                along = float(self.state_sizes[state]) * 10.0 ** (2 * power)
                with np.errstate(all="ignore"):
                    moved[state] = x[state] + along
                    above = self._bound.energies(t, moved, m)
                    moved[state] = x[state] - along
                    even = np.abs(above + self._bound.energies(t, moved, m) - 2.0 * here)
                    seen = np.isfinite(even) & (even > rules.VISIBLE_ENERGY * np.fmax(np.abs(here), self.energy))
                if seen.any():
                    self.squares[state] = float(even[seen].max()) / along / along / 2.0
                    break
        return float(self.squares[state])

    def refresh(self, t: float, x: np.ndarray, m: np.ndarray) -> None:
        n, hint = self._n, self._bound.program.nominal
        scales = natural_scales(self._bound, t, x, m, self.size[:n], self._longest)
        self.scale[:] = np.fmax(scales, hint)
        self.floor[:n] = rules.SCALE_PART * self.scale if self._absolute is None else self._absolute / self._rtol
        with np.errstate(all="ignore"):
            held, beyond = (self._bound.energies(t, y, m) for y in (x, x + self.scale))
            change = np.abs(beyond - held)
        self.spread = rules.SCALE_PART * _ordered_sum(change[np.isfinite(change)])
        self._measure_powers()

    def _measure_powers(self) -> None:
        self.floor[self._n :] = max(self.energy, self.spread)

    def test_noise(self, t: float, x: np.ndarray, m: np.ndarray, h: float, relative: float, implicit: bool = False) -> None:
        """Refresh the scales after rejected steps of length h, and test whether the tolerance `relative` is below the
        rounding of the rates."""
        self.refresh(t, x, m)
        if self.noise.any():
            self.boost = min(2.0 * self.boost, rules.MAX_NOISE_GAIN)
            self.boosted = max(self.boosted, self.boost)
        significant = self._measure_noise(t, x, m, h, relative, implicit)
        if not significant:
            with np.errstate(all="ignore"):
                at_end = x + h * self._bound.rates(t, x, m)
                significant = self._measure_noise(t + h, at_end, m, h, relative, implicit)
        self.rejections_before_test = (
            rules.NOISE_TEST_INTERVALS[1] if significant else min(2 * self.rejections_before_test, rules.NOISE_TEST_INTERVALS[2])
        )

    def decay(self, t: float, x: np.ndarray, m: np.ndarray, h: float, relative: float, implicit: bool = False) -> None:
        self.boost = max(0.5 * self.boost, 1.0)
        self._measure_noise(t, x, m, h, relative, implicit)

    def _propagated_noise(self, t: float, x: np.ndarray, m: np.ndarray, blur: np.ndarray) -> np.ndarray:
        """Return the noise (quadratures,) of powers, W, caused by the noise `blur` (n,) of states."""
        with np.errstate(all="ignore"):
            sharp = self._bound.powers(t, x, m)
            change = np.abs(self._bound.powers(t, x + blur, m) - sharp)
        return np.where(np.isfinite(change), change, 0.0)

    def _driven_noise(self, at: tuple[float, np.ndarray, np.ndarray], noise: np.ndarray, h: float, relative: float) -> np.ndarray:
        """Return the noise (n,) that states get from their drivers within the longest step, if the state or the driver is at
        rest."""
        couplings, longest = self._bound.jacobian_couplings(*at), max(h, self._longest)
        rows, columns = couplings.structure.rows, couplings.structure.columns
        products = couplings.values * noise[columns]
        magnitude = np.fmax(self.size, self.floor)[: self._n]
        is_significant = longest * (longest * np.bincount(rows, products, self._n)) > rules.SIGNIFICANT * (relative * magnitude)
        concerned = is_significant.copy()
        concerned[columns[is_significant[rows]]] = True
        rest = concerned & (self.size[: self._n] <= at[0] * noise)
        for state in np.flatnonzero(concerned & ~rest):
            rest[state] = self.at_rest(int(state), *at)
        counts = is_significant[rows] & (rest[rows] | rest[columns])
        driven = longest * np.bincount(rows, np.where(counts, products, 0.0), self._n)
        return np.where(rest, driven, np.fmin(driven, rules.MAX_DRIVEN * magnitude / longest))

    def _measure_noise(self, t: float, x: np.ndarray, m: np.ndarray, h: float, relative: float, implicit: bool) -> bool:
        n = self._n
        sigma = rounding(self._bound, t, x, m, self.state_sizes, self._longest)
        with np.errstate(all="ignore"):
            largest = np.fmax.reduce(np.abs(self._bound.powers(t, x, m)), initial=0.0)
        noise = rules.ACCUMULATED_NOISE * math.sqrt(max(n, 1)) * self.boost * sigma
        couplings, tolerance = self._bound.jacobian_couplings(t, x, m), relative * np.fmax(self.size, self.floor)
        # A position that a symmetry holds at zero moves within a step by the noise of its velocity.
        rows, columns = couplings.structure.rows, couplings.structure.columns
        driven = h * np.bincount(rows, couplings.values * noise[columns], n)
        for state in np.flatnonzero(h * driven > rules.SIGNIFICANT * tolerance[:n]):
            noise[state] += driven[state] if self.at_rest(int(state), t, x, m) else 0.0
        noise[n:] += self._propagated_noise(t, x, m, max(h, rules.USUAL_STEP * self._longest) * noise[:n])
        # Near a singular point, such as the logarithm of zero, the scatter of a power is not rounding error, unless all
        # energies are within rounding error.
        noise[n:] = np.where((noise[n:] < rules.POWER_ROUNDING * largest) | (h * noise[n:] >= self.floor[n:]), noise[n:], 0.0)
        if implicit:
            with np.errstate(all="ignore"):
                self.speed[:n] = couplings.diagonal
        moves = h * noise / (1.0 + h * self.speed)
        matters = bool(np.any((moves > rules.SIGNIFICANT * tolerance) & (noise > 0.0)))
        if matters and self.boosted >= rules.PERSISTENT:
            noise[:n] += self._driven_noise((t, x, m), noise[:n], h, relative)
        self.noise[:] = noise if matters else 0.0
        return matters


def _ordered_sum(values: np.ndarray) -> float:
    """Return the sum of values (k,) in sequence, as machine code adds them, not pairwise as NumPy does."""
    return float(np.add.accumulate(values)[-1]) if len(values) else 0.0
