"""Outputs of a run, each evaluated once, on demand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bondgraph.run.program import Program, Slot
from screws.names.protection import read_only

if TYPE_CHECKING:
    from bondgraph.emit.kernel import Kernel

MAX_EAGER_NUMBERS = 2**21
"""Number of output values up to which all outputs are computed together (16 MB)."""

MAX_REQUESTS = 32
"""Number of requests after which all outputs are computed, because each request compiles its own kernel."""


def kernel_of(program: Program, slots: Sequence[Slot], samples: int) -> tuple[Kernel | None, Mapping[Slot, int]]:
    """Return the kernel of all outputs or, where that saves much work, of these slots only, and the index of each slot in its
    output; without slots or outputs, return None and no indices."""
    kernel, choose = program.outputs, program.choose
    if not slots or kernel is None:
        return None, {}
    is_small = kernel.n_out * samples <= MAX_EAGER_NUMBERS or 2 * sum(slot.size for slot in slots) > kernel.n_out
    if is_small or choose is None:
        return kernel, {slot: slot.start for slot in slots}
    small_kernel, starts = choose(tuple(slots))
    return small_kernel, dict(zip(slots, starts, strict=True))


class Outputs:
    """Outputs of a program at samples t (k,), x (k, n), m (k, modes) and parameters p (parameters,).

    If there are many values, only requested outputs are computed, for up to `MAX_REQUESTS` requests.
    """

    def __init__(self, program: Program, p: np.ndarray, t: np.ndarray, x: np.ndarray, m: np.ndarray):
        self._program, self._p, self._at = program, p, (t, x, m)
        self._computed: dict[tuple[int, int], np.ndarray] = {}
        self._requests = 0

    def __getitem__(self, slot: Slot) -> np.ndarray:
        self.compute((slot,))
        values = self._computed.get((slot.start, slot.size))
        return self.all[:, slot.start : slot.stop] if values is None else values

    def compute(self, slots: Iterable[Slot]) -> None:
        new = [slot for slot in slots if slot.size and (slot.start, slot.size) not in self._computed]
        if not new or "all" in self.__dict__ or self._program.choose is None:
            return
        kernel, starts = kernel_of(self._program, new, len(self._at[0]))
        self._requests += 1
        if kernel is None or kernel is self._program.outputs or self._requests > MAX_REQUESTS:
            starts, values = {slot: slot.start for slot in new}, self.all
        else:
            values = kernel.many(self._at[0], self._at[1], self._p, self._at[2])
        for slot in new:
            start = starts[slot]
            self._computed[slot.start, slot.size] = read_only(np.ascontiguousarray(values[:, start : start + slot.size]))

    @cached_property
    def all(self) -> np.ndarray:
        kernel, (t, x, m) = self._program.outputs, self._at
        return read_only(np.zeros((len(t), 0)) if kernel is None else kernel.many(t, x, self._p, m))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({name: read_only(value) for name, value in state.items()})

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_program": self._program.described(), "_computed": {}, "all": self.all}
