"""The course of a ball maze as a state machine: a maze in; falling, ring 1, gate 1 ... centre, with guards and resets, out.

Source: Bortoff 2020, section 3, fig. 9; four rings make its nine states.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator

from bondgraph import Automaton, Op, Transition
from models.maze.parameters import CENTRE, MazeParameters
from screws.scalars import atan2, minimum

COURSE = "course"
"""Name of the automaton."""

LANDS, FALLS = "lands on ring {}", "falls through gate {}"
"""Kinds of its events."""

CLOSED = Op("-h", lambda h: -h, "-#1", "BO20 fig. 9")
PULLS = Op("-lambda", lambda force: -force, "-#1")
KEPT = Op("as it is", lambda q: q, "#1")
INSIDE = Op(
    "meets the ring from inside, below",
    lambda q, r, b: minimum(q[0] * q[0] + q[1] * q[1] - (r - b) * (r - b), -q[1]),
    r"\min\left(#1^T #1 - (#2 - #3)^2, -(#1)_2\right)",
)


@functools.cache
def over_gate(sense: int) -> Op:
    """(q1, ball, gate) -> angle by which the ball is past the gate, in the sense (1 or -1) in which the maze turns.

    Source: Bortoff 2020 (10), where the factors r_m are too many.
    """
    latex = r"#1 + \operatorname{atan2}((#2)_1, (#2)_2) - #3"
    formula, text = (
        (lambda angle, ball, gate: angle + atan2(ball[0], ball[1]) - gate, latex)
        if sense > 0
        else (lambda angle, ball, gate: gate - angle - atan2(ball[0], ball[1]), rf"-\left({latex}\right)")
    )
    return Op("psi", formula, text, "BO20 (10), corrected")


@functools.cache
def from_behind(sense: int) -> Op:
    """(q1, ball, gate) -> how far the ball has gone beyond a whole turn away from the gate."""
    psi = over_gate(sense)
    return Op("-psi - 2 pi", lambda *given: -psi(*given) - 2.0 * math.pi, rf"-\left({psi.latex}\right) - 2\pi")


def course(maze: MazeParameters) -> Automaton:
    """The machine. It reads the coordinates `q`, both constraints, and in `reference.k` the angle of the gate.

    Besides the way to the centre it has what ends a run: the ball leaves a ring because that would have to pull, comes to the
    gate from behind, or meets the inner side of the innermost ring, of which the model knows nothing.
    """
    states = tuple(maze.states)
    return Automaton(COURSE, states, states[0], tuple(_transitions(maze, states)))


def _transitions(maze: MazeParameters, states: tuple[str, ...]) -> Iterator[Transition]:
    here = tuple((f"landing.{name}", KEPT, (f"q.{name}",)) for name in ("maze", "ball", "spin"))
    for i in maze.rings:
        before, on, after = states[2 * i - 2 : 2 * i + 1]
        sense = 1 if maze.turn(i) > 0.0 else -1
        seen = ("q.maze", "q.ball", "reference.k")
        yield Transition(before, on, CLOSED, ("normal.h",), here, kind=LANDS.format(i))
        yield Transition(on, after, over_gate(sense), seen, kind=FALLS.format(i))
        lost = f"the ball leaves ring {i}: it has rolled so far down that the ring would have to pull it"
        yield Transition(on, on, PULLS, ("normal.multiplier",), kind=f"leaves ring {i}", error=lost)
        behind = f"the ball comes to the gate of ring {i} from behind: the maze has turned the wrong way"
        yield Transition(on, on, from_behind(sense), seen, kind=f"comes to gate {i} from behind", error=behind)
    end = f"the ball is in the centre and meets the inner side of ring {maze.rings[-1]}, of which this model knows nothing"
    edge = ("q.ball", "normal.radius", "normal.ball_radius")
    yield Transition(CENTRE, CENTRE, INSIDE, edge, kind="reaches the far side", error=end)
