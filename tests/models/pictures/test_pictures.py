"""Pictures of results have the required contents, and are written as whole files."""

import base64
import json
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from screwbond.models.pictures import EventMark, Solid, from_archive, movie, page, plots, poster, rendering, still

from bondgraph.errors import ExtraError, FileError
from screws.scalars import cos, sin
from screws.surfaces import egg, ellipsoid, nearest_coordinates, parametric, plane, sphere, torus
from tests.inner.models_pictures import (
    BLUE,
    FORCE,
    PATHS,
    SIDES,
    Camera,
    Stage,
    along,
    coloured_part,
    contents,
    cylinder,
    direction,
    downsample,
    fit,
    force_scale,
    free_normals,
    ghost_samples,
    globe,
    grid_normals,
    is_outward,
    joined,
    lofted,
    movies,
    path_tube,
    poses,
    quaternions,
    representative_time,
    rgb,
    save_image,
    show_times,
    speed_label,
    upward,
)

can_render, why = rendering()
renders = pytest.mark.skipif(not can_render, reason=why)
RADIUS = 0.02
PACKED = (
    ("solids", "pose", ("_p", "_q")),
    ("solids", "mesh", ("", "_normal", "_index")),
    ("frames", "pose", ("_p", "_q")),
    ("paths", "mesh", ("", "_normal", "_index")),
    ("paths", "end", ("",)),
    ("forces", "at", ("",)),
    ("forces", "newtons", ("",)),
)


def rolling_ball(samples=41, hop=False, surface=None, told=True):
    """Return a ball that rolls 0.12 m along x on a plane in 1 s, pressed by 2 N; `hop` lifts it from 0.4 s to 0.8 s."""
    t = np.linspace(0.0, 1.0, samples)
    x, angle = 0.12 * t, 0.12 * t / RADIUS
    height = np.where(hop & (t > 0.4) & (t < 0.8), 0.3 * (t - 0.4) * (0.8 - t), 0.0)
    zero = np.zeros_like(t)
    p1, q1 = np.zeros((samples, 3)), np.tile([1.0, 0.0, 0.0, 0.0], (samples, 1))
    p2 = np.stack([x, zero, RADIUS + height], axis=1)
    q2 = np.stack([np.cos(angle / 2), zero, np.sin(angle / 2), zero], axis=1)
    fn = np.where(height > 0.0, 0.0, 2.0)
    frame2 = np.tile(np.diag([1.0, -1.0, -1.0, 1.0]), (samples, 1, 1))
    frame2[:, :3, 3] = p2 - [0.0, 0.0, RADIUS]
    archive = {
        "t": t,
        "p1": p1,
        "q1_wxyz": q1,
        "p2": p2,
        "q2_wxyz": q2,
        "frame2": frame2,
        "gap": np.where(height > 0.0, height, -1e-6),
        "fn": fn,
        "force_on_2_world": np.stack([zero, zero, fn], axis=1),
        "uv1": np.stack([x, zero], axis=1),
        "uv2": np.stack([np.pi - angle, zero], axis=1),
        "alpha": zero,
        "residual": 1e-12 * t,
    }
    return from_archive(
        archive,
        (surface or plane(), sphere(RADIUS)),
        "ball",
        title="A ball rolls",
        names=("table", "ball"),
        energies={"kinetic": np.full(samples, 1e-3), "dissipated": 1e-5 * t},
        intervals=((0.0, 0.4), (0.8, 1.0)) if hop and told else None,
        event_marks=(EventMark(0.4, ""), EventMark(0.5, "chart 2", True), EventMark(0.8, "")) if hop else (),
    )


def touching_in(scene, *spans):
    return replace(scene, contacts=tuple(replace(touch, intervals=spans) for touch in scene.contacts))


def test_interpolation_keeps_rolling():
    scene = rolling_ball().at_times([0.0, 0.3137, 1.0])
    ball = scene.solids[1].poses
    assert ball[1, 0, 3] == pytest.approx(0.12 * 0.3137, abs=1e-12)
    assert np.arctan2(ball[1, 0, 2], ball[1, 0, 0]) == pytest.approx(0.12 * 0.3137 / RADIUS, abs=1e-12)
    R = scene.contacts[0].frames[0][:, :3, :3]
    assert np.einsum("kij,kil->kjl", R, R) == pytest.approx(np.tile(np.eye(3), (3, 1, 1)), abs=1e-12)


