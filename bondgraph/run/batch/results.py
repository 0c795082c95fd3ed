"""What is kept of many runs: names and kinds in; where their numbers lie, and those of every run by name, out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bondgraph.emit.kernel import Kernel
from bondgraph.errors import Problem, ProblemError, RunError
from bondgraph.output.short_repr import short_repr
from bondgraph.run.batch import loop
from bondgraph.run.program import Program, Slot
from bondgraph.run.results.failure import Failure, ValidityConcern
from bondgraph.run.results.result import Result
from screws.renamed import answer_old_names

KINDS = ("last", "max", "min", "integral", "mean", "course")
_CODES = {"last": loop.LAST, "max": loop.LARGEST, "min": loop.SMALLEST, "integral": loop.INTEGRAL, "mean": loop.INTEGRAL}
_SOURCES = {"x": loop.ROW, "out": loop.OUTPUT, "m": loop.MODE}


@dataclass(frozen=True)
class KeptOfRun:
    """Something that is kept: its name there, what of which quantity, and places of its numbers in the source."""

    name: str
    what: str
    of: str
    slot: Slot
    places: tuple[int, ...]

    @property
    def course(self) -> bool:
        """Whether it is kept at all samples."""
        return self.what == "course"

    @property
    def kind(self) -> int:
        """What machine code does with its values."""
        return _CODES[self.what]

    def sources(self) -> list[tuple[int, int]]:
        """Of each number its source and its place in that."""
        return [(_SOURCES[self.slot.block], place) for place in self.places]

    def measured(self, result: Result) -> np.ndarray:
        """The same of a finished run, (*shape) or (samples, *shape)."""
        values = np.asarray(result[self.of], dtype=float)
        if self.course:
            return values
        if self.what in ("integral", "mean"):
            steps = np.diff(result.since).reshape(-1, *[1] * (values.ndim - 1))
            parts = steps * (values[:-1] + values[1:]) * 0.5
            total = np.add.accumulate(parts)[-1] if len(parts) else np.zeros(values.shape[1:])
            return np.asarray(over_time(total, float(result.since[-1])) if self.what == "mean" else total)
        if self.what == "last":
            return np.asarray(values[-1])
        return np.asarray((np.fmax if self.what == "max" else np.fmin).reduce(values))


def over_time(integral: np.ndarray, length: float) -> np.ndarray:
    """Means of what was integrated over the samples, so long in all, s; nan where there is but one sample."""
    return integral / length if length > 0.0 else np.full_like(integral, np.nan)


def kept_of(program: Program, keep: Mapping[str, tuple[str, str]]) -> tuple[tuple[KeptOfRun, ...], Kernel | None]:
    """What `keep` asks for, {"peak": ("max", "rotor.flow")}, and the kernel of the outputs among it.

    Raises `RunError` E345 for a kind that there is not, or a parameter; KeyError for an unknown name.
    """
    slots: dict[str, Slot] = {}
    cures = ('keep={"peak": ("max", "rotor.flow")}',)
    if not isinstance(keep, Mapping):
        raise RunError(Problem("E345", f"what is to be kept must be named, not {keep!r}"[:100], cures=cures))
    for name, asked in keep.items():
        what, of = asked if isinstance(asked, tuple) and len(asked) == 2 and isinstance(asked[1], str) else ("", "")
        slots[name] = program.layout[of] if what in KINDS else Slot("p", 0)
        if slots[name].block == "p":
            title = f'"{name}" cannot be kept: {asked!r}'
            why = "a parameter is what it is given" if what in KINDS else f"kinds: {', '.join(KINDS)}"
            raise RunError(Problem("E345", title, (why,), cures=cures))
    asked_for = tuple(dict.fromkeys(slot for slot in slots.values() if slot.block == "out"))
    kernel, starts = program.outputs, {slot: slot.start for slot in asked_for}
    if asked_for and program.choose is not None:
        kernel, places = program.choose(asked_for)
        starts = dict(zip(asked_for, places, strict=True))
    found = []
    for name, slot in slots.items():
        start = starts.get(slot, slot.start)
        found.append(KeptOfRun(name, *keep[name], slot, tuple(range(start, start + slot.size))))
    return tuple(found), kernel if asked_for else None


@answer_old_names
@short_repr
@dataclass(frozen=True)
class BatchResult:
    """Many finished runs, in the order of their points.

    Parameters
    ----------
    t, x, m, integrals : where each ended: time (runs,), s; states (runs, n), modes (runs, modes), integrated powers (runs,
        powers), J.
    steps, rejected, rates, events : counts (runs,).
    kept : what was asked for by name, (runs, *shape), or (runs, samples, *shape) for courses; NaN after the end of a run that
        ended early.
    failures, warnings : by the number of the run, why it ended early, and why it cannot be trusted though it reached its end.
    refused : by the number of the run, what is wrong with the numbers that it was given.
    """

    t: np.ndarray
    x: np.ndarray
    m: np.ndarray
    integrals: np.ndarray
    steps: np.ndarray
    rejected: np.ndarray
    rates: np.ndarray
    events: np.ndarray
    kept: Mapping[str, np.ndarray]
    failures: Mapping[int, Failure]
    warnings: Mapping[int, Sequence[ValidityConcern]]
    errors: Mapping[int, ProblemError]

    def __len__(self) -> int:
        return len(self.t)

    def __getitem__(self, name: str) -> np.ndarray:
        """What was kept under a name."""
        return self.kept[name]

    @property
    def ok(self) -> np.ndarray:
        """Which runs reached their end and can be trusted, (runs,)."""
        bad = {*self.failures, *self.warnings, *self.errors}
        return np.array([k not in bad for k in range(len(self))], dtype=bool)


@answer_old_names
@dataclass(frozen=True)
class RunOutcome:
    """Where a run ended.

    Parameters
    ----------
    reached : whether that is the end that was asked for; `PreparedProgram.result` says why not.
    t, x, m, q : time since the start, s, states (n,), modes (modes,) and integrated powers (powers,), J.
    rows : states and integrated powers at the samples, (samples, n + powers); modes : at the samples, (samples, modes).
    steps, rates, events : counts of steps, evaluations and events.
    """

    completed: bool
    t: float
    x: np.ndarray
    m: np.ndarray
    q: np.ndarray
    rows: np.ndarray
    modes: np.ndarray
    steps: int
    rates: int
    events: int
