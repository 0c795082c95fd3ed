"""Sink in memory, for runs without a sink."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bondgraph.run_arguments import KeptQuantity, Sink


class Memory(Sink):
    """Stores values in room for this number of samples: `values` by name, (samples, *shape)."""

    def __init__(self, samples: int):
        self._samples, self._written = samples, 0
        self.values: dict[str, np.ndarray] = {}

    def begin(self, model: str, kept: Sequence[KeptQuantity]) -> None:
        """Allocate the arrays."""
        self.values = {one.name: np.empty((self._samples, *one.shape)) for one in kept}

    def take(self, t: np.ndarray, values: Mapping[str, np.ndarray]) -> None:
        """Store the values."""
        for name, array in values.items():
            self.values[name][self._written : self._written + len(t)] = array
        self._written += len(t)

    def end(self, wrong: str, valid: int) -> None:
        """Drop invalid samples."""
        if valid < self._samples:
            self.values = {name: array[:valid].copy() for name, array in self.values.items()}

    def abandon(self) -> None:
        """Drop all values."""
        self.values = {}