def test_frames_do_not_swing_through_a_change_of_chart():
    scene = rolling_ball(3)
    (touch,) = scene.contacts
    first, second = (each.copy() for each in touch.frames)
    first[1:, :3, :3] = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    scene = replace(scene, contacts=(replace(touch, frames=(first, second)),))
    before, after = scene.at_times([0.2, 0.3]).contacts[0].frames[0][:, :3, 0]
    assert before == pytest.approx([1.0, 0.0, 0.0]) and after == pytest.approx([0.0, 1.0, 0.0])


@pytest.mark.parametrize("told", [True, False])
def test_contact_intervals_come_from_the_mode_or_the_gap(told):
    (a, b), (c, d) = rolling_ball(401, hop=True, told=told).contact_intervals()
    assert (a, d) == (0.0, 1.0)
    assert (b, c) == pytest.approx((0.4, 0.8), abs=0.003)


def test_ghosts_lie_a_spacing_apart_and_in_the_past():
    scene = rolling_ball(1201)
    ball = scene.solids[1].poses
    past = ghost_samples(ball, scene.t, 0.7, 3, 0.02)
    assert ball[past, 0, 3] == pytest.approx([0.06, 0.04, 0.02], abs=2e-4)
    around = ghost_samples(ball, scene.t, 0.5, 4, 0.03, around=True)
    assert ball[around, 0, 3] == pytest.approx([0.03, 0.09, 0.0, 0.12], abs=2e-4), "equal distances: the earlier position first"
    since = ghost_samples(ball, scene.t, 0.7, 5, 0.02, since=0.4)
    assert ball[since, 0, 3] == pytest.approx([0.068, 0.048], abs=2e-4), "positions before `since` do not count"
    assert ghost_samples(ball, scene.t, 0.3, 5, 0.02, since=0.4) == []


def test_ghosts_do_not_cover_each_other_where_a_path_comes_round_again():
    """Ghosts spaced by a tenth of the circumference have ten positions, although 18 are allowed."""
    angle = np.linspace(0.0, 4.0 * np.pi, 4001)
    poses = np.tile(np.eye(4), (len(angle), 1, 1))
    poses[:, 0, 3], poses[:, 1, 3] = np.cos(angle), np.sin(angle)
    found = ghost_samples(poses, angle, 4.0 * np.pi, 18, 0.2 * np.pi)
    places = np.exp(1j * angle[found])
    assert len(found) == 10 and min(abs(places[i] - places[j]) for i in range(10) for j in range(i)) > 0.6


@pytest.mark.parametrize("largest", [1e-6, 0.285, 22.0, 3e4])
@pytest.mark.parametrize("size", [0.004, 0.056, 3.0])
def test_the_force_scale_matches_the_arrows(largest, size):
    newtons_per_metre, unit, text = force_scale(largest, size)
    length, name, newtons = re.fullmatch(r"(1) (mm|cm|m) = (\S+) N", text).groups()
    metres = float(length) * {"mm": 1e-3, "cm": 1e-2, "m": 1.0}[name]
    assert unit == metres
    assert float(newtons) / metres == pytest.approx(newtons_per_metre)
    assert 0.5 * size < largest / newtons_per_metre < 1.6 * size


def test_show_times_stretch_short_contacts_only():
    scene = rolling_ball(101)
    assert np.diff(show_times(scene, 50)) == pytest.approx(1.0 / 49)
    times = show_times(touching_in(scene, (0.50, 0.51)), 200)
    assert np.all(np.diff(times) > 0.0) and times[0] == 0.0 and times[-1] == 1.0
    assert 25 < np.sum((times > 0.50) & (times < 0.51)) < 40
    slow = show_times(replace(scene, slow_motion=((0.7, 0.8),)), 200)
    assert 60 < np.sum((slow > 0.7) & (slow < 0.8)) < 70, "the given interval is slow, whatever touches"
    assert speed_label(1.0) == "real time" and speed_label(0.2) == "slow motion 5×"


def test_brief_impacts_are_not_chosen_for_pictures():
    scene = rolling_ball(101)
    (touch,) = scene.contacts
    knock = np.where(scene.t < 0.02, 40.0, touch.normal * (1.0 + 0.2 * np.sin(9.0 * scene.t)))
    landed = replace(scene, contacts=(replace(touch, normal=knock),))
    assert representative_time(landed) > 0.2
    # Without contacts there is no preference.
    assert representative_time(replace(scene, contacts=())) == pytest.approx(0.36)


