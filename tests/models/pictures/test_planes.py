"""In scenes of planar bodies, plates, contacts and grounds are where the result puts them."""

from __future__ import annotations

import numpy as np
import pytest
from screwbond.models import Visual, attach_planar_contact, mark_planar_body, planar_body
from screwbond.models.pictures import Scene, page, poster, rendering, scene_of

from bondgraph import Graph, ModelError
from bondgraph.stepping import stepper
from examples import parallel_gripper, pushing, sphere_robot, tipping_box

can_render, why = rendering()
renders = pytest.mark.skipif(not can_render, reason=why)


@pytest.fixture(scope="module")
def tipped():
    return stepper(tipping_box.box(), inertia="full").simulate(1.2, step=0.01)


def planar(place: np.ndarray) -> np.ndarray:
    (x, y), a = place[:2], (place[2] if len(place) > 2 else 0.0)
    return np.array([[np.cos(a), -np.sin(a), 0, x], [np.sin(a), np.cos(a), 0, y], [0, 0, 1, 0], [0, 0, 0, 1]])


def fits(scene: Scene, tolerance: float = 1e-9) -> None:
    for touch in scene.contacts:
        c1, c2 = touch.frames
        for H in (c1, c2):
            np.testing.assert_allclose(np.linalg.det(H[:, :3, :3]), 1.0, atol=1e-12)
        np.testing.assert_allclose(c1[:, :3, 2], -c2[:, :3, 2], atol=1e-12)
        apart = np.sum((c2[:, :3, 3] - c1[:, :3, 3]) * c1[:, :3, 2], axis=1)
        np.testing.assert_allclose(apart, touch.gap, atol=tolerance)
        np.testing.assert_allclose(np.sum(touch.force * c1[:, :3, 2], axis=1), touch.normal, atol=1e-9)


def pushed(scene: Scene, name: str) -> np.ndarray:
    number = [solid.name for solid in scene.solids].index(name)
    signs = [(touch, touch.solids.index(number)) for touch in scene.contacts if number in touch.solids]
    return np.sum([(2 * side - 1) * touch.force for touch, side in signs], axis=0)


def test_plates_are_where_the_result_says(tipped) -> None:
    scene = scene_of(tipped)
    solids = {solid.name: solid for solid in scene.solids}
    assert set(solids) == {"box", "finger", "ground"}
    for name in ("box", "finger"):
        np.testing.assert_allclose(solids[name].poses, [planar(row) for row in tipped[f"{name}.place"]], atol=1e-12)
    # Without an outline, it is the square with its inertia, as in the example.
    points = solids["box"].shape.points
    np.testing.assert_allclose([points.min(axis=0)[:2], points.max(axis=0)[:2]], [[-0.5, -0.5], [0.5, 0.5]], atol=1e-12)
    assert points[:, 2].max() == 0.0  # contacts are visible in front of it
    np.testing.assert_allclose(scene.up, (0.0, 1.0, 0.0))
    assert [touch.name for touch in scene.contacts] == ["corner A", "corner B", "finger tip"]
    pairs = [tuple(scene.solids[i].name for i in touch.solids) for touch in scene.contacts]
    assert pairs == [("ground", "box"), ("ground", "box"), ("box", "finger")]


def test_the_forces_of_a_scene_move_its_bodies(tipped) -> None:
    """In every step the change of momentum is due to the forces of the arrows and the weight."""
    scene = scene_of(tipped)
    places = tipped["box.position.y"][:, :2]
    v = np.diff(places, axis=0) / 0.01
    expected = tipping_box.MASS * np.diff(v, axis=0) / 0.01 + [0.0, tipping_box.MASS * tipping_box.GRAVITY]
    # A step takes the direction of the finger's force at the previous position of the box: it lags by the rotation of one step.
    turns = np.abs(np.diff(tipped["box.place"][:, 2])).max()
    lag = 1.1 * turns * np.linalg.norm(scene.contacts[2].force, axis=1).max()
    assert lag < 0.02 * np.abs(expected).max()
    np.testing.assert_allclose(pushed(scene, "box")[2:, :2], expected, atol=lag)
    left = [event.time for event in tipped.events if (event.name, event.kind) == ("finger tip", "open")]
    assert scene.contacts[2].intervals[0][1] == left[0]


def test_a_box_that_is_pushed() -> None:
    result = stepper(pushing.in_a_plane()).simulate(0.4, step=0.01)
    scene = scene_of(result)
    fits(scene)
    weight = pushing.MASS * pushing.GRAVITY
    np.testing.assert_allclose(pushed(scene, "box")[1:, :2], np.broadcast_to([0.0, weight], (40, 2)), atol=1e-6)
    np.testing.assert_allclose(pushed(scene, "finger")[1:, :2], -result["spring.effort"][1:], atol=1e-6)
    assert pushed(scene, "finger")[-1, 0] == pytest.approx(-pushing.FRICTION * weight, rel=1e-6)


