"""Event handler of one run in machine code, with a table of its guards, event times, log and samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bondgraph.run.bound import Bound, kernel_at, loop_arrays
from bondgraph.run.complementarity.layout import BoxArrays
from bondgraph.run.complementarity.table import box_table
from bondgraph.run.events.accumulation import WINDOW
from bondgraph.run.events.dead_centres import NO_MODE
from bondgraph.run.events.guard_history import GuardHistory, trial_changes
from bondgraph.run.events.guards import NO_TIME
from bondgraph.run.events.impacts.fired_transitions import EventLabel, by_name
from bondgraph.run.events.impacts.participants import SIMULTANEITY, CollisionOptions
from bondgraph.run.events.impacts.simultaneous import collide
from bondgraph.run.events.iteration import MAX_TRANSITIONS, MAX_TRANSITIONS_EACH, PROBE, SEGMENT_PART, TIME_RESOLUTION
from bondgraph.run.events.log import NO_LABEL, SCALARS, Log, RowLayout, known_labels, pass_label_indices, rest_label_indices
from bondgraph.run.events.state import HISTORY, EventTable
from bondgraph.run.events.transitions import NO_TRANSITION
from bondgraph.run.program import Program, RunTransition
from bondgraph.run.python_callbacks import PythonCallback, check_each
from bondgraph.run.samples import SampleRows
from bondgraph.run.settings import Settings
from bondgraph.run.table import FieldTable

BUFFER_BYTES, _MIN_ROWS = 1 << 18, 64
"""Approximate size, in bytes, and minimum number of rows of the buffer that machine code fills before it hands over log
rows."""
FREE_BYTES = 1 << 26
"""Approximate size, in bytes, of the free rows when an instant begins, unless less suffices. Unwritten memory costs only address
space, and the buffer doubles if an instant needs more."""


@dataclass(frozen=True)
class RunPoint:
    """State of a run at an instant.

    Parameters
    ----------
    t : time since the start of the run, s.
    x, q, m : states (n,), integrated powers (quadratures,) and modes (modes,).
    reached : largest sizes of states at the ends of steps, (n,) or longer.
    """

    t: float
    x: np.ndarray
    q: np.ndarray
    m: np.ndarray
    reached: np.ndarray


_GOLDEN = 0x9E3779B97F4A7C15
"""Odd number near 2^64 / 1.618 (golden ratio); its multiples modulo 2^64 lie far apart."""


class EventHandler:
    """Event handler of one run, with its table and its callbacks (`questions`). The integrator adds its arrays (`use_arrays`); a
    run in Python adds a log and samples (`bind_log`).

    Rows of the log refer to `labels`. `has_failed` is True after an exception in a callback, until `check` raises it again.
    """

    def __init__(self, bound: Bound, settings: Settings):
        self._bound, self.program, self.max_events = bound, bound.program, settings.max_events
        self.history = history = GuardHistory(bound, settings.span)
        program, edges = bound.program, bound.program.transitions
        layout, resting, passing = RowLayout.of(program), rest_label_indices(edges), pass_label_indices(edges)
        n, count = program.states, len(edges)
        max_rows = MAX_TRANSITIONS + MAX_TRANSITIONS_EACH * count
        self._layout, self._known_labels = layout, known_labels(edges)
        self._collisions = CollisionOptions(SIMULTANEITY * settings.rtol, sequential=settings.impacts == "sequential")
        colliding = _colliding(program, self._collisions)
        self.table = table = FieldTable(EventTable)
        for name, kernel in {"rates": program.rates, "guards": program.guards, "box_kernel": program.boxes}.items():
            table.point(name, 0 if kernel is None else kernel.address or 0)
        problems = BoxArrays(program.box_layouts, edges)
        table.point("box", box_table(problems.room))
        table.point("p", bound.p)
        table.point("window", bound.window)
        for name in ("sizes", "by_x", "later", "bounces", "known_bounces", "p_factors", "drift", "moved"):
            table.point(name, getattr(history, name))
        table.point("p_near", history.p)
        table.point("trials", trial_changes(n))
        integers = {
            "slots": [edge.slot for edge in edges],
            "order": by_name(edges),
            "last": [edge.last for edge in edges],
            "self_loop": [edge.source == edge.target for edge in edges],
            "continues": [edge.error is None for edge in edges],
            "collides": [i in colliding for i in range(count)],
            "code_steps": [_mode_code_step(edge) for edge in edges],
            "may_rest": [edge.accumulates is not None for edge in edges],
            "rest_edges": _rest_edges(edges),
            "pass_edges": [_edge_between(edges, e.slot, e.source, e.passes) for e in edges],
            "pass_stops": [_edge_between(edges, e.slot, e.passes, e.target) for e in edges],
            "loop_kernels": [loop.kernel.address or 0 for loop in program.loops],
            "kept": bound.true_states,
            **problems.integers,
        }
        of_loops = loop_arrays(program)
        integers |= {name: of_loops.pop(name) for name in ("loop_counts", "loop_places")}
        reals = {
            "sources": [edge.source for edge in edges],
            "targets": [edge.target for edge in edges],
            "rest_modes": [edge.target if edge.accumulates is None else edge.accumulates for edge in edges],
            "rest_labels": [resting.get(i, NO_LABEL) for i in range(count)],
            "pass_modes": [NO_MODE if edge.passes is None else edge.passes for edge in edges],
            "pass_labels": [passing.get(i, NO_LABEL) for i in range(count)],
            **problems.reals,
        }
        for name, values in integers.items():
            table.point(name, np.array(values, dtype=np.int64))
        for name, numbers in {**reals, **of_loops}.items():
            table.point(name, np.array(numbers, dtype=float))
        reserve = min(_rows_of(FREE_BYTES, layout.width), max_rows)
        table["reserve"] = reserve
        self._use_log_rows(np.empty((_rows_of(BUFFER_BYTES, layout.width) + 2 * reserve, layout.width)))
        counts = {"n": n, "modes": program.modes, "parameters": program.parameters, "transitions": count, "max_rows": max_rows}
        counts |= {"quadratures": program.quadratures, "loops": len(program.loops), "kept_count": len(bound.true_states)}
        counts |= {"width": n + program.quadratures, "row_width": layout.width, "most_events": self.max_events}
        counts |= {
            "unknowns": max((len(loop.states) for loop in program.loops), default=0),
            "max_fired": max_rows * (1 + len(colliding)),
            **problems.sizes,
        }
        table.allocate(**counts)
        scalars = {"start": settings.t_start, "origin": bound.origin, "span": bound.span, "rtol": settings.rtol}
        scalars |= {"probe": PROBE * bound.span, "segment_part": SEGMENT_PART, "time_resolution": TIME_RESOLUTION}
        scalars["time_seen"] = NO_TIME
        for name, value in {**counts, **scalars}.items():
            table[name] = value
        self._waiting = list(range(count))
        answers = {"compile_kernels": self._compile_kernels, "enlarge_log": self._enlarge_log, "collide": self._collide}
        self.has_failed = False
        self._callbacks = {name: PythonCallback(answer, self._stop, has_argument=True) for name, answer in answers.items()}
        for name, callback in self._callbacks.items():
            table.point(name, callback.address)
        self.ready()

    def ready(self) -> None:
        self.labels = self._known_labels
        if self._waiting:
            self._refresh_kernels()

    def _use_log_rows(self, rows: np.ndarray) -> None:
        self._rows = rows
        self.table.point("log", rows)
        self.table["log_room"] = len(rows)

    def trim_log(self) -> None:
        self._use_log_rows(np.zeros((_MIN_ROWS + 2 * int(self.table["reserve"]), self._layout.width)))

    def _refresh_kernels(self) -> None:
        arrays, program, waiting = self.table.arrays, self.program, list[int]()
        for i in self._waiting:
            named = {name: kernel_at(getattr(program, name), i) for name in ("resets", "supplies", "pushes")}
            if all(kernel is None or kernel.is_made for kernel in named.values()):
                for name, kernel in named.items():
                    arrays[name][i] = 0 if kernel is None else kernel.address
                arrays["ready"][i] = 1
            else:
                waiting.append(i)
        self._waiting = waiting

    # Callbacks of event handling.

    def _compile_kernels(self) -> int:
        requested = int(self.table["requested_transition"])
        for kernels in (self.program.resets, self.program.supplies, self.program.pushes):
            kernel = kernel_at(kernels, requested)
            assert kernel is None or kernel.address is not None
        self._refresh_kernels()
        return 0

    def _enlarge_log(self) -> int:
        rows = np.empty((2 * len(self._rows), self._layout.width))
        rows[: len(self._rows)] = self._rows
        self._use_log_rows(rows)
        return 0

    def _collide(self) -> int:
        table, arrays, layout = self.table, self.table.arrays, self._layout
        x, m, bounce = arrays["x_here"].copy(), arrays["m_here"].copy(), int(table["requested_transition"])
        collision = collide(self._bound, self.history, float(table["t"]), x, m, bounce, self._collisions)
        if collision is None:
            return 0
        fired, released = collision
        row, struck = self._rows[int(table["requested_row"])], fired.transitions
        if fired.label is not None:
            if fired.label not in self.labels:
                self.labels = [*self.labels, fired.label]
            row[SCALARS.index("label")] = self.labels.index(fired.label)
        row[layout.supplied], arrays["x_after"][:], arrays["m_after"][:] = fired.supplied, fired.x_after, fired.m_after
        arrays["struck"][: len(struck)], table["struck_count"] = struck, len(struck)
        table["answer"] = released[0] if released else NO_TRANSITION
        return 1

    @property
    def callback_addresses(self) -> list[int]:
        return [callback.address for callback in self._callbacks.values()]

    def _stop(self) -> int:
        self.table["stopped"], self.has_failed = 1, True
        return 0

    def check(self) -> None:
        self.has_failed = False
        check_each(callback.check for callback in self._callbacks.values())

    # Exchange with a run.

    def bind_log(self, log: Log, samples: SampleRows) -> None:
        self._log, self._samples = log, samples
        log.labels = self.labels

    def use_arrays(self, arrays: dict[str, np.ndarray]) -> None:
        for name in ("y", "m", "levels", "fired"):
            self.table.point(name, arrays[name])
        self.table.point("reached", arrays["size"])

    def handle_event(
        self, function: Callable[[FieldTable], object], at: RunPoint, fired: Sequence[int] = (), segment_start: float = 0.0
    ) -> RunPoint:
        n, count = len(at.x), len(self.program.transitions)
        arrays = {"y": np.concatenate([at.x, at.q]), "m": at.m.copy(), "levels": np.zeros(2 * count), "size": at.reached}
        marked = np.zeros(count, dtype=np.int64)
        marked[list(fired)] = 1
        self.use_arrays({**arrays, "fired": marked})
        self.table["t"], self.table["segment_start"] = at.t, segment_start
        self.before_call(self._samples.free_rows)
        function(self.table)
        check_each((self.check, self._bound.check))
        self.after_call()
        return RunPoint(at.t, arrays["y"][:n], arrays["y"][n:], arrays["m"], at.reached)

    def begin(self, t: float, levels: np.ndarray) -> None:
        self.table["segment_start"] = t
        self.table.arrays["start_levels"][:] = levels

    def before_call(self, rows: np.ndarray) -> None:
        table = self.table
        table.point("rows", rows)
        table.point("held", self._samples.free_modes)
        table["seen"] = table["held_rows"] = table["logged"] = table["written"] = 0
        table["events_left"] = self.max_events - len(self._log)

    def after_call(self) -> int:
        self._log.take(self._rows[: int(self.table["logged"])])
        self._log.labels = self.labels
        return int(self.table["held_rows"])

    def take_rows(self) -> np.ndarray:
        table, rows = self.table, self._rows[: int(self.table["logged"])].copy()
        table["logged"], table["events_left"] = 0, table["events_left"] - len(rows)
        return rows

    def end_run(self, m: np.ndarray, modes: np.ndarray) -> np.ndarray:
        modes[int(self.table["held_rows"]) + 1 :] = m
        return self.take_rows()

    @property
    def consultations(self) -> int:
        """Number of instants at which Python was asked to solve collisions, or an event ended the run."""
        return int(self.table["consultations"])

    @property
    def is_consistent(self) -> bool:
        return not self.table["outcome"]

    def suspect(self) -> tuple[int, EventLabel]:
        row = int(self.table["suspect"])
        if row < 0:
            return NO_TRANSITION, EventLabel("start", "")
        transition, label = (int(self._rows[row, SCALARS.index(name)]) for name in ("transition", "label"))
        edge = self.program.transitions[transition]
        return transition, EventLabel(edge.kind, edge.name) if label == NO_LABEL else self.labels[label]

    def last_times(self, transition: int) -> np.ndarray:
        count = int(self.table.arrays["counts"][transition])
        times = self.table.arrays["times"].reshape(-1, HISTORY)[transition]
        return times[np.arange(max(count - WINDOW, 0), count) % HISTORY]

    @property
    def segment_start(self) -> tuple[float, np.ndarray]:
        return float(self.table["segment_start"]), self.table.arrays["start_levels"].copy()


def _rows_of(size: int, width: int) -> int:
    return max(_MIN_ROWS, size // (8 * width))


def _colliding(program: Program, options: CollisionOptions) -> frozenset[int]:
    collisions = program.collisions
    if collisions is None or (options.sequential and not collisions.frictions):
        return frozenset()
    return frozenset(i for bounces in collisions.bounces for i in bounces)


def _mode_code_step(edge: RunTransition) -> int:
    """Return the change of the code of modes by a transition, where the code is the sum, modulo 2^64, of each mode times its
    own large number."""
    step = int(edge.target - edge.source) * (2 * edge.slot + 1) * _GOLDEN % (1 << 64)
    return step - (1 << 64) if step >> 63 else step


def _rest_edges(edges: Sequence[RunTransition]) -> list[int]:
    indices = {(e.slot, e.source, e.target): i for i, e in reversed(list(enumerate(edges)))}
    return [
        NO_TRANSITION if e.accumulates is None else indices.get((e.slot, e.target, e.accumulates), NO_TRANSITION) for e in edges
    ]


def _edge_between(edges: Sequence[RunTransition], slot: int, source: float | None, target: float | None) -> int:
    return next((i for i, e in enumerate(edges) if (e.slot, e.source, e.target) == (slot, source, target)), NO_TRANSITION)
