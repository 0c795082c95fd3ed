"""Runs by time stepping: results by name, with mode changes of contacts as events, and an energy account."""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Sequence

import numpy as np

from bondgraph.errors import ModelError, Problem, RunEndedWarning, caller_depth
from bondgraph.output.progress import Progress
from bondgraph.run.bound import Bound
from bondgraph.run.events.impacts.fired_transitions import EventLabel, FiredTransition
from bondgraph.run.events.log import Log
from bondgraph.run.events.records import Events
from bondgraph.run.program import Program
from bondgraph.run.results.failure import Failure, states_by_name
from bondgraph.run.results.result import Result, Statistics
from bondgraph.stepping.diagnostics import step_problem
from bondgraph.stepping.problem import MODES, PAIRS, STEP, Steps, force_names
from bondgraph.stepping.quadratic.candidates import PairRows
from bondgraph.stepping.quadratic.solver import SOLVED, ProgramSolution
from bondgraph.stepping.step import SLIP_NOISE, StepWorkspace, carry_out_events
from screws.errors import plural

SMALL = 1e-7
"""Fraction of a run's largest force or slip up to which a force or slip counts as zero when modes are assigned to contacts."""


class StepHistory:
    """Record of a run, one row per step; `steps` counts the rows."""

    def __init__(self, workspace: StepWorkspace, times: Sequence[float]):
        count = len(times) - 1
        self.t, self.steps, self.transitions = np.array(times), 0, list[FiredTransition]()
        self.x, self.m = np.zeros((count + 1, len(workspace.x))), np.zeros((count + 1, len(workspace.m)))
        self.x[0], self.m[0] = workspace.x, workspace.m
        self.y = np.zeros((count, len(workspace.f)))
        """Displacements in each step, in the velocities' coordinates."""
        self.multipliers = np.zeros((count, len(workspace.lower)))
        self.along = np.zeros((count, len(workspace.drift)))
        """Slips in each step, m."""
        self.drift = np.zeros((count, len(workspace.drift)))
        """Slips due to sources alone, m."""
        self.gap = np.zeros((count, workspace.contacts))
        """Gaps that each step would end with if only sources moved, m."""
        self.constraints = len(workspace.layout.constraints)
        self.corrections = np.zeros((count, self.constraints))
        """Corrections of constraints, in their units."""
        self.pairs = np.zeros((count, 3))
        """Energies of candidates, J: lost by friction, supplied by moved bodies, and work of the forces on gaps."""

    def add(self, workspace: StepWorkspace, solution: ProgramSolution) -> None:
        k = self.steps
        if workspace.pairs is None:
            self.multipliers[k], self.along[k], self.drift[k] = solution.multipliers, workspace.along, workspace.drift
        else:
            self.pairs[k] = self._energies_of_pairs(k, workspace, workspace.pairs, solution)
        self.gap[k], self.y[k] = workspace.gap, solution.y
        if self.constraints:
            self.corrections[k] = workspace.lower[-self.constraints :]
        self.x[k + 1], self.m[k + 1] = workspace.x, workspace.m
        self.steps = k + 1

    def _energies_of_pairs(
        self, k: int, workspace: StepWorkspace, rows: PairRows, solution: ProgramSolution
    ) -> tuple[float, float, float]:
        count, slips = len(workspace.owner), self.along.shape[1]
        end = count + len(rows.lower)
        self.multipliers[k] = np.concatenate([solution.multipliers[:count], solution.multipliers[end:]])
        self.along[k], self.drift[k] = workspace.along[:slips], workspace.drift[:slips]
        normal, friction = rows.forces(solution.multipliers[count:end])
        force, along = friction.ravel(), workspace.along[slips:]
        lost, supplied = -force @ along, -normal @ rows.moved - force @ workspace.drift[slips:]
        opening = solution.multipliers[count:end] @ (rows.A @ solution.y) - force @ (along - workspace.drift[slips:])
        return float(lost), float(supplied), float(opening + normal @ rows.moved)

    def cut(self) -> None:
        n = self.steps
        self.t, self.x, self.m = self.t[: n + 1], self.x[: n + 1], self.m[: n + 1]
        self.multipliers, self.along = self.multipliers[:n], self.along[:n]
        self.drift, self.gap, self.y, self.pairs = self.drift[:n], self.gap[:n], self.y[:n], self.pairs[:n]
        self.corrections = self.corrections[:n]


