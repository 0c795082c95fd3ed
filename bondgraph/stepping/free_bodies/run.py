"""A graph of free bodies with shapes in -> its steps of time, and their course as a result by name with its account, out."""

from __future__ import annotations

import itertools
import math
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bondgraph.errors import Problem, RunEndedWarning, no_model, refusal
from bondgraph.graph.builder import Graph
from bondgraph.model.model import Model
from bondgraph.run.bound import Bound
from bondgraph.run.events.log import Log
from bondgraph.run.events.records import Events
from bondgraph.run.results.energy_account import Ledger
from bondgraph.run.results.failure import Failure, ValidityConcern
from bondgraph.run.results.result import Result, Statistics
from bondgraph.run.settings import number
from bondgraph.stepping.free_bodies.bodies import Bodies, Placement, free_bodies, matrices_of
from bondgraph.stepping.free_bodies.step import Accuracy, FreeBodyStep, TooMany, Walk, encounters
from screws.renamed import answer_old_names
from screws.shapes import HalfSpace, PointPairs, Solid, candidates

if TYPE_CHECKING:
    from bondgraph.compile.compiled import Compiled

__all__ = ["FreeBodyStepper", "FreeBodyResult", "free_body_stepper"]

DEEPEST = 0.1
"""Share of the smaller shape by which bodies may overlap at the start."""
CONTACTS, STEP = "contacts", "step"
"""Names of two entries of the account: what contacts take, and what steps themselves take or give (it shrinks with them)."""
LOOSE, NOT_FOUND = 100.0, "E550"
"""A run whose impulses are off by so many tolerances somewhere is in doubt, with this code."""


@answer_old_names
@dataclass(frozen=True, repr=False)
class FreeBodyResult(Result):
    """A run with what happened at contacts, by sample; the first sample has none."""

    contact_count: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=int))
    """How many contacts pressed, (k,)."""
    penetration: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """Deepest overlap, (k,), m."""
    slip_speed: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """Largest velocity along a surface of what pressed, (k,), m/s."""
    sweeps: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=int))
    """Sweeps over all contacts in the step, (k,)."""
    work: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    """What moved bodies gave through contacts, what contacts took, and what steps themselves took, (k, 3), J, since the start."""
    pairs: PointPairs | None = None
    """Candidates of the last step; shapes are numbered through all sets of collisions."""
    impulses: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    """Theirs, in the world, on the second body, (n, 3), N s."""

    def account(self) -> Ledger:
        """The energy account, with contacts, bodies that are moved, and what steps themselves give or take.

        All three are measured where they arise, by impulses, forces and velocities. The residual is zero but for rounding where
        forces are constant, as weights are, and shrinks with the step where springs or sources act.
        """
        own = super().account()
        given, lost, step = self.work.T
        more = {"moved bodies": given, CONTACTS: lost, STEP: step}
        return replace(
            own,
            supplied=own.supplied + given,
            dissipated=own.dissipated + lost + step,
            residual=own.residual - given + lost + step,
            in_play=max(own.in_play, float(np.max(np.abs(own.stored) + np.abs(lost) + np.abs(given)))),
            elements={**own.elements, **more},
        )


@dataclass(frozen=True, eq=False)
class FreeBodyStepper:
    """Free bodies that may collide, compiled for steps of time."""

    compiled: Compiled
    accuracy: Accuracy

    def simulate(
        self, t_end: float, *, step: float, parameters: Mapping[str, Any] | None = None, initial: Mapping[str, Any] | None = None
    ) -> FreeBodyResult:
        """Run from 0 to t_end in steps of `step`, s, each of which is a sample.

        Raises `ModelError` E548 for bodies that overlap at the start, E549 for bodies that are not free, E551 for other times.
        More candidates than there may be end a run (E514).
        """
        compiled, name = self.compiled, self.compiled.model.name
        end, h = number(t_end, "E551", "t_end"), number(step, "E551", "step")
        if not (0.0 < h < math.inf and 0.0 < end < math.inf):
            raise refusal("E551", f"{end!r} s cannot be gone in steps of {h!r} s", "an end and a step above zero", about=name)
        begin = time.perf_counter()
        (x, m), p = compiled.initial(initial, parameters), compiled.parameters(parameters)
        walk = _walk(compiled, self.accuracy, p, x, m)
        _refuse_overlaps(walk, name)
        times = np.minimum(np.arange(math.ceil(end / h * (1.0 - 1e-12)) + 1) * h, end)
        states, courses, failure = [x.copy()], list[FreeBodyStep](), None
        for t, following in itertools.pairwise(times):
            try:
                courses.append(walk.step(float(t), float(following - t)))
            except TooMany as many:
                failure = _failure(many.problem, float(t))
                break
            states.append(walk.x.copy())
        return _result(self, walk, p, times[: len(states)], np.array(states), courses, failure, begin)


