"""Scenes of models without pictures of their own follow from the result alone."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from screwbond.models import Visual, attach_between, attach_contact, contact, ground, point_spring, rigid_body, spatial_spring
from screwbond.models.chains import Chain, Link, chain_graph, link_pose
from screwbond.models.joints import attach_joint, joint_graph
from screwbond.models.pictures import Look, scene_of

from bondgraph import Block, Graph, ModelError, Op, StateSpec, compile_model
from screws.joints import fixed, prismatic, revolute
from screws.poses import pose, pose_from_state
from screws.surfaces import plane, sphere
from tests.inner.models_chains import cylinder_inertia
from tests.inner.models_pictures import SpringDrawing, box_of_inertia, helix, stretch_poses, visual_mesh

DOWN = (0.0, 0.0, -9.81)


def at(x: float, y: float = 0.0, z: float = 0.0) -> np.ndarray:
    return np.asarray(pose(np.eye(3), (x, y, z)), dtype=float)


def arm() -> tuple[Chain, Graph]:
    links, x = [], 0.0
    for k, length in enumerate((0.4, 0.3, 0.2)):
        body = cylinder_inertia(1.0, 0.03, (0.0, 0.0, 0.0), (length, 0.0, 0.0))
        links.append(Link(f"link {k + 1}", revolute((0, 1, 0), (x, 0.0, 0.0)), body, at(x), damping=0.5))
        x += length
    links.append(Link("tip", fixed(), None, at(x), surface=sphere(0.03)))
    chain = Chain("arm", tuple(links), at(0.0, 0.0, 0.7))
    graph, table = Graph("arm on a table"), ground("table", surface=plane())
    own = chain_graph(chain, ports=("tip",), gravity=DOWN, position=(0.3, 0.3, 0.2))
    tip = own.link("tip")
    attach_contact(graph, contact("touch", table, tip, constrained="v_z", normal_stiffness=1e4, normal_damping=50.0), table, tip)
    return chain, graph


def test_an_arm_that_touches_a_table() -> None:
    chain, graph = arm()
    result = compile_model(graph).simulate(0.6, samples=0.02, progress=False)
    scene = scene_of(result)
    solids = {solid.name: solid for solid in scene.solids}
    assert set(solids) == {"table", "arm.tip", "arm.link 1", "arm.link 2", "arm.link 3", "arm.base"}
    q = result["arm.mechanism.q"]
    for k, name in enumerate(("link 1", "link 2", "link 3", "tip")):
        expected = [np.asarray(link_pose(chain, k, row), dtype=float) for row in q]
        np.testing.assert_allclose(solids[f"arm.{name}"].poses, expected, atol=1e-12)
    (touch,) = scene.contacts
    assert [scene.solids[i].name for i in touch.solids] == ["table", "arm.tip"]
    assert touch.intervals and touch.normal.max() > 1.0
    np.testing.assert_allclose(scene.up, (0.0, 0.0, 1.0))
    # A rod reaches from its joint to the next one, in the axes of its link.
    reach = solids["arm.link 2"].shape.points
    assert np.ptp(reach[:, 0]) >= 0.3 and reach[:, 0].max() < 0.4


def pendulum() -> Graph:
    graph, wall, half = Graph("pendulum"), ground("wall"), 0.25
    sizes = {"mass": 1.0, "inertia": (1e-4, half * half / 3.0, half * half / 3.0), "gravity": DOWN}
    upper = rigid_body("upper", position=(half, 0.0, 0.0), **sizes)
    lower = rigid_body("lower", position=(3.0 * half, 0.0, 0.0), visual=Visual(capsule=(0.02, 0.4), colour="#112233"), **sizes)
    hinge = revolute((0, 1, 0))
    attach_joint(graph, joint_graph("shoulder", hinge, frame_a=at(0.0), frame_b=at(-half)), wall, upper)
    attach_joint(graph, joint_graph("elbow", hinge, frame_a=at(half), frame_b=at(-half)), upper, lower)
    return graph


def test_a_pendulum_of_bodies_and_joints() -> None:
    result = compile_model(pendulum()).simulate(1.0, samples=0.02, progress=False)
    solids = {solid.name: solid for solid in scene_of(result).solids}
    assert set(solids) == {"upper", "lower", "shoulder", "elbow", "floor"}
    H = np.array([np.asarray(pose_from_state(row), dtype=float) for row in result["upper.pose"]])
    np.testing.assert_allclose(solids["elbow"].poses[:, :3, 3], (H @ [0.25, 0.0, 0.0, 1.0])[:, :3], atol=1e-12)
    np.testing.assert_allclose(np.abs(solids["elbow"].poses[:, 1, 2]), 1.0, atol=1e-9)
    assert np.ptp(solids["upper"].shape.points[:, 0]) == pytest.approx(0.5, rel=2e-3)
    assert solids["lower"].look is Look.OPAQUE and solids["lower"].colour == "#112233"
    floor = solids["floor"]
    lowest = min(
        float((solid.shape.points @ G[:3, :3].T + G[:3, 3])[:, 2].min())
        for solid in (solids["upper"], solids["lower"])
        for G in solid.poses
    )
    assert lowest - 0.05 < floor.poses[0, 2, 3] <= lowest + 1e-9 and not floor.framed


def test_springs_end_where_they_are_fixed() -> None:
    graph, wall = Graph("springs"), ground("wall")
    block = rigid_body("block", mass=1.0, inertia=(2e-3, 2e-3, 2e-3), position=(0.0, 0.0, -0.3), velocity=(0.3, 0.0, 0.0))
    attach_between(graph, point_spring("spring", 60.0, point_a=(0.2, 0.0, 0.0), point_b=(0.0, 0.0, 0.05)), wall, block)
    held = spatial_spring("bush", rotational=1.0, translational=10.0, frame_a=(0.0, 0.0, -0.2), frame_b=(0.0, 0.1, 0.0))
    attach_between(graph, held, wall, block)
    result = compile_model(graph).simulate(0.5, samples=0.02, progress=False)
    scene = scene_of(result)
    spring, bush = sorted(scene.springs, key=lambda coil: coil.name, reverse=True)
    H = np.array([np.asarray(pose_from_state(row), dtype=float) for row in result["block.pose"]])
    np.testing.assert_allclose(spring.starts, np.tile((0.2, 0.0, 0.0), (len(H), 1)), atol=1e-12)
    np.testing.assert_allclose(spring.ends, (H @ [0.0, 0.0, 0.05, 1.0])[:, :3], atol=1e-12)
    np.testing.assert_allclose(bush.starts, np.tile((0.0, 0.0, -0.2), (len(H), 1)), atol=1e-12)
    np.testing.assert_allclose(bush.ends, (H @ [0.0, 0.1, 0.0, 1.0])[:, :3], atol=1e-12)
    later = scene.at_times([0.03]).springs[0]
    np.testing.assert_allclose(later.ends[0], 0.5 * (scene.springs[0].ends[1] + scene.springs[0].ends[2]), atol=1e-12)
    # Without gravity there is no downward direction.
    assert "floor" not in [solid.name for solid in scene.solids]


def test_a_helix_ends_at_the_ends_of_its_spring() -> None:
    coil = SpringDrawing("spring", np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]), np.array([[0.3, 0.0, 0.4], [1.0, 0.0, 1.5]]))
    assert coil.length == pytest.approx(1.0)
    mesh, H = helix(coil.length, 0.01, coil.turns), stretch_poses(coil.starts, coil.ends, coil.length)
    for k in range(2):
        centres = (mesh.points.reshape(-1, 8, 3)[[0, -1]].mean(axis=1)) @ H[k, :3, :3].T + H[k, :3, 3]
        np.testing.assert_allclose(centres, [coil.starts[k], coil.ends[k]], atol=1e-12)


def test_the_box_of_an_inertia() -> None:
    """The edges a, b and c of the uniform box satisfy I_x = m / 12 (b^2 + c^2), and likewise about y and z, in rotated axes."""
    edges, turn = (
        np.array([0.1, 0.2, 0.4]),
        pose(np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), (0, 0, 0))[:3, :3],
    )
    moments = 3.0 / 12.0 * np.array([edges[1] ** 2 + edges[2] ** 2, edges[0] ** 2 + edges[2] ** 2, edges[0] ** 2 + edges[1] ** 2])
    mesh = box_of_inertia(3.0, turn @ np.diag(moments) @ turn.T, np.array([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(np.ptp(mesh.points, axis=0), [0.2, 0.1, 0.4], rtol=1e-9)
    np.testing.assert_allclose(mesh.points.mean(axis=0), (1.0, 2.0, 3.0), rtol=1e-9)


def test_a_visual_of_triangles_is_placed_and_scaled() -> None:
    points = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    faces = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]])
    mesh = visual_mesh(Visual(mesh=(points, faces), scale=0.001, position=(1.0, 0.0, 0.0)))
    np.testing.assert_allclose(mesh.points.min(axis=0), (1.0, 0.0, 0.0), atol=1e-12)
    np.testing.assert_allclose(mesh.points.max(axis=0), (1.001, 0.001, 0.001), atol=1e-12)
    outward = np.sum(mesh.normals * (mesh.points - [1.00025, 0.00025, 0.00025]), axis=1)
    assert len(mesh.points) == 12 and np.all(outward > 0.0), "every edge is sharp"


@pytest.mark.parametrize(("corner", "face", "title"), [(np.nan, 2, "points that are not finite"), (1.0, 3, "missing points")])
def test_a_mesh_with_invalid_points_or_triangles_is_refused(corner, face, title) -> None:
    points = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, corner, 0.0]])
    with pytest.raises(ModelError, match=f"E577 the mesh of a visual has .*{title}"):
        visual_mesh(Visual(mesh=(points, np.array([[0, 1, face]]))))


def test_a_pose_of_the_users_own_is_a_frame() -> None:
    graph = Graph("frames")
    turning = Op("pose", lambda t: np.eye(4) + 0.0 * t, "H")
    other = Op("matrix", lambda t: 2.0 * np.eye(4) + 0.0 * t, "A")
    graph.add(Block("camera", [("H", turning, ["t"]), ("A", other, ["t"])], inputs={"t": "time"}))
    one = Op("one", lambda x: x * 0.0 + 1.0, "1")
    graph.add(Block("clock", [("one", one, ["x"])], states={"x": StateSpec(0.0)}, rates={"x": "one"}))
    frames = scene_of(compile_model(graph).simulate(0.1, progress=False)).frames
    assert [frame.label[0] for frame in frames] == ["camera.H"]


def test_a_result_from_another_process_is_drawn_from_its_own_data() -> None:
    """A pickled result has no model, so its bodies are drawn only as frames at their poses."""
    result = compile_model(pendulum()).simulate(0.1, samples=0.02, progress=False)
    scene = scene_of(pickle.loads(pickle.dumps(result)))  # noqa: S301 - our own
    assert scene.solids == () and {"upper.pose", "lower.pose"} <= {frame.label[0] for frame in scene.frames}


def test_a_joint_that_slides_has_its_own_shape() -> None:
    graph, rail = Graph("slider"), ground("rail")
    cart = rigid_body("cart", mass=1.0, inertia=(0.1, 0.1, 0.1), velocity=(0.2, 0.0, 0.0))
    attach_joint(graph, joint_graph("slide", prismatic((1, 0, 0))), rail, cart)
    scene = scene_of(compile_model(graph).simulate(0.2, samples=0.1, progress=False))
    slide = next(solid for solid in scene.solids if solid.name == "slide")
    along = slide.poses[0, :3, :3] @ np.ptp(slide.shape.points, axis=0)
    assert np.argmax(np.abs(along)) == 0, "longest along its axis"
