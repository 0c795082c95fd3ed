"""Time step with rigid contacts: quadratic programs, iterated until Coulomb friction agrees with the slips.

With s_i = |D_i dq| the convex law's rows equal Coulomb's law (Acary, Cadoux, Lemarechal, Malick 2011): a fixed point s = g(s)
with one unknown per contact. Anderson acceleration (Walker, Ni 2011) finds it; plain iteration need not converge.

Velocities are constant in a step. One Runge-Kutta step of order 4 moves all states through it, so that rates that are polynomials
of degree 3 in time are integrated exactly. With machine code, the step is a procedure that calls the kernel of the rates,
compiled once per machine; CPython runs the same function.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bondgraph.emit.cached_build import build_once
from bondgraph.emit.kernel import Kernel, address_of
from bondgraph.emit.kernel_language import language
from bondgraph.emit.kernel_language.language import Reals, unrolled
from bondgraph.emit.kernel_language.translate import translate
from bondgraph.emit.llvm import Library, compile_written
from bondgraph.emit.procedure import Procedure
from bondgraph.errors import ModelError
from bondgraph.run.bound import Bound
from bondgraph.run.events.impacts.fired_transitions import FiredTransition, fire
from bondgraph.stepping.problem import Steps
from bondgraph.stepping.quadratic.candidates import CONE, Candidates, PairRows, force_matrices, pair_rows, poses_from
from bondgraph.stepping.quadratic.solver import SOLVED, ActiveSet, InteriorPoint, ProgramSolution

Motion = Callable[[float, float], Any]
"""Function of the start and the size of a step, s, that moves the state to which the function is bound."""

STAGES = ((0, 0.5, 1.0 / 6.0), (1, 0.5, 1.0 / 3.0), (1, 1.0, 1.0 / 3.0), (2, 0.0, 1.0 / 6.0))
"""Stages of the Runge-Kutta step: index of the time, distance of the next stage (in steps), and weight of the rates."""
JUST_INSIDE = 1e-15
"""Offset of evaluations from the ends of a step, relative to its times: quantities that jump there take their value inside the
step."""


def motion_of(rates: Kernel, x: np.ndarray, p: np.ndarray, m: np.ndarray) -> Motion:
    """Return a function that moves the state x (n,) in place, at parameters p and modes m; later changes of x, p and m take
    effect."""
    n = len(x)
    work = np.zeros(3 * n + 4)
    times = work[:4]
    step = _compiled(rates, x, p, m, work) if rates.is_machine_code else _interpreted(rates, x, p, m, work)

    def motion(t: float, h: float) -> None:
        inside = JUST_INSIDE * max(abs(t), abs(h))
        times[0], times[1], times[2], times[3] = t + inside, t + 0.5 * h, t + h - inside, h
        step()

    return motion


def _interpreted(rates: Kernel, x: np.ndarray, p: np.ndarray, m: np.ndarray, work: np.ndarray) -> Callable[[], Any]:
    n = len(x)

    def rates_at(t: float, at: np.ndarray, p: np.ndarray, m: np.ndarray, out: np.ndarray) -> None:
        out[:n] = rates(float(t), at[:n], p, m)

    return functools.partial(move, rates_at, n, x, p, m, work)


def _compiled(rates: Kernel, x: np.ndarray, p: np.ndarray, m: np.ndarray, work: np.ndarray) -> Callable[[], Any]:
    pointers = [ctypes.c_void_p, ctypes.c_int64, *[ctypes.c_void_p] * 4]
    function = ctypes.CFUNCTYPE(None, *pointers)(machine_code().address("move"))
    addresses = [address_of(array) for array in (x, p, m, work)]
    call = functools.partial(function, rates.address, len(x), *addresses)
    call.__dict__["owners"] = (x, p, m, work, rates)  # keep the arrays at these addresses alive
    return call


@build_once
def machine_code() -> Library:
    return compile_written(procedures)


def procedures() -> list[Procedure]:
    return translate([move], ["move"])


def move(rates: language.Kernel, n: int, x: Reals, p: Reals, m: Reals, work: Reals) -> None:
    """Take the step from x (n,) in place; `work` has the times of the start, middle and end, the step size, and scratch space of
    three values per state."""
    h, k, stage, total = work[3], work[4:], work[n + 4 :], work[n * 2 + 4 :]
    at, begin = x, x
    for time, ahead, weight in unrolled(STAGES):
        rates(work[time], at, p, m, k)
        for i in range(n):
            stage[i] = x[i] + h * ahead * k[i]
            total[i] = begin[i] + h * weight * k[i]
        at, begin = stage, total
    for i in range(n):
        x[i] = total[i]


DEPTH = 4
"""Number of earlier iterates in Anderson acceleration."""
MAX_PROGRAMS = 60
"""Number of quadratic programs in a step before a damped iteration replaces acceleration; after as many again, the step is given
up."""
DAMPING = 0.4
_MAX_TRANSITIONS = 20
SLIP_TOLERANCE = 1e-9
"""Tolerance of slips, relative to the motion in the step and to the deflection of springs under its forces."""
SLIP_NOISE = 1e-11
"""Slip below the resolution of any solver, in the step's unit of length: ten times the tolerance of the solver's rows."""


@dataclass
class Anderson:
    points: list[np.ndarray] = field(default_factory=list)
    residuals: list[np.ndarray] = field(default_factory=list)

    def next(self, s: np.ndarray, image: np.ndarray) -> np.ndarray:
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


UNSETTLED, TOO_FAR = "unsettled", "too far"
"""Further outcomes of a step: its friction does not converge, or bodies move beyond the reach of known contacts."""


@dataclass(frozen=True)
class StepSettings:
    friction: str
    """Friction law, "convex" or "coulomb"."""
    reach: float
    """Gap beyond which a contact is ignored, and largest displacement of a contact in one step, m."""
    candidates: Candidates | None = None


@dataclass(frozen=True, eq=False)
class StepResult:
    """Result of one step.

    Parameters
    ----------
    t, h : start and size of the step, s.
    before, state : states at both ends, (n,), in the stepper's order.
    dq : displacements (unknowns,), in the velocities' coordinates.
    multipliers : multipliers of all rows of the quadratic program; N for contacts.
    normal, tangential : normal forces (contacts,) and friction (slips,), N.
    mode : mode of each contact, "open", "stick" or "slip".
    iterations : number of quadratic programs solved.
    slips : length of the slip of each contact, m.
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


