"""Time-stepping runs of free bodies with shapes, with a result and an energy account."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bondgraph.errors import RunEndedWarning, caller_depth, no_model, refusal
from bondgraph.graph.builder import Graph
from bondgraph.model.model import Model
from bondgraph.model.ops import Frozen
from bondgraph.output.short_repr import short_repr
from bondgraph.run.bound import Bound
from bondgraph.run.events.log import Log
from bondgraph.run.events.records import Events
from bondgraph.run.results.energy_account import Ledger
from bondgraph.run.results.failure import Failure, ValidityConcern
from bondgraph.run.results.result import Result, Statistics
from bondgraph.run.settings import number
from bondgraph.stepping.free_bodies.bodies import Bodies, free_bodies
from bondgraph.stepping.free_bodies.machine.tables import (
    ALLOWED,
    ASLEEP,
    CHANGE,
    LOST,
    OVERLAP,
    PRESSING,
    RECORD,
    SLIP,
    STEP_LOSS,
    SUPPLIED,
    SWEEPS,
)
from bondgraph.stepping.free_bodies.run_table import BLOCKS, Accuracy, FreeBodyRun, collision_groups
from screws.errors import plural
from screws.names import answer_old_names
from screws.shapes import PointPairs

if TYPE_CHECKING:
    from bondgraph.compile.compiled import Compiled

MAX_OVERLAP = 0.1
"""Largest overlap at the start, as a fraction of the smallest half width of either shape."""
CONTACTS, STEP = "contacts", "step"
"""Entries of the energy account: loss at contacts, and loss or gain of the steps themselves, which shrinks with the step size."""
LOOSE, DOUBT_CODE = 10.0, "E550"
"""Ratio of the last velocity change to the tolerance above which a run is reported as unreliable, and code of the warning."""


@answer_old_names
@dataclass(frozen=True, repr=False)
class FreeBodyResult(Result):
    """Result of a run of free bodies, with data of contacts at each sample; the first sample has no contacts."""

    contact_count: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=int))
    """Number of contacts with a force, (k,)."""
    penetration: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """Deepest penetration, (k,), m."""
    slip_speed: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """Largest sliding speed at a contact with a force, (k,), m/s."""
    sweeps: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=int))
    """Number of sweeps over contacts in the step, (k,)."""
    residual: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """Largest change of a relative velocity in the last sweep of the step, divided by the tolerance, (k,); above 1, the step is
    not solved to the tolerance."""
    asleep: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=int))
    """Number of sleeping bodies, (k,); their contacts are neither counted nor candidates."""
    work: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    """Energy since the start, (k, 3), J: supplied by moved bodies through contacts, lost at contacts, and lost by the steps
    themselves."""
    pairs: PointPairs | None = None
    """Candidates of the last step, None for a run that ended early; shapes are numbered across all sets of collisions."""
    impulses: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    """Impulses at the candidates in the last step, on the second body of each pair, world coordinates, (n, 3), N s."""

    def account(self) -> Ledger:
        """Return the energy account, with contacts, moved bodies, and the loss or gain of the steps themselves.

        All three are computed from impulses, forces and velocities. The residual is only rounding error if forces are constant,
        as weights are, and shrinks with the step size if springs or sources act.
        """
        ledger = super().account()
        supplied, lost, step = self.work.T
        more = {"moved bodies": supplied, CONTACTS: lost, STEP: step}
        return replace(
            ledger,
            supplied=ledger.supplied + supplied,
            dissipated=ledger.dissipated + lost + step,
            residual=ledger.residual - supplied + lost + step,
            in_play=max(ledger.in_play, float(np.max(np.abs(ledger.stored) + np.abs(lost) + np.abs(supplied)))),
            elements={**ledger.elements, **more},
            islands=(),  # contacts transmit power without bonds
        )


@short_repr
@dataclass(frozen=True, eq=False)
class FreeBodyStepper(Frozen):
    """Free bodies that may collide, compiled for time stepping."""

    compiled: Compiled
    accuracy: Accuracy

    def simulate(
        self, t_end: float, *, step: float, parameters: Mapping[str, Any] | None = None, initial: Mapping[str, Any] | None = None
    ) -> FreeBodyResult:
        """Run from 0 to t_end in steps of `step`, s; each step is a sample.

        Raises E551 for invalid times; `ModelError` E548 for bodies that overlap at the start by more than a tenth of a half
        width, E485, E486 and E549 as `free_body_stepper` explains. Too many candidates end the run (E514).
        """
        compiled, name = self.compiled, self.compiled.model.name
        end, h = number(t_end, "E551", "t_end"), number(step, "E551", "step")
        if not (0.0 < h < math.inf and 0.0 < end < math.inf):
            raise refusal(
                "E551", f"{end!r} s cannot be divided into steps of {h!r} s", "a positive end and step size", about=name
            )
        begin = time.perf_counter()
        x, m, p = compiled.starting_point(initial, parameters)
        run = new_run(compiled, self.accuracy, p, x, m)
        _refuse_overlaps(run, name)
        times = np.minimum(np.arange(math.ceil(end / h * (1.0 - 1e-12)) + 1) * h, end)
        states, records, failure = [x[None]], [np.zeros((1, RECORD))], None
        full_steps = len(times) - 1 if times[-1] - times[-2] > h * (1.0 - 1e-9) else len(times) - 2
        for first, count, span in ((0, full_steps, h), (full_steps, len(times) - 1 - full_steps, float(times[-1] - times[-2]))):
            if count and failure is None:
                course, record = run.advance(float(times[first]), span, count)
                states.append(course)
                records.append(record)
                if len(course) < count:
                    failure = _too_many(run, float(times[first + len(course)]))
        x = np.concatenate(states)
        return _result(self, run, p, times[: len(x)], x, np.concatenate(records), failure, begin)


@answer_old_names
def free_body_stepper(
    graph: Graph | Model, *, tolerance: float = 1e-4, max_sweeps: int = 1000, sleep: float = 0.0, backend: str = "auto"
) -> FreeBodyStepper:
    """Compile a graph of free bodies for time steps in which they touch, stick, slip and bounce wherever their shapes meet.

    Every body moves by its own momentum. Any part of a graph may act on it except constraints, switches and automata, so contacts
    with their own laws are refused. The cost of a step grows with the number of contacts, not its square.

    Parameters
    ----------
    graph : bodies with shapes, and `collisions(graph, bodies)`.
    tolerance : tolerance of relative velocities at contacts, relative to the largest relative velocity in the step.
    max_sweeps : maximum number of Gauss-Seidel sweeps over all contacts in a step; if a velocity still changes by more than ten
        times the tolerance in the last sweep, the result is reported as unreliable.
    sleep : speed, m/s; bodies that press on each other fall asleep if all have been slower for 20 steps, and stay where they are
        until another body may touch them or their forces change. With 0, no body falls asleep.
    backend : as for `compile_model`.

    Raises E551 for invalid settings; `ModelError` E100 for anything but a graph, E485 for an inertia that is not that of a rigid
    body, E549 for a graph without collisions or with bodies that are not free; `simulate` raises E486 for bodies that cannot
    sleep.

    Source: Moreau 1988, Jean 1999 (nonsmooth contact dynamics), with exact Coulomb friction.
    """
    from bondgraph.compile.pipeline import compile_model

    if not isinstance(graph, (Graph, Model)):
        raise no_model(graph, "free_body_stepper", "graph")
    share = number(tolerance, "E551", "tolerance")
    if not 0.0 < share < 1.0 or isinstance(max_sweeps, bool) or not isinstance(max_sweeps, int) or max_sweeps < 1:
        title = f"impulses cannot be computed to a tolerance of {tolerance!r} in {max_sweeps!r} sweeps"
        raise refusal("E551", title, "a tolerance between 0 and 1, and a positive whole number of sweeps", about=graph.name)
    if not 0.0 <= (speed := number(sleep, "E551", "sleep")) < math.inf:
        raise refusal("E551", f"bodies cannot sleep below {sleep!r} m/s", "a non-negative speed", about=graph.name)
    compiled = compile_model(graph, backend=backend)
    compiled_stepper = FreeBodyStepper(compiled, Accuracy(share, max_sweeps, speed))
    (x, m), p = compiled.initial(), compiled.parameters()
    free_bodies(compiled, p, x, m)
    return compiled_stepper


def new_run(compiled: Compiled, accuracy: Accuracy, p: np.ndarray, x: np.ndarray, m: np.ndarray) -> FreeBodyRun:
    bodies = free_bodies(compiled, p, x, m)
    bound = Bound(compiled.program, p)
    of_bodies = np.concatenate([bodies.pose.ravel(), bodies.momentum.ravel()])
    others = np.setdiff1d(np.arange(len(x)), of_bodies)
    sets = collision_groups(compiled.model, bodies)
    return FreeBodyRun(bodies, sets, bound, x.copy(), m.copy(), accuracy, others, *_moved_bodies(compiled, bodies, bound, m))


def _moved_bodies(
    compiled: Compiled, bodies: Bodies, bound: Bound, m: np.ndarray
) -> tuple[Callable[[float, np.ndarray], np.ndarray], np.ndarray]:
    """Return a function of time and state that returns poses and twists (n, 13) of the bodies that are not free, and the sources
    of these values, (2, 13 n), empty if all values are fixed."""
    others = bodies.colliders[bodies.free :]
    slots = [compiled.program.layout[name] for body in others for name in (body.pose, body.twist)]
    sources = np.array([(BLOCKS[slot.block], k) for slot in slots for k in range(slot.start, slot.stop)]).reshape(-1, 2).T

    def values(t: float, x: np.ndarray) -> np.ndarray:
        blocks = {"x": x, "m": m, "p": bound.p, "out": bound.outputs(t, x, m)}
        return np.concatenate([np.zeros(0), *(blocks[slot.block][slot.start : slot.stop] for slot in slots)])

    return values, np.zeros((2, 0)) if all(body.fixed for body in others) else sources


def _refuse_overlaps(run: FreeBodyRun, name: str) -> None:
    pairs = run.candidates(0.0)
    if len(pairs):
        sizes = np.array([float(np.min(solid.half)) + solid.radius for each in run.sets for solid in each.arranged.solids])
        share = -pairs.gap / np.minimum(sizes[pairs.shape1], sizes[pairs.shape2])
        worst = int(np.argmax(share))
        if share[worst] > MAX_OVERLAP:
            both = [run.bodies.colliders[k[worst]].path for k in (pairs.body1, pairs.body2)]
            title = f'"{both[0]}" and "{both[1]}" overlap at the start, by {-pairs.gap[worst]:.4g} m'
            raise refusal("E548", title, "other start positions", "exclude=[...] for bodies that may overlap", about=name)


def _result(
    setup: FreeBodyStepper,
    run: FreeBodyRun,
    p: np.ndarray,
    t: np.ndarray,
    x: np.ndarray,
    record: np.ndarray,
    failure: Failure | None,
    begin: float,
) -> FreeBodyResult:
    program = setup.compiled.program
    m = np.tile(run.m, (len(t), 1))
    integrals = np.zeros((len(t), len(program.power_names)))
    if program.powers is not None:
        integrals[1:] = np.cumsum(np.diff(t)[:, None] * program.powers.many(t[1:], x[1:], p, m[1:]), axis=0)
    loose = np.flatnonzero(record[:, CHANGE] > LOOSE * record[:, ALLOWED])
    statistics = Statistics(
        solver="sweeps",
        method="Moreau and Jean",
        steps=len(t) - 1,
        rejected=0,
        rates=(len(t) - 1) * (2 if len(run.others) else 1),
        jacobians=0,
        guards=0,
        events=0,
        wall_time=time.perf_counter() - begin,
        integration_time=time.perf_counter() - begin,
        local_rtol=0.0,
    )
    if failure is not None:
        warnings.warn(f'"{program.name}": {failure}', RunEndedWarning, stacklevel=caller_depth())
    return FreeBodyResult(
        program=program,
        p=p,
        t=t,
        since=t.copy(),
        x=x,
        m=m,
        integrals=integrals,
        start_energies=np.zeros(0) if program.energies is None else program.energies(t[0], x[0], p, m[0]),
        events=Events.of(program, p, float(t[0]), Log(program, float(t[0]))),
        failure=failure,
        statistics=statistics,
        warnings=tuple(_concern(record[k], float(t[k]), len(loose)) for k in loose[:1]),
        contact_count=record[:, PRESSING].astype(int),
        penetration=record[:, OVERLAP],
        slip_speed=record[:, SLIP],
        sweeps=record[:, SWEEPS].astype(int),
        residual=record[:, CHANGE] / np.maximum(record[:, ALLOWED], np.finfo(float).tiny),
        asleep=record[:, ASLEEP].astype(int),
        pairs=run.pairs() if len(t) > 1 and failure is None else None,
        work=np.cumsum(record[:, [SUPPLIED, LOST, STEP_LOSS]], axis=0),
        impulses=run.impulses() if len(t) > 1 and failure is None else np.zeros((0, 3)),
    )


def _concern(record: np.ndarray, t: float, count: int) -> ValidityConcern:
    change = f"the last sweep changed a velocity by {record[CHANGE]:.2g} m/s"
    sweeps, steps = plural(int(record[SWEEPS]), "sweep"), plural(count, "step")
    reason = f"{DOUBT_CODE} impulses did not converge within {sweeps} in {steps}: {change}"
    return ValidityConcern(reason, t, "contacts", cures=("a larger max_sweeps", "a larger tolerance", "a shorter step"))


def _too_many(run: FreeBodyRun, t: float) -> Failure:
    k = int(run.table["too_many"])
    count = int(run.table["candidates"])
    title = f"{count} candidates for contact, more than max_contacts={run.sets[k].collisions.max_contacts}"
    more = f"collisions(..., max_contacts={2 * count})"
    return Failure(f"E514 {title}", "E514", t, {}, "", (more, "a shorter step: fast bodies may reach many other bodies"))
