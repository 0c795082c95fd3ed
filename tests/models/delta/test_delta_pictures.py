"""Pictures of the delta robot show shapes that follow the angles."""

from __future__ import annotations

import base64
from dataclasses import replace

import numpy as np
import pytest
from screwbond.models.delta import DeltaParameters, DeltaRobot
from screwbond.models.pictures import rendering

from tests.inner.models_delta import (
    BALL,
    TouchPlan,
    Tracking,
    delta_scene,
    film,
    joint_positions,
    page,
    plot_touch,
    plot_tracking,
    poster,
    soft_touch,
    still,
    touch_graph,
    track,
    tracking_scene,
    transfer,
)
from tests.inner.models_pictures import Stage, camera_of, contents
from tests.inner.render import diagram

can_render, why = rendering()
renders = pytest.mark.skipif(not can_render, reason=why)
FIT = DeltaParameters.fit()


@pytest.fixture
def _rough_layout() -> None:
    """Keep the search for cells, since a test in this file checks the cells."""


@pytest.fixture(scope="module")
def tracking() -> Tracking:
    return track(FIT, transfer((-0.12, -0.05, 0.5), (0.12, 0.06, 0.5)), samples=5e-3)


def colours(path) -> int:
    from PIL import Image

    pixels = np.asarray(Image.open(path).convert("RGB"))[::3, ::3] // 16
    return len(np.unique(pixels.reshape(-1, 3), axis=0))


def test_links_keep_their_lengths() -> None:
    robot = DeltaRobot(FIT)
    for w in ((0.0, 0.0, 0.45), (0.1, -0.05, 0.5)):
        q = robot.kinematics.inverse(w)
        shafts, elbows, wrists = joint_positions(FIT, q)
        np.testing.assert_allclose(np.linalg.norm(elbows - shafts, axis=1), FIT.L1, atol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(wrists - elbows, axis=1), FIT.L2, atol=1e-12)
        np.testing.assert_allclose(wrists.mean(axis=0), w, atol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(wrists - w, axis=1), FIT.L3, atol=1e-12)


@pytest.mark.thorough
def test_plots(tmp_path, tracking: Tracking) -> None:
    pytest.importorskip("matplotlib")
    plan = TouchPlan()
    touches = {"soft": soft_touch(FIT, plan, t_end=13.0), "ball": soft_touch(FIT, replace(plan, constants=BALL), t_end=13.0)}
    plot_touch(touches, tmp_path / "both.png", dpi=60)
    plot_touch(touches["soft"], tmp_path / "one.svg")
    text = (tmp_path / "one.svg").read_text()
    assert text.count("<path") > 50
    # A touch that has not reached its contact yet has no close-up.
    plot_touch(soft_touch(FIT, plan, t_end=3.0), tmp_path / "early.png", dpi=60)
    plot_tracking(tracking, tmp_path / "tracking.png", dpi=60)
    assert min(colours(tmp_path / f"{name}.png") for name in ("both", "early", "tracking")) > 20


def test_diagram_of_the_controlled_robot() -> None:
    drawn = diagram(touch_graph(FIT).freeze(), folded="all")
    assert "arm 1" in drawn.positions and "motors" in drawn.positions
    assert sum(name == "table" for name in drawn.positions) == 1
    distance = np.subtract(drawn.positions["table"], drawn.positions["brick"])
    assert np.linalg.norm(distance) < 250.0


def test_solids_are_where_the_joints_are(tracking: Tracking) -> None:
    run = tracking.run
    scene = delta_scene(run, cargo=(0.0, 0.3))
    named = {name: [solid for solid in scene.solids if solid.name == name] for name in {solid.name for solid in scene.solids}}
    for k in (0, len(run.t) // 3):
        shafts, elbows, wrists = joint_positions(FIT, run.q[k])
        for i in range(3):
            (link,), rods = named[f"link {i + 1}"], named[f"rod {i + 1}"]
            np.testing.assert_allclose(link.poses[k] @ [0.0, 0.0, 0.0, 1.0], [*shafts[i], 1.0], atol=1e-12)
            np.testing.assert_allclose(link.poses[k] @ [0.0, 0.0, FIT.L1, 1.0], [*elbows[i], 1.0], atol=1e-12)
            ends = np.mean([rod.poses[k] @ [0.0, 0.0, FIT.L2, 1.0] for rod in rods], axis=0)
            np.testing.assert_allclose(ends, [*wrists[i], 1.0], atol=1e-12)
        np.testing.assert_allclose(named["tool"][0].poses[k, :3, 3], run.w[k], atol=1e-9)
    (block,) = named["block"]
    rest = block.poses[run.t > 0.31]
    np.testing.assert_array_equal(rest, np.broadcast_to(rest[0], rest.shape))
    assert block.moves() and np.linalg.det(scene.solids[1].poses[0, :3, :3]) == pytest.approx(1.0)


@pytest.mark.thorough
def test_page(tmp_path, tracking: Tracking) -> None:
    page(tracking, tmp_path / "page.html", cargo=(0.0, 0.6))
    assert (tmp_path / "page.html").stat().st_size < 8e6
    shown = contents(tracking_scene(tracking, cargo=(0.0, 0.6)), 1.0, None)
    assert [frame["label"] for frame in shown["frames"]] == [("0", ""), ("A", "1"), ("A", "2"), ("A", "3"), ("T", "")]
    assert [solid["look"] for solid in shown["solids"]].count("VEIL") == 1 and shown["paths"][0]["ahead"]
    for name, packed in shown["arrays"].items():
        if isinstance(packed, str):  # of 32-bit floats
            assert np.all(np.isfinite(np.frombuffer(base64.b64decode(packed), np.float32))), name


@pytest.mark.thorough
@renders
def test_still_shows_robot_and_block(tmp_path, tracking: Tracking) -> None:
    still(tracking.run, tmp_path / "still.png", 0.3, size=(400, 300), cargo=(0.0, 0.6), title="Delta robot")
    assert colours(tmp_path / "still.png") > 100
    scene = delta_scene(tracking.run, cut=False, frames=False, cargo=(0.0, 0.6))
    with Stage(scene, (400, 300)) as stage:
        camera = camera_of(stage, scene.t[::20], (400, 300), (20, 20, 20, 20))
        shots = []
        for t in (0.0, 0.3):
            now = stage.show(t, camera)
            shots.append(stage.image().astype(int))
            spot = camera.pixels(now.paths[0].points, (400, 300))[0]
            around = shots[-1][int(spot[1]) - 8 : int(spot[1]) + 9, int(spot[0]) - 8 : int(spot[0]) + 9]
            assert np.ptp(around.reshape(-1, 3), axis=0).max() > 40
        assert np.mean(np.abs(shots[0] - shots[1]).max(axis=2) > 20) > 0.01


@pytest.mark.thorough
@renders
def test_poster(tmp_path, tracking: Tracking) -> None:
    poster(tracking, tmp_path / "poster.png", cargo=(0.0, 0.6))
    assert colours(tmp_path / "poster.png") > 100


@renders
def test_film(tmp_path, tracking: Tracking) -> None:
    from PIL import Image

    path = film(tracking, tmp_path / "film.gif", seconds=0.4, fps=10, size=(320, 240), cut=False, progress=False)
    with Image.open(path) as movie:
        assert movie.n_frames == 4 and movie.size == (160, 120)
    assert [file.name for file in tmp_path.iterdir()] == ["film.gif"]
