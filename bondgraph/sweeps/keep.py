"""Columns of a sweep: measures of a run, or functions of its `Result`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.errors import Problem, refusal
from bondgraph.quantities import real
from bondgraph.run.measures import Measure, measure_of, why_not
from bondgraph.run.program import Program
from bondgraph.run.results.result import Result

Keepable = str | Measure | Callable[[Result], object]
"""What `keep=` takes by name: a quantity, whose values at all samples are kept; a measure; or a function of the user's."""


@dataclass(frozen=True)
class Kept:
    """A column of numbers: its name, how they are taken, their unit, and their shape where it is known beforehand; whether that
    begins with the samples."""

    name: str
    take: Callable[[Any], object]
    unit: str = ""
    shape: tuple[int, ...] | None = None
    over_time: bool = False

    @property
    def described(self) -> str:
        """What it is, for comparing: a function is known by its name, one of `screwbond.models` by that in older files."""
        if isinstance(self.take, Measure):
            return self.take.stored
        module = self.take.__module__.removeprefix("screwbond.")
        return f"{module}:{getattr(self.take, '__qualname__', type(self.take).__qualname__)}"

    def __call__(self, result: Result) -> np.ndarray:
        """The numbers of a finished run, which is a `Result` for functions of the user's.

        Raises `ModelError` E365 where a function of the user's fails, or gives no numbers.
        """
        if isinstance(self.take, Measure):
            return self.take(result)
        try:
            given = self.take(result)
        except Exception as error:
            raise _failed(self, f"{type(error).__name__}: {error}") from error
        found = real(given)
        if found is None:
            raise _failed(self, f"it gives {type(given).__name__}, which is no number and no array of numbers")
        return found


def _failed(kept: Kept, why: str) -> Exception:
    title = f'what is to be kept as "{kept.name}" cannot be computed'
    cures = ("the function with the result of one run, graph.simulate(...), to see where", "nan where a run has no such number")
    return refusal("E365", title, *cures, about="sweep", why=why, places=())


def kept_of(given: Mapping[str, Keepable], program: Program, samples: int) -> tuple[tuple[Kept, ...], list[Problem]]:
    """What is to be kept, by the name of its column, and all that is wrong with it; a series has so many `samples`."""
    found, problems = [], []
    for name, wanted in given.items():
        measure = measure_of(wanted)
        if callable(measure) and not isinstance(measure, Measure):
            found.append(Kept(name, measure))
        elif wrong := why_not(measure, program):
            problems.append(Problem("E362", f'"{name}" cannot be kept: {wrong[0]}', (), (), wrong[1:]))
        elif isinstance(measure, Measure):
            of, over_time = measure.of_program(name, program), measure.kind.over_time
            found.append(Kept(name, measure, of.unit, (samples, *of.shape) if over_time else of.shape, over_time))
    return tuple(found), problems
