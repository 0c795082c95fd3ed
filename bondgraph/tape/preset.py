"""Preset: a routine and a number for a place of a block -> the routine with it in place; many such are one code."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from bondgraph.tape.routine import Alternatives, Routine
from bondgraph.tape.scalar import TapeScalar
from bondgraph.tape.specialise import specialise


@dataclass(frozen=True)
class Preset:
    """The routine `name`: a `shared` one with one number of one of its blocks given, and some of its outputs zero.

    `given` is (place in `block`, number), `zeros` are places of outputs.
    """

    name: str
    shared: Routine
    block: str
    given: tuple[int, float]
    zeros: tuple[int, ...] = ()

    @property
    def blocks(self) -> tuple[tuple[str, int], ...]:
        """Blocks of inputs."""
        return self.shared.blocks

    @property
    def sizes(self) -> tuple[int, ...]:
        """Length of each block."""
        return self.shared.sizes

    @property
    def outputs(self) -> tuple[TapeScalar | float, ...]:
        """Outputs of the shared routine: as many as its own."""
        return self.shared.outputs

    @property
    def number(self) -> int:
        """Which of the blocks it is."""
        return [listed for listed, _ in self.blocks].index(self.block)

    @functools.cached_property
    def reference(self) -> Routine:
        """The routine of steps of its own that does the same, with the given numbers folded in."""
        fixed = {(self.block, self.given[0]): self.given[1]}
        outputs: list[TapeScalar | float] = [*specialise(self.shared.tape, self.shared.outputs, fixed)]
        for place in self.zeros:
            outputs[place] = 0.0
        return Routine(self.name, self.shared.tape, self.blocks, tuple(outputs))


Code = Routine | Alternatives | Preset
"""All forms of a routine; each has `reference`, a straight line of steps."""
