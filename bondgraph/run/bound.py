"""Program with bound parameters: rates, guards, powers, energies and resets as functions of (t, x, m)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bondgraph.run import algebraic_loops
from bondgraph.run.program import NewtonLoop, Program
from bondgraph.run.program.library_ticks import LibraryKernel
from bondgraph.run.sparsity.structure import JacobianCouplings

if TYPE_CHECKING:
    from bondgraph.emit.kernel import Kernel


class Bound:
    """Kernels of a program at fixed parameters p (parameters,), for work between steps, not inside them.

    A `Bound` belongs to one run: its kernels are bound to the addresses of its arrays, into which arguments are copied. Times are
    measured from `origin` (s), the start of a run of `span` seconds on the clock of the formulas; they are clipped to `window`
    (2,), the times of the previous and next breaks on that clock.
    """

    def __init__(self, program: Program, p: np.ndarray, origin: float = 0.0, span: float = 0.0):
        self.program, self.p, self.origin, self.span = program, p, origin, span
        self.window = np.array([-np.inf, np.inf])
        self._t, self._x, self._m = np.zeros(1), np.zeros(program.states), np.zeros(program.modes)
        self._bound: dict[Kernel, tuple[Callable[[], object], np.ndarray]] = {}

    def _values(self, kernel: Kernel | None, t: float, x: np.ndarray, m: np.ndarray) -> np.ndarray:
        if kernel is None:
            return np.zeros(0)
        if kernel not in self._bound:
            out = np.zeros(kernel.n_out)
            self._bound[kernel] = kernel.bind(self._t, self._x, self.p, self._m, out=out), out
        call, out = self._bound[kernel]
        self._t[0], self._x[:], self._m[:] = self.time(t), x, m
        call()
        return out.copy()

    def check(self) -> None:
        """Raise the exception, if any, that interpreted formulas stored when machine code called them."""
        program = self.program
        for clock, kernel in zip(program.clocks, self.tick_kernels, strict=True):
            if clock.library is not None and kernel is not None:
                kernel.check()
        if not program.is_machine_code:
            at_events = (
                program.boxes,
                *program.resets,
                *program.supplies,
                *program.pushes,
                *(loop.kernel for loop in program.loops),
            )
            for kernel in (*program.kernels, *at_events):
                if kernel is not None:
                    kernel.check()

    def time(self, t: float) -> float:
        return max(min(self.origin + t, self.window.item(1)), self.window.item(0))

    def clock(self, t: np.ndarray | float) -> np.ndarray:
        # The window's end may be NaN after the last break.
        return np.asarray(np.fmax(np.fmin(self.origin + np.asarray(t, dtype=float), self.window[1]), self.window[0]))

    def breaks(self) -> list[tuple[str, float, float]]:
        """Return (element, time, period) for each time at which a formula jumps or has a kink, in s on the clock of the
        formulas; the period of a single break is infinite."""
        kernel = self.program.breaks
        if kernel is None:
            return []
        with np.errstate(all="ignore"):
            times, periods = np.split(kernel(self.p[: kernel.sizes[0]]), 2)
        return list(zip(self.program.break_names, times.tolist(), periods.tolist(), strict=True))

    def rates(self, t: float, x: np.ndarray, m: np.ndarray) -> np.ndarray:
        return self._values(self.program.rates, t, x, m)

    def outputs(self, t: float, x: np.ndarray, m: np.ndarray) -> np.ndarray:
        return self._values(self.program.outputs, t, x, m)

    def guards(self, t: float, x: np.ndarray, m: np.ndarray) -> np.ndarray:
        """Return one value per transition; -1 if its source mode is not active."""
        return self._values(self.program.guards, t, x, m)

    def powers(self, t: float, x: np.ndarray, m: np.ndarray) -> np.ndarray:
        return self._values(self.program.powers, t, x, m)

    def energies(self, t: float, x: np.ndarray, m: np.ndarray) -> np.ndarray:
        return self._values(self.program.energies, t, x, m)

    def reset(self, index: int, t: float, x: np.ndarray, m: np.ndarray) -> np.ndarray:
        """Return x after transition `index`; m are the modes before the transition."""
        kernel = kernel_at(self.program.resets, index)
        return x.copy() if kernel is None else self._values(kernel, t, x, m)

    def has_reset(self, index: int) -> bool:
        return kernel_at(self.program.resets, index) is not None

    def pushed(self, index: int, t: float, x: np.ndarray, m: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the change of all guards by the impulse of transition `index`, and x after the transition without the impulse; m
        as for `reset`. Return None if no other transition could react."""
        kernel, count = kernel_at(self.program.pushes, index), len(self.program.transitions)
        if kernel is None:
            return None
        out = self._values(kernel, t, x, m)
        return out[:count], out[count:]

    def supplied(self, index: int, t: float, x: np.ndarray, m: np.ndarray) -> np.ndarray:
        """Return the energy that sources supply in the impulse of transition `index`, J, one per power; m as for `reset`."""
        kernel = kernel_at(self.program.supplies, index)
        return np.zeros(self.program.quadratures) if kernel is None else self._values(kernel, t, x, m)

    def tick(self, index: int, t: float, x: np.ndarray, m: np.ndarray) -> np.ndarray:
        kernel = self.tick_kernels[index]
        if kernel is None:
            return x.copy()
        after = self._values(kernel, t, x, m)
        kernel.check()
        return after

    @cached_property
    def tick_kernels(self) -> tuple[Kernel | None, ...]:
        return tuple(clock.kernel if clock.library is None else LibraryKernel(clock.library) for clock in self.program.clocks)

    def consistent(self, t: float, x: np.ndarray, m: np.ndarray) -> tuple[np.ndarray, NewtonLoop | None]:
        x, loops = x.copy(), self._loops
        loops.m_after = m
        with np.errstate(all="ignore"):
            is_solved = algebraic_loops.consistent(loops, np.float64(t), x)
        return x, None if is_solved else self.program.loops[loops.unsolved]

    @cached_property
    def _loops(self) -> algebraic_loops.LoopTable:
        program = self.program
        arrays = {name: np.array(values) for name, values in loop_arrays(program).items()}
        most = max((len(loop.states) for loop in program.loops), default=0)
        arrays |= {name: np.zeros(size) for name, size in algebraic_loops.LoopTable.lengths(unknowns=most).items()}
        kernels = [_in_place(loop.kernel) for loop in program.loops]
        numbers = {"loops": len(kernels), "origin": self.origin, "unsolved": 0}
        return algebraic_loops.LoopTable(p=self.p, window=self.window, loop_kernels=kernels, **arrays, **numbers)

    def jacobian(self, t: float, x: np.ndarray, m: np.ndarray) -> np.ndarray:
        pattern = self.program.jacobian_pattern
        if pattern is None:
            raise ValueError("the program has no Jacobian")
        indptr, indices = pattern
        full = np.zeros((self.program.states, self.program.states))
        columns = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        full[np.asarray(indices, dtype=int), columns] = self.nonzeros(t, x, m)
        return full

    def nonzeros(self, t: float, x: np.ndarray, m: np.ndarray) -> np.ndarray:
        """Return the entries of d rates / d x in the order of the program's sparsity pattern."""
        return self._values(self.program.jacobian, t, x, m)

    def jacobian_couplings(self, t: float, x: np.ndarray, m: np.ndarray) -> JacobianCouplings:
        kernel, structures = self.program.jacobian_couplings
        return structures.couplings(self._values(kernel, t, x, m))

    @cached_property
    def true_states(self) -> np.ndarray:
        guesses = set(self.program.loop_states)
        return np.array([k for k in range(self.program.states) if k not in guesses], dtype=int)


def kernel_at(kernels: tuple[Kernel | None, ...], index: int) -> Kernel | None:
    return kernels[index] if index < len(kernels) else None


def _in_place(kernel: Kernel) -> Callable[..., None]:
    def evaluate(*blocks: Any) -> None:
        *inputs, out = blocks
        kernel(*inputs, out=out[: kernel.n_out])

    return evaluate


def loop_arrays(program: Program) -> dict[str, list[float]]:
    return {
        "loop_counts": [len(loop.states) for loop in program.loops],
        "loop_places": [*program.loop_states],
        "loop_inverse_sizes": [1.0 / size for loop in program.loops for size in loop.sizes],
        "loop_weights": [weight for loop in program.loops for weight in loop.weights],
        "loop_ones": [1.0 for loop in program.loops for _ in loop.states],
    }
