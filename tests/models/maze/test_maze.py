"""The ball maze agrees with an independent simulation and Lagrange's equations, in any units and with other rings."""

from __future__ import annotations

import json
import math
import warnings
from functools import cache

import numpy as np
import pytest
from screwbond.models.maze import (
    MazeParameters,
    analyse,
    closed_loop_poles,
    margins,
    maze_graph,
    robustness,
    root_locus,
    run_maze,
)

from bondgraph import compile_model
from bondgraph.analysis import TransferFunction
from bondgraph.errors import ModelError, RunEndedWarning
from tests.models.maze import maze_independent as by_hand

MAZE = MazeParameters()
STATES = ["falling", "ring 1", "gate 1", "ring 2", "gate 2", "ring 3", "gate 3", "ring 4", "centre"]


@cache
def run():
    return run_maze(samples=0.01)


@cache
def legs():
    return by_hand.courses()


def ended(maze=None, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RunEndedWarning)
        return run_maze(maze, **settings)


def at_the_end(done, name):
    return done.result.at_event(done.result.events[-1], name)[0]


# --- the course ------------------------------------------------------------------------------------------------------


def test_all_eight_events_are_those_of_an_independent_simulation():
    assert run().result.ok and run().reached_centre and list(MAZE.states) == STATES
    times = [event.time for event in run().events]
    assert len(times) == 8 and times == [event.time for event in run().result.events]
    assert np.abs(np.array(times) - [leg.end for leg in legs()]).max() < 1e-9
    # as printed with fig. 10: 0.1 s, 22 s; and the reference values, to the digits given
    assert np.allclose(times, [0.1, 21.55, 21.9, 32.9, 33.3, 39.8, 40.2, 44.6], atol=0.06)
    assert run().result.ledger.relative_residual < 1e-11


def test_motion_between_events_agrees_with_an_independent_simulation():
    rows = run().trajectory
    for leg in legs():
        inside = np.flatnonzero((rows["t"] > leg.start) & (rows["t"] < leg.end))[::17]
        assert np.all(rows["mode"][inside] == leg.leg.state)
        for k in inside:
            y = leg.solution(rows["t"][k])
            assert np.abs(rows["q"][k] - y[:4]).max() < 1e-8 and np.abs(rows["v"][k] - y[4:8]).max() < 1e-8
            assert abs(rows["torque"][k] - by_hand.torque(rows["t"][k], y, leg.leg.state)) < 1e-9
            if leg.leg.state % 2:
                force = by_hand.multipliers(rows["t"][k], y, leg.leg)
                assert np.allclose(rows["lambda"][k], force, rtol=1e-6, atol=1e-9)
                assert rows["force"][k] == pytest.approx(2.0 * np.linalg.norm(y[1:3]) * force[0], rel=1e-6)


def test_after_a_landing_both_constraints_decay_in_closed_form():
    """From h = 0, h = h'0 t exp(-5 t), where h'0 is the speed of fall for (9a) and the slip speed for (9b)."""
    done, rows = run(), run().trajectory
    landings = done.events[::2]
    gates = [*(event.time for event in done.events[1::2])]
    assert len(landings) == 4
    for landing, until in zip(landings, gates, strict=True):
        for k, name in enumerate(("normal", "rolling")):
            before, rate = (done.result.at_event(landing, f"{name}.{part}")[1] for part in ("h", "h'"))
            on = (rows["t"] > landing.time) & (rows["t"] <= until)
            t = rows["t"][on] - landing.time
            assert abs(before) < 1e-11 and (name == "rolling" or rate < -1.0)
            assert np.abs(rows["h"][on, k] - rate * t * np.exp(-5.0 * t)).max() < 1e-9


def test_the_first_fall_is_known():
    event, g = run().events[0], 9.81
    assert event.time == pytest.approx(math.sqrt(2.0 * MAZE.height / g), abs=1e-13)
    happened = run().event_table()[0]
    assert (happened["from"], happened["to"]) == ("falling", "ring 1")
    assert happened["velocity"] == pytest.approx([0.0, -g * event.time]) and happened["ball_in_maze"] == pytest.approx([0.0, 4.1])
    # h'' = -10 h' with h' = 2 (r + b) v: the force carries the weight and 10 v m
    assert happened["force_before"] == 0.0
    assert happened["force_after"] == pytest.approx(MAZE.ball_mass * (g + 10.0 * g * 0.1 - (g * 0.1) ** 2 / 4.1), rel=1e-9)