def test_camera_shows_the_contact_from_the_side():
    scene = rolling_ball()
    view, up = direction(scene), upward(scene)
    assert up == pytest.approx([0.0, 0.0, 1.0])
    assert 0.1 < view[2] < 0.6
    points = np.random.default_rng(1).normal(size=(50, 3))
    camera = fit(points, view, up, (800, 600), (100, 50, 20, 80))
    at = camera.pixels(points, (800, 600))
    assert np.all(at.min(axis=0) >= [99.0, 49.0]) and np.all(at.max(axis=0) <= [781.0, 521.0])
    assert np.min([at[:, 0].min() - 100, 780 - at[:, 0].max(), at[:, 1].min() - 50, 520 - at[:, 1].max()]) < 2.0


@pytest.mark.parametrize("surface", [sphere(0.02), ellipsoid((0.03, 0.02, 0.01)), egg(0.035, 0.084, 0.0104), torus(0.05, 0.01)])
def test_page_normals_are_the_surfaces_own(surface):
    grid = np.asarray(surface.grid(41, 61))
    normals = grid_normals(grid, is_outward(grid, surface))
    for i, j in ((0, 0), (3, 0), (20, 60), (37, 31), (40, 5)):
        q, chart = nearest_coordinates(surface, grid[i, j])
        assert normals[i, j] @ surface.geometry(q, chart).H[:3, 2] > 0.99


BOWL = parametric(lambda u, v: (u, v, 4.0 * (u * u + v * v)), (-0.1, 0.1), (-0.1, 0.1))
HOSE = parametric(
    lambda u, v: (0.02 * cos(u), 0.02 * sin(u), v), (0.0, 2.0 * np.pi), (0.0, 0.1), periodic=(True, False), inside=(0, 0, 0.05)
)


@pytest.mark.parametrize(
    ("surface", "rim"),
    [
        (sphere(0.02), False),
        (ellipsoid((0.03, 0.02, 0.01)), False),
        (egg(0.035, 0.084, 0.0104), False),
        (torus(0.05, 0.01), False),
        (plane(), True),
        (BOWL, True),
        (HOSE, True),
    ],
)
def test_open_surfaces_are_visible_from_both_sides(surface, rim):
    scene = rolling_ball()
    table, ball = scene.solids
    shown = contents(replace(scene, solids=(replace(table, shape=surface), ball)), 10.0, None)
    assert [solid["open"] for solid in shown["solids"]] == [rim, False]


def test_a_mesh_of_glass_with_a_rim_is_seen_from_both_sides():
    scene = rolling_ball()
    poses = np.broadcast_to(np.eye(4), (len(scene.t), 4, 4))
    whole = globe(0.02)
    others = [Solid("globe", poses, replace(whole, faces=whole.faces[k:])) for k in (0, 40)]
    shown = contents(replace(scene, solids=(*scene.solids, *others)), 10.0, None)["solids"]
    assert [solid["open"] for solid in shown[2:]] == [False, True]


CORNERS = np.array([[1.0, 1.0, 0.0], [-1.0, 1.0, 0.0], [-1.0, -1.0, 0.0], [1.0, -1.0, 0.0]])


@pytest.mark.parametrize(
    ("mesh", "volume"),
    [
        (globe(0.5, rings=40, sides=80), np.pi / 6.0),
        (cylinder(0.5, 0.0, 2.0, 80), np.pi / 2.0),
        (lofted(CORNERS, CORNERS + np.array([0.0, 0.0, 2.0])), 8.0),
        (lofted(CORNERS[::-1], (CORNERS + np.array([0.0, 0.0, 2.0]))[::-1]), 8.0),
        (joined(cylinder(0.5, 0.0, 2.0, 80), globe(0.5, 5.0, 40, 80)).moved(along(np.ones(3), np.ones(3))), np.pi / 1.5),
    ],
)
def test_meshes_are_closed_and_their_normals_point_outward(mesh, volume):
    """The volume by Gauss's theorem is correct up to the difference between polygons and circles."""
    a, b, c = (mesh.points[mesh.faces[:, k]] for k in range(3))
    assert not mesh.open
    assert np.sum(a * np.cross(b, c)) / 6.0 == pytest.approx(volume, rel=6e-3)
    flat = np.cross(b - a, c - a)
    area = np.linalg.norm(flat, axis=1)
    real = area > 1e-9 * area.max()
    for corner in mesh.normals[mesh.faces[real]].swapaxes(0, 1):
        assert np.sum(corner * flat[real], axis=1).min() > 0.0
    assert np.linalg.norm(mesh.normals, axis=1) == pytest.approx(1.0)