def test_a_mechanism_in_coordinates_of_its_own() -> None:
    result = stepper(parallel_gripper.gripper()).simulate(0.2, step=0.01)
    scene = scene_of(result)
    fits(scene)
    solids = {solid.name: solid for solid in scene.solids}
    for name, x, y in (("disc", "disc x", "disc z"), ("left", "left", "y"), ("right", "right", "y")):
        rows = np.column_stack([result[f"{x} place.y"].ravel(), result[f"{y} place.y"].ravel()])
        np.testing.assert_allclose(solids[name].poses, [planar(row) for row in rows], atol=1e-12)
    # Both fingers push it down by friction, and against each other; the floor carries this and its weight.
    weight = np.array([0.0, parallel_gripper.WEIGHT])
    np.testing.assert_allclose(pushed(scene, "disc")[1:, :2], np.broadcast_to(weight, (20, 2)), atol=1e-6)
    left = next(touch for touch in scene.contacts if touch.name == "left finger")
    assert np.all(left.force[1:, 0] > 9.0) and np.all(left.force[2:, 1] < 0.0)


def two_units(unit: float) -> Graph:
    graph, inner = Graph("plane"), Graph("cell")
    cart = planar_body("cart", mass=1.0, place=(0.0, 0.1 * unit), gravity=9.81 * unit)
    wheel = planar_body("wheel", mass=1.0, inertia=1.0, place=(unit, 0.3 * unit, 0.5), gravity=9.81 * unit, outline=0.3 * unit)
    attach_planar_contact(inner, "edge", (cart, (0.0, -0.1 * unit)), (None, (0.0, 2.0), 0.0), friction=0.3)
    attach_planar_contact(inner, "below", (wheel, (0.0, -0.3 * unit)), (None, (0.0, 1.0), 0.0))
    graph.add(inner)
    return graph


def test_a_part_of_a_graph_in_other_units() -> None:
    metres, millimetres = (scene_of(stepper(two_units(unit)).simulate(0.02, step=0.01)) for unit in (1.0, 1000.0))
    assert [solid.name for solid in metres.solids] == ["cell.cart", "cell.wheel", "ground"]
    for small, large in zip(metres.solids, millimetres.solids, strict=True):
        np.testing.assert_allclose(1000.0 * small.shape.points, large.shape.points, atol=1e-6)
        np.testing.assert_allclose(1000.0 * small.poses[:, :3, 3], large.poses[:, :3, 3], atol=1e-4)
    assert millimetres.unit == pytest.approx(1000.0 * metres.unit)
    ground = metres.solids[2]
    np.testing.assert_allclose(ground.poses[0, :3, 2], (0.0, 1.0, 0.0), atol=1e-15)
    reach = ground.shape.points @ ground.poses[0, :3, :3].T + ground.poses[0, :3, 3]
    assert reach[:, 0].min() < 0.0 and reach[:, 0].max() > 1.0
    np.testing.assert_allclose(reach[:, 1], 0.0, atol=1e-15)


def test_a_visual_instead_of_an_outline() -> None:
    graph = Graph("block")
    body = planar_body("block", mass=1.0, place=(0.0, 0.5), visual=Visual(box=(0.2, 0.3, 0.4)))
    attach_planar_contact(graph, "floor", (body, (0.0, -0.5)), (None, (0.0, 1.0), 0.0))
    scene = scene_of(stepper(graph).simulate(0.02, step=0.01))
    np.testing.assert_allclose(np.ptp(scene.solids[0].shape.points, axis=0), (0.2, 0.3, 0.4))


@pytest.mark.parametrize(
    "outline", [0.0, -1.0, "disc", [(0, 0), (1, 0)], [(0, 0), (1, 0), (0.1, 0.1), (0, 1)], [(0, 0, 0), (1, 0, 0), (0, 1, 0)]]
)
def test_outlines_that_are_none(outline) -> None:
    with pytest.raises(ModelError, match=r"E575.*outline"):
        planar_body("finger", mass=0.1, outline=outline)


def test_self_intersecting_outlines_are_refused() -> None:
    """All corners of a pentagram turn the same way, but its outline winds round its centre twice."""
    angles = 4.0 * np.pi * np.arange(5) / 5.0
    with pytest.raises(ModelError, match="E575"):
        planar_body("star", mass=0.1, outline=np.column_stack([np.cos(angles), np.sin(angles)]))


@pytest.mark.parametrize("place", [{"z": "a"}, {}, 3, {"x": 3}])
def test_places_that_are_none(place) -> None:
    with pytest.raises(ModelError, match=r"E575.*place"):
        mark_planar_body(Graph("g"), "cart", place)


@pytest.mark.thorough
@renders
def test_pictures_of_a_plane(tmp_path) -> None:
    from PIL import Image

    result = stepper(sphere_robot.robot()).simulate(0.2, step=0.01)
    poster(result, tmp_path / "poster.png")
    page(result, tmp_path / "page.html")
    assert len(np.unique(np.asarray(Image.open(tmp_path / "poster.png").convert("L")))) > 60
