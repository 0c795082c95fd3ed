"""State machine of a ball maze: falling, ring 1, gate 1 ... centre, with guards and resets of its events.

Source: Bortoff 2020, section 3, fig. 9; four rings make its nine states.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from screwbond.models.maze.parameters import CENTRE, MazeParameters

from bondgraph import Automaton, Op, Transition
from screws.scalars import absolute, atan2, floor, minimum

COURSE = "course"
"""Name of the automaton."""

LANDS, FALLS = "lands on ring {}", "falls through gate {}"
"""Kinds of its events."""

ANGLE = r"#1 + \operatorname{atan2}((#2)_1, (#2)_2) - #3"

CLOSED = Op("-h", lambda h: -h, "-#1", "BO20 fig. 9")
PULLS = Op("-lambda", lambda force: -force, "-#1")
IDENTITY = Op("as it is", lambda q: q, "#1")
INSIDE = Op(
    "meets the ring from inside, below",
    lambda q, r, b: minimum(q[0] * q[0] + q[1] * q[1] - (r - b) * (r - b), -q[1]),
    r"\min\left(#1^T #1 - (#2 - #3)^2, -(#1)_2\right)",
)


def _gate_angle(maze: Any, ball: Any, gate: Any) -> Any:
    """Return the angle from the gate to the ball, clockwise, rad."""
    return maze + atan2(ball[0], ball[1]) - gate


TURNS = Op(
    "whole turns",
    lambda maze, ball, gate: -2.0 * math.pi * floor(-_gate_angle(maze, ball, gate) / (2.0 * math.pi)),
    rf"2\pi \left\lceil \tfrac{{1}}{{2\pi}} \left({ANGLE}\right) \right\rceil",
)
"""Turns that wrap the angle between ball and gate to (-2 pi, 0]: at a landing the gate is anywhere around the ring."""

AT_GATE = Op(
    "at the gate",
    lambda maze, ball, gate, turns: absolute(_gate_angle(maze, ball, gate) - turns + math.pi) - math.pi,
    rf"\left|{ANGLE} - #4 + \pi\right| - \pi",
    "BO20 (10), corrected",
)
"""Guard that is zero where the ball reaches the gate, from either side, after less than a turn."""


def maze_automaton(maze: MazeParameters) -> Automaton:
    """Return the state machine. It reads the coordinates `q`, both constraints, and the angle of the gate in `reference.k`.

    Two events end a run: the ball leaves a ring that would have to pull it, or meets the inner side of the innermost ring, which
    is outside the model.
    """
    states = tuple(maze.states)
    return Automaton(COURSE, states, states[0], tuple(_transitions(maze, states)))


def _transitions(maze: MazeParameters, states: tuple[str, ...]) -> Iterator[Transition]:
    copies = tuple((f"landing.{name}", IDENTITY, (f"q.{name}",)) for name in ("maze", "ball", "spin"))
    for i in maze.rings:
        before, on, after = states[2 * i - 2 : 2 * i + 1]
        turns = ("landing.turns", TURNS, ("q.maze", "q.ball", f"reference.k in {on}"))
        yield Transition(before, on, CLOSED, ("normal.h",), (*copies, turns), kind=LANDS.format(i))
        seen = ("q.maze", "q.ball", "reference.k", "landing.turns")
        yield Transition(on, after, AT_GATE, seen, kind=FALLS.format(i))
        lost = f"the ball leaves ring {i}: it has rolled so far down that the ring would have to pull it"
        yield Transition(on, on, PULLS, ("normal.multiplier",), kind=f"leaves ring {i}", error=lost)
    end = f"the ball is in the centre and meets the inner side of ring {maze.rings[-1]}, of which this model knows nothing"
    edge = ("q.ball", "normal.radius", "normal.ball_radius")
    yield Transition(CENTRE, CENTRE, INSIDE, edge, kind="reaches the far side", error=end)
