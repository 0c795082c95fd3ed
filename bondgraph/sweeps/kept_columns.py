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
"""Values of `keep=`: a quantity, kept at all samples; a measure; or a user's function of the result."""


@dataclass(frozen=True)
class Kept:
    """Column to keep: its name, the function that takes its numbers, their unit, and their shape where it is known beforehand;
    `over_time` where that begins with the samples."""

    name: str
    take: Callable[[Any], object]
    unit: str = ""
    shape: tuple[int, ...] | None = None
    over_time: bool = False

    @property
    def described(self) -> str:
        """Text for comparing plans: a function by its name, one of `screwbond.models` by its name in older files."""
        if isinstance(self.take, Measure):
            return self.take.stored
        module = self.take.__module__.removeprefix("screwbond.")
        return f"{module}:{getattr(self.take, '__qualname__', type(self.take).__qualname__)}"

    def __call__(self, result: Result) -> np.ndarray:
        """Return the numbers of a finished run, which is a `Result` for functions of the user's.

        Raises `ModelError` E365 where a function of the user's fails, or gives no numbers.
        """
        if isinstance(self.take, Measure):
            return self.take(result)
        try:
            value = self.take(result)
        except Exception as error:
            raise _failed(self, f"{type(error).__name__}: {error}") from error
        numbers = real(value)
        if numbers is None:
            raise _failed(self, f"it gives {type(value).__name__}, which is no number and no array of numbers")
        return numbers


def _failed(kept: Kept, why: str) -> Exception:
    title = f'what is to be kept as "{kept.name}" cannot be computed'
    cures = ("the function with the result of one run, graph.simulate(...), to see where", "nan where a run has no such number")
    return refusal("E365", title, *cures, about="sweep", why=why, places=())


def kept_of(keep: Mapping[str, Keepable], program: Program, samples: int) -> tuple[tuple[Kept, ...], list[Problem]]:
    """Return the columns of `keep=` and all their problems; a time series has `samples` values."""
    columns, problems = [], []
    for name, measured in keep.items():
        measure = measure_of(measured)
        if callable(measure) and not isinstance(measure, Measure):
            columns.append(Kept(name, measure))
        elif reasons := why_not(measure, program):
            problems.append(Problem("E362", f'"{name}" cannot be kept: {reasons[0]}', (), (), reasons[1:]))
        elif isinstance(measure, Measure):
            of, over_time = measure.of_program(name, program), measure.kind.over_time
            columns.append(Kept(name, measure, of.unit, (samples, *of.shape) if over_time else of.shape, over_time))
    return tuple(columns), problems
