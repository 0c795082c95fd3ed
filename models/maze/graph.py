"""Parameters of a ball maze, and its graph: maze, ball, constraints, state machine, control loops and reference.

```
 Se motor --> 1 maze --> I            Se weight --> 1 ball (2) --> I           1 spin --> I
                  \\                                /        \\                 /
                   \\------------- Constraint rolling         Constraint normal
                                     (9b): three ports          (9a)
```
M q'' + G = H^T lambda + B u with q = (maze, ball to the right, ball up, spin); H is the Jacobian of the constraints.

The state machine has the states falling, ring 1, gate 1 ... centre; with four rings it is that of the source.

Source: Bortoff 2020, section 3, fig. 9.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from screwbond.models.studies.fields import check_record, number, vector
from screwbond.models.studies.reading import read_file, read_text

from bondgraph import J1, Automaton, Block, Constraint, Graph, I, Op, Parameter, Se, StateSpec, Transition, by_mode, signals
from bondgraph.errors import Problem
from bondgraph.model.ops import IDENTITY
from screws.errors import plural
from screws.scalars import absolute, atan2, floor, minimum

QUARTER = 0.5 * math.pi
FALLING, CENTRE = "falling", "centre"


@dataclass(frozen=True)
class MazeParameters:
    """Maze of rings that stands on edge and turns about its centre, a ball that rolls on top of the rings, outside, and two lead
    compensators.

    Each ring has one gate, through which the ball falls to the next ring or the centre.
    The motor torque is u = k1 (s + z1)/(s + p1) q2 + k2 (s + z2)/(s + p2) (q1 - reference), with the maze angle q1,
    counterclockwise, and the ball's position q2 to the right. The reference is 0 until `begin`, then the angle that brings the
    gate of the ring to the top.

    Raises `ModelError` E530 for an invalid value, E531 for contradictory values.

    Source: Bortoff 2020, section 3. The source gives no radii or inertias; the defaults give poles +-1.400 1/s and zeros +-0.700
    1/s on ring 1. Rings of a few centimetres are too small: with the default alpha1 and alpha0, a landing at speed v presses the
    ball 0.0736 s times v into the ring.
    """

    gravity: float = number("m/s^2", "acceleration of gravity", 9.81, above=0.0)
    radii: tuple[float, ...] = vector(
        None, "m", "radii of the rings, from the outermost inward", (4.0, 3.25, 2.5, 1.75), above=0.0
    )
    gates: tuple[float, ...] = vector(
        None, "rad", "angle of the maze at which the gate of each ring is on top", (QUARTER, 0.0, QUARTER, 0.0)
    )
    ball_radius: float = number("m", "radius of the ball", 0.1, above=0.0)
    ball_mass: float = number("kg", "mass of the ball", 1e-3, above=0.0)
    ball_inertia: float = number("kg m^2", "moment of inertia of the ball about its centre", 3.883e-5, above=0.0)
    maze_inertia: float = number("kg m^2", "moment of inertia of the maze about its axis", 3.745e-3, above=0.0)
    alpha1: float = number("1/s", "coefficient of the constraint stabilisation, h'' + alpha1 h' + alpha0 h = 0", 10.0, above=0.0)
    alpha0: float = number("1/s^2", "coefficient of the constraint stabilisation", 25.0, above=0.0)
    k1: float = number("N", "gain of the loop that holds the ball", 0.32)
    lead1: tuple[float, float] = vector(2, "1/s", "z1 and p1 of the lead: zero at -z1, pole at -p1", (0.6, 10.0), least=0.0)
    k2: float = number("N m/rad", "gain of the loop that turns the maze", 0.04)
    lead2: tuple[float, float] = vector(2, "1/s", "z2 and p2 of the lead: zero at -z2, pole at -p2", (0.05, 5.0), least=0.0)
    begin: float = number("s", "time at which the reference begins", 10.0, least=0.0)
    height: float = number("m", "initial height of the ball above the outermost ring", 0.04905, above=0.0)
    aside: float = number("m", "initial horizontal position of the ball, positive to the right", 0.0)

    def __post_init__(self) -> None:
        check_record(self, "E530", "ball maze", _contradictions)

    @property
    def rings(self) -> range:
        """Numbers of the rings; 1 is the outermost."""
        return range(1, len(self.radii) + 1)

    @property
    def states(self) -> dict[str, int]:
        """States of the course in order, each with the ring that the ball is on or falls to; the centre has the last ring."""
        last = self.rings[-1]
        between = {name: i + step for i in self.rings for name, step in ((ring(i), 0), (gate(i), 1)) if i + step <= last}
        return {FALLING: 1, **between, CENTRE: last}

    def distance(self, i: int) -> float:
        """Return the distance between the centres of the maze and a ball on ring i, m."""
        return self.radii[i - 1] + self.ball_radius

    @property
    def place(self) -> tuple[float, float]:
        """Initial position of the ball, m, to the right and up: `height` above the outermost ring."""
        return self.aside, math.sqrt(self.distance(1) ** 2 - self.aside**2) + self.height

    def turn(self, i: int) -> float:
        """Return the angle by which the maze turns while the ball is on ring i, rad, counterclockwise."""
        return self.gates[i - 1] - (self.gates[i - 2] if i > 1 else 0.0)

    @classmethod
    def from_json(cls, text: str, file: str = "maze") -> MazeParameters:
        """Return parameters from a JSON object; missing parameters have their defaults. Raises `ModelError` E402 to E407,
        E530, E531."""
        return read_text(text, file, lambda section: section.read(cls), cls)

    def to_json(self) -> str:
        """Return a JSON string for `from_json`."""
        return json.dumps(asdict(self), indent=1) + "\n"


def ring(i: int) -> str:
    return f"ring {i}"


def gate(i: int) -> str:
    return f"gate {i}"


def read_maze(path: str | os.PathLike[str]) -> MazeParameters:
    """Return the parameters in a JSON file. Raises `ModelError` E401 if it cannot be read, and the errors of
    `MazeParameters.from_json`."""
    return read_file(path, lambda section: section.read(MazeParameters), MazeParameters)


def _contradictions(p: MazeParameters) -> Iterator[Problem]:
    if not p.radii or len(p.gates) != len(p.radii):
        title = f"a ball maze has {plural(len(p.radii), 'ring')} and {plural(len(p.gates), 'gate')}"
        yield Problem("E531", title, cures=("one radius and one gate for each ring, from the outermost inward",))
        return
    wide = 2.0 * p.ball_radius
    for i, (outer, inner) in enumerate(zip(p.radii, (*p.radii[1:], None), strict=True), start=1):
        if inner is None and outer <= p.ball_radius:
            title = f"the ball, {wide:g} m wide, does not fit into the innermost ring, {2 * outer:g} m wide"
            yield Problem("E531", title, cures=("a smaller ball_radius, or a larger ring",))
        elif inner is not None and outer - inner <= wide:
            title = f"the ball, {wide:g} m wide, does not fit between ring {i} ({outer:g} m) and ring {i + 1} ({inner:g} m)"
            cure = "radii that decrease by more than the ball's diameter, or a smaller ball_radius"
            yield Problem("E531", title, cures=(cure,))
        if not 0.0 < abs(p.turn(i)) < 2.0 * math.pi:
            title = f"the maze would turn by {p.turn(i):g} rad to bring the gate of ring {i} to the top"
            cure = "gates that differ by less than a turn from one ring to the next, and a first gate that differs from 0"
            yield Problem("E531", title, ("a turn must be less than one revolution, and not zero",), cures=(cure,))
    if abs(p.aside) >= p.distance(1):
        title = f"the ball starts {abs(p.aside):g} m to the side and misses the maze"
        yield Problem("E531", title, cures=(f"`aside` below {p.distance(1):g} m",))
    for name in ("lead1", "lead2"):
        if getattr(p, name)[1] == 0.0:
            title = f"the pole of {name} is at zero, so its output grows without bound"
            yield Problem("E531", title, cures=("a pole at -p with p above 0",))


COURSE = "course"

LANDS, FALLS = "lands on ring {}", "falls through gate {}"

ANGLE = r"#1 + \operatorname{atan2}((#2)_1, (#2)_2) - #3"

CLOSED = Op("-h", lambda h: -h, "-#1", "BO20 fig. 9")
PULLS = Op("-lambda", lambda force: -force, "-#1")
INSIDE = Op(
    "meets the ring from inside, below",
    lambda q, r, b: minimum(q[0] * q[0] + q[1] * q[1] - (r - b) * (r - b), -q[1]),
    r"\min\left(#1^T #1 - (#2 - #3)^2, -(#1)_2\right)",
)


def _gate_angle(maze: Any, ball: Any, gate: Any) -> Any:
    return maze + atan2(ball[0], ball[1]) - gate


TURNS = Op(
    "whole turns",
    lambda maze, ball, gate: -2.0 * math.pi * floor(-_gate_angle(maze, ball, gate) / (2.0 * math.pi)),
    rf"2\pi \left\lceil \tfrac{{1}}{{2\pi}} \left({ANGLE}\right) \right\rceil",
)
"""Full turns that wrap the angle between ball and gate to (-2 pi, 0]: at a landing, the gate may be anywhere on the ring."""

AT_GATE = Op(
    "at the gate",
    lambda maze, ball, gate, turns: absolute(_gate_angle(maze, ball, gate) - turns + math.pi) - math.pi,
    rf"\left|{ANGLE} - #4 + \pi\right| - \pi",
    "BO20 (10), corrected",
)
"""Guard that is zero when the ball reaches the gate, from either side, within a turn."""


def maze_automaton(maze: MazeParameters) -> Automaton:
    """Return the automaton, which switches both constraints. Its guards read the coordinates `q`, the constraint `normal`, the
    turns in `landing`, and the gate angle in `reference.k`.

    A run ends when the ball leaves a ring that would have to pull it, or meets the inner side of the innermost ring, which is not
    modelled.
    """
    states = tuple(maze.states)
    return Automaton(COURSE, states, states[0], tuple(_transitions(maze, states)))


def _transitions(maze: MazeParameters, states: tuple[str, ...]) -> Iterator[Transition]:
    copies = tuple((f"landing.{name}", IDENTITY, (f"q.{name}",)) for name in ("maze", "ball", "spin"))
    for i in maze.rings:
        before, on, after = states[2 * i - 2 : 2 * i + 1]
        turns = ("landing.turns", TURNS, ("q.maze", "q.ball", f"reference.k in {on}"))
        yield Transition(before, on, CLOSED, ("normal.h",), (*copies, turns), kind=LANDS.format(i))
        read = ("q.maze", "q.ball", "reference.k", "landing.turns")
        yield Transition(on, after, AT_GATE, read, kind=FALLS.format(i))
        lost = f"the ball leaves ring {i}: it rolled down so far that the ring would have to pull it"
        yield Transition(on, on, PULLS, ("normal.multiplier",), kind=f"leaves ring {i}", error=lost)
    end = f"the ball is in the centre and meets the inner side of ring {maze.rings[-1]}, which this model does not include"
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
    """Return the graph of a maze, by default the maze of the paper.

    Signals: `q.maze` and `q.spin`, rad, `q.ball` (2,), m; `h` and `multiplier` of `normal` and of `rolling`; `course.mode`;
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


def _coordinates(p: MazeParameters) -> Any:
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
    radius = Parameter(by_mode(COURSE, {state: p.radii[i - 1] for state, i in p.states.items()}), "m")
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
    on = by_mode(COURSE, {state: float(state != CENTRE) for state in p.states})
    parameters = {"on": on, "push": Parameter(0.0, "N m")}
    return Se("motor", TORQUE, parameters=parameters, signals=["u1.y", "u2.y"])


def _control(p: MazeParameters) -> list[Any]:
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
