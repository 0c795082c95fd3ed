"""Steps from a start to an end: what they found, by name, with changes of contacts as events and an account of energy."""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Sequence

import numpy as np

from bondgraph.errors import ModelError, Problem, RunEndedWarning
from bondgraph.output.progress import Progress
from bondgraph.run.bound import Bound
from bondgraph.run.events.impacts.fired_transitions import Passage, Said, carried_out
from bondgraph.run.events.log import Log
from bondgraph.run.events.records import Events
from bondgraph.run.program import Program
from bondgraph.run.results.failure import Failure
from bondgraph.run.results.result import Result, Statistics
from bondgraph.stepping.messages.infeasible import explained
from bondgraph.stepping.problem import MODES, PAIRS, STEP, Steps, force_names
from bondgraph.stepping.quadratic.candidates import PairRows
from bondgraph.stepping.quadratic.coulomb import NOISE
from bondgraph.stepping.quadratic.solver import SOLVED, Answer
from bondgraph.stepping.step import Stride

SMALL = 1e-7
"""Part of the largest force, or way, of a run that counts as none where contacts are told open, sticking or slipping."""
_TURNS = 20


class Course:
    """Rows of a run, one for each step; `steps` have been made."""

    def __init__(self, stride: Stride, times: Sequence[float]):
        count = len(times) - 1
        self.t, self.steps, self.passages = np.array(times), 0, list[Passage]()
        self.x, self.m = np.zeros((count + 1, len(stride.x))), np.zeros((count + 1, len(stride.m)))
        self.x[0], self.m[0] = stride.x, stride.m
        self.y = np.zeros((count, len(stride.f)))
        """Displacements, in the velocities' coordinates."""
        self.multipliers = np.zeros((count, len(stride.lower)))
        self.along = np.zeros((count, len(stride.drift)))
        """Slips in each step, m."""
        self.drift = np.zeros((count, len(stride.drift)))
        """What sources alone make of them."""
        self.gap = np.zeros((count, stride.contacts))
        """At the end of each step, had sources alone moved, m."""
        self.constraints = len(stride.layout.constraints)
        self.back = np.zeros((count, self.constraints))
        """How far constraints are brought back, in their units."""
        self.pairs = np.zeros((count, 3))
        """Of candidates: what friction takes and what moved bodies give, and the work of their forces on gaps, J."""

    def add(self, stride: Stride, answer: Answer) -> None:
        """One more step."""
        k = self.steps
        if stride.pairs is None:
            self.multipliers[k], self.along[k], self.drift[k] = answer.multipliers, stride.along, stride.drift
        else:
            self.pairs[k] = self._among_pairs(k, stride, stride.pairs, answer)
        self.gap[k], self.y[k] = stride.gap, answer.y
        if self.constraints:
            self.back[k] = stride.lower[-self.constraints :]
        self.x[k + 1], self.m[k + 1] = stride.x, stride.m
        self.steps = k + 1

    def _among_pairs(self, k: int, stride: Stride, rows: PairRows, answer: Answer) -> tuple[float, float, float]:
        own, slips = len(stride.owner), self.along.shape[1]
        end = own + len(rows.lower)
        self.multipliers[k] = np.concatenate([answer.multipliers[:own], answer.multipliers[end:]])
        self.along[k], self.drift[k] = stride.along[:slips], stride.drift[:slips]
        normal, friction = rows.forces(answer.multipliers[own:end])
        rubbing, along = friction.ravel(), stride.along[slips:]
        taken, given = -rubbing @ along, -normal @ rows.moved - rubbing @ stride.drift[slips:]
        opening = answer.multipliers[own:end] @ (rows.A @ answer.y) - rubbing @ (along - stride.drift[slips:])
        return float(taken), float(given), float(opening + normal @ rows.moved)

    def cut(self) -> None:
        """Leave out what was not reached."""
        n = self.steps
        self.t, self.x, self.m = self.t[: n + 1], self.x[: n + 1], self.m[: n + 1]
        self.multipliers, self.along = self.multipliers[:n], self.along[:n]
        self.drift, self.gap, self.y, self.pairs = self.drift[:n], self.gap[:n], self.y[:n], self.pairs[:n]