def test_the_ball_falls_where_the_gates_are_in_the_maze():
    for happened, gate in zip(run().event_table()[1::2], MAZE.gates, strict=True):
        x, y = happened["ball_in_maze"]
        assert math.atan2(y, x) == pytest.approx(0.5 * math.pi - gate, abs=1e-9)
    assert run()["motor.effort"][-1] == 0.0 and run().states[-1] == "centre"


# --- linear analysis -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("i", MAZE.rings)
def test_poles_and_zeros_are_those_of_lagranges_equations(i):
    pole, zero = by_hand.linear(i - 1)
    found = analyse(MAZE, i)
    assert pole == pytest.approx([1.4000006, 1.4866958, 1.5759962, 1.6575706][i - 1], abs=5e-8)
    # fourfold and double roots scatter by roots of the rounding error
    assert np.allclose(found.poles.real, [-5.0] * 4 + [-pole, 0.0, 0.0, pole], atol=1e-5)
    assert found.poles.real[[4, 7]] == pytest.approx([-pole, pole], rel=1e-9)
    assert np.allclose(found.ball.poles, [-pole, pole], rtol=1e-9) and not len(found.ball.zeros)
    assert found.maze.order == 4 and np.allclose(found.maze.zeros, [-zero, zero], rtol=1e-9)
    if i == 1:
        assert zero == pytest.approx(0.700, abs=5e-6)


@pytest.mark.parametrize("i", MAZE.rings)
def test_closed_loop_poles_are_eigenvalues_of_lagranges_equations(i):
    r = by_hand.RADII[i - 1]
    R, b = r + by_hand.BALL, by_hand.BALL
    m = np.array(
        [
            [by_hand.MAZE_J + by_hand.BALL_J * (r / b) ** 2, by_hand.BALL_J * r * R / b**2],
            [by_hand.BALL_J * r * R / b**2, by_hand.MASS * R**2 + by_hand.BALL_J * (R / b) ** 2],
        ]
    )
    a = np.zeros((6, 6))  # maze, theta, their rates, two filters
    a[:2, 2:4] = np.eye(2)
    gravity = np.diag([0.0, by_hand.MASS * by_hand.G * R])
    torque = np.array([by_hand.K2, by_hand.K1 * R, 0.0, 0.0, by_hand.K1, by_hand.K2])
    a[2:4, :2] = np.linalg.solve(m, gravity)
    a[2:4] += np.outer(np.linalg.solve(m, [1.0, 0.0]), torque)
    a[4, [1, 4]] = (by_hand.Z1 - by_hand.P1) * R, -by_hand.P1
    a[5, [0, 5]] = by_hand.Z2 - by_hand.P2, -by_hand.P2
    wanted = np.sort_complex(np.linalg.eigvals(a))
    found = closed_loop_poles(MAZE, i)
    assert wanted.real.max() == pytest.approx([-0.096921, -0.065905, -0.056808, -0.052365][i - 1], abs=5e-7)
    others = np.array([found[np.argmin(np.abs(found - pole))] for pole in wanted])
    assert np.allclose(others, wanted, rtol=1e-7)
    assert np.sum(np.abs(found + 5.0) < 1e-4) == 4 and len(found) == 10


@pytest.mark.parametrize("i", MAZE.rings)
def test_margins_are_where_poles_cross(i):
    found = analyse(MAZE, i)
    gains = {"hold": (1.0, 0.0), "turn": (0.0, 1.0), "both": (1.0, 1.0)}
    for name, which in gains.items():
        margin = getattr(found, name)

        def rightmost(factor, which=which):
            return closed_loop_poles(
                MAZE, i, *(k * (factor if own else 1.0) for k, own in zip((MAZE.k1, MAZE.k2), which, strict=True))
            )[-1]

        for factor, stable_side in ((margin.lower, 1.01), (margin.upper, 0.99)):
            if 0.0 < factor < np.inf:
                assert rightmost(factor).real == pytest.approx(0.0, abs=1e-6)
                assert rightmost(stable_side * factor).real < 0.0 < rightmost(factor / stable_side).real
    # as the paper says: the first loop has a lower limit, the second one an upper limit
    assert found.hold.lower > 0.5 and found.hold.upper == np.inf and found.turn.lower == 0.0 and 2.0 < found.turn.upper < 10.0
    assert found.stable


