"""In pictures, visible items have names and hidden items do not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from screwbond.models.pictures import Force, Frame, Look, Scene, Solid, Trail, poster, rendering, still

from tests.inner.models_pictures import (
    AXES,
    SPACING,
    Camera,
    Curve,
    Panel,
    Sight,
    Stage,
    cuboid,
    force_bar,
    format_times,
    frame_labels,
    ghost_labels,
    strip,
    unrotated_poses,
)
from tests.models.pictures.test_pictures import near, rolling_ball

can_render, why = rendering()
renders = pytest.mark.skipif(not can_render, reason=why)
SIZE = (400, 300)
FRONT = Camera(np.array([0.0, -10.0, 0.0]), np.zeros(3), np.array([0.0, 0.0, 1.0]))
"""View along y, with x to the right and z up; the plane y = 0 is seen over a height of 2.46 m."""


def still_at(*place: float, count: int = 11) -> np.ndarray:
    return unrotated_poses(np.tile(np.array(place, dtype=float), (count, 1)))


def walled(**fields: object) -> Scene:
    cube = cuboid((1.0, 1.0, 1.0))
    solids = (
        Solid("wall", still_at(0.0, 0.0, 0.0), cube, look=Look.OPAQUE),
        Solid("glass", still_at(1.2, 0.0, 0.0), cube, look=Look.GLASS),
    )
    return Scene("cubes", np.linspace(0.0, 1.0, 11), solids, size=1.0, **fields)  # type: ignore[arg-type]


@renders
def test_only_opaque_bodies_hide_others() -> None:
    with Stage(walled(), SIZE) as stage:
        stage.show(0.5, FRONT)
        stage.image()
        sight = Sight.of(stage, FRONT)
    points = np.array([[0, -0.6, 0], [0, 0, 0], [0, 0.6, 0], [0.3, -0.501, 0.3], [1.2, 0, 0], [0, 0.6, 0.8], [9, 0, 0]])
    assert sight.sees(points, 0.0).tolist() == [True, False, False, True, True, True, False]
    # With a depth tolerance, a point half a metre inside the wall is visible.
    assert sight.sees(points[1:2], 0.55).all() and not sight.sees(points[1:2], 0.45).any()
    assert sight.depths[150, 200] == pytest.approx(9.5, rel=1e-3)


@renders
def test_frames_and_paths_that_are_hidden_have_no_names() -> None:
    places = {"h": (0, 1, 0), "z": (0, 0, 0.4), "f": (0, -1, 0)}
    frames = tuple(Frame(still_at(*at), label=(name, "")) for name, at in places.items())
    way = np.stack([np.zeros(11), np.ones(11), np.linspace(-0.3, 0.3, 11)], axis=1)
    up = np.tile([1.0, 0.0, 0.0], (11, 1))
    trails = (Trail(way, up, "#c2410c", "behind"), Trail(way - np.array([0.8, 0.0, 0.0]), up, "#1d4ed8", "beside"))
    scene = walled(frames=frames, paths=trails)
    with Stage(scene, SIZE) as stage:
        now = stage.show(1.0, FRONT)
        stage.image()
        sight = Sight.of(stage, FRONT)
        labels, _ = frame_labels(stage, now, FRONT, SIZE, sight)
        assert [label.text for label in labels] == ["z", "f"]
        assert len(frame_labels(stage, now, FRONT, SIZE)[0]) == 3
        # It is at the tip of the visible axis.
        tip = FRONT.pixels([0.0, 0.0, 0.4 + stage.axis], SIZE)[0]
        assert labels[0].at == pytest.approx(tuple(tip)) and labels[0].away[1] < 0.0
        assert sight.legend(now) == (("#1d4ed8", "beside"),)
        # At the start there is no path.
        assert sight.legend(stage.show(0.0, FRONT)) == ()
    assert scene.legend == (("#c2410c", "behind"), ("#1d4ed8", "beside"))


@renders
@pytest.mark.parametrize("newtons", [3e-4, 0.7, 42.0, 8e5])
def test_the_bar_of_forces_is_as_long_as_it_says(newtons: float) -> None:
    force = Force(np.tile([0.0, -1.0, 0.0], (11, 1)), np.tile([newtons, 0.0, 0.0], (11, 1)), "on the wall")
    with Stage(walled(forces=(force,)), SIZE) as stage:
        now = stage.show(0.5, FRONT)
        found, ends = force_bar(stage, now, FRONT, SIZE), stage.arrow(now.all_forces[0])
        still = stage.show(0.5, FRONT)
        nothing = replace(still, forces=(replace(still.forces[0], newtons=np.zeros((1, 3))),))
        assert force_bar(stage, nothing, FRONT, SIZE) is None
    assert found is not None and ends is not None
    words, pixels = found
    start, tip = FRONT.pixels(np.stack(ends), SIZE)
    said = float(words.removeprefix("force on the wall (bar: ").removesuffix(" N)"))
    assert pixels / np.linalg.norm(tip - start) == pytest.approx(said / newtons, rel=1e-2)
    assert 0.03 * SIZE[1] < pixels <= 0.1 * SIZE[1]


@renders
def test_ghosts_bear_their_times() -> None:
    t = np.linspace(0.0, 1.0, 401)
    x = np.stack([4.0 * t - 2.0, 0.0 * t, 0.0 * t], axis=1)
    scene = Scene("a cube passes", t, (Solid("cube", unrotated_poses(x), cuboid((0.5, 0.5, 0.5)), ghosts=-np.inf),))
    with Stage(scene, SIZE) as stage:
        far = Camera(np.array([0.0, -30.0, 0.0]), np.zeros(3), np.array([0.0, 0.0, 1.0]))
        stage.show(1.0, far)
        stage.image()
        labels = ghost_labels(stage, 1.0, Sight.of(stage, far), SIZE)
    step = SPACING * 0.5 / 4.0
    times = [float(label.text.removesuffix(" s")) for label in labels]
    assert len(labels) == 5 and np.diff(times) == pytest.approx(-step, abs=0.011)
    for label, t_ghost in zip(labels, times, strict=True):
        assert label.at[0] == pytest.approx(float(far.pixels([4.0 * t_ghost - 2.0, 0.0, 0.0], SIZE)[0, 0]), abs=2.0)
    assert min(times) >= 0.0


def test_times_have_the_digits_that_tell_them_apart() -> None:
    assert (
        format_times([1.234, 1.235]) == ["1.2340 s", "1.2350 s"]
        and format_times([]) == []
        and format_times([20.0, 30.0]) == ["20.0 s", "30.0 s"]
    )


@renders
def test_a_poster_without_contacts_is_as_high_as_it_needs_to_be(tmp_path: Path) -> None:
    from PIL import Image

    def bar(*edges: float) -> Scene:
        return Scene("bar", np.linspace(0.0, 1.0, 3), (Solid("bar", still_at(0, 0, 0, count=3), cuboid(edges)),))

    sizes = []
    for scene in (bar(2.0, 0.1, 0.1), bar(0.1, 0.1, 2.0)):
        poster(scene, tmp_path / "poster.png")
        with Image.open(tmp_path / "poster.png") as image:
            sizes.append(image.size)
    assert sizes[0][0] == sizes[1][0] == 2400 and sizes[0][1] < sizes[1][1] - 500


@renders
def test_a_curve_that_is_constant_has_a_quiet_axis() -> None:
    t = np.linspace(0.0, 1.0, 50)
    noisy = Panel("energy", "J", (Curve("sum", 846.0 + 1e-10 * np.sin(40.0 * t), "#000000"),), key=True)
    pixels, _, rows = strip(Scene("falling", t, panels=(noisy,)), (600, 200), noisy)
    dark = np.nonzero((pixels[..., 3] > 200) & (pixels[..., :3].max(axis=2) < 60))
    on_curve = [row for row in range(int(rows[0]) + 3, int(rows[1]) - 3) if np.sum(dark[0] == row) > 300]
    assert on_curve and np.mean(on_curve) == pytest.approx(np.mean(rows), abs=3.0)


@pytest.mark.release
@renders
@pytest.mark.parametrize("far, hidden", [(False, False), (True, False), (False, True)])
def test_still_has_a_lens_where_a_contact_cannot_be_seen(tmp_path: Path, far: bool, hidden: bool) -> None:
    scene = rolling_ball()
    block = Solid("block", scene.solids[1].poses, cuboid((0.1, 0.1, 0.1)), look=Look.OPAQUE)
    scene = replace(scene, size=0.002 if far else scene.unit, solids=(*scene.solids, *[block] * hidden))
    still(scene, tmp_path / "still.png", 0.9, (480, 270), ghosts=0)
    corner = np.asarray(Image.open(tmp_path / "still.png"))[9:84, 396:471]
    assert (near(corner, AXES[0]) > 10) == (far or hidden)