def test_the_part_above_a_level_ends_at_the_level():
    """The part in which a cone exceeds the level is a disc, although the grid is square."""
    y, z = np.meshgrid(np.linspace(-1.0, 1.0, 81), np.linspace(-1.0, 1.0, 81), indexing="ij")
    found = coloured_part(np.stack([0.0 * y, y, z], axis=-1), np.maximum(0.0, 1.0 - np.hypot(y, z)), 0.25)
    assert np.linalg.norm(found.points[np.unique(found.lines)], axis=1) == pytest.approx(0.75, abs=2e-3)
    a, b, c = (found.points[found.faces[:, k]] for k in range(3))
    assert np.sum(np.linalg.norm(np.cross(b - a, c - a), axis=1)) / 2.0 == pytest.approx(np.pi * 0.75**2, rel=2e-3)
    assert found.colours.min() >= 0.0 and found.colours.max() <= 1.0 and len(found.colours) == len(found.points)


def test_tube_lies_round_its_path_and_grows_with_it():
    path = rolling_ball().all_paths[1]
    assert path.normals == pytest.approx(path.points / RADIUS, abs=1e-9)
    vertices, normals, triangles = path_tube(path.points, path.normals, np.full(41, 1e-3))
    rings = vertices.reshape(41, SIDES, 3)
    assert np.linalg.norm(rings - path.points[:, None], axis=2) == pytest.approx(1e-3)
    assert np.linalg.norm(normals, axis=1) == pytest.approx(1.0)
    for done in (1, 17, 40):
        assert triangles[: 2 * SIDES * done].max() == SIDES * (done + 1) - 1
    resting, _, _ = path_tube(np.zeros((3, 3)), np.tile([0.0, 0.0, 1.0], (3, 1)), np.full(3, 1e-3))
    assert np.all(np.isfinite(resting))


def test_normals_of_a_free_path_stay_across_it():
    angle = np.linspace(0.0, 4.0, 200)
    helix = np.stack([np.cos(angle), np.sin(angle), 0.2 * angle], axis=1)
    normals = free_normals(np.concatenate([np.repeat(helix[:1], 5, axis=0), helix]))[5:]
    assert np.linalg.norm(normals, axis=1) == pytest.approx(1.0)
    along_it = np.gradient(helix, axis=0)
    assert np.abs(np.sum(normals * along_it, axis=1)).max() < 0.02 * np.linalg.norm(along_it, axis=1).max()
    assert np.linalg.norm(np.diff(normals, axis=0), axis=1).max() < 0.03


def test_quaternions_are_the_rotations():
    H = rolling_ball().solids[1].poses
    assert poses(H[:, :3, 3], quaternions(H)) == pytest.approx(H, abs=1e-12)


def test_page_is_one_file_that_opens_offline(tmp_path):
    scene = replace(rolling_ball(hop=True), title="ball </script> & co")
    page(scene, tmp_path / "ball.html")
    text = (tmp_path / "ball.html").read_text(encoding="utf-8")
    assert len(text) < 3e6 and [p.name for p in tmp_path.iterdir()] == ["ball.html"]
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg\")|<link|src=", text)
    assert text.count("</script>") == 2 and "ball &lt;/script&gt; &amp; co" in text
    data = json.loads(re.search(r'id="motion">(.*?)</script>', text, re.DOTALL).group(1))
    p2 = np.frombuffer(base64.b64decode(data["arrays"]["solid1_p"]), dtype=np.float32).reshape(-1, 3)
    assert p2 == pytest.approx(scene.solids[1].poses[:, :3, 3], abs=1e-7)
    assert data["scales"][0]["text"] == f"force on ball: {force_scale(2.0, 0.04)[2]}"
    assert data["legend"] == [[PATHS[0], "contact path on table"], [PATHS[1], "contact path on ball"]]
    assert [curve["curve"] for plot in data["plots"] for curve in plot["curves"]] == list(range(len(data["curves"])))
    named = [thing[key] + end for kind, key, ends in PACKED for thing in data[kind] for end in ends]
    assert named and set(named) <= set(data["arrays"])
    # The data contains everything that the script reads.
    assert set(re.findall(r"\bM\.(\w+)", text)) <= set(data)
    assert len(base64.b64decode(data["arrays"]["solid0_p"])) == 12, "a solid at rest has one row"