class StepWorkspace:
    """Workspace for the steps of one run in one thread, in arrays whose addresses the kernels hold."""

    def __init__(self, steps: Steps, settings: StepSettings, p: np.ndarray, x: np.ndarray, m: np.ndarray):
        layout, program = steps.layout, steps.compiled.program
        self.steps, self.settings, self.layout = steps, settings, layout
        self.pairs: PairRows | None = None
        self.x, self.m = np.array(x, dtype=float), m
        self._x0 = self.x.copy()
        user_p = np.ascontiguousarray(p[: steps.matrices.sizes[2]])
        self._t, self._h = np.zeros(1), np.ones(1)
        self.buffer = np.zeros(layout.size)
        self._out = self.buffer if layout.index is None else np.zeros(steps.matrices.n_out)
        self._fill = steps.matrices.bind(self._t, self._x0, user_p, m, self._h, out=self._out)
        self._move_sources = motion_of(program.rates, self._x0, p, m)
        self._move = motion_of(program.rates, self.x, p, m)
        self.H, self.f, self.mu, self.gap = (layout.view(self.buffer, name) for name in ("H", "f", "mu", "gap"))
        self._graph_rows = tuple(layout.view(self.buffer, name) for name in ("A", "lower", "slip", "drift"))
        self.A, self.lower, self.slip, self.drift = self._graph_rows
        self.normals, self.tangents, self.owner = force_matrices(layout.cones)
        self.contacts, equalities = len(layout.cones), len(layout.constraints)
        exact = any(cone.exact for cone in layout.cones) or (bool(layout.poses) and steps.options.facets == CONE)
        self.solver = InteriorPoint(equalities, layout.turns, layout.cones) if exact else ActiveSet(equalities, layout.turns)
        self._slip_tolerance = SLIP_TOLERANCE * self.solver.coarseness
        self.slip_weights = slip_weights(steps, len(self.lower))
        self.along, self.s = np.zeros(len(self.drift)), np.zeros(self.contacts)
        self.programs, self._has_scaled_weights = 0, False
        self._iterates = settings.friction == "coulomb" and (len(self.drift) > 0 or settings.candidates is not None)
        self._limits_reach = bool(np.isfinite(settings.reach))
        self._exact, self._firsts = exact, np.array([cone.first for cone in layout.cones], dtype=np.intp)
        self._single = all(cone.slips == 1 for cone in layout.cones)
        self.sums = np.zeros((self.contacts, len(self.drift)))
        for k, cone in enumerate(layout.cones):
            self.sums[k, cone.slip : cone.slip + cone.slips] = 1.0

    @property
    def start(self) -> np.ndarray:
        """State for which the last quadratic program was written: after the sources have moved, with the previous velocities."""
        return self._x0

    @property
    def length(self) -> float:
        """Length scale of a step, in the unit of gaps; 0 before the first quadratic program."""
        return 0.0 if self.solver.units is None else self.solver.units.length

    def advance(self, t: float, h: float) -> ProgramSolution:
        """Advance `x` from t to t + h (s); unless the outcome is "solved", `x` does not change."""
        layout, x0, x = self.layout, self._x0, self.x
        x0[:] = x
        if not layout.still:
            x0[layout.velocity_indices] = 0.0
            self._move_sources(t, h)
            if layout.remembers:
                x0[layout.velocity_indices] = x[layout.velocity_indices]
        self._t[0], self._h[0] = t + h, h
        self.fill()
        solution = self._coulomb() if self._iterates else self._convex()
        if solution.outcome == SOLVED and self._limits_reach and self._farthest(solution.y) > self.settings.reach:
            solution = solution._replace(outcome=TOO_FAR)
        if solution.outcome == SOLVED:
            x[layout.velocity_indices] = solution.y / h
            self._move(t, h)
        return solution

    def fill(self) -> None:
        self._fill()
        if self.layout.index is not None:
            self.buffer[self.layout.index] = self._out
        if not self._has_scaled_weights:
            self._has_scaled_weights = True
            self.slip_weights *= self.mu
        if self._limits_reach:
            self._graph_rows[1][: len(self.owner)][(self.gap > self.settings.reach)[self.owner]] = -np.inf
        if self.settings.candidates is not None:
            self._search(self.settings.candidates)

    def _search(self, candidates: Candidates) -> None:
        """Insert the rows of pairs between the rows of the graph's contacts and the rows of constraints."""
        layout, before = self.layout, self.pairs
        count = len(candidates.bodies)
        numbers = layout.view(self.buffer, "poses")
        touching = candidates(poses_from(numbers, layout.poses))
        motion = tuple(layout.view(self.buffer, name) for name in ("twists", "carried"))
        J, carried = motion[0].reshape(count, 6, -1), motion[1].reshape(count, 6)
        v = self.x[layout.velocity_indices] if self.steps.options.full else None
        self.pairs = pairs = pair_rows(touching, (J, carried), v, float(self._h[0]), self.steps.options.facets)
        (A, lower, slip, drift), end = self._graph_rows, len(self.owner)
        self.A, self.lower = np.concatenate([A[:end], pairs.A, A[end:]]), np.concatenate([lower[:end], pairs.lower, lower[end:]])
        self.slip, self.drift = np.concatenate([slip, pairs.slip]), np.concatenate([drift, pairs.drift])
        is_same = before is not None and all(
            np.array_equal(getattr(before.pairs, name), getattr(touching, name)) for name in ("body1", "body2")
        )
        if not is_same:
            self.s = np.concatenate([self.s[: self.contacts], np.zeros(len(touching))])

    def bounds_with_slip(self, s: np.ndarray) -> np.ndarray:
        if self.pairs is None:
            return self.lower + self.slip_weights @ s
        lower, count, rows = self.lower.copy(), len(self.owner), len(self.pairs.lower)
        lower[: len(self.slip_weights)][:count] += (self.slip_weights @ s[: self.contacts])[:count]
        lower[count : count + rows] -= self.pairs.slip_terms(s[self.contacts :])
        return lower

    def lengths(self, along: np.ndarray) -> np.ndarray:
        if self.pairs is None:
            return self._graph_lengths(along)
        count = len(self._graph_rows[3])
        of_pairs = self.pairs.lengths(along[count:].reshape(-1, 2))
        return np.concatenate([self._graph_lengths(along[:count]), of_pairs])

    def _graph_lengths(self, along: np.ndarray) -> np.ndarray:
        if self._single:
            return np.abs(along)
        if not self._exact:
            return np.maximum.reduceat(along @ self.tangents, self._firsts) if self.contacts else np.zeros(0)
        return np.sqrt(self.sums @ (along * along))

    def _convex(self) -> ProgramSolution:
        self.programs += 1
        solution = self.solver.solve(self.H, self.f, self.A, self.lower)
        self.along = self.slip @ solution.y + self.drift
        return solution

    def _coulomb(self) -> ProgramSolution:
        s, search = self.s, None
        solution = self.solver.solve(self.H, self.f, self.A, self.bounds_with_slip(s))
        for count in range(1, 2 * MAX_PROGRAMS):
            self.programs += 1
            if solution.outcome != SOLVED:
                return solution
            along = self.slip @ solution.y + self.drift
            image = self.lengths(along)
            change = image - s
            size, moved = change @ change, image @ image
            if size <= self._slip_tolerance**2 * moved or size <= self._negligible_change(moved, solution.y):
                self.s, self.along = image, along
                return solution
            if count < MAX_PROGRAMS:
                search = search or Anderson()
                s = search.next(s, image)
            else:  # if the acceleration cycles, iterate with damping from rest
                s = DAMPING * image + (1.0 - DAMPING) * (s if count > MAX_PROGRAMS else 0.0)
            solution = self.solver.solve_again(self.bounds_with_slip(s))
        self.s = np.zeros(len(s))
        return solution._replace(outcome=UNSETTLED)

    def _negligible_change(self, moved: float, y: np.ndarray) -> float:
        """Return the square of the largest negligible change of slips, from the longest slips so far and the deflection of
        springs."""
        if self._largest_square == 0.0 or moved > self._largest_square:
            stiff = np.diagonal(self.H)
            yielding = np.divide(np.abs(self.f), stiff, out=np.zeros_like(y), where=stiff > 0.0)
            slips = np.abs(self.slip) @ (np.abs(y) + yielding)
            self._largest_square = max(self._largest_square, float(slips @ slips), moved)
        return max(self._slip_tolerance**2 * self._largest_square, (SLIP_NOISE * self.length) ** 2)

    _largest_square = 0.0

    def _farthest(self, y: np.ndarray) -> float:
        near = (self.gap <= self.settings.reach)[self.owner]
        count, rows = len(self.owner), 0 if self.pairs is None else len(self.pairs.lower)
        moved = np.abs(self.A[: count + rows] @ y)
        return float(max(np.max(moved[:count][near], initial=0.0), np.max(moved[count:], initial=0.0)))


def carry_out_events(bound: Bound, workspace: StepWorkspace, t: float) -> list[FiredTransition]:
    """Carry out and return the transitions of charts and other automata whose guards are positive (event iteration); raise the
    `ModelError` of a transition that ends a run."""
    transitions: list[FiredTransition] = []
    while len(transitions) < _MAX_TRANSITIONS:
        active = np.flatnonzero(bound.guards(t, workspace.x, workspace.m) > 0.0)
        if not len(active):
            break
        ends = bound.program.transitions[active[0]].error
        if ends is not None:
            raise ModelError(bound.program.name, [ends])
        transitions.append(fire(bound, int(active[0]), t, workspace.x, workspace.m))
        workspace.x[:], workspace.m[:] = transitions[-1].x_after, transitions[-1].m_after
    return transitions


def slip_weights(steps: Steps, rows: int) -> np.ndarray:
    """Return (rows, contacts) with -1 where the slip of a contact lowers the bound of a row: in all facets of a cone, or the
    normal row of an exact cone."""
    weights = np.zeros((rows, len(steps.layout.cones)))
    for k, cone in enumerate(steps.layout.cones):
        if cone.has_friction:
            weights[cone.first : cone.first + (1 if cone.exact else cone.rows), k] = -1.0
    return weights
