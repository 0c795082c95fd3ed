"""Scenes filled automatically from a result: all solids, contacts and frames of the graph are where the result puts them."""

from __future__ import annotations

import numpy as np
import pytest
from screwbond.models.bodies import ground, rigid_body
from screwbond.models.contacts import (
    Compliant,
    ContactLaw,
    Impact,
    Maxwell,
    Rigid,
    ThreeState,
    VirtualSpring,
    Viscoelastic,
    attach_contact,
    contact,
)
from screwbond.models.pictures import Scene, movie, page, plots, poster, rendering, scene_of, still
from screwbond.models.two_bodies import read_scenario, two_body_graph

from bondgraph import GY, J1, C, Graph, I, ModelError, R, Se, compile_model
from bondgraph.stepping import stepper
from screws.poses import pose_from_state
from screws.surfaces import ellipsoid, nearest_coordinates, parametric, plane, sphere
from tests.inner.models_contacts import contact_intervals
from tests.inner.models_pictures import energies_of
from tests.models.delta import test_joints_delta
from tests.models.hand.hand_runs import main_run

can_render, why = rendering()
renders = pytest.mark.skipif(not can_render, reason=why)

TROUGH = parametric(lambda u, v: (u, v, 10.0 * u * u), (-0.1, 0.1), (-0.2, 0.2), inside=(0.0, 0.0, -0.01))


def pose_at(result, name, k=-1):
    values = result[name]
    return np.asarray(pose_from_state(values if values.ndim == 1 else values[k]), dtype=float)


def fits_together(scene: Scene) -> None:
    for touch in scene.contacts:
        (i, j), (c1, c2) = touch.solids, touch.frames
        apart = np.sum((c2[:, :3, 3] - c1[:, :3, 3]) * c1[:, :3, 2], axis=1)
        np.testing.assert_allclose(apart, touch.gap, atol=1e-6 * scene.unit)
        np.testing.assert_allclose(np.sum(c1[:, :3, 2] * c2[:, :3, 2], axis=1), -1.0, atol=1e-6)
        np.testing.assert_allclose(np.sum(touch.force * -c2[:, :3, 2], axis=1), touch.normal, atol=1e-9)
        for solid, frame in ((scene.solids[i], c1), (scene.solids[j], c2)):
            local = (np.linalg.inv(solid.poses[-1]) @ frame[-1])[:3, 3]
            q, chart = nearest_coordinates(solid.shape, local)
            np.testing.assert_allclose(solid.shape.point(q, chart), local, atol=1e-6 * scene.unit)


@pytest.fixture(scope="module")
def eggs():
    graph = two_body_graph(read_scenario("tests/models/data/S1a.json"))
    return graph, compile_model(graph).simulate(0.06, samples=0.001, progress=False)


@pytest.fixture(scope="module")
def robot():
    return test_joints_delta.robot().simulate(0.01, samples=0.005, progress=False)


def nested_trough():
    inner, floor = Graph("cell"), ground("floor", surface=TROUGH)
    bar = rigid_body(
        "bar",
        mass=0.1,
        inertia=(1e-5, 8e-5, 8e-5),
        surface=ellipsoid((0.06, 0.015, 0.015)),
        position=(0.0, 0.0, 0.045),
        gravity=(0.0, 0.0, -9.81),
    )
    for i, near in enumerate(((-0.05, 0.0, 0.02), (0.05, 0.0, 0.02))):
        touching = contact(f"contact {i}", floor, bar, constrained="v_z", normal_stiffness=1e4, normal_damping=5.0, near=near)
        attach_contact(inner, touching, floor, bar)
    graph = Graph("trough")
    graph.add(inner)
    return graph


@pytest.fixture(scope="module")
def trough():
    graph = nested_trough()
    return graph, compile_model(graph).simulate(0.1, samples=0.001, progress=False)


def test_two_eggs(eggs) -> None:
    result = eggs[1]
    scene = scene_of(result)
    assert [solid.name for solid in scene.solids] == ["egg 1", "egg 2"] and [t.solids for t in scene.contacts] == [(0, 1)]
    assert len(scene.all_frames) == 4 and len(scene.all_paths) == 2 and len(scene.all_forces) == 1
    for solid in scene.solids:
        np.testing.assert_allclose(solid.poses[-1], pose_at(result, f"{solid.name}.pose"), atol=1e-12)
    fits_together(scene)
    ((on, off),) = scene.contacts[0].intervals
    assert (on, off) == tuple(event.time for event in result.events if not event.internal)
    energy = next(panel for panel in scene.panels if panel.unit == "J")
    total = energy.curves[-1].values
    np.testing.assert_allclose(total, total[0], rtol=1e-6)