def test_long_motions_are_thinned_for_the_page():
    scene = rolling_ball(9001)
    kind, times = contents(scene, 10.0, None)["arrays"]["t"]
    assert kind == "Float64" and len(base64.b64decode(times)) <= 8 * 2000
    many = replace(scene, solids=scene.solids + 40 * scene.solids[1:])
    assert len(downsample(many).t) <= 300


def test_plots_have_all_panels_and_units(tmp_path):
    pytest.importorskip("matplotlib")
    plots(rolling_ball(hop=True), tmp_path / "plots.svg")
    text = (tmp_path / "plots.svg").read_text()
    for words in ("gap", "normal force", "coordinates (rad, m)", "energy (mJ)", "time (s)", "kinetic"):
        assert words in text, words
    assert not any(words in text for words in ("residual", "chart 2"))


def test_a_long_title_stays_in_the_picture(tmp_path):
    pytest.importorskip("matplotlib")
    scene = replace(rolling_ball(), title="A ball rolls on a table, and what it does there is told at great length in the title")
    plots(scene, tmp_path / "plots.png", dpi=80)
    heading = np.asarray(Image.open(tmp_path / "plots.png").convert("L"))[:40]
    assert heading.min() < 100 and heading[:, -4:].min() == 255


def near(image, colour, tolerance=60):
    pixels = np.asarray(image)[..., :3].reshape(-1, 3).astype(float)
    wanted = np.array(rgb(colour), dtype=float)
    saturated = np.ptp(pixels, axis=1) > 0.5 * np.ptp(wanted)
    along = pixels / np.maximum(np.linalg.norm(pixels, axis=1, keepdims=True), 1.0)
    return int(np.sum(saturated & (along @ (wanted / np.linalg.norm(wanted)) > 0.985)))


@pytest.mark.thorough
@renders
def test_still_shows_path_force_bodies_and_ghosts(tmp_path):
    from PIL import Image

    scene = rolling_ball()
    still(scene, tmp_path / "late.png", 0.9, (640, 360))
    still(scene, tmp_path / "start.png", 0.0, (640, 360))
    late, start = (np.asarray(Image.open(tmp_path / name)) for name in ("late.png", "start.png"))
    assert late.shape == (360, 640, 3)
    # The legend shows each colour too, and is the same in both.
    assert near(late, PATHS[0]) > near(start, PATHS[0]) + 100
    assert near(late, FORCE) > 60
    assert np.ptp(late.reshape(-1, 3), axis=0).min() > 150


@renders
def test_labels_stand_where_the_window_shows_their_points():
    scene = rolling_ball()
    size = (400, 300)
    camera = fit(np.array([[0.055, -0.005, 0.0], [0.065, 0.005, 0.01]]), direction(scene), upward(scene), size, (80, 10, 10, 40))
    with Stage(scene, size, ghosts=0) as stage:
        now = stage.show(0.5, camera)
        for actor in (*stage._triads, *stage._arrows[0].actors):
            actor.visibility = False
        before = stage.image().astype(int)
        stage._tubes[1][0].bead.visibility = False
        changed = np.abs(stage.image().astype(int) - before).sum(axis=2) > 6
    rows, columns = np.nonzero(changed)
    assert len(rows) > 4
    expected = camera.pixels(now.contacts[0].frames[1][0, :3, 3], size)[0]
    assert [columns.mean(), rows.mean()] == pytest.approx(expected, abs=4.0)


@renders
def test_nothing_pushes_through_the_air():
    scene = rolling_ball(hop=True)
    camera = Camera(np.array([0.06, -0.4, 0.1]), np.array([0.05, 0.0, 0.03]), np.array([0.0, 0.0, 1.0]))
    with Stage(scene, (960, 720)) as stage:
        stage.show(0.3, camera)
        pressed = near(stage.image(), FORCE)
        stage.show(0.6, camera)
        assert pressed > 40 and near(stage.image(), FORCE) == 0


