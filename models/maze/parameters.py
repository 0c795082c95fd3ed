"""Parameters of a ball maze, with checks, the states of its course, and their rings."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from screwbond.models.studies.fields import check_record, declarations, number, vector
from screwbond.models.studies.reading import read_file, read_text

from bondgraph.errors import Problem

QUARTER = 0.5 * math.pi
FALLING, CENTRE = "falling", "centre"
"""The first and the last state of the course."""


@dataclass(frozen=True)
class MazeParameters:
    """A maze of rings that stands on edge and turns about its centre, a ball that rolls on them, and the two lead compensators.

    The ball rolls on the OUTSIDE of a ring, on top of it. Each ring has one gate, through which the ball falls to the next ring.
    The torque of the motor is u = k1 (s + z1)/(s + p1) q2 + k2 (s + z2)/(s + p2) (q1 - reference): q1 the angle of the maze,
    counterclockwise, q2 the position of the ball to the right. The reference is 0 until `begin`, then the angle that brings the
    gate of the ring to the top.

    Raises `ModelError` E530 for an invalid number, E531 for numbers that contradict each other.

    Source: Bortoff 2020, section 3. It gives no radii and inertias; the defaults have poles +-1.400 1/s and zeros +-.700 1/s
    on ring 1. Rings of centimetres are too small, since a landing at the speed v presses the ball .0736 s v deep.
    """

    gravity: float = number("m/s^2", "acceleration of the fall", 9.81, above=0.0)
    radii: tuple[float, ...] = vector(None, "m", "of the rings, from the outermost inward", (4.0, 3.25, 2.5, 1.75), above=0.0)
    gates: tuple[float, ...] = vector(
        None, "rad", "angle of the maze at which the gate of each ring is on top", (QUARTER, 0.0, QUARTER, 0.0)
    )
    ball_radius: float = number("m", "of the ball", 0.1, above=0.0)
    ball_mass: float = number("kg", "of the ball", 1e-3, above=0.0)
    ball_inertia: float = number("kg m^2", "of the ball, about its centre", 3.883e-5, above=0.0)
    maze_inertia: float = number("kg m^2", "of the maze, about its axis", 3.745e-3, above=0.0)
    alpha1: float = number("1/s", "of the constraints, h'' + alpha1 h' + alpha0 h = 0", 10.0, above=0.0)
    alpha0: float = number("1/s^2", "of the constraints", 25.0, above=0.0)
    k1: float = number("N", "gain of the loop that holds the ball", 0.32)
    lead1: tuple[float, float] = vector(2, "1/s", "z1 and p1: its zero is at -z1, its pole at -p1", (0.6, 10.0), least=0.0)
    k2: float = number("N m/rad", "gain of the loop that turns the maze", 0.04)
    lead2: tuple[float, float] = vector(2, "1/s", "z2 and p2: its zero is at -z2, its pole at -p2", (0.05, 5.0), least=0.0)
    begin: float = number("s", "when the reference begins", 10.0, least=0.0)
    height: float = number("m", "of the ball above the outermost ring at the start", 0.04905, above=0.0)
    aside: float = number("m", "place of the ball to the right at the start", 0.0)

    def __post_init__(self) -> None:
        check_record(self, "E530", "ball maze", _contradictions)

    @property
    def rings(self) -> range:
        """Numbers of the rings, 1 the outermost."""
        return range(1, len(self.radii) + 1)

    @property
    def states(self) -> dict[str, int]:
        """States of the course in order, each with the ring that the ball is on, or falls to; in the centre the last."""
        last = self.rings[-1]
        between = {name: i + of for i in self.rings for name, of in ((ring(i), 0), (gate(i), 1)) if i + of <= last}
        return {FALLING: 1, **between, CENTRE: last}

    def distance(self, i: int) -> float:
        """Return the distance from the centre of the maze to that of a ball on ring i, m."""
        return self.radii[i - 1] + self.ball_radius

    @property
    def place(self) -> tuple[float, float]:
        """Position of the ball at the start, m: to the right and up, `height` above the point of the outermost ring below it."""
        return self.aside, math.sqrt(self.distance(1) ** 2 - self.aside**2) + self.height

    def turn(self, i: int) -> float:
        """Return the angle by which the maze turns while the ball is on ring i, rad, counterclockwise."""
        return self.gates[i - 1] - (self.gates[i - 2] if i > 1 else 0.0)

    @classmethod
    def from_json(cls, text: str, file: str = "maze") -> MazeParameters:
        """Return the parameters of a JSON object, by default those of the paper. Raises `ModelError` E402 to E407, E530, E531."""
        return read_text(text, file, lambda section: section.read(cls), cls)

    def to_json(self) -> str:
        """Return the JSON text that `from_json` reads."""
        return json.dumps(asdict(self), indent=1) + "\n"


UNITS = {name: declared.unit for name, declared in declarations(MazeParameters).items()}
"""Unit of every parameter."""


def ring(i: int) -> str:
    """Return the name of the state in which the ball is on ring i."""
    return f"ring {i}"


def gate(i: int) -> str:
    """Return the name of the state in which the ball falls through the gate of ring i."""
    return f"gate {i}"


def read_maze(path: str | os.PathLike[str]) -> MazeParameters:
    """Return the parameters of a JSON file. Raises `ModelError` E401 if it cannot be read; else as `MazeParameters.from_json`."""
    return read_file(path, lambda section: section.read(MazeParameters), MazeParameters)


def _contradictions(p: MazeParameters) -> Iterator[Problem]:
    """Yield the contradictions between valid numbers."""
    if not p.radii or len(p.gates) != len(p.radii):
        title = f"{len(p.radii)} rings of a ball maze have {len(p.gates)} gates"
        yield Problem("E531", title, cures=("one radius and one gate for each ring, from the outermost inward",))
        return
    wide = 2.0 * p.ball_radius
    for i, (outer, inner) in enumerate(zip(p.radii, (*p.radii[1:], None), strict=True), start=1):
        if inner is None and outer <= p.ball_radius:
            title = f"the ball, {wide:g} m wide, does not fit into the innermost ring, {2 * outer:g} m wide"
            yield Problem("E531", title, cures=("a smaller ball_radius, or a larger ring",))
        elif inner is not None and outer - inner <= wide:
            title = f"the ball, {wide:g} m wide, does not fit between ring {i} and ring {i + 1}: {outer - inner:g} m"
            cure = "radii that descend by more than the ball's diameter, or a smaller ball_radius"
            yield Problem("E531", title, cures=(cure,))
        if not 0.0 < abs(p.turn(i)) < 2.0 * math.pi:
            title = f"the gate of ring {i} comes to the top when the maze turns by {p.turn(i):g} rad from where it is"
            cure = "gates that differ by less than a turn from one ring to the next, and the first of them from 0"
            yield Problem("E531", title, ("it needs less than a turn, but not zero",), cures=(cure,))
    if abs(p.aside) >= p.distance(1):
        title = f"the ball starts {abs(p.aside):g} m aside and falls beside the maze"
        yield Problem("E531", title, cures=(f"an `aside` of less than {p.distance(1):g} m",))
    for name in ("lead1", "lead2"):
        if getattr(p, name)[1] == 0.0:
            title = f"the pole of {name} is at zero, so that its output runs away"
            yield Problem("E531", title, cures=("a pole at -p with p above 0",))
