"""Event handler of one run in machine code: builds its table from guards, times of events, log and samples, and exchanges
rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bondgraph.emit.kernel import Kernel
from bondgraph.run.bound import Bound
from bondgraph.run.events.guard_history import GuardHistory, trial_changes
from bondgraph.run.events.impacts.fired_transitions import by_name
from bondgraph.run.events.iteration import MAX_REST_ROUNDS
from bondgraph.run.events.log import NO_LABEL, Log, RowLayout, rest_label_indices
from bondgraph.run.events.reference.accumulation import AccumulationDetector
from bondgraph.run.events.reference.iteration import MAX_TRANSITIONS, MAX_TRANSITIONS_EACH, PROBE, SEGMENT_PART, TIME_RESOLUTION
from bondgraph.run.events.state import EventTable
from bondgraph.run.events.transitions import NO_TRANSITION
from bondgraph.run.program import RunTransition
from bondgraph.run.samples import SampleRows
from bondgraph.run.settings import Settings
from bondgraph.run.table import FieldTable

BUFFER_BYTES, _MIN_ROWS = 1 << 18, 64
"""Approximate size of the buffer of log rows that machine code fills before it hands them over, and least number of rows."""
FREE_BYTES = 1 << 26
"""Approximate bytes of free rows when an instant begins, unless it cannot need so many: unwritten memory costs only address
space. Once an instant has needed more, the number of free rows doubles."""


@dataclass(frozen=True)
class RunPoint:
    """Point of a run at an instant: t since its start, s; states (n,), integrated powers (quadratures,) and modes (modes,); the
    largest states at the ends of steps, (n,) or longer."""

    t: float
    x: np.ndarray
    q: np.ndarray
    m: np.ndarray
    reached: np.ndarray


_GOLDEN = 0x9E3779B97F4A7C15
"""Odd, and 2^64 divided by the golden ratio: its multiples lie far apart."""


class EventHandler:
    """Table with which machine code handles events. Its integrator adds its own arrays (`use_arrays`), and a run in Python its
    log and its samples (`bind_log`)."""

    def __init__(self, bound: Bound, settings: Settings, history: GuardHistory, accumulation: AccumulationDetector):
        self._bound, self.history, self.accumulation, self._most = bound, history, accumulation, settings.max_events
        program, edges = bound.program, bound.program.transitions
        layout, resting = RowLayout.of(program), rest_label_indices(edges)
        n, count = program.states, len(edges)
        turns = MAX_TRANSITIONS + MAX_TRANSITIONS_EACH * count
        self._most_noted = MAX_REST_ROUNDS * (turns + count)
        self.table = table = FieldTable(EventTable)
        for name in ("rates", "guards"):
            kernel = getattr(program, name)
            table.point(name, 0 if kernel is None else kernel.address or 0)
        table.point("p", bound.p)
        table.point("window", bound.window)
        for name in ("sizes", "by_x", "later", "bounces", "known_bounces", "p_factors"):
            table.point(name, getattr(history, name))
        table.point("p_near", history.p)
        table.point("trials", trial_changes(n))
        table.point("times", accumulation.times)
        table.point("counts", accumulation.counts)
        integers = {
            "slots": [edge.slot for edge in edges],
            "order": by_name(edges),
            "last": [edge.last for edge in edges],
            "self_loop": [edge.source == edge.target for edge in edges],
            "endless": [edge.error is None for edge in edges],
            "code_steps": [_mode_code_step(edge) for edge in edges],
            "may_rest": [edge.accumulates is not None for edge in edges],
            "rest_edges": _rest_edges(edges),
            "loop_counts": [len(loop.states) for loop in program.loops],
            "loop_places": [state for loop in program.loops for state in loop.states],
            "loop_kernels": [loop.kernel.address or 0 for loop in program.loops],
            "kept": bound.true_states,
        }
        for name, values in integers.items():
            table.point(name, np.array(values, dtype=np.int64))
        reals = {
            "sources": [edge.source for edge in edges],
            "targets": [edge.target for edge in edges],
            "rest_modes": [edge.target if edge.accumulates is None else edge.accumulates for edge in edges],
            "loop_inverse_sizes": [1.0 / size for loop in program.loops for size in loop.sizes],
            "loop_weights": [weight for loop in program.loops for weight in loop.weights],
            "loop_ones": [1.0 for loop in program.loops for _ in loop.states],
            "rest_labels": [resting.get(i, NO_LABEL) for i in range(count)],
        }
        for name, numbers in reals.items():
            table.point(name, np.array(numbers, dtype=float))
        self._lay_rows(layout.width, _rows_of(FREE_BYTES, layout.width))
        counts = {"n": n, "modes": program.modes, "parameters": program.parameters, "transitions": count, "turns": turns}
        counts |= {"quadratures": bound.quadratures, "loops": len(program.loops), "kept_count": len(bound.true_states)}
        counts |= {"width": n + bound.quadratures, "row_width": layout.width, "most_events": self._most}
        counts |= {"unknowns": max((len(loop.states) for loop in program.loops), default=0), "note_room": self._most_noted}
        table.allocate(**counts)
        scalars = {"start": settings.t_start, "origin": bound.origin, "span": bound.span, "rtol": settings.rtol}
        scalars |= {"probe": PROBE * bound.span, "segment_part": SEGMENT_PART, "time_resolution": TIME_RESOLUTION}
        for name, value in {**counts, **scalars}.items():
            table[name] = value
        self._waiting: list[int] = np.flatnonzero(_without_python(bound, settings)).tolist()
        self.ready()

    def ready(self) -> bool:
        """Update the kernels that have been compiled, and make room for missing rows; return True if rows were missing."""
        lacked = self._grow()
        self.refresh_kernels()
        return lacked

    def _grow(self) -> bool:
        """Double the free rows for an instant if one lacked some; the log is empty. Return True if one did."""
        lacked = bool(self.table["lacked"])
        if lacked:
            self._lay_rows(self._rows.shape[1], 2 * int(self.table["reserve"]))
        return lacked

    def _lay_rows(self, width: int, reserve: int) -> None:
        """Allocate the rows of the log; `reserve` of them, or as many as an instant can need, are free when it begins."""
        reserve = min(reserve, self._most_noted)
        self._use_rows(np.empty((_rows_of(BUFFER_BYTES, width) + 2 * reserve, width)), reserve)

    def trim_log(self) -> None:
        """Keep only the rows that an instant can need, and the least number of rows besides; the log is empty."""
        reserve = int(self.table["reserve"])
        self._use_rows(np.zeros((_MIN_ROWS + reserve, self._rows.shape[1])), reserve)

    def _use_rows(self, rows: np.ndarray, reserve: int) -> None:
        """Use these rows as the log, of which `reserve` are free when an instant begins."""
        self._rows = rows
        self.table.point("log", rows)
        for name, value in {"log_room": len(rows), "reserve": reserve, "lacked": 0}.items():
            self.table[name] = value

    def refresh_kernels(self) -> None:
        """Update the kernels that have been compiled; a kernel that was never needed is not compiled yet."""
        arrays, program, waiting = self.table.arrays, self._bound.program, list[int]()
        for i in self._waiting:
            named = {name: _kernel_of(getattr(program, name), i) for name in ("resets", "supplies", "pushes")}
            if all(kernel is None or (kernel.is_machine_code and kernel.is_made) for kernel in named.values()):
                for name, kernel in named.items():
                    arrays[name][i] = 0 if kernel is None else kernel.address
                arrays["ready"][i] = 1
            else:
                waiting.append(i)
        self._waiting = waiting

    def bind_log(self, log: Log, samples: SampleRows) -> None:
        """Write to this log, and to the modes of these samples."""
        self._log, self._samples = log, samples

    def use_arrays(self, arrays: dict[str, np.ndarray]) -> None:
        """Work on the arrays of an integrator."""
        for name in ("y", "m", "levels", "fired"):
            self.table.point(name, arrays[name])
        self.table.point("reached", arrays["size"])

    def handle_event(
        self, function: Callable[[int], int], at: RunPoint, fired: Sequence[int] = (), begun: float = 0.0
    ) -> RunPoint | None:
        """Handle an event, `fired` at the end of a segment that had `begun`, or at the start, in machine code (`function`);
        return None if that cannot."""
        n, count = len(at.x), len(self._bound.program.transitions)
        arrays = {"y": np.concatenate([at.x, at.q]), "m": at.m.copy(), "levels": np.zeros(count), "size": at.reached}
        marked = np.zeros(count, dtype=np.int64)
        marked[list(fired)] = 1
        self.use_arrays({**arrays, "fired": marked})
        self.table["t"], self.table["begun"] = at.t, begun
        self.before_call(self._samples.left)
        while not function(self.table.address):
            if not self._grow():
                return None
        self.after_call()
        return RunPoint(at.t, arrays["y"][:n], arrays["y"][n:], arrays["m"], at.reached)

    def begin(self, t: float, levels: np.ndarray) -> None:
        """Begin a segment at t with these levels (k,)."""
        self.table["begun"] = t
        self.table.arrays["levels_begun"][:] = levels

    def before_call(self, rows: np.ndarray) -> None:
        """Prepare a call of machine code that fills `rows`, the remaining rows of the samples."""
        self._grow()
        table = self.table
        table.point("rows", rows)
        table.point("held", self._samples.modes_left)
        table["seen"] = table["held_rows"] = table["logged"] = table["written"] = 0
        table["events_left"] = self._most - len(self._log)

    def after_call(self) -> int:
        """Add the rows of machine code to the log; return the number of rows of samples whose modes it has written."""
        self._log.take(self._rows[: int(self.table["logged"])])
        return int(self.table["held_rows"])

    def take_rows(self) -> np.ndarray:
        """Return the rows of the log (k, width) and free them for machine code."""
        table, rows = self.table, self._rows[: int(self.table["logged"])].copy()
        table["logged"], table["events_left"] = 0, table["events_left"] - len(rows)
        return rows

    def end_run(self, m: np.ndarray, modes: np.ndarray) -> np.ndarray:
        """End a run in the modes m since its last event: fill its `modes` (samples, modes) to the end, and return the remaining
        rows of its log, (k, width)."""
        modes[int(self.table["held_rows"]) + 1 :] = m
        return self.take_rows()

    @property
    def begun(self) -> tuple[float, np.ndarray]:
        """Start time of the present segment, and its levels then."""
        return float(self.table["begun"]), self.table.arrays["levels_begun"].copy()


def _rows_of(size: int, width: int) -> int:
    """Return the number of rows of this width in `size` bytes, or the least number."""
    return max(_MIN_ROWS, size // (8 * width))


def _without_python(bound: Bound, settings: Settings) -> np.ndarray:
    """Find the transitions (k,) that do not need Python: they end no run, and cause no simultaneous collisions."""
    program = bound.program
    possible = np.array([edge.error is None for edge in program.transitions], dtype=bool)
    collisions, alone = program.collisions, settings.impacts == "sequential"
    if collisions is not None and not (alone and not collisions.frictions):
        possible[[i for bounces in collisions.bounces for i in bounces]] = False
    if not all(loop.kernel.is_machine_code for loop in program.loops):
        possible[:] = False
    return possible


def _mode_code_step(edge: RunTransition) -> int:
    """Return the change of the code of modes by a transition; the code is the sum of each mode times a large number of its own,
    modulo 2^64."""
    step = int(edge.target - edge.source) * (2 * edge.slot + 1) * _GOLDEN % (1 << 64)
    return step - (1 << 64) if step >> 63 else step


def _rest_edges(edges: Sequence[RunTransition]) -> list[int]:
    """Return for each edge the one that leads to the state of rest in which a run continues if the edge accumulates,
    `NO_TRANSITION` if there is none."""
    indices = {(e.slot, e.source, e.target): i for i, e in reversed(list(enumerate(edges)))}
    return [
        NO_TRANSITION if e.accumulates is None else indices.get((e.slot, e.target, e.accumulates), NO_TRANSITION) for e in edges
    ]


def _kernel_of(kernels: tuple[Kernel | None, ...], index: int) -> Kernel | None:
    return kernels[index] if index < len(kernels) else None