@answer_old_names
def free_body_stepper(
    graph: Graph | Model, *, tolerance: float = 1e-4, max_sweeps: int = 1000, backend: str = "auto"
) -> FreeBodyStepper:
    """Compile a graph of free bodies for steps of time in which they touch, stick, slip and bounce wherever their shapes meet.

    Every body moves by its own momentum; what else acts on it may be any part of a graph but constraints and switches, and
    thus contacts with laws of their own. The cost of a step grows with the number of contacts, not with its square.

    Parameters
    ----------
    graph : bodies with shapes, and `collisions(graph, bodies)`.
    tolerance : of relative velocities at contacts, of the largest in the step.
    max_sweeps : of Gauss-Seidel over all contacts in a step; where they do not suffice by far, the result is in doubt.
    backend : as of `compile_model`.

    Raises `ModelError` E100 for what is no graph, E549 for one without collisions, E551 for other settings.

    Source: Moreau 1988, Jean 1999 (nonsmooth contact dynamics), with friction in Coulomb's law itself.
    """
    from bondgraph.compile.pipeline import compile_model

    if not isinstance(graph, (Graph, Model)):
        raise no_model(graph, "pile")
    share = number(tolerance, "E551", "tolerance")
    if not 0.0 < share < 1.0 or isinstance(max_sweeps, bool) or not isinstance(max_sweeps, int) or max_sweeps < 1:
        title = f"impulses cannot be found to {tolerance!r} in {max_sweeps!r} sweeps"
        raise refusal("E551", title, "a tolerance between 0 and 1, a whole number of sweeps", about=graph.name)
    compiled = compile_model(graph, backend=backend)
    made = FreeBodyStepper(compiled, Accuracy(share, max_sweeps))
    (x, m), p = compiled.initial(), compiled.parameters()
    free_bodies(compiled, p, x, m)
    return made


def _walk(compiled: Compiled, accuracy: Accuracy, p: np.ndarray, x: np.ndarray, m: np.ndarray) -> Walk:
    bodies = free_bodies(compiled, p, x, m)
    bound = Bound(compiled.program, p)
    taken = np.concatenate([bodies.pose.ravel(), bodies.momentum.ravel()])
    others = np.setdiff1d(np.arange(len(x)), taken)
    sets = encounters(compiled.model, bodies)
    radius = np.zeros(len(bodies.colliders))
    for one in sets:
        for k, solid in zip(one.arranged.body, one.arranged.solids, strict=True):
            far = (
                math.inf
                if isinstance(solid, HalfSpace)
                else np.linalg.norm(solid.position) + np.linalg.norm(solid.half) + solid.radius
            )
            radius[k] = max(radius[k], far)
    return Walk(bodies, sets, bound, x.copy(), m, accuracy, others, _moved_bodies(compiled, bodies, bound, m), radius)


def _moved_bodies(compiled: Compiled, bodies: Bodies, bound: Bound, m: np.ndarray) -> Callable[[float, np.ndarray], Placement]:
    """Time and state -> motion of the bodies that are not free; worked out once where all of them are fixed."""
    rest = bodies.colliders[bodies.free :]
    layout = compiled.program.layout

    def values(t: float, x: np.ndarray) -> Placement:
        blocks = {"x": x, "m": m, "p": bound.p, "out": bound.outputs(t, x, m)}

        def of(names: list[str], size: int) -> np.ndarray:
            slots = [layout[name] for name in names]
            return np.array([blocks[slot.block][slot.start : slot.stop] for slot in slots]).reshape(len(names), size)

        pose = of([body.pose for body in rest], 7)
        return Placement(matrices_of(pose[:, :4]), pose[:, 4:], of([body.twist for body in rest], 6))

    if all(body.fixed for body in rest):
        held: list[Placement] = []

        def once(t: float, x: np.ndarray) -> Placement:
            if not held:
                held.append(values(t, x))
            return held[0]

        return once
    return values