def test_phase_margin_of_a_loop_in_closed_form():
    """With positive feedback of L = -4 / (s (s + 2)), |L| = 1 at w^2 = 2 (sqrt(5) - 1), and the margin is 90 degrees -
    atan(w / 2)."""
    found = margins(TransferFunction("u", "y", np.zeros(0), np.array([0.0, -2.0]), -4.0))
    w = math.sqrt(2.0 * (math.sqrt(5.0) - 1.0))
    assert found.crossings == pytest.approx((w,)) and found.phase == pytest.approx(0.5 * math.pi - math.atan(0.5 * w))
    assert (found.lower, found.upper) == (0.0, np.inf)
    assert margins(TransferFunction("u", "y", np.zeros(0), np.array([0.0, -2.0]), 4.0)) is None


def test_root_loci_begin_at_the_poles_and_end_at_the_zeros():
    ends = root_locus(MAZE, 1, np.array([0.0, 1.0, 1e7]), 2)
    assert np.allclose(np.sort_complex(ends[1]), np.sort_complex(closed_loop_poles(MAZE, 1)), atol=1e-6)
    for zero in (-0.7000019, 0.7000019, -0.05):
        assert np.abs(ends[2] - zero).min() < 1e-3
    assert analyse(MazeParameters(k1=0.1), 1).hold is None


# --- robustness ------------------------------------------------------------------------------------------------------


def test_map_of_gains_agrees_with_runs_and_poles():
    found = robustness(MAZE, [0.1, 0.32, 0.5], [0.01, 0.04, 0.3])
    assert found.rightmost.shape == (3, 3, 4) and found.reached_centre[1, 1] and found.passed[1, 1] == 8
    assert found.end[1, 1] == pytest.approx(legs()[-1].end, abs=1e-7)
    assert found.worst[1, 1] == pytest.approx(-0.052365, abs=5e-7)
    assert not found.reached_centre[0].any() and np.all(found.worst[0] > 0.0) and np.all(found.passed[0] < 8)
    # slow and stable: not within 45 s, but later
    assert found.worst[2, 0] < 0.0 and not found.reached_centre[2, 0]
    assert robustness(MAZE, [0.5], [0.02], t_end=250.0).reached_centre[0, 0]


# --- other mazes -----------------------------------------------------------------------------------------------------


def in_units(metre, kilogram):
    length, mass = metre, kilogram
    torque = mass * length**2
    return MazeParameters(
        gravity=MAZE.gravity * length,
        radii=tuple(r * length for r in MAZE.radii),
        ball_radius=MAZE.ball_radius * length,
        ball_mass=MAZE.ball_mass * mass,
        ball_inertia=MAZE.ball_inertia * torque,
        maze_inertia=MAZE.maze_inertia * torque,
        k1=MAZE.k1 * torque / length,
        k2=MAZE.k2 * torque,
        height=MAZE.height * length,
    )


@pytest.mark.parametrize(("metre", "kilogram"), [(1e3, 1e3), (1e3, 1e-3), (1e-3, 1e6)])
def test_nothing_depends_on_units(metre, kilogram):
    other = run_maze(in_units(metre, kilogram), samples=1.0)
    assert other.reached_centre
    assert [event.time for event in other.events] == pytest.approx([event.time for event in run().events], abs=1e-9)
    a, b = analyse(in_units(metre, kilogram), 3), analyse(MAZE, 3)
    assert a.closed[-1].real == pytest.approx(b.closed[-1].real, rel=1e-7)
    assert (a.hold.lower, a.turn.upper, a.both.phase) == pytest.approx((b.hold.lower, b.turn.upper, b.both.phase), rel=1e-6)


