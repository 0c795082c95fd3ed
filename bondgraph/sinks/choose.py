"""Choice of a sink: from a path, by its ending, from a sink or from a function."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bondgraph.errors import Problem, RunError
from bondgraph.output.files import known_ending
from bondgraph.run_arguments import KeptQuantity, Sink
from bondgraph.sinks.file_sinks import CsvSink, NpzSink, ParquetSink, ZarrSink

SINKS: Mapping[str, Callable[[str | os.PathLike[str]], Sink]] = {
    ".csv": CsvSink,
    ".npz": NpzSink,
    ".parquet": ParquetSink,
    ".zarr": ZarrSink,
}
"""Sink of each file ending."""


class Observer(Sink):
    """Sink that calls a function with times (k,) and values by name (k, *shape)."""

    def __init__(self, function: Callable[[np.ndarray, Mapping[str, np.ndarray]], object]):
        self._function = function

    def begin(self, model: str, kept: Sequence[KeptQuantity]) -> None: ...

    def take(self, t: np.ndarray, values: Mapping[str, np.ndarray]) -> None:
        self._function(t, values)

    def end(self, wrong: str, valid: int) -> None: ...

    def abandon(self) -> None: ...


def sink_for(target: object) -> Sink:
    """Return the sink for a target: the target itself, that of a path by its ending, or an observer for a function.

    Raises `RunError` E348 for anything else, `FileError` E415 for an unknown ending.
    """
    if isinstance(target, str | os.PathLike):
        return SINKS[known_ending(target, *SINKS)](target)
    if isinstance(target, Sink):
        return target
    if callable(target):
        return Observer(target)
    cures = (f'a path, "run.parquet"; endings: {", ".join(SINKS)}', "a function of times and values by name", "an own `Sink`")
    raise RunError(Problem("E348", f"{type(target).__name__} is no sink", ("samples cannot go there",), cures=cures))
