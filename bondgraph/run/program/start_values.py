"""A program with its states and modes at one time in; the same by name, for another run to start from, out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bondgraph.run.program.program import Program
from bondgraph.run_arguments import StartValues


def start_values(program: Program, x: np.ndarray, m: np.ndarray, parameters: Mapping[str, Any] | None = None) -> StartValues:
    """States x (n,) and modes m (modes,) of a program by name."""
    found: dict[str, Any] = {}
    for name in program.mode_states:
        slot = program.layout[f"{name}.mode"]
        found[name] = program.mode_states[name][int(m[slot.start])]
    places: set[int] = set()
    for name, slot in program.layout.slots.items():
        # A state has aliases too: the first name is its own.
        if slot.block == "x" and slot.start not in places:
            places.add(slot.start)
            found[name] = np.array(x[slot.start : slot.stop]).reshape(slot.shape)[()]
    return StartValues(found, parameters or {})
