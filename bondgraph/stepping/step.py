"""A state in; the state at the end of a step out, by one quadratic program after another until friction agrees with the slips."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bondgraph.stepping.motion import motion_of
from bondgraph.stepping.problem import Steps
from bondgraph.stepping.quadratic.candidates import Candidates, PairRows, pair_rows, poses_from
from bondgraph.stepping.quadratic.cone import CONE, gather
from bondgraph.stepping.quadratic.coulomb import AGREES, DAMPED, MOST, NOISE, Anderson
from bondgraph.stepping.quadratic.solver import SOLVED, ActiveSet, Answer, InteriorPoint

UNSETTLED, TOO_FAR = "unsettled", "too far"
"""Further ends of a step: friction without convergence; bodies that move farther than contacts are known."""


@dataclass(frozen=True)
class StepSettings:
    """How steps are made."""

    friction: str
    """"convex" or "coulomb"."""
    reach: float
    """Gap beyond which a contact is left out, and way that no contact may go in one step, m."""
    candidates: Candidates | None = None
    """What finds further contacts at every step."""


@dataclass(frozen=True, eq=False)
class StepResult:
    """One step, made.

    Parameters
    ----------
    t, h : when it began, and its length, s.
    before, state : the states at both ends, (n,), as the stepper orders them.
    dq : displacements (unknowns,), in the velocities' coordinates.
    multipliers : of all rows, N.
    normal, tangential : normal forces (contacts,) and friction (slips,), N.
    mode : of each contact, "open", "stick" or "slip".
    iterations : programs that it took.
    slips : how far each contact slipped, m.
    p, m : parameters and modes.
    """

    t: float
    h: float
    before: np.ndarray
    state: np.ndarray
    dq: np.ndarray
    multipliers: np.ndarray
    normal: np.ndarray
    tangential: np.ndarray
    mode: tuple[str, ...]
    iterations: int
    slips: np.ndarray
    p: np.ndarray
    m: np.ndarray


class Stride:
    """Steps of one run, in arrays of its own, whose addresses the kernels know. Not for several threads at once."""

    def __init__(self, steps: Steps, settings: StepSettings, p: np.ndarray, x: np.ndarray, m: np.ndarray):
        layout, program = steps.layout, steps.compiled.program
        self.steps, self.settings, self.layout = steps, settings, layout
        self.pairs: PairRows | None = None
        self.x, self.m = np.array(x, dtype=float), m
        self._x0 = self.x.copy()
        own = np.ascontiguousarray(p[: steps.matrices.sizes[2]])
        self._t, self._h = np.zeros(1), np.ones(1)
        self.buffer = np.zeros(layout.size)
        self._out = self.buffer if layout.index is None else np.zeros(steps.matrices.n_out)
        self._fill = steps.matrices.bind(self._t, self._x0, own, m, self._h, out=self._out)
        self._rest = motion_of(program.rates, self._x0, p, m)
        self._move = motion_of(program.rates, self.x, p, m)
        self.H, self.f, self.mu, self.gap = (layout.view(self.buffer, name) for name in ("H", "f", "mu", "gap"))
        self._own = tuple(layout.view(self.buffer, name) for name in ("A", "lower", "slip", "drift"))
        self.A, self.lower, self.slip, self.drift = self._own
        self.normals, self.tangents, self.owner = gather(layout.cones)
        self.contacts, equalities = len(layout.cones), len(layout.constraints)
        exact = any(cone.exact for cone in layout.cones) or (bool(layout.poses) and steps.wanted.facets == CONE)
        self.solver = InteriorPoint(equalities, layout.turns, layout.cones) if exact else ActiveSet(equalities, layout.turns)
        self._agrees = AGREES * self.solver.coarseness
        self.loosening = loosening(steps, len(self.lower))
        self.along, self.s = np.zeros(len(self.drift)), np.zeros(self.contacts)
        self.programs, self._loosens = 0, False
        self._settles = settings.friction == "coulomb" and (len(self.drift) > 0 or settings.candidates is not None)
        self._near = bool(np.isfinite(settings.reach))
        self._exact, self._firsts = exact, np.array([cone.first for cone in layout.cones], dtype=np.intp)
        self._single = all(cone.slips == 1 for cone in layout.cones)
        self.sums = np.zeros((self.contacts, len(self.drift)))
        for k, cone in enumerate(layout.cones):
            self.sums[k, cone.slip : cone.slip + cone.slips] = 1.0

    @property
    def start(self) -> np.ndarray:
        """Where the last program was written: after the sources have moved, with the velocities of before."""
        return self._x0

    @property
    def length(self) -> float:
        """The length of a step, in the unit of gaps, beside which differences are small or not; 0 before the first program."""
        return 0.0 if self.solver.units is None else self.solver.units.length

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
        if not self._loosens:
            self._loosens = True
            self.loosening *= self.mu
        if self._near:
            self._own[1][: len(self.owner)][(self.gap > self.settings.reach)[self.owner]] = -np.inf
        if self.settings.candidates is not None:
            self._search(self.settings.candidates)

    def _search(self, candidates: Candidates) -> None:
        """Rows of pairs between those of the graph's contacts and those of constraints."""
        layout, before = self.layout, self.pairs
        count = len(candidates.bodies)
        numbers = layout.view(self.buffer, "poses")
        found = candidates(poses_from(numbers, layout.poses))
        motion = tuple(layout.view(self.buffer, name) for name in ("twists", "carried"))
        J, carried = motion[0].reshape(count, 6, -1), motion[1].reshape(count, 6)
        v = self.x[layout.places] if self.steps.wanted.full else None
        self.pairs = pairs = pair_rows(found, (J, carried), v, float(self._h[0]), self.steps.wanted.facets)
        (A, lower, slip, drift), end = self._own, len(self.owner)
        self.A, self.lower = np.concatenate([A[:end], pairs.A, A[end:]]), np.concatenate([lower[:end], pairs.lower, lower[end:]])
        self.slip, self.drift = np.concatenate([slip, pairs.slip]), np.concatenate([drift, pairs.drift])
        same = before is not None and all(
            np.array_equal(getattr(before.pairs, name), getattr(found, name)) for name in ("body1", "body2")
        )
        if not same:
            self.s = np.concatenate([self.s[: self.contacts], np.zeros(len(found))])

    def loosened(self, s: np.ndarray) -> np.ndarray:
        """Bounds where contacts slip by s."""
        if self.pairs is None:
            return self.lower + self.loosening @ s
        lower, own, rows = self.lower.copy(), len(self.owner), len(self.pairs.lower)
        lower[: len(self.loosening)][:own] += (self.loosening @ s[: self.contacts])[:own]
        lower[own : own + rows] -= self.pairs.loosening(s[self.contacts :])
        return lower

    def _lengths(self, along: np.ndarray) -> np.ndarray:
        """How far each contact slips: in the norm of its facets, or of the exact cone."""
        if self.pairs is None:
            return self._measured(along)
        own = len(self._own[3])
        beside = self.pairs.lengths(along[own:].reshape(-1, 2))
        return np.concatenate([self._measured(along[:own]), beside])

    def _measured(self, along: np.ndarray) -> np.ndarray:
        if self._single:
            return np.abs(along)
        if not self._exact:
            return np.maximum.reduceat(along @ self.tangents, self._firsts) if self.contacts else np.zeros(0)
        return np.sqrt(self.sums @ (along * along))

    def _convex(self) -> Answer:
        """One program."""
        self.programs += 1
        answer = self.solver.solve(self.H, self.f, self.A, self.lower)
        self.along = self.slip @ answer.y + self.drift
        return answer

    def _settled(self) -> Answer:
        """As many programs as it takes until friction agrees with slips."""
        s, search = self.s, None
        answer = self.solver.solve(self.H, self.f, self.A, self.loosened(s))
        for count in range(1, 2 * MOST):
            self.programs += 1
            if answer.outcome != SOLVED:
                return answer
            along = self.slip @ answer.y + self.drift
            image = self._lengths(along)
            change = image - s
            size, moved = change @ change, image @ image
            if size <= self._agrees**2 * moved or size <= self._small(moved, answer.y):
                self.s, self.along = image, along
                return answer
            if count < MOST:
                search = search or Anderson()
                s = search.next(s, image)
            else:  # slowly, from rest, where the fast way goes round
                s = DAMPED * image + (1.0 - DAMPED) * (s if count > MOST else 0.0)
            answer = self.solver.again(self.loosened(s))
        self.s = np.zeros(len(s))
        return answer._replace(outcome=UNSETTLED)

    def _small(self, moved: float, y: np.ndarray) -> float:
        """Square of a change of slips that is none: beside the longest slips so far, or those by which springs would yield."""
        if self._least == 0.0 or moved > self._least:
            stiff = np.diagonal(self.H)
            yielding = np.divide(np.abs(self.f), stiff, out=np.zeros_like(y), where=stiff > 0.0)
            ways = np.abs(self.slip) @ (np.abs(y) + yielding)
            self._least = max(self._least, float(ways @ ways), moved)
        return max(self._agrees**2 * self._least, (NOISE * self.length) ** 2)

    _least = 0.0

    def _farthest(self, y: np.ndarray) -> float:
        """The longest way of a contact that is near, m."""
        near = (self.gap <= self.settings.reach)[self.owner]
        own, rows = len(self.owner), 0 if self.pairs is None else len(self.pairs.lower)
        moved = np.abs(self.A[: own + rows] @ y)
        return float(max(np.max(moved[:own][near], initial=0.0), np.max(moved[own:], initial=0.0)))


def loosening(steps: Steps, rows: int) -> np.ndarray:
    """-1 where the slip of a contact loosens a row, (rows, contacts): all rows of facets, and the normal of an exact cone."""
    found = np.zeros((rows, len(steps.layout.cones)))
    for k, cone in enumerate(steps.layout.cones):
        if cone.has_friction:
            found[cone.first : cone.first + (1 if cone.exact else cone.rows), k] = -1.0
    return found
