"""Coulomb's friction by a sequence of convex programs: slips of the last program in; slips that agree with their own program out.

With s_i = |D_i dq| the convex law's rows say what Coulomb's do (Acary, Cadoux, Lemarechal, Malick 2011): a fixed point s = g(s)
of few unknowns, one for each contact. Anderson's acceleration (Walker, Ni 2011) finds it; the plain iteration need not converge.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

DEPTH = 4
"""Earlier iterates that Anderson's acceleration looks at."""
MOST = 60
"""Programs of a step, then acceleration is given up for a damped iteration; after as many again friction does not converge."""
DAMPED = 0.4
"""How far the damped iteration goes."""
AGREES = 1e-9
"""Slips agree to this part of what the step moves, and of what its forces would move its springs by."""


NOISE = 1e-11
"""Slips that no solver tells from none, in lengths of the step: ten times the tolerance of its rows."""


@dataclass
class Anderson:
    """The next point of a fixed-point iteration."""

    points: list[np.ndarray] = field(default_factory=list)
    residuals: list[np.ndarray] = field(default_factory=list)

    def next(self, s: np.ndarray, image: np.ndarray) -> np.ndarray:
        """A better guess than the image g(s) alone, not negative."""
        residual = image - s
        self.points.append(image)
        self.residuals.append(residual)
        del self.points[: -DEPTH - 1], self.residuals[: -DEPTH - 1]
        if len(self.points) < 2:
            return image
        steps = np.diff(np.array(self.residuals), axis=0).T
        moves = np.diff(np.array(self.points), axis=0).T
        weights = np.linalg.lstsq(steps, residual, rcond=1e-10)[0]
        return np.maximum(image - moves @ weights, 0.0)