@pytest.mark.thorough
@renders
def test_poster_is_large_and_leaves_no_part(tmp_path):
    from PIL import Image

    poster(rolling_ball(), tmp_path / "poster.png")
    image = Image.open(tmp_path / "poster.png")
    assert image.size == (3600, 2400)
    assert near(image.resize((900, 600)), BLUE[0]) > 300 and near(image.resize((900, 600)), FORCE) > 100


@pytest.mark.thorough
@renders
def test_movie_has_its_frames(tmp_path):
    imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg")
    made = movie(rolling_ball(), tmp_path / "ball.mp4", seconds=0.4, size=(320, 180), progress=False)
    assert made == tmp_path / "ball.mp4" and [p.name for p in tmp_path.iterdir()] == ["ball.mp4"]
    frames, seconds = imageio_ffmpeg.count_frames_and_secs(str(made))
    assert frames == 12 and seconds == pytest.approx(0.4, abs=0.05)


@renders
def test_movie_without_ffmpeg_is_a_gif(tmp_path, monkeypatch):
    monkeypatch.setattr(movies, "_has_ffmpeg", lambda: False)
    made = movie(rolling_ball(), tmp_path / "ball.mp4", seconds=0.4, size=(320, 180))
    assert made == tmp_path / "ball.gif"
    assert Image.open(made).n_frames >= 4


def test_the_probe_names_the_package_to_install(monkeypatch):
    from tests.inner.models_pictures import probe

    def trial(returncode, stdout="", stderr=""):
        rendering.cache_clear()
        result = subprocess.CompletedProcess([], returncode, stdout, stderr)
        monkeypatch.setattr(probe.subprocess, "run", lambda *a, **k: result)
        return probe.rendering()

    monkeypatch.setattr(probe, "missing_package", lambda *names: "")
    assert trial(0, "rendered\n")[0]
    crashed, message = trial(-11)
    assert not crashed and "libegl1 libgl1-mesa-dri" in message and "libosmesa6" in message and "\n" not in message
    assert not trial(0, "blank\n")[0]
    monkeypatch.setattr(probe, "missing_package", lambda *names: 'pip install "screwbond[viz]"')
    missing, message = trial(0, "rendered")
    assert not missing and 'pip install "screwbond[viz]"' in message
    rendering.cache_clear()


def test_without_opengl_a_picture_is_refused_before_vtk_ends_the_process(tmp_path, monkeypatch):
    from tests.inner.models_pictures import probe

    monkeypatch.setattr(probe.sys, "platform", "linux")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.setattr(probe, "OFF_SCREEN", ("libno_such_library.so.1",))
    with pytest.raises(ExtraError, match=r"(?s)E418 .*libegl1 libgl1-mesa-dri.*libosmesa6.*page\("):
        still(rolling_ball(), tmp_path / "ball.png")
    assert not list(tmp_path.iterdir())
    monkeypatch.setenv("DISPLAY", ":0")
    probe.require_opengl()


def test_importing_pictures_is_light():
    heavy = ("vtkmodules", "pyvista", "matplotlib", "PIL")
    code = f"import sys, screwbond.models.pictures; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("write", "refused"),
    [
        (lambda path: page(rolling_ball(), path), ".htm"),
        (lambda path: plots(rolling_ball(), path), ".gif"),
        (lambda path: movie(rolling_ball(), path), ".avi"),
        (lambda path: save_image(Image.new("RGB", (2, 2)), path), ".bmp"),
    ],
)
def test_endings_without_a_format_are_refused_before_any_work(tmp_path, write, refused):
    with pytest.raises(FileError, match=f"E415 .*{refused} has an unknown suffix: .*try: "):
        write(tmp_path / f"x{refused}")
    with pytest.raises(FileError, match=r"E415 the name .* has no suffix"):
        write(tmp_path / "x")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ending", ["png", "jpg"])
def test_images_are_whole_or_not_there(tmp_path, ending):
    image = Image.new("RGB", (4, 3), "#c2410c")
    save_image(image, tmp_path / f"x.{ending}")
    assert Image.open(tmp_path / f"x.{ending}").size == (4, 3) and len(list(tmp_path.iterdir())) == 1
    with pytest.raises(FileError, match=r"E414 cannot write .* is a file"):
        save_image(image, tmp_path / f"x.{ending}" / f"x.{ending}")
