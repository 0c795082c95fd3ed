"""Camera frames, arrow lengths and label positions suit scenes whose positions and forces are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from screwbond.models import Visual
from screwbond.models.chains import Chain, Link, chain_graph
from screwbond.models.pictures import Force, Frame, Look, Scene, Solid, scene_of

from screws.joints import revolute
from screws.surfaces import sphere
from tests.inner.models_chains import cylinder_inertia
from tests.inner.models_pictures import Label, Mesh, cuboid, in_view, outline, place_labels, unrotated_poses

T = np.linspace(0.0, 1.0, 101)
STILL = np.zeros((101, 3))


def box(name: str, edge: float, *place: float, way: float = 0.0, **fields: object) -> Solid:
    places = STILL + np.array(place) + np.outer(way * T, [1.0, 0.0, 0.0])
    return Solid(name, unrotated_poses(places), cuboid((edge, edge, edge)), look=Look.OPAQUE, **fields)  # type: ignore[arg-type]


def seen(scene: Scene) -> tuple[list[str], np.ndarray]:
    meshes = [scene.mesh(i) for i in range(len(scene.solids))]
    indices = in_view(scene, meshes)
    points = outline(scene, meshes, indices)
    return [scene.solids[i].name for i in indices], np.stack([points.min(axis=0), points.max(axis=0)])


def test_a_camera_frames_motion_and_small_bodies_nearby() -> None:
    rest = (box("post", 0.4, 0.0, 0.5, 0.0), box("hall", 30.0, 0.0, 0.0, 15.0), box("tree", 0.4, 40.0, 0.0, 0.0))
    scene = Scene("cart", T, (box("cart", 0.2, 0.0, 0.0, 0.0, way=2.0), *rest, box("floor", 9.0, 0.0, 0.0, -5.0, framed=False)))
    names, about = seen(scene)
    assert names == ["cart", "post"]
    np.testing.assert_allclose(about, [(-0.2, -0.1, -0.2), (2.1, 0.7, 0.2)], atol=1e-12)
    # If nothing moves, everything except the surroundings is in view.
    assert seen(Scene("still", T, scene.solids[1:]))[0] == ["post", "hall", "tree"]


def test_a_camera_frames_arrows_frames_and_contacts() -> None:
    push = Force(STILL + np.array([0.0, 0.0, 0.1]), np.tile([0.0, 0.0, 50.0], (101, 1)))
    scene = Scene(
        "pushed", T, (box("cart", 0.2, 0.0, 0.0, 0.0, way=1.0),), frames=(Frame(unrotated_poses(STILL - 1.0)),), forces=(push,)
    )
    _, about = seen(scene)
    tip = scene.arrow(push)[1][0, 2]
    assert about[1, 2] == pytest.approx(tip) and tip > 0.2
    assert about[0] == pytest.approx((-1.0, -1.0, -1.0))


def test_a_lasting_force_is_seen_after_an_impact() -> None:
    newtons = np.where(abs(T - 0.3) < 0.006, 400.0, np.where(T > 0.3, 5.0, 0.0))
    force = Force(STILL, np.outer(newtons, [0.0, 0.0, 1.0]))
    scene = Scene("landed", T, (box("ball", 0.1, 0.0, 0.0, 0.0),), forces=(force,))
    lengths = np.linalg.norm(np.subtract(*scene.arrow(force)), axis=1)
    lasting, impact = lengths[-1], lengths[30]
    assert 0.025 < lasting == pytest.approx(5.0 / scene.scale.newtons_per_metre)
    assert impact == pytest.approx(2.0 * lasting) and scene.cuts(force).sum() == 1 and scene.cuts(force)[30]
    assert scene.force_legend.endswith("; two heads: larger")
    # If there is only the impact, its arrow is complete.
    alone = replace(scene, forces=(replace(force, newtons=np.where(force.newtons > 9.0, force.newtons, 0.0)),))
    assert not alone.cuts(alone.forces[0]).any()
    # Without the impact no arrow is truncated, and the legend does not mention it.
    calm = replace(scene, forces=(replace(force, newtons=np.minimum(force.newtons, 9.0)),))
    assert "heads" not in calm.force_legend and not calm.cuts(calm.forces[0]).any()


def test_labels_overlap_neither_labels_nor_other_bodies() -> None:
    labels = [Label("C", str(k), (100.0 + 6.0 * k, 100.0), (1.0, 0.0), on=(k,)) for k in range(6)]
    own = [np.array(k.at) + 4.0 * np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)]) for k in labels]
    wall = np.array([(95.0, 110.0), (200.0, 110.0), (200.0, 300.0), (95.0, 300.0)])
    bodies = [(hull, 1.0) for hull in (*own, wall)]
    sides: dict[str, tuple[float, float]] = {}
    boxes = place_labels(labels, [(18.0, 14.0)] * 6, np.zeros((0, 2)), [], bodies, 9.0, sides)
    for k, a in enumerate(boxes):
        assert not (a[2] > 95.0 and a[0] < 200.0 and a[3] > 110.0), "on the wall"
        for i, b in enumerate(boxes[:k]):
            assert a[0] >= b[2] or b[0] >= a[2] or a[1] >= b[3] or b[1] >= a[3], (i, k)
    # In the next frame of a movie all keep their sides.
    moved = [replace(label, at=(label.at[0] + 1.0, label.at[1])) for label in labels]
    again = place_labels(moved, [(18.0, 14.0)] * 6, np.zeros((0, 2)), [], bodies, 9.0, sides)
    np.testing.assert_allclose(np.subtract(again, boxes), np.tile([1.0, 0.0, 1.0, 0.0], (6, 1)), atol=1e-9)


def test_a_link_is_drawn_once_and_the_base_has_a_stand() -> None:
    body, at = cylinder_inertia(1.0, 0.03, (0.0, 0.0, 0.0), (0.4, 0.0, 0.0)), np.eye(4)
    look = Visual(box=(0.4, 0.05, 0.05), position=(0.2, 0.0, 0.0), colour="#112233")
    link = Link("upper", revolute((0, 1, 0)), body, at, surface=sphere(0.03), visual=look)
    graph = chain_graph(Chain("arm", (link,)), ports=("upper",), position=(0.3,))
    solids = {solid.name: solid for solid in scene_of(graph.simulate(0.01, samples=0.005, progress=False)).solids}
    assert set(solids) == {"upper", "base"}
    assert solids["upper"].colour == "#112233" and solids["upper"].look is Look.OPAQUE
    shape = solids["upper"].shape
    assert isinstance(shape, Mesh) and np.ptp(shape.points[:, 0]) == pytest.approx(0.4)
