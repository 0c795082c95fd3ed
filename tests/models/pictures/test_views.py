"""Views of a result in three dimensions move with time."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from screwbond.models import Visual, ground, rigid_body
from screwbond.models.joints import attach_joint, joint_graph
from screwbond.models.pictures import rendering, show

from bondgraph import Graph, ModelError, compile_model
from screws.joints import revolute
from screws.poses import pose
from tests.inner.models_pictures import has_screen, in_notebook, length_bar
from tests.inner.run import Result

can_render, why = rendering()
renders = pytest.mark.skipif(not can_render, reason=why)


@pytest.fixture(scope="module")
def swinging() -> Result:
    graph, wall = Graph("swing"), ground("wall")
    weight = {"mass": 1.0, "inertia": (1e-4, 0.0134, 0.0134), "gravity": (0.0, 0.0, -9.81)}
    bar = rigid_body("bar", position=(0.2, 0.0, 0.0), visual=Visual(box=(0.4, 0.03, 0.03), colour="#e08020"), **weight)
    there = pose(np.eye(3), (-0.2, 0.0, 0.0))
    attach_joint(graph, joint_graph("hinge", revolute((0, 1, 0)), frame_a=np.eye(4), frame_b=there), wall, bar)
    return compile_model(graph).simulate(0.6, samples=0.01, progress=False)


def middle(view: Any, H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the pixel of the bar's centre by VTK's own camera, and the mean position of the pixels in the bar's colour."""
    image, renderer = view.image().astype(int), view.plotter.renderer
    renderer.SetWorldPoint(*H[:3, 3], 1.0)
    renderer.WorldToDisplay()
    x, y, _ = renderer.GetDisplayPoint()
    rows, columns = np.nonzero(image[..., 0] - image[..., 2] > 40)
    return np.array([x, image.shape[0] - y]), np.array([columns.mean(), rows.mean()])


@renders
def test_a_view_moves_the_bodies_with_time(swinging: Result) -> None:
    with show(swinging, 0.0, size=(480, 360), window=False) as view:
        camera = [*view.plotter.camera.position, *view.plotter.camera.focal_point]
        places = []
        for t in (0.0, 0.3, 99.0):
            told, seen = middle(view.at(t), np.asarray(view.scene.at_times([min(t, 0.6)]).solids[0].poses[0]))
            assert np.linalg.norm(told - seen) < 8.0
            places.append(told)
        assert np.linalg.norm(places[1] - places[0]) > 40.0
        assert camera == [*view.plotter.camera.position, *view.plotter.camera.focal_point]


@renders
def test_a_view_is_the_value_of_a_cell(swinging: Result) -> None:
    from PIL import Image

    with show(swinging, size=(320, 180), window=False) as view:
        assert Image.open(io.BytesIO(view._repr_png_())).size == (320, 180)
        view.plotter.add_text("mine")


def test_a_missing_screen_is_reported(swinging: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    assert not has_screen() and not in_notebook()
    pytest.importorskip("pyvista")
    with pytest.raises(ModelError, match=r"E578.*no screen(?s:.*)window=False"):
        show(swinging, window=True)
    monkeypatch.setenv("DISPLAY", ":0")
    assert has_screen()


@pytest.mark.parametrize("scale", [7e-3, 1.0, 42.0, 1e3, 3.3e4, 8e6, 5e8])
def test_a_length_bar_is_as_long_as_it_says(scale: float) -> None:
    words, pixels = length_bar(scale, 1280)
    number, unit = words.split()
    metres = float(number) * {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "µm": 1e-6}[unit]
    assert metres * scale == pytest.approx(pixels)
    assert 0.05 * 1280 <= pixels <= 0.125 * 1280 * (1 + 1e-9)
    assert number.lstrip("0.").rstrip("0") in {"1", "2", "5"} or "e" in number
