"""Shared parts of the file sinks: columns, metadata, buffering, and coded write errors."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from bondgraph.errors import FileError
from bondgraph.output.files import system_reason, write_error
from bondgraph.output.tables import component_names
from bondgraph.run_arguments import KeptQuantity

METADATA_KEY = "screwbond"
"""Key of the metadata, in formats that have keys."""


def run_metadata(model: str, kept: Sequence[KeptQuantity]) -> dict[str, Any]:
    """Return the metadata at the begin of a run: the model, and the unit of each quantity."""
    return {"model": model, "units": {"t": "s", **{quantity.name: quantity.unit for quantity in kept}}}


def end_metadata(wrong: str, valid: int) -> dict[str, Any]:
    """Return the metadata at the end of a run: empty if it is ok, else the reason and the number of valid samples."""
    return {"not ok": wrong, "valid samples": valid} if wrong else {}


def metadata_json(metadata: Mapping[str, Any]) -> str:
    """Return metadata as one line of JSON."""
    return json.dumps(metadata, ensure_ascii=False)


def table_columns(kept: Sequence[KeptQuantity]) -> list[tuple[str, str]]:
    """Return names and units of the columns of a table, "t" first; an array has one for each component."""
    columns = [("t", "s")]
    for quantity in kept:
        columns += [
            (name, quantity.unit if not quantity.shape else "") for name in component_names(quantity.name, quantity.shape)
        ]
    return columns


def table_rows(t: np.ndarray, values: Mapping[str, np.ndarray], kept: Sequence[KeptQuantity]) -> np.ndarray:
    """Return the numbers of these columns (k, columns)."""
    return np.hstack([t[:, None], *(values[quantity.name].reshape(len(t), -1) for quantity in kept)])


M = TypeVar("M", bound=Callable[..., Any])


def with_write_errors(method: M) -> M:
    """Decorate a method of a sink with a `_path`: it raises `FileError` E414 if the system cannot write."""

    @functools.wraps(method)
    def wrapper(self: Any, *arguments: Any, **keywords: Any) -> Any:
        try:
            return method(self, *arguments, **keywords)
        except FileError:
            raise
        except OSError as error:
            raise write_error(Path(self._path), system_reason(error)) from error

    return wrapper  # type: ignore[return-value]


BUFFER_SIZE = 2**18
"""Number of values that a write holds at least: 2 MB."""


class SampleBuffer:
    """Buffer that calls `write` with times (k,) and values by name (k, *shape) in large chunks."""

    def __init__(self, write: Callable[[np.ndarray, dict[str, np.ndarray]], object]):
        self._write = write
        self._chunks: list[tuple[np.ndarray, Mapping[str, np.ndarray]]] = []
        self._numbers = 0

    def take(self, t: np.ndarray, values: Mapping[str, np.ndarray]) -> None:
        """Append samples."""
        self._chunks.append((t, values))
        self._numbers += t.size + sum(array.size for array in values.values())
        if self._numbers >= BUFFER_SIZE:
            self.flush()

    def flush(self) -> None:
        """Write the buffered samples."""
        if self._chunks:
            times, values = zip(*self._chunks, strict=True)
            self._chunks, self._numbers = [], 0
            self._write(np.concatenate(times), {name: np.concatenate([each[name] for each in values]) for name in values[0]})
