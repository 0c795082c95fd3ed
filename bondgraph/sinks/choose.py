"""Which sink: a path, a sink or a function in; what takes the samples of a run out."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bondgraph.errors import Problem, RunError
from bondgraph.output.files import known_ending
from bondgraph.run_arguments import KeptQuantity, Sink
from bondgraph.sinks.csv_file import CsvSink
from bondgraph.sinks.npz_file import NpzSink
from bondgraph.sinks.parquet_file import ParquetSink
from bondgraph.sinks.zarr_folder import ZarrSink

SINKS: Mapping[str, Callable[[str | os.PathLike[str]], Sink]] = {
    ".csv": CsvSink,
    ".npz": NpzSink,
    ".parquet": ParquetSink,
    ".zarr": ZarrSink,
}
"""The sink of each ending."""


class Observer(Sink):
    """A function that is called with times (k,) and values by name (k, *shape), and has no end."""

    def __init__(self, function: Callable[[np.ndarray, Mapping[str, np.ndarray]], object]):
        self._function = function

    def begin(self, model: str, kept: Sequence[KeptQuantity]) -> None: ...

    def take(self, t: np.ndarray, values: Mapping[str, np.ndarray]) -> None:
        self._function(t, values)

    def end(self, wrong: str, valid: int) -> None: ...

    def abandon(self) -> None: ...


def sink_for(given: object) -> Sink:
    """The sink that is meant: itself, that of a path by its ending, or one that calls a function of times and values.

    Raises `RunError` E348 for what is none of these, `FileError` E415 for an ending that no format has.
    """
    if isinstance(given, str | os.PathLike):
        return SINKS[known_ending(given, *SINKS)](given)
    if isinstance(given, Sink):
        return given
    if callable(given):
        return Observer(given)
    cures = (f'a path, "run.parquet"; endings: {", ".join(SINKS)}', "a function of times and values by name", "an own `Sink`")
    raise RunError(Problem("E348", f"{type(given).__name__} is no sink", ("samples cannot go there",), cures=cures))