def test_a_bar_in_a_trough_has_two_contacts(trough) -> None:
    result = trough[1]
    scene = scene_of(result)
    assert [solid.name for solid in scene.solids] == ["cell.floor", "cell.bar", "floor"]
    assert [touch.name for touch in scene.contacts] == ["cell.contact 0", "cell.contact 1"]
    names = [tuple(scene.solids[i].name for i in touch.solids) for touch in scene.contacts]
    assert names == [("cell.floor", "cell.bar")] * 2
    assert len(scene.frames) == 2 and len(scene.all_frames) == 6 and len(scene.all_paths) == 4
    fits_together(scene)
    left, right = (touch.frames[0][-1, 0, 3] for touch in scene.contacts)
    assert left < 0.0 < right
    assert all(touch.intervals and touch.normal.max() > 0.0 for touch in scene.contacts)


def test_intervals_of_contact_end_with_the_samples(trough) -> None:
    result = trough[1]
    for name in ("cell.contact 0", "cell.contact 1"):
        for start, end in contact_intervals(result, name):
            inside = (result.t > start) & (result.t < end)
            assert np.all(result[f"{name}.gap"][inside] < 1e-9)
        outside = ~np.any([(result.t >= a) & (result.t <= b) for a, b in contact_intervals(result, name)], axis=0)
        assert np.all(result[f"{name}.gap"][outside] > -1e-9) and np.all(result[f"{name}.wrench"][outside] == 0.0)


def test_coincident_grounds_are_distinguished() -> None:
    graph = Graph("two grounds")
    ball = rigid_body("ball", mass=0.1, inertia=(1e-5,) * 3, surface=sphere(0.02), position=(0.0, 0.0, 0.0601))
    small, large = ground("small", surface=sphere(0.01)), ground("large", surface=sphere(0.04))
    graph.add(small)
    attach_contact(graph, contact("contact", large, ball, constrained="v_z", normal_stiffness=1e4), large, ball)
    scene = scene_of(compile_model(graph).simulate(0.01, samples=0.005, progress=False))
    assert [scene.solids[i].name for i in scene.contacts[0].solids] == ["large", "ball"]
    fits_together(scene)


def test_a_delta_robot_of_rigid_bodies(robot) -> None:
    scene = scene_of(robot)
    assert not scene.contacts and len(scene.frames) == 8
    found = {frame.label[0]: frame.poses[-1] for frame in scene.frames}
    for name, H in found.items():
        np.testing.assert_allclose(H, pose_at(robot, f"{name}.pose"), atol=1e-12)


def test_a_hand() -> None:
    run = main_run()
    scene = scene_of(run.result)
    n, arrays = run.hand.parameters.fingers, run.trajectory
    assert len(scene.contacts) == n and len(scene.frames) == n + 3
    fits_together(scene)
    for i, touch in enumerate(scene.contacts):
        tip, held = (scene.solids[k] for k in touch.solids)
        np.testing.assert_allclose(tip.poses, arrays["tips"][:, i], atol=1e-9)
        np.testing.assert_allclose(held.poses[:, :3, 3], arrays["object"][:, 4:], atol=1e-12)
        np.testing.assert_allclose(touch.force, arrays["forces"][:, i], atol=1e-9)
        assert touch.intervals == ((0.0, float(scene.t[-1])),)


@pytest.mark.thorough
@renders
@pytest.mark.parametrize("filled", ["trough", "eggs"])
def test_every_picture_of_a_filled_scene(filled, request, tmp_path) -> None:
    from PIL import Image

    result = request.getfixturevalue(filled)[1]
    scene = scene_of(result, "Filled by itself")
    still(scene, tmp_path / "still.png", 0.05, (320, 180))
    plots(scene, tmp_path / "plots.png", dpi=40)
    page(scene, tmp_path / "page.html")
    drawn = ["still.png", "plots.png"]
    if filled == "trough":
        poster(scene, tmp_path / "poster.png")
        drawn.append("poster.png")
    for name in drawn:
        assert len(np.unique(np.asarray(Image.open(tmp_path / name).convert("L")))) > 60, name


@pytest.mark.thorough
@renders
def test_a_scene_of_frames_alone_is_drawn(robot, tmp_path) -> None:
    scene = scene_of(robot)
    still(scene, tmp_path / "still.png", 0.01, (320, 180))
    page(scene, tmp_path / "page.html")
    assert (tmp_path / "still.png").stat().st_size > 5_000


def test_a_scene_with_nothing_to_draw_says_so(tmp_path) -> None:
    graph, node = Graph("rc"), J1("node")
    graph.connect(Se("u", 1.0), node).connect(node, R("r", 1.0)).connect(node, C("c", stiffness=1.0))
    scene = scene_of(compile_model(graph).simulate(1.0, progress=False))
    plots(scene, tmp_path / "plots.png")
    with pytest.raises(ModelError, match=r"E160.*no panels"):
        plots(Scene("nothing", scene.t), tmp_path / "none.png")
    if can_render:
        with pytest.raises(
            ModelError, match=r"E160.*no solids, frames, paths or springs(?s:.*)result.plot(?s:.*)plots of its panels"
        ):
            poster(scene, tmp_path / "poster.png")
    assert [path.name for path in tmp_path.iterdir()] == ["plots.png"]