def _refuse_overlaps(walk: Walk, name: str) -> None:
    """E548 where bodies overlap at the start by more than a share of the smaller one."""
    motion = walk.where(0.0)
    for one in walk.sets:
        pairs = candidates(one.arranged, motion.R, motion.p, 0.0)
        if not len(pairs):
            continue
        sizes = np.array([_smallest(solid) for solid in one.arranged.solids])
        share = -pairs.gap / np.minimum(sizes[pairs.shape1], sizes[pairs.shape2])
        worst = int(np.argmax(share))
        if share[worst] > DEEPEST:
            both = [walk.bodies.colliders[k[worst]].path for k in (pairs.body1, pairs.body2)]
            title = f'"{both[0]}" and "{both[1]}" overlap at the start, by {-pairs.gap[worst]:.4g} m'
            raise refusal("E548", title, "other start positions", "exclude=[...] for bodies that may overlap", about=name)


def _smallest(solid: Solid) -> float:
    """Smallest half width of a solid."""
    return float(np.min(solid.half)) + solid.radius


def _result(
    made: FreeBodyStepper,
    walk: Walk,
    p: np.ndarray,
    t: np.ndarray,
    x: np.ndarray,
    courses: list[FreeBodyStep],
    failure: Failure | None,
    begin: float,
) -> FreeBodyResult:
    compiled = made.compiled
    own = compiled.program
    m = np.tile(walk.m, (len(t), 1))
    integrals = np.zeros((len(t), len(own.power_names)))
    if own.powers is not None:
        integrals[1:] = np.cumsum(np.diff(t)[:, None] * own.powers.many(t[1:], x[1:], p, m[1:]), axis=0)
    work = np.zeros((len(t), 3))
    work[1:] = np.cumsum([(course.given, course.lost, course.taken) for course in courses], axis=0).reshape(-1, 3)
    loose = [k for k, course in enumerate(courses) if course.change > LOOSE * course.allowed]
    statistics = Statistics(
        solver="sweeps",
        method="Moreau and Jean",
        steps=len(courses),
        rejected=0,
        rates=len(courses),
        jacobians=0,
        guards=0,
        events=0,
        wall_time=time.perf_counter() - begin,
        integration_time=time.perf_counter() - begin,
        local_rtol=0.0,
    )
    if failure is not None:
        warnings.warn(f'"{own.name}": {failure}', RunEndedWarning, stacklevel=3)
    return FreeBodyResult(
        program=own,
        p=p,
        t=t,
        since=t.copy(),
        x=x,
        m=m,
        integrals=integrals,
        start_energies=np.zeros(0) if own.energies is None else own.energies(t[0], x[0], p, m[0]),
        events=Events.of(own, p, float(t[0]), Log(own, float(t[0]))),
        failure=failure,
        statistics=statistics,
        warnings=tuple(_doubt(courses[k], float(t[k + 1]), len(loose)) for k in loose[:1]),
        contact_count=np.array([0, *(int(np.sum(course.pressing)) for course in courses)]),
        penetration=np.array([0.0, *(course.overlap for course in courses)]),
        slip_speed=np.array([0.0, *(course.slip for course in courses)]),
        sweeps=np.array([0, *(course.sweeps for course in courses)]),
        pairs=courses[-1].pairs if courses else None,
        work=work,
        impulses=courses[-1].impulses if courses else np.zeros((0, 3)),
    )


def _doubt(course: FreeBodyStep, t: float, count: int) -> ValidityConcern:
    found = f"the last one changed a velocity by {course.change:.2g} m/s"
    reason = f"{NOT_FOUND} impulses were not found in {course.sweeps} sweeps, in {count} steps: {found}"
    return ValidityConcern(reason, t, "contacts", course.change, course.allowed)


def _failure(problem: Problem, t: float) -> Failure:
    return Failure(f"{problem.code} {problem.title}", problem.code, t, {}, "", problem.cures)
