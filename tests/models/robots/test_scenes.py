"""Pictures of robots have meshes with the volumes and sizes of closed forms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from screwbond.models.chains import chain_graph, link_pose
from screwbond.models.pictures import Scene, rendering, scene_of, still
from screwbond.models.robots import Robot, read_urdf, robot_scene

from bondgraph import ModelError
from tests.inner.models_pictures import Mesh

DATA = Path(__file__).parents[1] / "data" / "urdf"


def volume(mesh: Mesh) -> float:
    """Return the volume, which is positive where the triangles are wound about the outward normal."""
    a, b, c = (mesh.points[mesh.faces[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c))) / 6.0


def outward(mesh: Mesh) -> bool:
    a, b, c = (mesh.points[mesh.faces[:, k]] for k in range(3))
    flat = np.cross(b - a, c - a)
    big = np.linalg.norm(flat, axis=1) > 1e-12
    return all(np.all(np.einsum("ij,ij->i", flat, mesh.normals[mesh.faces[:, k]])[big] > 0.0) for k in range(3))


def test_boxes_cylinders_and_spheres_have_their_sizes_and_places() -> None:
    skins = {skin.link: skin.mesh for skin in read_urdf(DATA / "two_links.urdf").visuals}
    assert set(skins) == {"stand", "upper", "fore"}
    assert volume(skins["stand"]) == pytest.approx(0.2 * 0.2 * 0.1, rel=1e-12)
    assert np.allclose(np.ptp(skins["upper"].points, axis=0), [0.08, 0.08, 0.5], rtol=0, atol=1e-12)
    assert np.allclose(skins["upper"].points.mean(axis=0), [0, 0, 0.25], rtol=0, atol=1e-12)
    sides = 40
    assert volume(skins["upper"]) == pytest.approx(0.5 * 0.04**2 * sides / 2 * np.sin(2 * np.pi / sides), rel=1e-12)
    assert np.allclose(np.linalg.norm(skins["fore"].points, axis=1), 0.06, rtol=1e-12)
    assert all(outward(mesh) for mesh in skins.values())


@pytest.mark.parametrize("scale", [(0.1, 0.2, 0.1), (-0.1, 0.2, 0.1), (-0.1, -0.2, -0.1)])
def test_a_mesh_from_a_file_is_scaled_and_mirrored(tmp_path: Path, scale: tuple[float, float, float]) -> None:
    """A corner of a cube has a volume of 1/6 m^3; its four faces keep sharp edges, so the mesh has twelve points."""
    text = (DATA / "slider.urdf").read_text().replace("0.1 0.2 0.1", " ".join(map(str, scale)))
    (tmp_path / "slider.urdf").write_text(text)
    (skin,) = read_urdf(tmp_path / "slider.urdf", packages={"parts": DATA}).visuals
    assert volume(skin.mesh) == pytest.approx(0.002 / 6.0, rel=1e-12)
    assert len(skin.mesh.points) == 12 and outward(skin.mesh)
    assert np.allclose(sorted(np.unique(skin.mesh.points[:, 1])), sorted([0.0, scale[1]]), rtol=0, atol=1e-12)


def test_files_are_found_in_a_package_around_the_robot(tmp_path: Path) -> None:
    for robot, mesh in (("parts/urdf/a.urdf", "parts/wedge.stl"), ("robots/a.urdf", "parts/wedge.stl")):
        folder = tmp_path / robot.partition("/")[0]
        for name, source in ((robot, "slider.urdf"), (mesh, "wedge.stl")):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes((DATA / source).read_bytes())
        assert len(read_urdf(folder / robot).visuals) == 1


def test_colours_are_those_of_the_materials() -> None:
    (skin,) = read_urdf(DATA / "two_links.urdf", meshes="visual").visuals
    assert (skin.link, skin.colour) == ("upper", "#cc6633")


def test_a_scene_has_the_links_at_their_poses() -> None:
    robot = read_urdf(DATA / "gripper.urdf")
    q, t = np.random.default_rng(3).uniform(0.0, 0.04, (5, 2)), np.linspace(0.0, 1.0, 5)
    scene = robot_scene(robot, q, t, frames=("camera",))
    assert [solid.name for solid in scene.solids] == ["palm", "left", "right"] and scene.title == "gripper"
    for solid in (*scene.solids, *scene.frames):
        name = getattr(solid, "name", "camera")
        wanted = [np.asarray(link_pose(robot.tree, robot.tree.index(name), row), float) for row in q]
        assert np.array_equal(solid.poses, wanted)
    # Both fingers have the colour of links two joints from the base.
    palm, left, right = scene.solids
    assert left.colour == right.colour != palm.colour
    assert np.array_equal(scene.t, t) and np.array_equal(robot_scene(robot, q[0]).t, [0.0])


def test_a_robot_without_shapes_has_nothing_to_draw_but_frames() -> None:
    robot = read_urdf(DATA / "two_links.urdf", meshes=False)
    with pytest.raises(ModelError, match=r'E527 two links has no shapes(.*\n)*.*meshes="collision"'):
        robot_scene(robot, np.zeros(2))
    assert len(robot_scene(robot, np.zeros(2), frames=("upper", "tool")).frames) == 2
    whole = read_urdf(DATA / "two_links.urdf")
    height = float(link_pose(whole.tree, 2, np.zeros(2))[2, 3]) + 0.06 + 0.05  # from below the stand to the top of the sphere
    assert robot_scene(whole, np.zeros(2)).size == pytest.approx(height / 8.0, rel=1e-2)


def swinging(robot: Robot) -> Scene:
    own = chain_graph(robot.tree, "arm", gravity=(0.0, 0.0, -9.81), ports=(robot.tree.links[-1].name,))
    return scene_of(own.simulate(0.1, samples=0.05, progress=False))


def test_a_run_shows_the_visual_shapes_or_those_that_collide() -> None:
    robot = read_urdf(DATA / "two_links.urdf")
    scene = swinging(robot)
    shapes = {solid.name: solid.shape for solid in scene.solids if solid.name != "floor"}
    assert set(shapes) == {"stand", "upper", "fore"}
    # A link with a port has its frame, once, also when there is only the chain.
    assert [frame.label for frame in scene.frames] == [("tool", "")]
    sizes = {name: np.ptp(shape.points, axis=0) for name, shape in shapes.items() if isinstance(shape, Mesh)}
    assert np.allclose(sizes["stand"], [0.2, 0.2, 0.1], rtol=0, atol=1e-12)
    assert np.allclose(sizes["upper"], [0.06, 0.06, 0.5], rtol=0, atol=1e-12)
    assert np.allclose(sizes["fore"], 0.12, rtol=1e-2)
    assert next(solid.colour for solid in scene.solids if solid.name == "upper") == "#cc6633"
    bare = swinging(read_urdf(DATA / "two_links.urdf", meshes=False))
    # Rods from joint to joint instead: that of the upper link spans shoulder to elbow.
    rod = next(solid.shape for solid in bare.solids if solid.name == "upper")
    assert isinstance(rod, Mesh) and 0.5 < np.ptp(rod.points[:, 2]) < 0.6 and "base" in {solid.name for solid in bare.solids}


def test_the_files_of_a_run_are_read_when_they_are_drawn(tmp_path: Path) -> None:
    text = (DATA / "slider.urdf").read_text().replace("collision", "visual")
    (tmp_path / "slider.urdf").write_text(text)
    assert read_urdf(tmp_path / "slider.urdf", packages={}).tree.links[1].visual == ()
    robot = read_urdf(tmp_path / "slider.urdf", packages={"parts": DATA})
    (shape,) = [solid.shape for solid in swinging(robot).solids if solid.name == "carriage"]
    assert isinstance(shape, Mesh) and volume(shape) == pytest.approx(0.002 / 6.0, rel=1e-12) and outward(shape)
    (tmp_path / "wedge.stl").write_text("no mesh")
    broken = read_urdf(tmp_path / "slider.urdf", packages={"parts": tmp_path})
    with pytest.raises(ModelError, match=r"E577 the mesh of a link.*wedge\.stl"):
        swinging(broken)


def test_a_picture_shows_the_robot(tmp_path: Path) -> None:
    works, reason = rendering()
    if not works:
        pytest.skip(f"NO PICTURE: {reason}")
    from PIL import Image

    robot = read_urdf(DATA / "two_links.urdf")
    path = tmp_path / "robot.png"
    still(robot_scene(robot, robot.position({"shoulder": 0.5})), path, 0.0, size=(640, 480))
    pixels = np.asarray(Image.open(path).convert("RGB"), dtype=int)
    dark = np.abs(pixels - pixels[:, :1]).sum(axis=2) > 40  # the background is the same along a row
    assert 0.02 < dark.mean() < 0.5