def run_steps(steps: Steps, workspace: StepWorkspace, times: Sequence[float], p: np.ndarray, progress: bool) -> Result:
    """Run steps between ascending times, s, the first of which is the start."""
    begin = time.perf_counter()
    program = steps.compiled.program
    bound, history, failure = Bound(program, p), StepHistory(workspace, times), None
    has_guards = steps.has_guards
    with Progress(program.name, times[-1] - times[0], progress) as bar:
        for start, end in itertools.pairwise(times):
            try:
                solution = workspace.advance(start, end - start)
                if solution.outcome != SOLVED:
                    raise ModelError(program.name, [step_problem(steps, workspace, solution)])
                fired = carry_out_events(bound, workspace, end) if has_guards else []
            except ModelError as error:  # keep the steps so far
                failure = _failure(error.problems[0], program, start, history.x[history.steps])
                break
            history.transitions.extend(fired)
            history.add(workspace, solution)
            bar.show(end - times[0], f"t = {end - times[0]:.6g} s, {plural(len(history.transitions), 'event')}")
    spent = time.perf_counter() - begin
    history.cut()
    return _result(steps, workspace, history, failure, p, (begin, spent))


def _failure(problem: Problem, program: Program, t: float, x: np.ndarray) -> Failure:
    reason = f"{problem.code} {problem.title}" + "".join(f"; {line}" for line in problem.details)
    return Failure(reason, problem.code, float(t), states_by_name(program, x), "", problem.cures)


def _result(
    steps: Steps,
    workspace: StepWorkspace,
    history: StepHistory,
    failure: Failure | None,
    p: np.ndarray,
    clock: tuple[float, float],
) -> Result:
    program, (t, x, m) = steps.compiled.program, (history.t, history.x, history.m)
    normal, friction = forces_of(workspace, history.multipliers)
    _place_forces(steps, x, normal, friction)
    changes = _mode_changes(steps, history, modes_of(workspace, normal, history.along))
    log = Log(program, float(t[0]))
    log.extend(sorted([*history.transitions, *changes], key=lambda fired: fired.clock))
    integrals = _account(steps, history, p, (normal, friction))
    start = np.zeros(0) if program.energies is None else program.energies(t[0], x[0], p, m[0])
    statistics = Statistics(
        solver=type(workspace.solver).__name__,
        method=f"{steps.options.inertia}, {workspace.settings.friction}",
        steps=history.steps,
        rejected=0,
        rates=(4 if steps.layout.still else 8) * history.steps,
        jacobians=0,
        guards=0,
        events=len(log),
        wall_time=time.perf_counter() - clock[0],
        integration_time=clock[1],
        local_rtol=0.0,
        quadratic_programs=workspace.programs,
    )
    if failure is not None:
        warnings.warn(f'"{program.name}": {failure}', RunEndedWarning, stacklevel=caller_depth())
    return Result(program, p, t, t - t[0], x, m, integrals, start, Events.of(program, p, float(t[0]), log), failure, statistics)