@pytest.mark.parametrize(
    ("radii", "gates"), [((4.0,), (0.3,)), ((4.0, 3.0), (-0.5, 0.4)), ((4.0, 3.5, 3.0, 2.5, 2.0), (0.4, -0.4) * 2 + (0.8,))]
)
def test_any_count_of_rings(radii, gates):
    maze = MazeParameters(radii=radii, gates=gates, begin=1.0)
    done = ended(maze, t_end=120.0, samples=0.1)
    assert done.reached_centre and len(done.events) == 2 * len(radii) and list(maze.states)[-1] == "centre"
    for happened, gate in zip(done.event_table()[1::2], gates, strict=True):
        x, y = happened["ball_in_maze"]
        assert math.atan2(y, x) == pytest.approx(0.5 * math.pi - gate, abs=1e-8)
    assert np.all(np.diff([event.time for event in done.events]) > 0.0)


def test_a_maze_in_the_mirror_goes_the_other_way():
    other = run_maze(MazeParameters(gates=tuple(-gate for gate in MAZE.gates)), samples=0.5)
    assert [event.time for event in other.events] == pytest.approx([event.time for event in run().events], abs=1e-9)
    assert np.allclose(other["q.maze"], -run_maze(samples=0.5)["q.maze"], atol=1e-8)


# --- where it ends ---------------------------------------------------------------------------------------------------


def test_a_ball_that_rolls_off_ends_the_run():
    lost = ended(gains=(0.0, 0.0), maze=MazeParameters(aside=0.2), t_end=20.0)
    assert not lost.result.ok and not lost.reached_centre and "the ball leaves ring 1" in str(lost.result.failure)
    # on leaving, the ring neither pushes nor pulls
    assert abs(at_the_end(lost, "normal.multiplier")) < 1e-12 and lost.force[-1] > 0.0
    assert at_the_end(lost, "q.ball")[0] > 2.0 and [event.kind for event in lost.events] == ["lands on ring 1"]
    weak = ended(MazeParameters(k1=0.2))
    assert not weak.reached_centre and [note.split(":")[0] for note in weak.notes] == [
        f"with k1 = 0.2 and k2 = 0.04 the ball does not stay on ring {i}" for i in (2, 3, 4)
    ]
    assert run().notes == [] and ended(gains=(0.2, 0.04)).notes == weak.notes


def test_without_a_motor_the_ball_leaves_where_its_energy_predicts():
    """A ball that rolls on a fixed ring, from rest at the top, leaves the ring at cos(theta) = 2 / (3 + J / (m b^2))."""
    still = MazeParameters(maze_inertia=1e6, aside=1e-3, ball_inertia=0.4e-5, height=1e-9, k1=0.0, k2=0.0)
    lost = ended(still, t_end=30.0, rtol=1e-11)
    x, y = at_the_end(lost, "q.ball")
    start = math.cos(math.asin(1e-3 / 4.1))
    assert y / math.hypot(x, y) == pytest.approx(2.0 * start / (3.0 + 0.4), abs=1e-5)


def test_a_gate_may_come_from_either_side():
    """The maze first turns the wrong way, so a gate almost one turn ahead is reached from behind."""
    back = ended(MazeParameters(radii=(4.0, 3.0), gates=(6.2, 5.8)), t_end=60.0)
    first = back.event_table()[1]
    x, y = first["ball"]
    assert first["kind"] == "falls through gate 1"
    assert first["maze"] + math.atan2(x, y) == pytest.approx(6.2 - 2.0 * math.pi, abs=1e-9)


def test_a_gate_that_has_passed_while_the_ball_fell_comes_again():
    fast = ended(MazeParameters(aside=2.9), t_end=2.0)
    (landing,) = fast.event_table()
    x, y = landing["ball"]
    assert 0.0 < landing["maze"] + math.atan2(x, y) - MAZE.gates[0] < 1.0
    assert [event.kind for event in fast.events] == ["lands on ring 1"]


def test_beyond_the_centre_the_model_ends():
    late = ended(t_end=60.0)
    assert late.reached_centre and "meets the inner side of ring 4" in str(late.result.failure)
    x, y = at_the_end(late, "q.ball")
    assert math.hypot(x, y) == pytest.approx(MAZE.radii[-1] - MAZE.ball_radius, abs=1e-9) and y < 0.0