def run_steps(steps: Steps, stride: Stride, times: Sequence[float], p: np.ndarray, progress: bool) -> Result:
    """Steps at ascending times, s, the first of which is the start."""
    begin = time.perf_counter()
    program = steps.compiled.program
    bound, course, failure = Bound(program, p), Course(stride, times), None
    own = {program.layout[f"{contact.path}.mode"].start for contact in steps.layout.contacts}
    watched = any(edge.slot not in own for edge in program.transitions)
    with Progress(program.name, times[-1] - times[0], progress) as bar:
        for start, end in itertools.pairwise(times):
            try:
                answer = stride.take(start, end - start)
            except ModelError as stuck:  # more candidates than there may be: what was run until here is kept
                failure = _failure(stuck.problems[0], program, start, stride.x)
                break
            if answer.outcome != SOLVED:
                failure = _failure(explained(steps, stride, answer), program, start, stride.x)
                break
            if watched:
                _settle(bound, stride, end, course)
            course.add(stride, answer)
            bar.show(end - times[0], f"t = {end - times[0]:.6g} s, {len(course.passages)} events")
    spent = time.perf_counter() - begin
    course.cut()
    return _result(steps, stride, course, failure, p, (begin, spent))


def _settle(bound: Bound, stride: Stride, t: float, course: Course) -> None:
    """Carry out transitions of charts and other machines whose guards have risen in the step."""
    for _ in range(_TURNS):
        risen = np.flatnonzero(bound.guards(t, stride.x, stride.m) > 0.0)
        if not len(risen):
            return
        passage = carried_out(bound, int(risen[0]), t, stride.x, stride.m)
        stride.x[:], stride.m[:] = passage.x_after, passage.m_after
        course.passages.append(passage)


def _failure(problem: Problem, program: Program, t: float, x: np.ndarray) -> Failure:
    slots = {name: slot for name, slot in program.layout.slots.items() if slot.block == "x"}
    state: dict[str, object] = {name: np.array(x[slot.start : slot.stop]).reshape(slot.shape) for name, slot in slots.items()}
    reason = f"{problem.code} {problem.title}" + "".join(f"; {line}" for line in problem.details)
    return Failure(reason, problem.code, float(t), state, "", problem.cures)


def _result(
    steps: Steps, stride: Stride, course: Course, failure: Failure | None, p: np.ndarray, clock: tuple[float, float]
) -> Result:
    program, (t, x, m) = steps.compiled.program, (course.t, course.x, course.m)
    normal, friction = forces_of(stride, course.multipliers)
    _place_forces(steps, x, normal, friction)
    changes = _changes(steps, course, modes_of(stride, normal, course.along))
    log = Log(program, float(t[0]))
    log.extend(sorted([*course.passages, *changes], key=lambda passage: passage.clock))
    integrals = _account(steps, course, p, (normal, friction))
    start = np.zeros(0) if program.energies is None else program.energies(t[0], x[0], p, m[0])
    statistics = Statistics(
        solver=type(stride.solver).__name__,
        method=f"{steps.wanted.inertia}, {stride.settings.friction}",
        steps=course.steps,
        rejected=0,
        rates=8 * course.steps,
        jacobians=0,
        guards=0,
        events=len(log),
        wall_time=time.perf_counter() - clock[0],
        integration_time=clock[1],
        local_rtol=0.0,
        quadratic_programs=stride.programs,
    )
    if failure is not None:
        warnings.warn(f'"{program.name}": {failure}', RunEndedWarning, stacklevel=4)
    return Result(program, p, t, t - t[0], x, m, integrals, start, Events.of(program, p, float(t[0]), log), failure, statistics)


