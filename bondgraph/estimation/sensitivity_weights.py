"""Error weights of sensitivities in step size control.

An error of an entry of S = dx/dp is relative to that entry, or to the largest of its column, each relative to the size of its
state; an error of x counts as in the run itself. So neither units nor the values of parameters matter. Where a state is zero all
along the run, its entries of S have their own scales, from the rates and the couplings of the states."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bondgraph.run.accuracy import error_weights
from bondgraph.run.accuracy.fields import Callbacks
from bondgraph.run.accuracy.table import ErrorWeights
from bondgraph.run.bound import Bound
from bondgraph.run.python_callbacks import PythonCallback
from bondgraph.run.table import FieldTable

COLUMN_PART = 0.1
"""Part of the largest entry of a column that the error weights of smaller entries have."""

ROUNDING_CHANGE = 1e-13
"""Part of the size of a state up to which a change counts as none."""

ACCUMULATED_NOISE, MAX_NOISE_GAIN, SIGNIFICANT, RETRY_LIMITS = 8.0, 64.0, 0.1, (4, 4096)
"""Rounding noise of the rates that a step accumulates; largest factor on it; part of the tolerance from which it matters;
rejected steps before a noise test, at first and at most."""


class SensitivityWeights(ErrorWeights):
    """Error weights of x and S, (n (1 + k),), in a table that machine code shares, with Python callbacks for rare updates, a few
    dozen in a run.

    Parameters
    ----------
    bound : x and S as a program; model_weights : those of the model itself, with the natural scales of x.
    states : of the run (samples, n); expected : size of each column (k,), relative to the sizes of its states.
    """

    def __init__(self, bound: Bound, model_weights: ErrorWeights, states: np.ndarray, expected: np.ndarray):
        super().__init__(bound, 1.0, None, 1.0)
        self._model_weights, self._expected = model_weights, expected
        model_weights.see(np.max(np.abs(states), axis=0, where=np.isfinite(states), initial=0.0))
        self._count = states.shape[1]
        self._no_powers = np.zeros(len(model_weights.size) - self._count)
        self._noise_gain = 1.0
        arguments, library = FieldTable(Callbacks), error_weights.machine_code()
        n, modes = len(self.size), bound.program.modes

        def where() -> tuple[float, np.ndarray, np.ndarray]:
            return arguments["t"], arguments.copied("x", n), arguments.copied("m", modes)

        self._callbacks = {
            "refresh": _callback(lambda: self.refresh(*where())),
            "test_noise": _callback(lambda: self.test_noise(*where(), arguments["h"], arguments["relative"])),
            "decay": _callback(lambda: self.decay(*where(), arguments["h"], arguments["relative"])),
        }
        for name, callback in self._callbacks.items():
            arguments.point(name, callback.address)
            self.addresses[name] = library.address(f"callback_{name}")
        self._arguments = arguments
        self.table.point("callbacks", arguments.address)

    @property
    def known(self) -> np.ndarray:
        """Size of each state of the model so far, or by its couplings (n,)."""
        return np.maximum(self._model_weights.known, self._model_weights.floor[: self._count])

    def see(self, x: np.ndarray) -> None:
        """Take the sizes of x and S into account."""
        super().see(x)
        self._model_weights.see(x[: self._count])

    def begin(self, t: float, x: np.ndarray, q: np.ndarray, m: np.ndarray) -> None:
        """Begin a segment."""
        super().see(x)
        n = self._count
        self._model_weights.begin(t, x[:n], self._no_powers, m)
        self._measure(t, x, m)

    def refresh(self, t: float, x: np.ndarray, m: np.ndarray) -> None:
        """Update the natural scales."""
        self._model_weights.refresh(t, x[: self._count], m)
        self._measure(t, x, m)

    def test_noise(self, t: float, x: np.ndarray, m: np.ndarray, h: float, relative: float, implicit: bool = False) -> None:
        """Update the scales after rejected steps of length h, and test whether the tolerance is below the rounding of the
        rates."""
        self.refresh(t, x, m)
        if self.noise.any():
            self._noise_gain = min(2.0 * self._noise_gain, MAX_NOISE_GAIN)
        matters = self._keep_noise(t, x, m, h, relative)
        before = int(self.table["rejections_before_test"])
        self.table["rejections_before_test"] = RETRY_LIMITS[0] if matters else min(2 * before, RETRY_LIMITS[1])

    def decay(self, t: float, x: np.ndarray, m: np.ndarray, h: float, relative: float, implicit: bool = False) -> None:
        """Measure the noise again after long use."""
        self._noise_gain = max(0.5 * self._noise_gain, 1.0)
        self._keep_noise(t, x, m, h, relative)

    def _keep_noise(self, t: float, x: np.ndarray, m: np.ndarray, h: float, relative: float) -> bool:
        """Measure the rounding noise of all rates; keep it only where it matters for a step of length h."""
        sizes = np.maximum(self.size, self.floor)
        noise = ACCUMULATED_NOISE * np.sqrt(len(x)) * self._noise_gain * self.noise_of_rates(t, x, m, sizes, h)
        matters = bool(np.any(h * noise > SIGNIFICANT * relative * sizes))
        self.noise[:] = noise if matters else 0.0
        return matters

    def unresolved(self, rtol: float, numbers: np.ndarray) -> bool:
        """Return True if the rounding of steps exceeded `rtol` times the weight of an entry of S; without columns that are
        rounding themselves, where a change of the varied `numbers` (k,) by their sizes has no effect."""
        n = self._count
        if not self.exceeded[n:].any():
            return False
        with np.errstate(all="ignore"):
            blurred = self.exceeded[n:] > rtol * np.maximum(self.size, self.floor)[n:]
            acting = (self._shares(self.known) * np.abs(numbers) > ROUNDING_CHANGE) | (numbers == 0.0)
        return bool(np.any(blurred.reshape(-1, n)[acting]))

    def _shares(self, sizes: np.ndarray) -> np.ndarray:
        """Return the largest entry of each column so far, relative to the sizes of its states (n,): (k,)."""
        columns = self.size[self._count :].reshape(-1, self._count)
        if not sizes.all():
            moving = sizes > 0.0
            columns, sizes = columns[:, moving], sizes[moving]
        largest: np.ndarray = np.maximum.reduce(columns / sizes, axis=1, initial=0.0)
        return largest

    def _measure(self, t: float, x: np.ndarray, m: np.ndarray) -> None:
        """Update the floors of the error weights; where a state has no size, from S, its rates and couplings."""
        n, sizes = self._count, self.known
        shares = np.maximum(self._shares(sizes), self._expected)
        self.floor[:n] = self._model_weights.floor[:n]
        if sizes.all():
            np.multiply(COLUMN_PART, np.multiply.outer(shares, sizes).ravel(), out=self.floor[n:])
            return
        rates = self._bound.rates(t, x, m)[n:].reshape(-1, n)
        moved = self._model_weights.scales_of(t, x[:n], m, x[n:].reshape(-1, n), rates)
        sized = sizes > 0.0
        propagated = np.max(moved[:, sized] / sizes[sized], axis=1, initial=0.0)
        columns = np.multiply.outer(np.maximum(shares, propagated), sizes)
        self.floor[n:] = COLUMN_PART * np.where(sized, columns, moved).ravel()

    def check(self) -> None:
        """Raise the errors of the callbacks."""
        super().check()
        for callback in self._callbacks.values():
            callback.check()


def _callback(function: Callable[[], None]) -> PythonCallback:
    """Return a callback of a function without a result."""

    def call() -> int:
        function()
        return 0

    return PythonCallback(call)
