"""Gathered samples: chunks of any size in; larger ones, which formats of columns need, out."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

MOST = 2**18
"""So many numbers are handed on together, or more where they come together: 2 MB."""


class Gathered:
    """Calls `write` with times (k,) and values by name (k, *shape), seldom."""

    def __init__(self, write: Callable[[np.ndarray, dict[str, np.ndarray]], object]):
        self._write = write
        self._chunks: list[tuple[np.ndarray, Mapping[str, np.ndarray]]] = []
        self._numbers = 0

    def take(self, t: np.ndarray, values: Mapping[str, np.ndarray]) -> None:
        """Some samples more."""
        self._chunks.append((t, values))
        self._numbers += t.size + sum(array.size for array in values.values())
        if self._numbers >= MOST:
            self.flush()

    def flush(self) -> None:
        """Hand on what is here."""
        if self._chunks:
            times, values = zip(*self._chunks, strict=True)
            self._chunks, self._numbers = [], 0
            self._write(np.concatenate(times), {name: np.concatenate([each[name] for each in values]) for name in values[0]})
