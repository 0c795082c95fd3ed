"""Functional Mock-up Units (FMI 2.0 and 3.0, co-simulation) as sampled blocks of a graph."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bondgraph import Block
from bondgraph.interchange.fmu.unit import open_unit
from bondgraph.model.element import Element
from bondgraph.model.laws import SignalBlock
from bondgraph.model.ops import ForeignLibrary

__all__ = ["fmu_block"]


def fmu_block(
    path: str | Path,
    *,
    inputs: Mapping[str, str],
    outputs: Sequence[str],
    period: Any,
    offset: Any = 0.0,
    parameters: Mapping[str, float] | None = None,
    name: str | None = None,
) -> Element:
    """Return a block whose states are the outputs of an FMU (FMI 2.0 or 3.0, co-simulation), called at the ticks of a clock.

    At a tick the FMU steps from the previous tick to this tick, with the previous inputs; then it receives the inputs of this
    tick, and the block holds its outputs until the next tick. Direct feedthrough from an input to an output acts without delay,
    as in the graph. An FMU that computes its outputs only in its steps delivers them one period later. The FMU steps on its own
    grid, `offset` + count x `period`. Each run has its own instance.

    Opening the file unpacks it; a run executes its library, which may do anything: use only FMUs that you trust.

    Parameters
    ----------
    path : file of the FMU.
    inputs : signal for each input of the FMU, such as {"u.value": "error.y"}.
    outputs : variables of the FMU; each is the signal `<name>.<variable>`.
    period, offset : time between ticks, and time of the first tick, s.
    parameters : values of the FMU's parameters, which become parameters of the block.
    name : name of the block; by default that of the file without its extension.

    Raises `ModelError` E690 for an unsuitable file, E691 for variables that the FMU lacks or that are of another kind. A run
    raises `RunError` E692 with the FMU's own message if the FMU fails. Functions that need formulas refuse the block (E693).
    """
    name, parameters = name or Path(path).stem, dict(parameters or {})
    unit = open_unit(path, inputs, outputs, parameters)
    library = ForeignLibrary(Path(path).name, unit.archive.digest, tuple(inputs), tuple(outputs), tuple(parameters), unit=unit)
    locals_in = {f"in{k}": path for k, path in enumerate(inputs.values())}
    next_names = {state: f"next {state}" for state in library.states}
    starts = {each.name: each.start for each in unit.output_variables if math.isfinite(each.start)}
    *sampled, steps = library.states[len(outputs) :]
    block = Block(
        name,
        [
            *((next_names[state], lambda y: y, [state]) for state in outputs),
            *((next_names[state], lambda u: u, [word]) for state, word in zip(sampled, locals_in, strict=True)),
            (next_names[steps], lambda k: k + 1.0, [steps]),
        ],
        inputs=locals_in,
        states={**dict.fromkeys(library.states, 0.0), **starts},
        updates=next_names,
        parameters=parameters,
        units={each.name: each.unit for each in unit.output_variables},
        period=period,
        offset=offset,
    )
    return replace(block, law=replace(block.law_as(SignalBlock), library=library))
