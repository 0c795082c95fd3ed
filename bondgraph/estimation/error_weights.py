"""What errors of sensitivities are measured against: sizes of states and how far they are driven in; the weights of a step out.

An error of a number of S = dx/dp counts beside that number, or beside the largest of its column, all in parts of the sizes of
their states; one of x as in the run itself. So neither units nor the values of parameters matter. Where a state has no size, for
it rests all along the run, its numbers of S have scales of their own, along the couplings.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bondgraph.run.accuracy import error_weights
from bondgraph.run.accuracy.fields import ASKED
from bondgraph.run.accuracy.reference.error_weights import Weights
from bondgraph.run.accuracy.reference.rounding_noise import rounding
from bondgraph.run.accuracy.table import SharedWeights
from bondgraph.run.bound import Bound
from bondgraph.run.python_callbacks import PythonCallback
from bondgraph.run.table import FieldTable

PART = 0.1
"""Of the largest of a column: errors are compared with so much of it where a number is smaller."""

NOTHING = 1e-13
"""Part of the size of a state: what moves it by less does not act."""

COLLECTED, MORE, FRUITFUL, PATIENCE = 8.0, 64.0, 0.1, (4, 4096)
"""Of the rounding of rates what a step collects, how much more where doubts return, and from which part of the tolerance it
matters; how many rejected steps are a doubt."""


class Allowances(Weights):
    """Weights of x and S, (n (1 + k),), in the arrays that integrators share.

    Parameters
    ----------
    bound : x and S as a program; own : the model itself, whose natural scales x has.
    met : states of the run (samples, n); driven : how large a column may be expected to be before it has been (k,), in parts of
        the sizes of its states.
    """

    def __init__(self, bound: Bound, own: Weights, met: np.ndarray, driven: np.ndarray):
        super().__init__(bound, 1.0, None, 1.0)
        self._own, self._driven = own, driven
        own.see(np.max(np.abs(met), axis=0, where=np.isfinite(met), initial=0.0))
        self._count = met.shape[1]
        self._no_powers = np.zeros(len(own.size) - self._count)
        self._more = 1.0

    @property
    def known(self) -> np.ndarray:
        """How large each state of the model has been, or is by its couplings (n,)."""
        return np.maximum(self._own.known, self._own.floor[: self._count])

    def see(self, x: np.ndarray) -> None:
        """x and S have been there."""
        super().see(x)
        self._own.see(x[: self._count])

    def begin(self, t: float, x: np.ndarray, q: np.ndarray, m: np.ndarray) -> None:
        """A leg begins."""
        super().see(x)
        n = self._count
        self._own.begin(t, x[:n], self._no_powers, m)
        self._measure(t, x, m)

    def renew(self, t: float, x: np.ndarray, m: np.ndarray) -> None:
        """Look at the natural scales anew."""
        self._own.renew(t, x[: self._count], m)
        self._measure(t, x, m)

    def question(self, t: float, x: np.ndarray, m: np.ndarray, h: float, relative: float, implicit: bool = False) -> None:
        """Steps of length h are rejected: new scales, and is the tolerance below the rounding of the rates?"""
        self.renew(t, x, m)
        if self.noise.any():
            self._more = min(2.0 * self._more, MORE)
        fruitful = self._hear(t, x, m, h, relative)
        self.patience = PATIENCE[0] if fruitful else min(2 * self.patience, PATIENCE[1])

    def relax(self, t: float, x: np.ndarray, m: np.ndarray, h: float, relative: float, implicit: bool = False) -> None:
        """Measure the noise anew after it has been in use for long."""
        self._more = max(0.5 * self._more, 1.0)
        self._hear(t, x, m, h, relative)

    def _hear(self, t: float, x: np.ndarray, m: np.ndarray, h: float, relative: float) -> bool:
        """Measure the noise of all rates; keep it only where it matters for a step of length h."""
        known = np.maximum(self.size, self.floor)
        noise = COLLECTED * np.sqrt(len(x)) * self._more * rounding(self._bound, t, x, m, known, h)
        matters = bool(np.any(h * noise > FRUITFUL * relative * known))
        self.noise[:] = noise if matters else 0.0
        return matters

    def unresolved(self, rtol: float, numbers: np.ndarray) -> bool:
        """Whether the rounding of steps was more than that part of what a number of S counts beside; of columns that are not
        themselves rounding, where all of what is varied, `numbers` (k,), would change nothing."""
        n = self._count
        if not self.exceeded[n:].any():
            return False
        with np.errstate(all="ignore"):
            blurred = self.exceeded[n:] > rtol * np.maximum(self.size, self.floor)[n:]
            acting = (self._shares(self.known) * np.abs(numbers) > NOTHING) | (numbers == 0.0)
        return bool(np.any(blurred.reshape(-1, n)[acting]))

    def _shares(self, known: np.ndarray) -> np.ndarray:
        """The largest of each column so far, in parts of the sizes of its states, which are `known` (n,): (k,)."""
        columns = self.size[self._count :].reshape(-1, self._count)
        if not known.all():
            moving = known > 0.0
            columns, known = columns[:, moving], known[moving]
        found: np.ndarray = np.maximum.reduce(columns / known, axis=1, initial=0.0)
        return found

    def _measure(self, t: float, x: np.ndarray, m: np.ndarray) -> None:
        """What errors are compared with; where a state has no size, how large S is or becomes by its own rates and couplings."""
        n, known = self._count, self.known
        shares = np.maximum(self._shares(known), self._driven)
        self.floor[:n] = self._own.floor[:n]
        if known.all():
            np.multiply(PART, np.multiply.outer(shares, known).ravel(), out=self.floor[n:])
            return
        rates = self._bound.rates(t, x, m)[n:].reshape(-1, n)
        moved = self._own.scales_of(t, x[:n], m, x[n:].reshape(-1, n), rates)
        sized = known > 0.0
        carried = np.max(moved[:, sized] / known[sized], axis=1, initial=0.0)
        columns = np.multiply.outer(np.maximum(shares, carried), known)
        self.floor[n:] = PART * np.where(sized, columns, moved).ravel()


class SharedAllowances(Allowances, SharedWeights):
    """`Allowances` in a table that machine code shares; what it asks a few dozen times in a run is answered in Python."""

    def __init__(self, bound: Bound, own: Weights, met: np.ndarray, driven: np.ndarray):
        super().__init__(bound, own, met, driven)
        asked, library = FieldTable(ASKED), error_weights.machine_code()
        n, modes = len(self.size), bound.program.modes

        def where() -> tuple[float, np.ndarray, np.ndarray]:
            return asked["t"], asked.copied("x", n), asked.copied("m", modes)

        self._asked = {
            "renew": _answers(lambda: self.renew(*where())),
            "question": _answers(lambda: self.question(*where(), asked["h"], asked["relative"])),
            "relax": _answers(lambda: self.relax(*where(), asked["h"], asked["relative"])),
        }
        for name, answers in self._asked.items():
            asked.point(name, answers.address)
            self.addresses[name] = library.address(f"asked_{name}")
        self._asked_table = asked
        self.table.point("asked", asked.address)

    def check(self) -> None:
        """Raise what kept an answer from being given."""
        super().check()
        for answers in self._asked.values():
            answers.check()


def _answers(answer: Callable[[], None]) -> PythonCallback:
    """Of what gives nothing back."""

    def answered() -> int:
        answer()
        return 0

    return PythonCallback(answered)


def allowances_of(bound: Bound, own: Weights, met: np.ndarray, driven: np.ndarray) -> Allowances:
    """The allowances of x and S as a program, in machine code where it is; arguments as of `Allowances`."""
    return (SharedAllowances if bound.program.is_machine_code else Allowances)(bound, own, met, driven)
