"""Pictures, studies and files of the hand have their required contents."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest
from screwbond.models import cli
from screwbond.models.hand import HandRun, fingertip_pose, study
from screwbond.models.pictures import Look, Scene, movie, page, rendering, still

from tests.inner.models_hand import display_end, figure6, figure7, grasp_plot, hand_scene, skeleton
from tests.inner.models_pictures import AMBER, BLUE, along, contents, rgb, show_times
from tests.models.hand.hand_runs import main_run, slippery_run

can_render, why = rendering()
renders = pytest.mark.skipif(not can_render, reason=why)


@pytest.fixture(scope="module")
def main() -> HandRun:
    return main_run()


@pytest.fixture(scope="module")
def lost() -> HandRun:
    return slippery_run()


def amber(path) -> np.ndarray:
    from PIL import Image

    pixels = np.asarray(Image.open(path).convert("RGB"), dtype=float)
    colour = np.array(rgb(AMBER[0]), dtype=float)
    tint, wanted = pixels[..., 0] - pixels[..., 2], colour[0] - colour[2]
    return np.argwhere((tint > 0.25 * wanted) & (pixels[..., 1] > pixels[..., 2]) & (pixels[..., 1] < pixels[..., 0]))


def test_skeleton_ends_where_the_tips_are(main: HandRun) -> None:
    arrays, given = main.trajectory, main.hand.parameters
    places = skeleton(given, arrays["joints"])
    assert np.allclose(places[:, :, -1], arrays["tips"][:, :, :3, 3], atol=1e-12)
    lengths = np.linalg.norm(np.diff(places, axis=2), axis=3)
    assert np.allclose(lengths, given.link_lengths, atol=1e-12)
    R, centre = fingertip_pose(given, 1, arrays["joints"][-1, 1])
    assert np.allclose(places[-1, 1, -1], centre, atol=1e-12) and np.allclose(arrays["tips"][-1, 1, :3, :3], R, atol=1e-12)


def test_contacts_of_the_trajectory_fit_together(main: HandRun) -> None:
    arrays = main.trajectory
    apart = arrays["frames2"][:, :, :3, 3] - arrays["frames1"][:, :, :3, 3]
    assert np.allclose(np.linalg.norm(apart, axis=2), -arrays["gap"], atol=1e-9)
    assert np.max(np.abs(arrays["forces"][-1].sum(axis=0))) < 1e-4
    assert np.allclose(np.linalg.norm(arrays["points2"], axis=2), 0.03, atol=1e-12)
    inward = -np.einsum("kni,kni->kn", arrays["forces"], arrays["frames2"][:, :, :3, 2])
    assert np.allclose(inward, arrays["normal"], atol=1e-12)


def test_study_of_the_grasp(main: HandRun) -> None:
    found = study(main, 61)
    assert found.force_closure and found.internal[0] == pytest.approx(np.sqrt(3.0) * main.trajectory["normal"][0, 0], rel=1e-9)
    assert found.net[0] < 1e-9 and np.all(np.diff(found.path2, axis=0) >= 0.0)
    # Equal paths on both bodies: the tips roll.
    assert np.allclose(found.path1[-1], found.path2[-1], rtol=2e-2)
    assert found.manipulability[:, -1].min() > 0.0 and np.all(found.extension <= 1.0)
    table = found.table()
    assert "friction needed" in table and "margin" not in table and "nan" not in table


@pytest.mark.thorough
def test_study_of_a_lost_object(lost: HandRun, tmp_path) -> None:
    found = study(lost, 91)
    assert np.isnan(found.required[-1]).all() and np.nanmin(found.margin) > -1e-6
    assert "friction margin" in found.table() and "nan" not in found.table()
    found.write_csv(tmp_path / "study.csv")
    head, *rows = (tmp_path / "study.csv").read_text().splitlines()
    assert head.startswith("t,required 0") and len(rows) == len(found.t) and len(rows[0].split(",")) == len(head.split(","))


@pytest.mark.thorough
def test_plots(main: HandRun, lost: HandRun, tmp_path) -> None:
    pytest.importorskip("matplotlib")
    figure7(main, tmp_path / "figure7.svg")
    grasp_plot(lost, study(lost, 41), tmp_path / "grasp.svg")
    for name in ("figure7.svg", "grasp.svg"):
        assert (tmp_path / name).stat().st_size > 20_000


@pytest.fixture(scope="module")
def scene(lost: HandRun) -> Scene:
    return hand_scene(lost)


def test_movies_of_a_loss_are_slow_there(lost: HandRun, scene: Scene) -> None:
    times = show_times(scene, 180)
    assert np.all(np.diff(times) > 0.0) and times[-1] == display_end(lost) < 7.0
    assert np.sum(times > lost.time_of_loss() - 0.3) > 50


def test_scene(main: HandRun, lost: HandRun, scene: Scene) -> None:
    given = lost.hand.parameters
    links = [solid for solid in scene.solids if solid.look is Look.OPAQUE][1:]
    places = skeleton(given, lost.trajectory["joints"])[: len(scene.t)]
    assert len(links) == 4 * given.fingers and len(scene.t) < len(lost.result.t)
    for k, solid in enumerate(links):
        j, i = divmod(k, given.fingers)
        end = solid.poses @ np.array([0.0, 0.0, given.link_lengths[j], 1.0])
        assert np.allclose(solid.poses[:, :3, 3], places[:, i, j]) and np.allclose(end[:, :3], places[:, i, j + 1])
    held = scene.at_times(np.linspace(0.0, 5.0, 6))
    assert np.max(np.abs(sum(force.newtons for force in held.all_forces))) < 0.02
    told = [happening.label for happening in scene.event_marks if not happening.internal]
    for start in ("slip, contact 0, at 5.4", "object lost at 6."):
        assert any(text.startswith(start) for text in told)
    # In stills and on the page: the object amber, tips blue; ghosts only of the lost object, from then on.
    glass = [solid for solid in scene.solids if solid.look is Look.GLASS]
    assert sorted(solid.colour for solid in glass) == sorted([AMBER[0], *[BLUE[0]] * given.fingers])
    (ghostly,) = (solid for solid in glass if solid.ghosts is not None)
    assert ghostly.words == "the object" and ghostly.ghosts == lost.time_of_loss()
    assert all(solid.ghosts is None for solid in hand_scene(main).solids)


def test_poses_along_axes() -> None:
    H = along(np.array([[0.0, 0.6, 0.8], [2.0, 0.0, 0.0]]), np.zeros((2, 3)))
    R = H[:, :3, :3]
    assert np.allclose(R @ np.swapaxes(R, 1, 2), np.eye(3)) and np.allclose(R[:, :, 2], [(0.0, 0.6, 0.8), (1.0, 0.0, 0.0)])


@pytest.mark.thorough
def test_page(scene: Scene, tmp_path) -> None:
    page(scene, tmp_path / "page.html", seconds=9.0)
    assert 4e5 < (tmp_path / "page.html").stat().st_size < 4e6
    shown = contents(scene, 9.0, None)
    assert len(shown["touches"]) == len(shown["forces"]) == 3 and len(shown["paths"]) == 6 and len(shown["solids"]) == 17
    for name, packed in shown["arrays"].items():
        if isinstance(packed, str):  # of 32-bit floats
            assert np.all(np.isfinite(np.frombuffer(base64.b64decode(packed), np.float32))), name
    assert [frame["label"][0] for frame in shown["frames"] if len(frame["label"][0]) > 1] == ["reference", "virtual object"]
    assert shown["scales"][0]["text"].startswith("forces on the object: ")
    assert {words for _, words in shown["legend"]} == {"contact paths on the tips", "contact paths on the object"}


@pytest.mark.thorough
@renders
def test_a_lost_object_looks_lost(main: HandRun, lost: HandRun, tmp_path) -> None:
    still(hand_scene(main), tmp_path / "held.png", 9.0, size=(480, 360))
    still(hand_scene(lost), tmp_path / "lost.png", display_end(lost), size=(480, 360))
    held, away = amber(tmp_path / "held.png"), amber(tmp_path / "lost.png")
    assert len(held) > 300 and len(away) > 300
    k = int(np.searchsorted(lost.trajectory["t"], display_end(lost)))
    tips = lost.trajectory["tips"][k, :, :3, 3]
    assert lost.trajectory["object"][k, 6] - tips[:, 2].max() > 0.06
    # As a fraction of picture height, it is higher than where it was held; the legend may have its colour too.
    assert np.median(away[:, 0]) < np.median(held[:, 0]) - 20


@pytest.mark.thorough
@renders
def test_movie(scene: Scene, tmp_path) -> None:
    written = movie(scene, tmp_path / "movie.mp4", seconds=0.25, size=(160, 120))
    assert written.stat().st_size > 1000 and [path.name for path in tmp_path.iterdir()] == [written.name]


@pytest.mark.thorough
@renders
def test_figure_6_shows_the_object_twice(main: HandRun, tmp_path) -> None:
    figure6(main, tmp_path / "figure6.png", size=(660, 372))
    columns = amber(tmp_path / "figure6.png")[:, 1]
    assert np.sum(columns < 370) > 150 and np.sum(columns > 370) > 300


@pytest.mark.thorough
def test_command(tmp_path, capsys) -> None:
    scenario = tmp_path / "short.json"
    scenario.write_text(
        json.dumps({"t_end": 0.5, "motion": [{"along": [0.002, 0, 0], "from": 0.1, "to": 0.4}], "parameters": {"fingers": 2}})
    )
    assert cli.main(["hand", "--scenario", str(scenario), "--out", str(tmp_path / "out"), "--no-render"]) == 0
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"trajectory.npz", "study.csv", "events.json", "summary.json", "scenario.json", "graph.svg", "equations.tex"}
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["completed"] and summary["fingers"] == 2 and summary["object_lost"] is None
    assert "short: 0.5 s simulated" in capsys.readouterr().out
    assert cli.main(["hand", "--scenario", "mian", "--out", str(tmp_path / "out")]) == 2
    assert "E401" in capsys.readouterr().err
