"""Settling in machine code for one run: its courses, times of events, log and samples in; a table for machine code out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bondgraph.emit.kernel import Kernel
from bondgraph.run.bound import Bound
from bondgraph.run.events.guard_history import PAIRS, Courses, trials
from bondgraph.run.events.impacts.fired_transitions import by_name
from bondgraph.run.events.iteration import LEVELS
from bondgraph.run.events.log import PLAIN, Log, Rows, resting_notes
from bondgraph.run.events.reference.accumulation import Watch
from bondgraph.run.events.reference.iteration import OF_LEG, PROBE, TOLD, TURNS, TURNS_EACH
from bondgraph.run.events.reference.mode_search import MOST
from bondgraph.run.events.state import FIELDS
from bondgraph.run.events.transitions import NONE
from bondgraph.run.program import RunTransition
from bondgraph.run.samples import SampleRows
from bondgraph.run.settings import Settings
from bondgraph.run.table import FieldTable

BYTES, _FEWEST = 1 << 18, 64
"""Of the rows of the log that machine code fills before it hands them over, about; and how many there are at least."""
FREE = 1 << 26
"""Bytes of rows that are free when an instant begins, about, unless it cannot need so many: memory that no row is written to is
only an address. Where an instant has needed more, twice as many are free from then on."""


@dataclass(frozen=True)
class RunPoint:
    """Where a run is at an instant: t since its start, s; states (n,), integrated powers (quadratures,) and modes (modes,); how
    large states were at the ends of steps, (n,) at least."""

    t: float
    x: np.ndarray
    q: np.ndarray
    m: np.ndarray
    reached: np.ndarray


_GOLDEN = 0x9E3779B97F4A7C15
"""Odd, and 2^64 over the golden ratio: its multiples lie far apart."""


class Settler:
    """What machine code needs to settle events; the integrator that runs it gives it its own arrays, and a run in Python its log
    and its samples (`attend`)."""

    def __init__(self, bound: Bound, settings: Settings, courses: Courses, watch: Watch):
        self._bound, self.courses, self.watch, self._most = bound, courses, watch, settings.max_events
        program, edges = bound.program, bound.program.transitions
        layout, resting = Rows.of(program), resting_notes(edges)
        n, count, modes, turns = program.states, len(edges), program.modes, TURNS + TURNS_EACH * len(edges)
        self._most_noted = most_noted = LEVELS * (turns + count)
        self.table = table = FieldTable(FIELDS)
        for name in ("rates", "guards"):
            kernel = getattr(program, name)
            table.point(name, 0 if kernel is None else kernel.address or 0)
        table.point("p", bound.p)
        table.point("window", bound.window)
        for name in ("sizes", "by_x", "later", "bounces", "known_bounces", "p_factors"):
            table.point(name, getattr(courses, name))
        table.point("p_near", courses.p)
        table.point("trials", trials(n))
        table.point("times", watch.times)
        table.point("counts", watch.counts)
        wholes = {
            "slots": [edge.slot for edge in edges],
            "order": by_name(edges),
            "last": [edge.last for edge in edges],
            "own": [edge.source == edge.target for edge in edges],
            "endless": [edge.error is None for edge in edges],
            "code_steps": [_code(edge) for edge in edges],
            "may_rest": [edge.accumulates is not None for edge in edges],
            "rest_edges": _to_rest(edges),
            "loop_counts": [len(loop.states) for loop in program.loops],
            "loop_places": [place for loop in program.loops for place in loop.states],
            "loop_kernels": [loop.kernel.address or 0 for loop in program.loops],
            "kept": bound.true_states,
        }
        for name, values in wholes.items():
            table.point(name, np.array(values, dtype=np.int64))
        reals = {
            "sources": [edge.source for edge in edges],
            "targets": [edge.target for edge in edges],
            "rest_modes": [edge.target if edge.accumulates is None else edge.accumulates for edge in edges],
            "rest_said": [resting.get(i, PLAIN) for i in range(count)],
        }
        for name, numbers in reals.items():
            table.point(name, np.array(numbers, dtype=float))
        most = max((len(loop.states) for loop in program.loops), default=0)
        flags = "ready resets supplies pushes firm asked bounce open rising once left marked rested resting allowed"
        noted, tried = (
            dict.fromkeys(("watched", "noted_of", "counted"), most_noted),
            dict.fromkeys(("parents", "edges", "codes"), MOST),
        )
        table.lay({**dict.fromkeys(flags.split(), count), **noted, **tried}, np.int64)
        lengths = dict.fromkeys(["x_here", "x_after", "x_shift", "x_shifted", "x_near", "x_ahead", "x_start"], n)
        lengths |= dict.fromkeys(["speed", "speed_later"], n)
        lengths |= dict.fromkeys(["tried", "tried_after", "tried_size", "tried_speed", "tried_ahead"], n)
        lengths |= dict.fromkeys(["tried_now", "tried_soon"], count)
        lengths |= dict.fromkeys(["was", "now", "zero", "soon", "change", "least", "still", "levels_begun"], count)
        lengths |= {"m_here": modes, "m_after": modes, "m_start": modes, "near": 2 * PAIRS * count, "near_now": 2 * PAIRS * count}
        lengths |= {"speed_near": 2 * PAIRS * n, "pushed": count + n, "overwritten": most_noted}
        table.lay({**lengths, "newton": 2 * most, "newton_step": most, "newton_start": most})
        self._lay_rows(layout.width, _rows_of(FREE, layout.width))
        counts = {"n": n, "modes": modes, "parameters": program.parameters, "transitions": count, "turns": turns}
        counts |= {"quadratures": bound.quadratures, "loops": len(program.loops), "kept_count": len(bound.true_states)}
        counts |= {"width": n + bound.quadratures, "row_width": layout.width}
        counts["most_events"] = self._most
        places = {"start": settings.t_start, "origin": bound.origin, "span": bound.span, "rtol": settings.rtol}
        places |= {"probe": PROBE * bound.span, "of_leg": OF_LEG, "told": TOLD}
        for name, value in {**counts, **places}.items():
            table[name] = value
        self._waiting: list[int] = np.flatnonzero(_plain(bound, settings)).tolist()
        self.ready()

    def ready(self) -> bool:
        """Note the kernels that have been compiled since this was last asked, and make room for rows that were lacking: whether
        some were."""
        lacked = self._grow()
        self.learn()
        return lacked

    def _grow(self) -> bool:
        """Free more rows for an instant, where one has lacked some; the log is empty. Whether that was so."""
        lacked = bool(self.table["lacked"])
        if lacked:
            self._lay_rows(self._rows.shape[1], 2 * int(self.table["reserve"]))
        return lacked

    def _lay_rows(self, width: int, reserve: int) -> None:
        """Rows of the log, of which so many are free when an instant begins, or as many as it can need."""
        reserve = min(reserve, self._most_noted)
        self._rows = np.empty((_rows_of(BYTES, width) + 2 * reserve, width))
        self.table.point("log", self._rows)
        for name, value in {"log_room": len(self._rows), "reserve": reserve, "lacked": 0}.items():
            self.table[name] = value

    def learn(self) -> None:
        """Note the kernels that are there by now: what has never been needed is not compiled yet."""
        arrays, program, waiting = self.table.arrays, self._bound.program, list[int]()
        for i in self._waiting:
            named = {name: _at(getattr(program, name), i) for name in ("resets", "supplies", "pushes")}
            if all(kernel is None or (kernel.is_machine_code and kernel.is_made) for kernel in named.values()):
                for name, kernel in named.items():
                    arrays[name][i] = 0 if kernel is None else kernel.address
                arrays["ready"][i] = 1
            else:
                waiting.append(i)
        self._waiting = waiting

    def attend(self, log: Log, samples: SampleRows) -> None:
        """Fill this log, and the modes of these samples."""
        self._log, self._samples = log, samples

    def share(self, arrays: dict[str, np.ndarray]) -> None:
        """Work on the arrays of an integrator."""
        for name in ("y", "m", "levels", "fired"):
            self.table.point(name, arrays[name])
        self.table.point("reached", arrays["size"])

    def settle(
        self, function: Callable[[int], int], at: RunPoint, fired: Sequence[int] = (), begun: float = 0.0
    ) -> RunPoint | None:
        """Where a run is after what is due where it is, at the end of a leg that has `begun` then, or at the start, where machine
        code can settle that (`function`)."""
        n, count = len(at.x), len(self._bound.program.transitions)
        own = {"y": np.concatenate([at.x, at.q]), "m": at.m.copy(), "levels": np.zeros(count), "size": at.reached}
        marked = np.zeros(count, dtype=np.int64)
        marked[list(fired)] = 1
        self.share({**own, "fired": marked})
        self.table["t"], self.table["begun"] = at.t, begun
        self.depart(self._samples.left)
        while not function(self.table.address):
            if not self._grow():
                return None
        self.arrive()
        return RunPoint(at.t, own["y"][:n], own["y"][n:], own["m"], at.reached)

    def begin(self, t: float, levels: np.ndarray) -> None:
        """A leg begins at t with these levels (k,)."""
        self.table["begun"] = t
        self.table.arrays["levels_begun"][:] = levels

    def depart(self, rows: np.ndarray) -> None:
        """Machine code is about to fill `rows`, those of the samples that are left."""
        self._grow()
        table = self.table
        table.point("rows", rows)
        table.point("held", self._samples.modes_left)
        table["seen"] = table["held_rows"] = table["logged"] = table["written"] = 0
        table["events_left"] = self._most - len(self._log)

    def arrive(self) -> int:
        """It has come back: its rows go into the log. In how many rows of samples it has written the modes."""
        self._log.take(self._rows[: int(self.table["logged"])])
        return int(self.table["held_rows"])

    def emptied(self) -> np.ndarray:
        """The rows of the log (k, width), which machine code may fill anew."""
        table, rows = self.table, self._rows[: int(self.table["logged"])].copy()
        table["logged"], table["events_left"] = 0, table["events_left"] - len(rows)
        return rows

    def finished(self, m: np.ndarray, modes: np.ndarray) -> np.ndarray:
        """A run has ended in the modes m, which it has had since its last event: the rest of its log, (k, width), and its `modes`
        (samples, modes) to the end."""
        modes[int(self.table["held_rows"]) + 1 :] = m
        return self.emptied()

    @property
    def begun(self) -> tuple[float, np.ndarray]:
        """When the present leg began, and its levels then."""
        return float(self.table["begun"]), self.table.arrays["levels_begun"].copy()


def _rows_of(size: int, width: int) -> int:
    """Rows of this width in so many bytes, and not too few."""
    return max(_FEWEST, size // (8 * width))


def _plain(bound: Bound, settings: Settings) -> np.ndarray:
    """Which transitions (k,) can be taken without Python: that end no run, and in which nothing else collides."""
    program = bound.program
    found = np.array([edge.error is None for edge in program.transitions], dtype=bool)
    collisions, alone = program.collisions, settings.impacts == "sequential"
    if collisions is not None and not (alone and not collisions.frictions):
        found[[i for bounces in collisions.bounces for i in bounces]] = False
    if not all(loop.kernel.is_machine_code for loop in program.loops):
        found[:] = False
    return found


def _code(edge: RunTransition) -> int:
    """What a transition adds to the code of modes, the sum of each times a large number of its own, modulo 2^64."""
    found = int(edge.target - edge.source) * (2 * edge.slot + 1) * _GOLDEN % (1 << 64)
    return found - (1 << 64) if found >> 63 else found


def _to_rest(edges: Sequence[RunTransition]) -> list[int]:
    """For each edge the one that leads to the state in which a run goes on where it accumulates, `NONE` if there is none."""
    places = {(e.slot, e.source, e.target): i for i, e in reversed(list(enumerate(edges)))}
    return [NONE if e.accumulates is None else places.get((e.slot, e.target, e.accumulates), NONE) for e in edges]


def _at(kernels: tuple[Kernel | None, ...], index: int) -> Kernel | None:
    return kernels[index] if index < len(kernels) else None
