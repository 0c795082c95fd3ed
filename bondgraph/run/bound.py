"""A program with its parameters bound: (t, x, m) -> rates, guards, powers, energies, and x after a transition."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bondgraph.run.couplings import Couplings
from bondgraph.run.program import NewtonLoop, Program

if TYPE_CHECKING:
    from bondgraph.emit.kernel import Kernel


NEWTON_STEPS = 200
"""Most steps of a damped Newton iteration for an algebraic loop."""

SHORTEST = 1e-16
"""Part of a Newton step below which it is not halved again: a saturation current makes the first step as long as 1e12."""


class Bound:
    """Kernels of a program at fixed parameters p (parameters,). For work between steps, not inside them.

    Belongs to one run: arguments are copied into arrays of its own, whose addresses the kernels know. All times given are
    those since `origin` (s), the start of a run of `span` seconds on the clock of the formulas; these see none outside
    `window`, the times (2,) on their clock between the break before and the next one.
    """

    def __init__(self, program: Program, p: np.ndarray, origin: float = 0.0, span: float = 0.0):
        self.program, self.p, self.origin, self.span = program, p, origin, span
        self.window = np.array([-np.inf, np.inf])
        self._t, self._x, self._m = np.zeros(1), np.zeros(program.states), np.zeros(program.modes)
        self._rates = self._bind(program.rates)
        self._guards = self._bind(program.guards)
        self._powers = self._bind(program.powers)
        self._energies = self._bind(program.energies)
        self._resets = [self._bind(kernel) for kernel in program.resets]
        self._pushes = [self._bind(kernel) for kernel in program.pushes]
        self._supplies = [self._bind(kernel) for kernel in program.supplies]
        self._ticks = [self._bind(clock.kernel) for clock in program.clocks]
        self._loops = [(loop, self._bind(loop.kernel)) for loop in program.loops]

    def _bind(self, kernel: Kernel | None) -> tuple[Callable[[], object] | None, np.ndarray]:
        if kernel is None:
            return None, np.zeros(0)
        out = np.zeros(kernel.n_out)
        return kernel.bind(self._t, self._x, self.p, self._m, out=out), out

    def _call(self, bound: tuple[Callable[[], object] | None, np.ndarray], t: float, x: np.ndarray, m: np.ndarray) -> np.ndarray:
        call, out = bound
        if call is None:
            return out
        self._t[0], self._x[:], self._m[:] = self._time(t), x, m
        call()
        return out.copy()

    def _time(self, t: float) -> float:
        return max(min(self.origin + t, self.window[1]), self.window[0])

    def clock(self, t: np.ndarray | float) -> np.ndarray:
        """Times since the start on the clock of the formulas, inside the window."""
        return np.minimum(np.maximum(self.origin + np.asarray(t, dtype=float), self.window[0]), self.window[1])

    def breaks(self) -> list[tuple[str, float, float]]:
        """Times at which formulas jump or bend, on their own clock: (element, time, period), s."""
        kernel = self.program.breaks
        if kernel is None:
            return []
        with np.errstate(all="ignore"):
            times, periods = np.split(kernel(self.p[: kernel.sizes[0]]), 2)
        return list(zip(self.program.break_names, times.tolist(), periods.tolist(), strict=True))

    def rates(self, t: float, x: np.ndarray, m: np.ndarray) -> np.ndarray:
        """dx/dt, (n,)."""
        return self._call(self._rates, t, x, m)

    def guards(self, t: float, x: np.ndarray, m: np.ndarray) -> np.ndarray:
        """One value per transition; -1 where its source mode is not active."""
        return self._call(self._guards, t, x, m)

    def powers(self, t: float, x: np.ndarray, m: np.ndarray) -> np.ndarray:
        """One power per dissipator or source, W."""
        return self._call(self._powers, t, x, m)

    def energies(self, t: float, x: np.ndarray, m: np.ndarray) -> np.ndarray:
        """Energy per storage, J."""
        return self._call(self._energies, t, x, m)

    def reset(self, index: int, t: float, x: np.ndarray, m: np.ndarray) -> np.ndarray:
        """x after transition `index`; m is the mode vector before it."""
        if index >= len(self._resets) or self._resets[index][0] is None:
            return x.copy()
        return self._call(self._resets[index], t, x, m)

    def pushed(self, index: int, t: float, x: np.ndarray, m: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """What the impulse of transition `index` adds to all guards, and x after it without the impulse; m as for `reset`.
        None where no other transition could answer it."""
        if index >= len(self._pushes) or self._pushes[index][0] is None:
            return None
        out, count = self._call(self._pushes[index], t, x, m), len(self.program.transitions)
        return out[:count], out[count:]

    def supplied(self, index: int, t: float, x: np.ndarray, m: np.ndarray) -> np.ndarray:
        """Energy that sources give in the impulse of transition `index`, J, one number for each power; m as for `reset`."""
        if index >= len(self._supplies) or self._supplies[index][0] is None:
            return np.zeros(self.quadratures)
        return self._call(self._supplies[index], t, x, m)

    def tick(self, index: int, t: float, x: np.ndarray, m: np.ndarray) -> np.ndarray:
        """x after a tick of clock `index`."""
        return x.copy() if self._ticks[index][0] is None else self._call(self._ticks[index], t, x, m)

    def consistent(self, t: float, x: np.ndarray, m: np.ndarray) -> tuple[np.ndarray, NewtonLoop | None]:
        """x with the unknowns of nonlinear algebraic loops found by a damped Newton iteration, and the loop where that fails.

        A step is halved until the residual falls; what is left below rounding, or a step that no longer moves, ends it.
        """
        x = x.copy()
        for loop, bound in self._loops:
            places, count = list(loop.states), len(loop.states)
            with np.errstate(all="ignore"):
                out = self._call(bound, t, x, m)
                for _ in range(NEWTON_STEPS):
                    size, step = float(np.abs(out[:count]).max()), out[count:]
                    if size == 0.0 or np.abs(step).max() <= 1e-15 * (1e-12 + np.abs(x[places]).max()):
                        break
                    start, part = x[places].copy(), 1.0
                    while part > SHORTEST:
                        x[places] = start + part * step
                        out = self._call(bound, t, x, m)
                        if np.isfinite(out).all() and float(np.abs(out[:count]).max()) < size:
                            break
                        part /= 2.0
                    else:  # no smaller residual to be had: converged to rounding, or stuck
                        x[places] = start
                        out = self._call(bound, t, x, m)
                        break
                if not np.isfinite(out).all() or np.abs(out[count:]).max() > 1e-6 * (1e-6 + np.abs(x[places]).max()):
                    return x, loop
        return x, None

    def jacobian(self, t: float, x: np.ndarray, m: np.ndarray) -> np.ndarray:
        """d rates / d x as a full matrix, (n, n)."""
        pattern = self.program.jacobian_pattern
        if pattern is None:
            raise ValueError("the program has no Jacobian")
        indptr, indices = pattern
        full = np.zeros((self.program.states, self.program.states))
        full[np.asarray(indices, dtype=int), np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))] = self._call(
            self._nonzeros, t, x, m
        )
        return full

    def couplings(self, t: float, x: np.ndarray, m: np.ndarray) -> Couplings:
        """Which states drive which, and how fast; none where the program has no derivatives."""
        return self.program.couplings[1].couplings(self._call(self._couplings, t, x, m))

    @cached_property
    def _nonzeros(self) -> tuple[Callable[[], object] | None, np.ndarray]:
        return self._bind(self.program.jacobian)

    @cached_property
    def _couplings(self) -> tuple[Callable[[], object] | None, np.ndarray]:
        return self._bind(self.program.couplings[0])

    @cached_property
    def kept(self) -> np.ndarray:
        """Places of the states that are no guesses for unknowns of loops."""
        guesses = {place for loop in self.program.loops for place in loop.states}
        return np.array([k for k in range(self.program.states) if k not in guesses], dtype=int)

    @property
    def quadratures(self) -> int:
        """Count of powers that are integrated along the run."""
        return 0 if self.program.powers is None else int(self.program.powers.n_out)
