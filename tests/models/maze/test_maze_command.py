"""The command `screwbond maze` writes its files and pictures."""

from __future__ import annotations

import json
import warnings
from functools import cache

import numpy as np
import pytest
from screwbond.models.cli import main
from screwbond.models.maze import MazeParameters, run_maze
from screwbond.models.pictures import still

from bondgraph.errors import RunEndedWarning
from tests.inner.models_maze import (
    MAP,
    MOVIES,
    PICTURES,
    RUN,
    arc,
    figure5,
    figure7,
    figure9,
    figure10,
    figure11,
    gate_half_angle,
    maze_mesh,
    maze_scene,
    path_figure,
)
from tests.inner.models_pictures import rendering
from tests.inner.output import missing_package

MAZE = MazeParameters()
DATA = {"trajectory.npz", "events.json", "summary.json", "maze.json", "graph.svg", "equations.tex"}


@cache
def run():
    return run_maze(samples=0.05)


def test_the_command_writes_the_listed_files(tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["maze", "--out", str(out), "--no-render"]) == 0
    assert {path.name for path in out.iterdir()} == DATA == set(RUN.names) - {*PICTURES, *MOVIES}
    said = capsys.readouterr().out
    assert "falls through gate 4 at 44.554527 s" in said and "the ball is in the centre" in said
    events = json.loads((out / "events.json").read_text())
    assert [event["to"] for event in events] == list(MAZE.states)[1:] and len(events) == 8
    summary = json.loads((out / "summary.json").read_text())
    assert summary["finished"] and summary["completed"] and summary["ledger_residual"] < 1e-11
    assert summary["events"] == {event["kind"]: event["time"] for event in events}
    assert set(summary["rings"]) == {"1", "2", "3", "4"}
    assert summary["rings"]["1"]["margins"]["hold"]["upper"] is None  # infinite
    assert summary["rings"]["1"]["poles"][-1] == pytest.approx([1.4000006, 0.0], abs=5e-8)
    arrays = np.load(out / "trajectory.npz")
    assert arrays["t"][-1] == 45.0 and arrays["q"].shape == (4501, 4) and arrays["path"].shape == (4501, 2)
    assert MazeParameters.from_json((out / "maze.json").read_text()) == MAZE


def test_a_falling_ball_is_reported(tmp_path, capsys):
    assert main(["maze", "--k1", "0.2", "--out", str(tmp_path / "out"), "--no-render"]) == 1
    said = capsys.readouterr()
    assert "the ball leaves ring 4" in said.err and "has not reached the centre" in said.out
    assert "note: with k1 = 0.2 and k2 = 0.04 the ball does not stay on ring 2: a pole is at 0.003268 +- 0.3413j 1/s" in said.out
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert not summary["finished"] and summary["state"] == "ring 4" and summary["rings"]["4"]["margins"]["both"] is None
    assert json.loads((tmp_path / "out" / "maze.json").read_text())["k1"] == 0.2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--k1", "nan"], "E530 k1 = nan is invalid for the ball maze"),
        (["--t-end", "-3"], "E301"),
        (["--maze", "nowhere.json"], "E401"),
        (["gains", "--points", "1"], "E533 points = 1 is invalid for the gain map"),
        (["gains", "--spread", "0.5"], "E533 spread"),
    ],
)
def test_bad_arguments_write_nothing(tmp_path, capsys, arguments, says):
    assert main(["maze", *arguments, "--out", str(tmp_path / "out"), "--no-render"]) == 2
    assert says in capsys.readouterr().err and not (tmp_path / "out").exists()


def test_a_file_of_parameters(tmp_path, capsys):
    file = tmp_path / "maze.json"
    file.write_text('{"radii": [4.0, 3.0], "gates": [0.5, -0.2],\n "ball_radius": -0.1}')
    assert main(["maze", "--maze", str(file), "--out", str(tmp_path / "out")]) == 2
    assert "E407" in (said := capsys.readouterr().err) and "maze.json:2" in said
    file.write_text('{"radii": [4.0, 3.0], "gates": [0.5, -0.2], "begin": 1.0}')
    assert main(["maze", "--maze", str(file), "--t-end", "40", "--out", str(tmp_path / "out"), "--no-render"]) in (0, 1)
    assert "falls through gate 2" in capsys.readouterr().out