BAD = [
    ({"ball_mass": 0.0}, "E530 ball_mass = 0.0 is invalid for the ball maze"),
    ({"ball_radius": -0.1}, "E530 ball_radius"),
    ({"radii": (4.0, -1.0, 2.0, 1.0)}, "E530 radii"),
    ({"radii": 4.0}, "E530 radii"),
    ({"maze_inertia": math.nan}, "E530 maze_inertia"),
    ({"ball_inertia": 0.0}, "E530 ball_inertia"),
    ({"gravity": -9.81}, "E530 gravity"),
    ({"lead1": (0.6,)}, "E530 lead1"),
    ({"height": 0.0}, "E530 height"),
    ({"alpha1": "ten"}, "E530 alpha1"),
    ({"ball_radius": 0.4}, "E531 the ball, 0.8 m wide, does not fit between ring 1 (4 m) and ring 2 (3.25 m)"),
    ({"radii": (4.0, 3.0, 3.5, 1.0)}, "E531 the ball, 0.2 m wide, does not fit between ring 2 (3 m) and ring 3 (3.5 m)"),
    ({"radii": (4.0, 3.0, 2.0, 0.05)}, "E531 the ball, 0.2 m wide, does not fit into the innermost ring, 0.1 m wide"),
    ({"radii": (), "gates": ()}, "E531 a ball maze has 0 rings and 0 gates"),
    ({"gates": (1.0, 0.0)}, "E531 a ball maze has 4 rings and 2 gates"),
    ({"gates": (0.0, 1.0, 0.0, 1.0)}, "E531 the maze would turn by 0 rad to bring the gate of ring 1 to the top"),
    ({"gates": (1.0, 1.0, 0.0, 7.0)}, "E531 the maze would turn by 0 rad to bring the gate of ring 2"),
    ({"gates": (1.0, 0.5, 0.0, 7.0)}, "E531 the maze would turn by 7 rad to bring the gate of ring 4"),
    ({"aside": 4.2}, "E531 the ball starts 4.2 m to the side"),
    ({"lead2": (0.05, 0.0)}, "E531 the pole of lead2 is at zero"),
]


@pytest.mark.parametrize(("given", "says"), BAD, ids=[says[:40] for _, says in BAD])
def test_bad_parameters_are_refused(given, says):
    with pytest.raises(ModelError) as caught:
        MazeParameters(**given)
    assert says in str(caught.value), str(caught.value)


def test_rings_and_gains_that_are_none_are_refused():
    for i in (0, 5, 1.5):
        with pytest.raises(ModelError, match="E532 the maze has no ring"):
            analyse(MAZE, i)
    for gains in ([], [np.nan], "strong", [[1.0]]):
        with pytest.raises(ModelError, match=r"E533 k1 = .* is not a list of gains"):
            robustness(MAZE, gains, [0.04])
    for gains in ((0.3,), (0.3, 0.04, 1.0), "ab", (np.nan, 0.04), ((0.3, 0.3), 0.04), 0.3, (True, 0.04)):
        with pytest.raises(ModelError, match=r"E533 gains = .* are not k1 and k2"):
            run_maze(MAZE, gains=gains)


def test_parameters_come_back_from_their_file(tmp_path):
    maze = MazeParameters(radii=(3.0, 2.0), gates=(0.3, -0.3), k1=0.4)
    assert MazeParameters.from_json(maze.to_json()) == maze
    assert MazeParameters.from_json(json.dumps({"k1": 0.4})).k1 == 0.4
    with pytest.raises(ModelError, match="E404"):
        MazeParameters.from_json('{"radius": 1.0}')


# --- the graph -------------------------------------------------------------------------------------------------------


def test_the_graph_is_that_of_the_paper():
    compiled = compile_model(maze_graph())
    states = {state.name: int(np.size(state.initial)) for state in compiled.system.states}
    held = {state.name for state in compiled.system.states if state.held}
    assert held == {"landing.maze", "landing.ball", "landing.spin", "landing.turns"}
    assert sum(size for name, size in states.items() if name not in held) == 10
    assert list(compiled.model.automata) == ["course"] and len(compiled.model.automata["course"].states) == 9
