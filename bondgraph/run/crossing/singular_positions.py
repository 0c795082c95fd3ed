"""Passage of a run through singular positions on the branch on which it arrives: `simulate(singular="keep")`.

Where constraints lose rank, the equations do not determine on which branch the motion continues: close to such a position,
numerical errors select the branch. States along one branch are smooth in time, so a polynomial through a short run before the
position extrapolates them to shortly after the position; on both sides they are moved onto the constraints. The run then
continues: velocities are continuous, and energy is conserved to the error of the extrapolation. (Bayo, Avello 1994.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from numpy.polynomial import Chebyshev

from bondgraph.output.progress import Progress
from bondgraph.run.bound import Bound
from bondgraph.run.clock_schedule import ClockSchedule
from bondgraph.run.events.records import Events
from bondgraph.run.hybrid import Hybrid, result_of
from bondgraph.run.program import Program
from bondgraph.run.results.outputs import Outputs
from bondgraph.run.results.result import Result, Statistics
from bondgraph.run.settings import Settings
from bondgraph.run.steppers.segment import Selection
from bondgraph.run.validation.checked_result import rank_loss
from bondgraph.run.validation.constraint_matrix import ConstraintMatrix
from bondgraph.run.validation.constraint_rank import RankLoss, roots_along

END_ROOT = 0.02
"""Square root of the smallest eigenvalue of the scaled constraint matrix (`validation.constraint_rank`) at both ends of the
passage, as a fraction of its earlier maximum."""

SLOPE_ROOT = 0.1
"""Smallest value of this root, as a fraction of its maximum, at the point that gives its slope towards zero."""

BASE_LENGTH = 8.0
"""Length of the interval before the passage from which states are extrapolated, in half-widths."""

DEGREE, NODES = 6, 13
"""Degree of the extrapolating polynomial and number of its points; an error in the points grows at most 200-fold."""

APPROACH_RTOL = 1e-3
"""Relative tolerance of the run that computes the points of the polynomial, as a fraction of rtol."""

MIN_APPROACH_RTOL = 1e-12
"""Minimum relative tolerance of this run, unless rtol is smaller."""

NEWTON_STEPS, DIFFERENCE, RANK = 3, 1e-6, 1e-6
"""NEWTON_STEPS Newton steps move states onto the constraints on both sides of a passage, with finite differences of the fraction
DIFFERENCE of the sizes of states. Constraints with relative singular values below RANK are redundant there."""


Start = tuple[float, np.ndarray, np.ndarray, np.ndarray]
"""Time (s) since the start of the whole run, states (n,), modes (modes,) and integrated powers (powers,)."""


@dataclass(frozen=True, eq=False)
class RunPart:
    """Part of a run: its `result`, and its actual end: t (s), x (n,), m (modes,) and the integrated powers q (powers,), measured
    from the start of the run."""

    result: Result
    t: float
    x: np.ndarray
    m: np.ndarray
    q: np.ndarray


def pass_singular_positions(
    first: RunPart, settings: Settings, choice: Selection, bar: Progress
) -> tuple[RunPart, RankLoss | None]:
    """Return the whole run that begins with this part, and the loss of rank that it could not pass, or None.

    A run does not pass contradictory constraints, positions close to an event, to the start of a part or to the end of the run,
    or any singular position of a model with clocks or time breaks.
    """
    program, parts, part = first.result.program, [first], first
    may_pass = not program.clocks and program.breaks is None
    while True:
        loss = rank_loss(part.result, settings.t_start, part.t, part.x, arrival=True)
        crossed = None if loss is None or not may_pass else _cross(part, loss, settings, choice, bar)
        if crossed is None:
            return _joined(parts), loss
        parts[-1:] = crossed
        part = parts[-1]


def _cross(part: RunPart, loss: RankLoss, settings: Settings, choice: Selection, bar: Progress) -> tuple[RunPart, RunPart] | None:
    half = None if loss.contradiction else _half_width(part.result, loss.time, settings)
    if half is None:
        return None
    result, low, near, far = part.result, loss.time - (1.0 + BASE_LENGTH) * half, loss.time - half, loss.time + half
    k = int(np.searchsorted(result.since, low))
    events = result.events.since
    if k == 0 or far >= settings.span or np.any((result.since[k - 1] <= events) & (events <= loss.time)):
        return None
    nodes = low + (near - low) * 0.5 * (1.0 - np.cos(np.pi * np.arange(NODES) / (NODES - 1)))
    tolerance = min(settings.rtol, max(APPROACH_RTOL * settings.rtol, MIN_APPROACH_RTOL))
    start, m, closure = result.since[k - 1], result.m[k - 1], _Closure(result.rows(np.arange(k)), settings.t_start)
    at_k = start, closure.nearest(start, result.x[k - 1], m), m, result.integrals[k - 1]
    inside = settings.times[(settings.times > start) & (settings.times < far)]
    dates = np.union1d(nodes, inside[inside <= near])
    approach = _run(result.program, settings.of_run(rtol=tolerance), at_k, dates, choice, bar).result
    if approach.failure is not None:
        return None
    course, times = np.hstack([approach.x, approach.integrals]), inside[inside > near]
    at_nodes = course[np.isin(approach.since, nodes)]
    passed = np.array([Chebyshev.fit(nodes, column, DEGREE)(np.append(times, far)) for column in at_nodes.T]).T
    rows = np.vstack([course[np.isin(approach.since, inside)], passed[:-1]])
    (x, end), (q, end_q) = ((part[:-1], part[-1]) for part in np.split(np.vstack([rows, passed[-1:]]), [len(part.x)], axis=1))
    end = closure.nearest(far, end, m)
    before = replace(
        result,
        t=np.append(result.t[:k], settings.t_start + inside),
        since=np.append(result.since[:k], inside),
        x=np.vstack([result.x[:k], x]),
        m=np.vstack([result.m[:k], np.tile(m, (len(inside), 1))]),
        integrals=np.vstack([result.integrals[:k], q]),
        events=result.events.select(events <= start),
        failure=None,
    )
    after = _run(result.program, settings, (far, end, m, end_q), settings.times[settings.times > far], choice, bar)
    return RunPart(before, far, end, m, end_q), after


def _half_width(result: Result, time: float, settings: Settings) -> float | None:
    count = int(np.searchsorted(result.since, time))
    if count < 2:
        return None
    constraints = ConstraintMatrix(result.program, result.p, settings.t_start)
    roots = roots_along(constraints, result.since[:count], result.x[:count], result.m[:count])
    seen = np.flatnonzero(roots > SLOPE_ROOT * roots.max())
    k = int(seen[-1])
    return float(END_ROOT * roots.max() / roots[k] * (time - result.since[k])) if roots[k] > 0.0 else None


class _Closure:
    """Violations of the constraints of a run, and their flows, as functions of the states."""

    def __init__(self, result: Result, origin: float):
        self.program, self.p, self.origin = result.program, result.p, origin
        slots = [result.program.layout[f"{path}.h"] for path in dict.fromkeys(result.program.closing.owners)]  # type: ignore[union-attr]
        self.slots = [slot for slot in slots if slot.is_output]
        sizes = np.abs(result.x).max(axis=0)
        for slot in result.program.layout.slots.values():  # components that only rounding moves have no size of their own
            if slot.block == "x" and slot.size > 1:
                sizes[slot.start : slot.stop] = sizes[slot.start : slot.stop].max()
        self.sizes = np.where(sizes > 0.0, sizes, 1.0)

    def __call__(self, t: float, x: np.ndarray, m: np.ndarray) -> np.ndarray:
        program, times = self.program, np.full(len(x), self.origin + t)
        assert program.closing is not None and program.closures is not None
        outputs = Outputs(program, self.p, times, x, np.tile(m, (len(x), 1)))
        outputs.compute(self.slots)
        flows = program.closures.many(times[:, None], x, self.p, m)[:, : len(program.closing.flows)]
        return np.hstack([*(outputs[slot] for slot in self.slots), flows])

    def nearest(self, t: float, x: np.ndarray, m: np.ndarray) -> np.ndarray:
        steps = DIFFERENCE * np.diag(self.sizes)
        for _ in range(NEWTON_STEPS):
            values = self(t, np.vstack([x, x + steps, x - steps]), m)
            ahead, behind = np.split(values[1:], 2)
            jacobian = (ahead - behind).T / (2.0 * DIFFERENCE)
            norms = np.linalg.norm(jacobian, axis=1)
            norms = np.where(norms > 0.0, norms, 1.0)
            x = x - self.sizes * np.linalg.lstsq(jacobian / norms[:, None], values[0] / norms, rcond=RANK)[0]
        return x


def _run(program: Program, settings: Settings, start: Start, times: np.ndarray, choice: Selection, bar: Progress) -> RunPart:
    begin, x, m, q = start
    since = np.append(begin, times)
    date = settings.t_start + begin
    more = settings.of_run(x=x, m=m, t_start=date, span=since[-1] - begin, times=since - begin, dates=settings.t_start + since)
    bound = Bound(program, settings.p, date, more.span)
    run = Hybrid(bound, more, ClockSchedule(bound, date, date + more.span, more.max_steps), bar)
    run.run(choice)
    run.examine()
    result = result_of(run, choice, 0.0)
    result = replace(
        result, since=since[: len(result.t)], integrals=q + result.integrals, events=result.events.with_earlier_start(begin)
    )
    return RunPart(result, begin + run.t, run.x, run.m, q + run.q)


def _joined(parts: list[RunPart]) -> RunPart:
    first, last = parts[0].result, parts[-1]
    results = [first, *(part.result.rows(np.arange(1, len(part.result.t))) for part in parts[1:])]
    result = replace(
        last.result,
        t=np.concatenate([each.t for each in results]),
        since=np.concatenate([each.since for each in results]),
        x=np.vstack([each.x for each in results]),
        m=np.vstack([each.m for each in results]),
        integrals=np.vstack([each.integrals for each in results]),
        start_energies=first.start_energies,
        events=Events.joined([each.events for each in results]),
        statistics=reduce(Statistics.__add__, [each.statistics for each in results]),
    )
    return replace(last, result=result)
