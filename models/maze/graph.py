"""Graph of the ball maze: maze, ball, their two constraints, the state machine, the control loops and the reference.

```
 Se motor --> 1 maze --> I            Se weight --> 1 ball (2) --> I           1 spin --> I
                  \\                                /        \\                 /
                   \\------------- Constraint rolling         Constraint normal
                                     (9b): three ports          (9a)
```
M q'' + G = H^T lambda + B u with q = (maze, ball to the right, ball up, spin); H is the Jacobian of the constraints.

Source: Bortoff 2020, section 3.

State machine of a ball maze: falling, ring 1, gate 1 ... centre, with guards and resets of its events.

Source: Bortoff 2020, section 3, fig. 9; four rings make its nine states.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from screwbond.models.maze.parameters import CENTRE, MazeParameters

from bondgraph import J1, Automaton, Block, Constraint, Graph, I, Op, Parameter, Se, StateSpec, Transition, by_mode, signals
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


DISTANCE = Op(
    "distance",
    lambda r, b, ball: ball[0] * ball[0] + ball[1] * ball[1] - (r + b) * (r + b),
    r"#3^T #3 - (#1 + #2)^2",
    "BO20 (9a), corrected",
)


def _rolled(r: Any, b: Any, maze: Any, ball: Any, spin: Any, maze0: Any, ball0: Any, spin0: Any) -> Any:
    return b * (spin - spin0) + r * (maze - maze0) + (r + b) * (atan2(ball[0], ball[1]) - atan2(ball0[0], ball0[1]))


ROLLING = Op(
    "rolling",
    _rolled,
    r"#2 (#5 - #8) + #1 (#3 - #6) + (#1 + #2) \left(\operatorname{atan2}((#4)_1, (#4)_2)"
    r" - \operatorname{atan2}((#7)_1, (#7)_2)\right)",
    "BO20 (9b), corrected",
)
TO_THE_RIGHT = Op("to the right", lambda ball: ball[0], "(#1)_1")
TORQUE = Op("torque", lambda on, push, u1, u2: on * (u1 + u2) + push, "#1 (#3 + #4) + #2")


def maze_graph(maze: MazeParameters | None = None, name: str = "ball maze") -> Graph:
    """Return the graph of a maze, by default that of the paper.

    Signals: `q.maze` and `q.spin`, rad, `q.ball` (2,), m; `normal.h`, `rolling.h` and `.multiplier` of both; `course.mode`;
    `reference.y`, `u1.y`, `u2.y`, `motor.effort`. The gains `u1.k`, `u2.k` and a torque `motor.push` on the maze are parameters.
    """
    p = maze or MazeParameters()
    graph = Graph(name)
    turning, ball, spin = (
        J1("maze", domain="rotation"),
        J1("ball", domain="translation", dimension=2),
        J1("spin", domain="rotation"),
    )
    graph.connect(turning, I("maze inertia", Parameter(p.maze_inertia, "kg m^2")))
    graph.connect(ball, I("ball mass", p.ball_mass, dimension=2)).connect(spin, I("ball inertia", p.ball_inertia))
    graph.connect(Se("weight", (0.0, -p.gravity * p.ball_mass)), ball)
    graph.connect(_motor(p), turning)
    normal, rolling = _constraints(p)
    graph.connect(ball, normal)
    graph.connect(turning, rolling.port("1")).connect(ball, rolling.port("2")).connect(spin, rolling.port("3"))
    graph.add(_coordinates(p), _landing(p), *_control(p))
    return graph.add_automaton(maze_automaton(p))


def _by_ring(p: MazeParameters, values: Any) -> Any:
    """Return a value for each state of the course: that of its ring."""
    return by_mode(COURSE, {state: values[i - 1] for state, i in p.states.items()})


def _coordinates(p: MazeParameters) -> Any:
    """Return the coordinates q: the integrals of the flows."""
    return Block(
        "q",
        [],
        inputs={"turning": "maze.flow", "moving": "ball.flow", "spinning": "spin.flow"},
        states={
            "maze": StateSpec(0.0, 1.0, "rad", "q_1"),
            "ball": StateSpec(p.place, p.radii[0], "m", "q_{23}"),
            "spin": StateSpec(0.0, 1.0, "rad", "q_4"),
        },
        rates={"maze": "turning", "ball": "moving", "spin": "spinning"},
    )


def _landing(p: MazeParameters) -> Any:
    """Return q0: positions at the last landing, and the turns of the gate away from the ball; only resets change it."""
    return Block(
        "landing",
        [],
        states={
            "maze": StateSpec(0.0, 1.0, "rad", "q_{10}"),
            "ball": StateSpec(p.place, p.radii[0], "m", "q_{230}"),
            "spin": StateSpec(0.0, 1.0, "rad", "q_{40}"),
            "turns": StateSpec(0.0, 1.0, "rad", r"\theta_0"),
        },
    )


def _constraints(p: MazeParameters) -> tuple[Any, Any]:
    """Return the constraints (9a) and (9b), active while the ball is on a ring."""
    radius = Parameter(_by_ring(p, p.radii), "m")
    shared: dict[str, Any] = {
        "automaton": COURSE,
        "active": [state for state in p.states if state.startswith("ring")],
        "closing": "smooth",
        "alpha1": p.alpha1,
        "alpha0": p.alpha0,
        "parameters": {"radius": radius, "ball_radius": Parameter(p.ball_radius, "m")},
    }
    symbols = {"radius": "r_{m}", "ball_radius": "r_{b}"}
    normal = Constraint("normal", position=DISTANCE, coordinates={"q.ball": 2}, symbols=symbols, **shared)
    coordinates = {"q.maze": 1, "q.ball": 2, "q.spin": 1}
    signals = ["landing.maze", "landing.ball", "landing.spin"]
    rolling = Constraint("rolling", position=ROLLING, coordinates=coordinates, signals=signals, symbols=symbols, **shared)
    return normal, rolling


def _motor(p: MazeParameters) -> Any:
    """Return the torque on the maze: both loops until the ball is in the centre, and a push from outside."""
    on = by_mode(COURSE, {state: float(state != CENTRE) for state in p.states})
    parameters = {"on": on, "push": Parameter(0.0, "N m")}
    return Se("motor", TORQUE, parameters=parameters, signals=["u1.y", "u2.y"])


def _control(p: MazeParameters) -> list[Any]:
    """Return reference and loops, which measure the ball's position to the right and the angle of the maze."""
    (z1, p1), (z2, p2) = p.lead1, p.lead2
    angles = (0.0, *p.gates)
    goal = by_mode(COURSE, {state: angles[(k + 1) // 2] for k, state in enumerate(p.states)})
    return [
        signals.step("begun", start=p.begin, before=0.0, after=1.0, unit="1"),
        signals.gain("reference", "begun.y", Parameter(goal, "rad"), unit="rad", symbol=r"q_1^{\mathrm{ref}}"),
        Block("aside", [("y", TO_THE_RIGHT, ["q"])], inputs={"q": "q.ball"}, units={"y": "m"}, symbols={"y": "y_1"}),
        signals.summation("error", {"q.maze": 1, "reference.y": -1}, unit="rad"),
        signals.transfer_function("lead 1", "aside.y", (1.0, z1), (1.0, p1), unit="m"),
        signals.transfer_function("lead 2", "error.y", (1.0, z2), (1.0, p2), unit="rad"),
        signals.gain("u1", "lead 1.y", Parameter(p.k1, "N"), unit="N m", symbol="u_1"),
        signals.gain("u2", "lead 2.y", Parameter(p.k2, "N m/rad"), unit="N m", symbol="u_2"),
    ]