def forces_of(workspace: StepWorkspace, multipliers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return normal forces (steps, contacts) and friction forces (steps, slips), N, from multipliers (steps, rows)."""
    rows = multipliers[:, : len(workspace.owner)]
    contact_of = np.repeat(np.arange(workspace.contacts), [cone.slips for cone in workspace.layout.cones])
    return rows @ workspace.normals.T, (rows @ workspace.tangents.T) * workspace.mu[contact_of]


def modes_of(workspace: StepWorkspace, normal: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Return the mode of each contact in each step, (steps, contacts), as indices into `MODES`."""
    pressed = normal > SMALL * np.max(normal, initial=0.0)
    lengths = np.sqrt((along * along) @ workspace.sums.T)
    slipping = lengths > max(SMALL * np.max(lengths, initial=0.0), 10.0 * SLIP_NOISE * workspace.length)
    has = np.array([cone.has_friction for cone in workspace.layout.cones], dtype=bool)
    return np.where(pressed, np.where(slipping | ~has, 2, 1), 0)


def _place_forces(steps: Steps, x: np.ndarray, normal: np.ndarray, friction: np.ndarray) -> None:
    layout = steps.compiled.program.layout
    for k, (contact, cone) in enumerate(zip(steps.layout.contacts, steps.layout.cones, strict=True)):
        pressing, sliding = (layout[name] for name in force_names(contact))
        x[1:, pressing.start] = normal[:, k]
        if sliding.shape:
            for k_slip, component in enumerate(cone.along):
                x[1:, sliding.start + component] = friction[:, cone.slip + k_slip]
        elif cone.slips:
            x[1:, sliding.start] = friction[:, cone.slip]
        for slot in (pressing, sliding):
            x[0, slot.start : slot.stop] = x[min(1, len(x) - 1), slot.start : slot.stop]


def _mode_changes(steps: Steps, history: StepHistory, modes: np.ndarray) -> list[FiredTransition]:
    """Return mode changes of contacts as fired transitions, at the starts of the steps with a new mode; write their modes into
    m."""
    program, fired, (t, x, m) = steps.compiled.program, list[FiredTransition](), (history.t, history.x, history.m)
    nothing = np.zeros(len(program.power_names))
    for k, contact in enumerate(steps.layout.contacts):
        slot = program.layout[f"{contact.path}.mode"].start
        m[1:, slot] = modes[:, k]
        m[0, slot] = modes[0, k] if len(modes) else 0
        edges = {(edge.source, edge.target): i for i, edge in enumerate(program.transitions) if edge.slot == slot}
        for step in np.flatnonzero(np.diff(modes[:, k])) + 1:
            after = m[step].copy()
            after[slot] = modes[step, k]
            state = x[step].copy()
            fired.append(
                FiredTransition(
                    time=float(t[step] - t[0]),
                    clock=float(t[step]),
                    transition=edges[float(modes[step - 1, k]), float(modes[step, k])],
                    x_before=state,
                    x_after=state,
                    m_before=m[step].copy(),
                    m_after=after,
                    supplied=nothing,
                    label=EventLabel(MODES[modes[step, k]], contact.path),
                )
            )
    return fired


def _account(steps: Steps, history: StepHistory, p: np.ndarray, forces: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Return the work of all powers (k, powers), J, from powers at the ends of steps and from contacts."""
    program, (normal, friction), (t, x, m) = steps.compiled.program, forces, (history.t, history.x, history.m)
    integrals = np.zeros((len(t), len(program.power_names)))
    if not history.steps or program.powers is None:
        return integrals
    h = np.diff(t)
    integrals[1:] = h[:, None] * program.powers.many(t[1:], x[1:], p, m[1:])
    user_p = np.ascontiguousarray(p[: steps.works.sizes[2]])
    works = steps.works.many(t, x, user_p, m)
    gaps = works[:, 3:]
    moved = history.gap - gaps[:-1]  # due to sources alone
    column = {name: k for k, name in enumerate(program.power_names)}
    for k, (contact, cone) in enumerate(zip(steps.layout.contacts, steps.layout.cones, strict=True)):
        sliding = slice(cone.slip, cone.slip + cone.slips)
        force = friction[:, sliding]
        integrals[1:, column[f"{contact.path}.friction"]] = -np.sum(force * history.along[:, sliding], axis=1)
        supplied = -normal[:, k] * moved[:, k] - np.sum(force * history.drift[:, sliding], axis=1)
        integrals[1:, column[f"{contact.path}.moved"]] = supplied
    if steps.layout.poses:
        integrals[1:, column[f"{PAIRS}.friction"]], integrals[1:, column[f"{PAIRS}.moved"]] = history.pairs[:, :2].T
    lost = h * works[1:, 0] - history.pairs[:, 2] - np.sum(normal * np.diff(gaps, axis=0), axis=1)
    energies = np.zeros((len(t), 0)) if program.energies is None else program.energies.many(t, x, p, m)
    lost -= np.diff(energies.sum(axis=1))
    moving, velocities = x[:-1].copy(), steps.layout.velocity_indices
    moving[:, velocities] = history.y / h[:, None]
    lost -= h * steps.works.many(t[:-1], moving, user_p, m[:-1])[:, 2]
    if steps.options.full:
        lost += 0.5 * np.diff(works[:, 1])  # kinetic energy, and the loss at a jump of velocity:
        moving[:, velocities] -= x[:-1][:, velocities]
        lost += 0.5 * steps.works.many(t[:-1], moving, user_p, m[:-1])[:, 1]
    lost -= np.sum(history.multipliers[:, len(history.multipliers[0]) - history.constraints :] * history.corrections, axis=1)
    integrals[1:, column[STEP]] = lost
    return np.cumsum(integrals, axis=0)
