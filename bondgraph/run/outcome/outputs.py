"""Outputs of a run: times, states and modes in; the values that are asked for, each computed once, out."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np

from bondgraph.run.program import Program, Slot

FEW = 2**21
"""So many numbers are computed at once, whatever is asked for: 16 MB."""

ASKED = 32
"""After so many requests all are computed: each took code of its own."""


class Outputs:
    """The outputs of a program at samples t (k,), x (k, n), m (k, modes) and parameters p (parameters,).

    Where all of them are many numbers, those that are asked for get a kernel of their own: what they do not need is neither
    computed nor kept.
    """

    def __init__(self, program: Program, p: np.ndarray, t: np.ndarray, x: np.ndarray, m: np.ndarray):
        self._program, self._p, self._at = program, p, (t, x, m)
        self._found: dict[tuple[int, int], np.ndarray] = {}
        self._requests = 0

    def __getitem__(self, slot: Slot) -> np.ndarray:
        """The numbers of a slot, (k, size)."""
        self.find((slot,))
        found = self._found.get((slot.start, slot.size))
        return self.all[:, slot.start : slot.stop] if found is None else found

    def find(self, slots: Iterable[Slot]) -> None:
        """Compute what is in these slots together."""
        new = [slot for slot in slots if slot.size and (slot.start, slot.size) not in self._found]
        choose, kernel = self._program.choose, self._program.outputs
        if not new or "all" in self.__dict__ or choose is None or kernel is None:
            return
        if kernel.n_out * len(self._at[0]) <= FEW:
            return
        self._requests += 1
        if self._requests > ASKED or 2 * sum(slot.size for slot in new) > kernel.n_out:
            places, values = tuple(slot.start for slot in new), self.all
        else:
            own, places = choose(tuple(new))
            values = own.many(self._at[0], self._at[1], self._p, self._at[2])
        for slot, place in zip(new, places, strict=True):
            self._found[slot.start, slot.size] = np.ascontiguousarray(values[:, place : place + slot.size])

    @cached_property
    def all(self) -> np.ndarray:
        """All outputs, (k, outputs)."""
        kernel, (t, x, m) = self._program.outputs, self._at
        return np.zeros((len(t), 0)) if kernel is None else kernel.many(t, x, self._p, m)

    def __getstate__(self) -> dict[str, Any]:
        """All of them, evaluated, without the code."""
        return {**self.__dict__, "_program": self._program.described(), "_found": {}, "all": self.all}