def test_a_map_of_gains(tmp_path, capsys):
    out = tmp_path / "out"
    arguments = ["maze", "gains", "--points", "3", "--spread", "1.2", "--until", "60", "--out", str(out)]
    drawn = [] if not missing_package("matplotlib") else ["--no-render"]
    assert main([*arguments, *drawn]) == 0
    table = np.genfromtxt(out / "robustness.csv", delimiter=",", names=True)
    assert len(table) == 9 and table["k1"][4] == pytest.approx(0.32) and table["events"][4] == 8
    assert table["in_the_centre_at"][4] == pytest.approx(44.554527, abs=1e-6)
    assert table["rightmost_ring_4"][4] == pytest.approx(-0.052365, abs=5e-7)
    assert "9 pairs of gains" in capsys.readouterr().out
    if not drawn:
        assert {path.name for path in out.iterdir()} == set(MAP.names)


# --- pictures --------------------------------------------------------------------------------------------------------


def test_rings_are_open_where_their_gates_are():
    for i in MAZE.rings:
        angles, half = arc(MAZE, i), gate_half_angle(MAZE, i)
        gate = 0.5 * np.pi - MAZE.gates[i - 1]
        assert angles[0] - gate == pytest.approx(half) and gate + 2.0 * np.pi - angles[-1] == pytest.approx(half)
        # the ball goes through
        assert 2.0 * MAZE.radii[i - 1] * np.sin(half) > 2.0 * MAZE.ball_radius


def test_the_scene_is_the_run():
    scene = maze_scene(run())
    maze, ball = scene.solids
    k = 500
    assert np.allclose(ball.poses[k, :2, 3], run()["q.ball"][k])
    c, s = np.cos(run()["q.maze"][k]), np.sin(run()["q.maze"][k])
    assert np.allclose(maze.poses[k, :2, :2], [[c, -s], [s, c]]) and not maze.poses[:, :3, 3].any()
    # the path, in the maze's axes, follows the ball
    (trail,) = scene.paths
    assert scene.solids[trail.on] is maze
    assert np.allclose((maze.poses[k, :3, :3] @ trail.points[k])[:2], run()["q.ball"][k])
    assert [happening.label.split(" at ")[0] for happening in scene.event_marks] == [event.kind for event in run().events]
    # the ball rolls on the outer sides of the rings
    mesh = maze_mesh(MAZE)
    flat = mesh.points[np.abs(mesh.points[:, 2]) < 1e-9]
    for radius in MAZE.radii:
        assert np.abs(np.hypot(*flat[:, :2].T) - radius).min() < 1e-9
    assert all(0.0 < start < end <= 45.0 for start, end in scene.slow_motion) and len(scene.slow_motion) == 4


@pytest.mark.thorough
def test_figures(tmp_path):
    if missing_package("matplotlib"):
        pytest.skip("no plots")
    of_the_maze, of_the_run = (figure5, figure7, figure9), (figure10, figure11, path_figure)
    for draw, given in (*((draw, MAZE) for draw in of_the_maze), *((draw, run()) for draw in of_the_run)):
        path = tmp_path / f"{draw.__name__}.png"
        draw(given, path, dpi=50)
        assert path.stat().st_size > 5000, draw.__name__


def test_figures_of_other_mazes(tmp_path):
    if missing_package("matplotlib"):
        pytest.skip("no plots")
    small = MazeParameters(radii=(2.0,), gates=(0.4,))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RunEndedWarning)
        short = run_maze(small, t_end=0.05)
    assert short.events == () and not short.reached_centre and short.event_table() == [] and short.summary()["events"] == {}
    for draw, given in ((figure5, small), (figure9, small), (figure10, short), (figure11, short), (path_figure, short)):
        draw(given, tmp_path / "figure.png", dpi=40)


def test_a_still_of_the_course(tmp_path):
    if not rendering()[0]:
        pytest.skip(rendering()[1])
    still(maze_scene(run()), tmp_path / "maze.png", 30.0, size=(480, 360))
    assert (tmp_path / "maze.png").stat().st_size > 10_000
