"""Statically indeterminate modes: which efforts and flows of ideal elements are not determined by their equations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

NULL_TOLERANCE = 1e-9
"""Relative size below which singular values, and entries of unit vectors, count as zero."""


@dataclass(frozen=True)
class Indeterminate:
    """A statically indeterminate mode: the distribution of an effort or flow over ideal elements is not unique, and that of least
    norm is taken. If `unique` is false, the motion is not unique either, which ends a run."""

    mode: Mapping[str, str]
    slots: Mapping[int, int]
    """Index of the state, by the slot of its automaton."""
    quantities: tuple[str, ...]
    unique: bool = True
    contradicts: bool = False
    """True if the equations have a solution only at some values of the states; a run that remains in the mode ends."""

    def __str__(self) -> str:
        return " and ".join(f'"{state}" of "{automaton}"' for automaton, state in self.mode.items())

    def marks(self, modes: np.ndarray) -> dict[str, np.ndarray]:
        """Return, for each quantity, a mask (k,) of the samples at which it is indeterminate, given their modes (k, slots)."""
        here = np.asarray(np.all([modes[:, slot] == state for slot, state in self.slots.items()], axis=0))
        return dict.fromkeys(self.quantities, here)


@dataclass(frozen=True)
class IndeterminateCircuits:
    """Statically indeterminate modes (states of self-stress) with too many circuits of elements to list."""

    basis: np.ndarray = field(compare=False)
    """Null vectors (n, k) of the equations of the elements while all elements are active."""
    gates: tuple[tuple[int, tuple[int, ...]] | None, ...]
    """Slot and states in which each element is active; None if it always is."""
    names: tuple[str, ...]
    """Indeterminate quantity of each row; empty if the row belongs to no element."""
    unique: bool = True
    contradicts: bool = False

    @property
    def quantities(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for name in self.names if name))

    def __str__(self) -> str:
        return "circuits of active ideal elements"

    def marks(self, modes: np.ndarray) -> dict[str, np.ndarray]:
        always = np.ones(len(modes), dtype=bool)
        holds = np.array([always if gate is None else np.isin(modes[:, gate[0]], gate[1]) for gate in self.gates]).T
        patterns, of_sample = np.unique(holds, axis=0, return_inverse=True)
        is_open = np.array([_open_rows(self.basis, pattern) for pattern in patterns])[np.ravel(of_sample)]
        marks = {name: np.zeros(len(modes), dtype=bool) for name in self.quantities}
        for name, column in zip(self.names, is_open.T, strict=True):
            if name:
                marks[name] = marks[name] | column
        return marks


def _open_rows(basis: np.ndarray, holds: np.ndarray) -> np.ndarray:
    """Return True for each row (n,) that is nonzero in some combination of a basis (n, k) whose entries vanish wherever `holds`
    is False."""
    _, values, right = np.linalg.svd(basis[~holds])
    space = basis @ right[int(np.sum(values > NULL_TOLERANCE * np.linalg.norm(basis, 2))) :].T
    return np.asarray(np.abs(space).max(axis=1, initial=0.0) > NULL_TOLERANCE)
