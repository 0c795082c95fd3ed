"""What errors of sensitivities are measured against: sizes of states and how far they are driven in; the weights of a step out.

An error of a number of S = dx/dp counts beside that number, or beside the largest of its column, all in parts of the sizes of their
states; one of x as in the run itself. So neither units nor the values of parameters matter.
"""

from __future__ import annotations

import numpy as np

from bondgraph.run.bound import Bound
from bondgraph.run.error_control.weights import Weights

PART = 0.1
"""Of the largest of a column: errors are compared with so much of it where a number is smaller."""

LOOSER = 4.0
"""Factor by which that grows where steps are rejected however short: what is left there is rounding."""


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
        for x in met:
            own.see(x)
        self._count = met.shape[1]
        self.loosened = 1.0

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
        self.see(x)
        n = self._count
        self._own.begin(t, x[:n], np.zeros(len(self._own.size) - n), m)
        self._weigh()

    def renew(self, t: float, x: np.ndarray, m: np.ndarray) -> None:
        """Look at the natural scales anew."""
        self._own.renew(t, x[: self._count], m)
        self._weigh()

    def question(self, t: float, x: np.ndarray, m: np.ndarray, h: float, relative: float, implicit: bool = False) -> None:
        """Steps of length h are rejected: the rounding of x, and less to ask of S."""
        n = self._count
        self._own.question(t, x[:n], m, h, relative, implicit)
        self.noise[:n] = self._own.noise[:n]
        self.loosened *= LOOSER
        self._weigh()

    def relax(self, t: float, x: np.ndarray, m: np.ndarray, h: float, relative: float, implicit: bool = False) -> None:
        """What was given in is kept."""

    def _weigh(self) -> None:
        n, known = self._count, self.known
        self.floor[:n] = self._own.floor[:n]
        columns, moving = self.size[n:].reshape(-1, n), known > 0.0
        shares = np.max(columns[:, moving] / known[moving], axis=1, initial=0.0)
        self.floor[n:] = PART * self.loosened * np.outer(np.maximum(shares, self._driven), known).ravel()