def forces_of(stride: Stride, multipliers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Normal forces (steps, contacts) and friction forces (steps, slips), N, of multipliers (steps, rows)."""
    rows = multipliers[:, : len(stride.owner)]
    own = np.repeat(np.arange(stride.contacts), [cone.slips for cone in stride.layout.cones])
    return rows @ stride.normals.T, (rows @ stride.tangents.T) * stride.mu[own]


def modes_of(stride: Stride, normal: np.ndarray, along: np.ndarray) -> np.ndarray:
    """What each contact does in each step, (steps, contacts), as places in `MODES`."""
    pressed = normal > SMALL * np.max(normal, initial=0.0)
    ways = np.sqrt((along * along) @ stride.sums.T)
    slipping = ways > max(SMALL * np.max(ways, initial=0.0), 10.0 * NOISE * stride.length)
    has = np.array([cone.has_friction for cone in stride.layout.cones], dtype=bool)
    return np.where(pressed, np.where(slipping | ~has, 2, 1), 0)


def _place_forces(steps: Steps, x: np.ndarray, normal: np.ndarray, friction: np.ndarray) -> None:
    """Forces into the states that hold them; at the start those of the first step."""
    layout = steps.compiled.program.layout
    for k, (contact, cone) in enumerate(zip(steps.layout.contacts, steps.layout.cones, strict=True)):
        pressing, rubbing = (layout[name] for name in force_names(contact))
        x[1:, pressing.start] = normal[:, k]
        if rubbing.shape:
            for own, place in enumerate(cone.along):
                x[1:, rubbing.start + place] = friction[:, cone.slip + own]
        elif cone.slips:
            x[1:, rubbing.start] = friction[:, cone.slip]
        for slot in (pressing, rubbing):
            x[0, slot.start : slot.stop] = x[min(1, len(x) - 1), slot.start : slot.stop]


def _changes(steps: Steps, course: Course, found: np.ndarray) -> list[Passage]:
    """Changes of contacts as passages, at the starts of the steps in which they are other than before; their modes into m."""
    program, passages, (t, x, m) = steps.compiled.program, list[Passage](), (course.t, course.x, course.m)
    nothing = np.zeros(len(program.power_names))
    for k, contact in enumerate(steps.layout.contacts):
        slot = program.layout[f"{contact.path}.mode"].start
        m[1:, slot] = found[:, k]
        m[0, slot] = found[0, k] if len(found) else 0
        edges = {(edge.source, edge.target): i for i, edge in enumerate(program.transitions) if edge.slot == slot}
        for step in np.flatnonzero(np.diff(found[:, k])) + 1:
            after = m[step].copy()
            after[slot] = found[step, k]
            here = x[step].copy()
            passages.append(
                Passage(
                    time=float(t[step] - t[0]),
                    clock=float(t[step]),
                    transition=edges[float(found[step - 1, k]), float(found[step, k])],
                    x_before=here,
                    x_after=here,
                    m_before=m[step].copy(),
                    m_after=after,
                    supplied=nothing,
                    said=Said(MODES[found[step, k]], contact.path),
                )
            )
    return passages


def _account(steps: Steps, course: Course, p: np.ndarray, forces: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Work of everything (k, powers), J: by powers at the ends of steps, and what contacts took and gave."""
    program, (normal, friction), (t, x, m) = steps.compiled.program, forces, (course.t, course.x, course.m)
    integrals = np.zeros((len(t), len(program.power_names)))
    if not course.steps or program.powers is None:
        return integrals
    h = np.diff(t)
    integrals[1:] = h[:, None] * program.powers.many(t[1:], x[1:], p, m[1:])
    own = np.ascontiguousarray(p[: steps.works.sizes[2]])
    works = steps.works.many(t, x, own, m)
    gaps = works[:, 3:]
    moved = course.gap - gaps[:-1]  # by sources alone
    place = {name: k for k, name in enumerate(program.power_names)}
    for k, (contact, cone) in enumerate(zip(steps.layout.contacts, steps.layout.cones, strict=True)):
        sliding = slice(cone.slip, cone.slip + cone.slips)
        rubbing = friction[:, sliding]
        integrals[1:, place[f"{contact.path}.friction"]] = -np.sum(rubbing * course.along[:, sliding], axis=1)
        given = -normal[:, k] * moved[:, k] - np.sum(rubbing * course.drift[:, sliding], axis=1)
        integrals[1:, place[f"{contact.path}.moved"]] = given
    if steps.layout.poses:
        integrals[1:, place[f"{PAIRS}.friction"]], integrals[1:, place[f"{PAIRS}.moved"]] = course.pairs[:, :2].T
    taken = h * works[1:, 0] - course.pairs[:, 2] - np.sum(normal * np.diff(gaps, axis=0), axis=1)
    energies = np.zeros((len(t), 0)) if program.energies is None else program.energies.many(t, x, p, m)
    taken -= np.diff(energies.sum(axis=1))
    moving, places = x[:-1].copy(), steps.layout.places
    moving[:, places] = course.y / h[:, None]
    taken -= h * steps.works.many(t[:-1], moving, own, m[:-1])[:, 2]
    if steps.wanted.full:
        taken += 0.5 * np.diff(works[:, 1])  # kinetic energy goes on; what a jump of velocity takes:
        moving[:, places] -= x[:-1][:, places]
        taken += 0.5 * steps.works.many(t[:-1], moving, own, m[:-1])[:, 1]
    taken -= np.sum(course.multipliers[:, len(course.multipliers[0]) - course.constraints :] * course.back[: len(h)], axis=1)
    integrals[1:, place[STEP]] = taken
    return np.cumsum(integrals, axis=0)