def dropped(law: ContactLaw, constrained: str | None = "v_z") -> Graph:
    graph, floor = Graph("drop"), ground("floor", surface=plane())
    at = {"position": (0.0, 0.0, 0.15), "velocity": (0.2, 0.0, 0.0), "gravity": (0.0, 0.0, -9.81)}
    ball = rigid_body("ball", mass=1.0, inertia=(4e-3,) * 3, surface=sphere(0.1), **at)
    attach_contact(graph, contact("touch", floor, ball, law=law, constrained=constrained), floor, ball)
    return graph


LAWS = (
    Compliant(normal_stiffness=1e5, normal_damping=100.0),
    Viscoelastic(1e5, 1e5),
    VirtualSpring(1e5, 0.5),
    Maxwell(1e5, 1e3),
    Impact(0.5),
    ThreeState(50.0, 900.0),
)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_a_contact_of_any_law_is_seen(law, tmp_path) -> None:
    graph = dropped(law)
    result = compile_model(graph).simulate(0.4, samples=0.004, rtol=1e-9, progress=False)
    scene = scene_of(result)
    (touch,) = scene.contacts
    fits_together(scene)
    assert touch.intervals and touch.intervals[0][0] >= 0.1 and touch.intervals == contact_intervals(result, "touch")
    acting = np.any([(a <= scene.t) & (scene.t <= b) for a, b in touch.intervals], axis=0)
    assert touch.normal[acting].max() > 5.0 and not np.any(touch.normal[~acting])
    energy = next(panel for panel in scene.panels if panel.title == "energy")
    total = next(curve for curve in energy.curves if curve.name == "sum").values
    np.testing.assert_allclose(total, total[0], atol=1e-3 * total[0])
    if isinstance(law, Compliant | Impact):  # a scene with forces, and one with impulses
        plots(scene, tmp_path / "plots.png")
        page(scene, tmp_path / "page.html")


@pytest.mark.parametrize("wrong", [{"fps": 0}, {"seconds": -1.0}, {"fps": "30"}])
def test_a_movie_needs_a_length_and_a_rate(tmp_path, wrong) -> None:
    """Both are checked first, since a movie takes long."""
    with pytest.raises(ModelError, match=r"E150 `(fps|seconds)` cannot be"):
        movie(None, tmp_path / "ball.mp4", **wrong)


@pytest.mark.thorough
@renders
def test_a_movie_of_bounces(tmp_path) -> None:
    """Impacts have no duration, so the movie has no slow motion and no arrows of forces."""
    graph = dropped(Impact(1.0))
    scene = scene_of(compile_model(graph).simulate(0.5, samples=0.01, progress=False))
    assert scene.contacts[0].intervals == () and scene.force_legend == "" and len(scene.event_marks) >= 2
    movie(scene, tmp_path / "movie.mp4", seconds=0.5, fps=8, size=(320, 180))
    assert (tmp_path / "movie.mp4").stat().st_size > 1000


def test_scenes_show_contacts_of_time_stepping() -> None:
    """The ball flies at 0.2 m/s along the floor, and rolls with 5/7 of this speed after the step in which it lands."""
    graph, (h, mu) = dropped(Rigid(0.3), None), (1e-3, 0.3)
    scene = scene_of(stepper(graph, inertia="full").simulate(0.2, step=h, progress=False))
    (touch,) = scene.contacts
    ((on, off),) = touch.intervals
    assert abs(on - np.sqrt(2.0 * 0.05 / 9.81)) <= 2.0 * h and off == scene.t[-1]
    early = (scene.t > on + 2.0 * h) & (scene.t < on + 0.005)
    np.testing.assert_allclose(touch.normal[early], 9.81, rtol=1e-6)
    fits_together(scene)
    rolls = 5.0 / 7.0 * 0.2
    v = np.diff(scene.solids[1].poses[:, 0, 3]) / h
    assert v[-1] == pytest.approx(rolls, rel=1e-4) and v[0] == pytest.approx(0.2, rel=1e-9)
    assert mu * touch.normal.max() * h > 0.2 - rolls, "the step in which it lands makes it roll"


def test_a_contact_that_a_result_does_not_have() -> None:
    result = compile_model(dropped(Impact(1.0))).simulate(0.1, progress=False)
    with pytest.raises(ModelError, match='E498 "drop" has no contact "contact"') as caught:
        contact_intervals(result, "contact")
    assert '"touch"' in caught.value.problems[0].cures[0]


def test_energies_bear_the_names_of_their_domain():
    loop, shaft = J1("loop", domain="electrical"), J1("shaft", domain="rotation")
    graph = Graph("motor").connect(Se("battery", 12.0), loop).connect(loop, I("coil", inductance=0.1))
    graph.connect(loop, C("capacitor", capacitance=0.5)).connect(loop, GY("motor", ratio=0.2)).connect(graph["motor"], shaft)
    graph.connect(shaft, I("rotor", inertia=0.01)).connect(shaft, R("bearing", damping=0.01))
    energies = energies_of(graph.simulate(2.0, progress=False), ())
    assert set(energies) == {"magnetic", "electric", "kinetic", "dissipated", "minus supplied"}
    assert np.ptp(sum(energies.values())) < 1e-6 * np.max(energies["kinetic"])
