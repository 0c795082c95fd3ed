"""A state in; the state at the end of a step out, by one quadratic program after another until friction agrees with the slips."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bondgraph.stepping.cone import gather
from bondgraph.stepping.coulomb import AGREES, MOST, NOISE, Anderson
from bondgraph.stepping.motion import motion_of
from bondgraph.stepping.problem import Steps
from bondgraph.stepping.solver import SOLVED, ActiveSet, Answer, InteriorPoint

UNSETTLED, TOO_FAR = "unsettled", "too far"
"""Further ends of a step: friction without convergence; bodies that move farther than contacts are known."""

_SIZE = 1e-3
"""What the largest entry of H is scaled to: proximal steps of a singular H are then exact to rounding."""


@dataclass(frozen=True)
class StepSettings:
    """How steps are made."""

    friction: str
    """"convex" or "coulomb"."""
    reach: float
    """Gap beyond which a contact is left out, and way that no contact may go in one step, m."""


class Stride:
    """Steps of one run, in arrays of its own, whose addresses the kernels know. Not for several threads at once."""

    def __init__(self, steps: Steps, settings: StepSettings, p: np.ndarray, x: np.ndarray, m: np.ndarray):
        layout, program = steps.layout, steps.compiled.program
        self.steps, self.settings, self.layout = steps, settings, layout
        self.x, self.m = np.array(x, dtype=float), m
        self._x0 = self.x.copy()
        own = np.ascontiguousarray(p[: steps.matrices.sizes[2]])
        self._t, self._h = np.zeros(1), np.array([1.0, 1.0])
        self.buffer = np.zeros(layout.size)
        self._out = self.buffer if layout.index is None else np.zeros(steps.matrices.n_out)
        self._fill = steps.matrices.bind(self._t, self._x0, own, m, self._h, out=self._out)
        self._rest = motion_of(program.rates, self._x0, p, m)
        self._move = motion_of(program.rates, self.x, p, m)
        self.H, self.f, self.A = (layout.view(self.buffer, name) for name in ("H", "f", "A"))
        self.lower, self.mu, self.gap = (layout.view(self.buffer, name) for name in ("lower", "mu", "gap"))
        self.slip, self.drift = layout.view(self.buffer, "slip"), layout.view(self.buffer, "drift")
        self.normals, self.tangents, self.owner = gather(layout.cones)
        self.contacts, equalities = len(layout.cones), len(layout.constraints)
        exact = any(cone.exact for cone in layout.cones)
        self.solver = InteriorPoint(equalities, layout.cones) if exact else ActiveSet(equalities)
        self.loosening = loosening(steps, len(self.lower))
        self.along, self.s = np.zeros(len(self.drift)), np.zeros(self.contacts)
        self.programs, self._largest = 0, 0.0
        self._settles = settings.friction == "coulomb" and len(self.drift) > 0
        self._near = bool(np.isfinite(settings.reach))
        self._single = all(cone.slips == 1 for cone in layout.cones)
        self.sums = np.zeros((self.contacts, len(self.drift)))
        for k, cone in enumerate(layout.cones):
            self.sums[k, cone.slip : cone.slip + cone.slips] = 1.0

    @property
    def scale(self) -> float:
        """What H and f are multiplied by, and multipliers with them."""
        return float(self._h[1])

    def take(self, t: float, h: float) -> Answer:
        """Move `x` from t to t + h (s); where the outcome is not "solved", `x` stays."""
        layout, x0, x = self.layout, self._x0, self.x
        x0[:] = x
        if not layout.still:
            x0[layout.places] = 0.0
            self._rest(t, h)
            if layout.remembers:
                x0[layout.places] = x[layout.places]
        self._t[0], self._h[0] = t + h, h
        self.fill()
        answer = self._settled() if self._settles else self._convex()
        if answer.outcome == SOLVED and self._near and self._farthest(answer.y) > self.settings.reach:
            answer = answer._replace(outcome=TOO_FAR)
        if answer.outcome == SOLVED:
            x[layout.places] = answer.y / h
            self._move(t, h)
        return answer

    def fill(self) -> None:
        """The numbers of the program into the buffer."""
        self._fill()
        if self.layout.index is not None:
            self.buffer[self.layout.index] = self._out
        if self._largest == 0.0:
            largest = np.max(np.abs(self.H), initial=0.0) or np.max(np.abs(self.f), initial=0.0)
            self._largest, self._h[1] = largest, _SIZE / largest if largest > 0.0 else 1.0
            self.loosening *= self.mu
            self.fill()
        if self._near:
            self.lower[: len(self.owner)][(self.gap > self.settings.reach)[self.owner]] = -np.inf

    def _convex(self) -> Answer:
        """One program."""
        self.programs += 1
        answer = self.solver.solve(self.H, self.f, self.A, self.lower)
        self.along = self.slip @ answer.y + self.drift
        return answer

    def _settled(self) -> Answer:
        """As many programs as it takes until friction agrees with slips."""
        s, search = self.s, None
        answer = self.solver.solve(self.H, self.f, self.A, self.lower + self.loosening @ s)
        for _ in range(1, MOST):
            self.programs += 1
            if answer.outcome != SOLVED:
                return answer
            along = self.slip @ answer.y + self.drift
            image = np.abs(along) if self._single else np.sqrt(self.sums @ (along * along))
            change = image - s
            size, moved = change @ change, image @ image
            if size <= AGREES**2 * moved or size <= self._small(moved, answer.y):
                self.s, self.along = image, along
                return answer
            search = search or Anderson()
            s = search.next(s, image)
            answer = self.solver.again(self.lower + self.loosening @ s)
        self.s = np.zeros(self.contacts)
        return answer._replace(outcome=UNSETTLED)

    def _small(self, moved: float, y: np.ndarray) -> float:
        """Square of a change of slips that is none: beside the longest slips so far, or those by which springs would yield."""
        if self._least == 0.0 or moved > self._least:
            stiff = np.diagonal(self.H)
            yielding = np.divide(np.abs(self.f), stiff, out=np.zeros_like(y), where=stiff > 0.0)
            ways = np.abs(self.slip) @ (np.abs(y) + yielding)
            self._least = max(self._least, float(ways @ ways), moved)
        return max(AGREES**2 * self._least, NOISE**2)

    _least = 0.0

    def _farthest(self, y: np.ndarray) -> float:
        """The longest way of a contact that is near, m."""
        near = self.gap <= self.settings.reach
        moved = np.abs(self.A[: len(self.owner)] @ y)[near[self.owner]]
        return float(np.max(moved, initial=0.0))


def loosening(steps: Steps, rows: int) -> np.ndarray:
    """-1 where the slip of a contact loosens a row, (rows, contacts): all rows of facets, and the normal of an exact cone."""
    found = np.zeros((rows, len(steps.layout.cones)))
    for k, cone in enumerate(steps.layout.cones):
        if cone.has_friction:
            found[cone.first : cone.first + (1 if cone.exact else cone.rows), k] = -1.0
    return found
