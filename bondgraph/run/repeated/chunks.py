"""Many runs of a program in chunks, by threads and in the lanes of vectors: their numbers in; the ends of all out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from numbers import Integral
from threading import Event
from typing import TYPE_CHECKING, Any

import numpy as np

from bondgraph.emit.kernel import LANES, MANY
from bondgraph.errors import Problem, RunError
from bondgraph.methods import START
from bondgraph.output.progress import Progress
from bondgraph.run.integrators.leg import Selection
from bondgraph.run.outcome.judge import is_watched
from bondgraph.run.outcome.result import Result
from bondgraph.run.program import Program
from bondgraph.run.repeated.collected import Collected, Made, RunBatch
from bondgraph.run.repeated.ends import RunEnds, kept_of
from bondgraph.run.repeated.fields import UNBEGUN
from bondgraph.run.repeated.finished.screen import screens
from bondgraph.run.repeated.pace import Claims, Pace
from bondgraph.run.settings import Settings

if TYPE_CHECKING:
    from bondgraph.emit.kernel import LaneKernels
    from bondgraph.run.repeated.workspace import Workspace

FOR_EACH = 4
"""Runs for each lane in a call, at least: few lanes are idle while the last ones end."""


@dataclass(frozen=True)
class Crew:
    """So many threads may work at runs, with so many side by side in each (None for as many as the processor's vectors hold), at
    a pace that they share."""

    threads: int
    lanes: int | None
    pace: Pace

    @contextmanager
    def at_work(self, called_off: Event) -> Iterator[Callable[..., Iterable[Any]]]:
        """What does something for each of many, which an exception or an interrupt calls off."""
        if self.threads == 1:
            yield map
            return
        with ThreadPoolExecutor(self.threads) as pool:
            try:
                with ending(called_off):
                    yield pool.map
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise


@contextmanager
def ending(called_off: Event) -> Iterator[None]:
    """An exception or an interrupt in here calls off what others do."""
    try:
        yield
    except BaseException:
        called_off.set()
        raise


@dataclass(frozen=True, eq=False)
class Chunks:
    """How runs are made of which there are many.

    `wanted` are the sample times that are asked for, since the start and as dates; `ended` makes the result of a single run and
    says where it ended, and `workspace` gives one that nobody else has.
    """

    program: Program
    settings: Settings
    choice: Selection
    wanted: tuple[np.ndarray, np.ndarray]
    ended: Callable[..., tuple[Result, Made]]
    workspace: Callable[[], AbstractContextManager[Workspace]]

    def ends(
        self,
        blocks: tuple[np.ndarray, np.ndarray, np.ndarray],
        keep: Mapping[str, tuple[str, str]],
        machine: bool,
        crew: Crew,
        watch: bool,
        progress: bool,
    ) -> RunEnds:
        """Ends of runs of p, x and m (runs or 1, numbers), in machine code if that is there (`machine`), else one by one; those
        that cannot be ended there, too."""
        p, x0, m0 = blocks
        runs, width = max(map(len, blocks)), self.program.states
        kept, outputs = kept_of(self.program, keep)
        watched = watch and is_watched(self.program)
        collected = Collected(self.program, self.settings, self.wanted, self.ended, (x0, p, m0), kept)
        machine = machine and (outputs is None or outputs.is_machine_code)
        machine = machine and (not watched or screens(self.program))
        beside = self._in_lanes(crew.lanes, runs) if machine else None
        left: Sequence[int] = range(runs)
        called_off = Event()
        with Progress(self.program.name, runs, progress) as bar, crew.at_work(called_off) as each:
            if machine:
                counts = [sum(own.slot.size for own in kept if own.course is course) for course in (False, True)]
                batch = RunBatch.of(runs, width + self._powers, self.program.modes, len(self.wanted[0]), *counts)
                claims = Claims(runs, 1 if beside is None else FOR_EACH * beside.lanes, crew.pace, called_off)

                def work(pieces: Iterator[slice], beside: LaneKernels | None) -> None:
                    with self.workspace() as space, ending(called_off):
                        for piece in pieces:
                            space.many(blocks, piece, watched, batch, kept, outputs, beside, called_off)
                            bar.show(claims.begun)

                if crew.threads > 1:
                    work(claims.first(), None)
                if (hands := claims.shared_by(crew.threads)) == 1:
                    work(claims.pieces(), beside)
                else:
                    for _ in each(work, [claims.pieces() for _ in range(hands)], [beside] * hands):
                        continue
                for block in blocks:  # what is not finite is refused, even where nothing comes of it
                    batch.status[np.broadcast_to(~np.isfinite(block).all(axis=1), runs)] = UNBEGUN
                collected.take(batch)
                left = np.flatnonzero(batch.status).tolist()
            for done, _ in enumerate(each(collected.single, left)):
                bar.show(runs - len(left) + done)
        return collected.ends()

    def _in_lanes(self, lanes: int | None, runs: int) -> LaneKernels | None:
        """The kernels by which runs go side by side; None where each goes alone, as those with events, clocks, breaks of time or
        loops to be solved do."""
        if lanes is not None and not (isinstance(lanes, Integral) and lanes in (1, *LANES)):
            told = ", ".join(map(str, (1, *LANES)))
            raise RunError(Problem("E306", f"lanes = {lanes!r} runs do not go side by side", (f"there are: {told}",)))
        program = self.program
        alone = program.transitions or program.clocks or program.breaks or program.loops or self.choice.entry is not START
        if alone or lanes == 1 or program.in_lanes is None or (lanes is None and runs < MANY):
            return None
        from bondgraph.emit.machine import vector_width

        wide = vector_width() if lanes is None else lanes
        return program.in_lanes(wide) if 2 * runs > wide else None

    @property
    def _powers(self) -> int:
        return 0 if self.program.powers is None else int(self.program.powers.n_out)
