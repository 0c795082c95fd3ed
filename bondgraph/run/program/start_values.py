"""Named states and modes of a program at one time, as the start of another run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bondgraph.run.program.program import Program
from bondgraph.run_arguments import StartValues


def start_values(program: Program, x: np.ndarray, m: np.ndarray, parameters: Mapping[str, Any] | None = None) -> StartValues:
    values: dict[str, Any] = {}
    for name in program.mode_states:
        slot = program.layout[f"{name}.mode"]
        values[name] = program.mode_states[name][int(m[slot.start])]
    starts: set[int] = set()
    for name, slot in program.layout.slots.items():
        # States may have aliases: the first name is the proper one.
        if slot.is_state and slot.start not in starts:
            starts.add(slot.start)
            values[name] = np.array(slot.value_in(x))[()]
    return StartValues(values, parameters or {})
