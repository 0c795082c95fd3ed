"""Arms hit a wall in simulation, in the study's figures, and by its command."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from screwbond.models.chains import BodyInertia, Chain, Link, link_pose
from screwbond.models.cli import main
from screwbond.models.impact import (
    ImpactRun,
    ImpactStudy,
    MaxwellImpact,
    MeasuredImpact,
    SpringImpact,
    Striker,
    ViscoelasticImpact,
    default_striker,
    effective_mass,
    equivalent_laws,
    seven_joint_arm,
    simulate_impact,
    striker_from_urdf,
    study_impact,
)
from screwbond.models.robots import LinkVisual

from bondgraph import ModelError
from screws.joints import free, revolute
from tests.inner.models_impact import FIGURES, TASK, strike_scene
from tests.inner.models_pictures import Mesh
from tests.models.impact.panda import FLANGE, Q, panda, urdf
from tests.models.impact.test_impact_mobility import in_small_units

LAWS = ("viscoelastic", "virtual spring", "Maxwell")


@cache
def slow(law: str, name: str = "own") -> ImpactRun:
    """Return an impact of 2 ms at 1 cm/s, during which the arm hardly moves."""
    striker = default_striker() if name == "own" else Striker(panda(), Q, FLANGE, (0.0, 0.0, -1.0))
    mass = effective_mass(*striker.arguments, kind="momentum")
    return simulate_impact(striker, equivalent_laws(0.01, mass * 0.01 * 1.3, 2e-3, 0.3)[law], samples=800)


@pytest.mark.parametrize(("law", "name"), [*((law, "own") for law in LAWS), ("viscoelastic", "panda")])
def test_an_arm_strikes_like_a_mass_of_its_generalised_momentum(law: str, name: str) -> None:
    """The arm moves by 20 um, and deviations from a single mass are of this order, relative to the arm's size."""
    found = slow(law, name)
    assert found.result.ok and found.result.ledger.relative_residual < 1e-8
    assert found.speed_before == pytest.approx(0.01, rel=1e-4)
    assert found.restitution == pytest.approx(0.3, rel=2e-3)
    assert found.duration == pytest.approx(2e-3, rel=2e-3)
    assert found.impulse == pytest.approx(found.law.impulse, rel=1e-3)
    t, force = found.force
    single = found.law.history(4000)
    assert force == pytest.approx(np.interp(t, single.t, single.force), abs=4e-3 * single.force.max())


def test_a_free_body_strikes_exactly_like_a_mass() -> None:
    body = Chain("body", (Link("ball", free(), BodyInertia(2.0, (0.1, 0.1, 0.1))),))
    striker = Striker(body, np.zeros(6), normal=(0.0, 0.0, 1.0))
    law = ViscoelasticImpact(1e5, 1e6, 2.0, 0.1)
    found = simulate_impact(striker, law)
    assert found.law == law
    assert found.restitution == pytest.approx(law.restitution, rel=1e-7)
    assert found.impulse == pytest.approx(law.impulse, rel=1e-7)
    assert found.duration == pytest.approx(law.duration, rel=1e-6)


def test_the_wall_may_stand_anywhere() -> None:
    arm = default_striker()
    striker = replace(arm, normal=(0.6, 0.0, -0.8), point=(0.0, 0.02, 0.0))
    found = simulate_impact(striker, ViscoelasticImpact(1e6, 2e8, 1.0, 0.01))
    assert found.restitution == pytest.approx(found.law.restitution, rel=3e-3)
    assert found.impulse == pytest.approx(found.law.impulse, rel=2e-3)


def test_a_strike_in_millimetres_and_grams() -> None:
    arm = default_striker()
    links = tuple(in_small_units(link) for link in arm.chain.links)
    small = replace(arm, chain=Chain("small", links), point=1e3 * np.array(arm.point))
    one, other = ViscoelasticImpact(8e5, 4e7, 1.0, 0.1), ViscoelasticImpact(8e8, 4e7, 1e3, 100.0)
    metres, millimetres = simulate_impact(arm, one), simulate_impact(small, other)
    assert millimetres.restitution == pytest.approx(metres.restitution, rel=1e-7)
    assert millimetres.duration == pytest.approx(metres.duration, rel=1e-7)
    assert millimetres.impulse == pytest.approx(1e6 * metres.impulse, rel=1e-7)


def test_strikes_that_cannot_be() -> None:
    arm = default_striker()
    with pytest.raises(ModelError, match="E544"):
        simulate_impact(arm, SpringImpact(1e5, 0.0, 1.0, 0.1))
    with pytest.raises(ModelError, match="E544"):
        simulate_impact(arm, "hard")  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="never leaves"):
        simulate_impact(arm, MaxwellImpact(1e6, 1200.0, 1.0, 0.1))
    with pytest.raises(ModelError, match=r"E542 .* all six directions"):
        simulate_impact(replace(arm, q=np.zeros(7)), ViscoelasticImpact(1e5, 1e6, 1.0, 0.1))
    body = BodyInertia(1.0, (0.1, 0.1, 0.1), (0.5, 0.0, 0.0))
    crank = Chain("crank", (Link("arm", revolute((0.0, 0.0, 1.0)), body),))
    with pytest.raises(ModelError, match="E542"):
        simulate_impact(Striker(crank, [0.0], (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)), ViscoelasticImpact(1e5, 1e6, 1.0, 0.1))


# --- study, figures, command -----------------------------------------------------------------------------------------


@cache
def studied() -> ImpactStudy:
    return study_impact(MeasuredImpact(poses=8))


def test_the_study_of_the_paper() -> None:
    found = studied()
    law = found.laws["viscoelastic"]
    assert isinstance(law, ViscoelasticImpact)
    assert (law.k, law.c, law.m) == pytest.approx((8.07e5, 4.60e7, 3.453), rel=5e-4)
    assert found.disagreement < 1e-12 and found.order.theorem
    summary = found.summary()
    assert summary["impacts"]["viscoelastic"]["restitution"] == pytest.approx(0.1, rel=0.1)
    assert summary["impulse_at_end_of_compression"]["composite"] == pytest.approx(0.1754 * found.masses["composite"])
    json.dumps(summary)


@pytest.mark.thorough
@pytest.mark.parametrize("name", FIGURES)
def test_figures_are_drawn(name: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    FIGURES[name](studied(), tmp_path / name)
    assert (tmp_path / name).stat().st_size > 20_000


def test_the_scene_of_a_strike() -> None:
    found = slow("viscoelastic", "own")
    scene = strike_scene(default_striker(), found)
    where = default_striker().striking_point
    names = [solid.name for solid in scene.solids]
    assert names[-1] == "wall" and names.index("link 7") < names.index("base")
    last = scene.solids[names.index("link 7")]
    ends = last.shape.points @ last.poses[0][:3, :3].T + last.poses[0][:3, 3]
    assert np.min(np.linalg.norm(ends - where.frame[:3, 3], axis=1)) < 0.05
    outward = where.frame[:3, :3] @ np.array([0.0, 0.0, -1.0])
    assert np.all(scene.forces[0].newtons @ outward <= 0.0)
    assert -np.min(scene.forces[0].newtons @ outward) == pytest.approx(found.law.peak_force, rel=2e-2)


def test_an_arm_with_skins_is_drawn_with_them() -> None:
    lid = Mesh(
        np.array([[0.0, 0.0, 0.3], [0.1, 0.0, 0.3], [0.0, 0.1, 0.3]]), np.tile([0.0, 0.0, 1.0], (3, 1)), np.array([[0, 1, 2]])
    )
    arm = default_striker()
    found = slow("viscoelastic", "own")
    scene = strike_scene(replace(arm, visuals=(LinkVisual("link 3", lid, "#123456"), LinkVisual("link 3", lid))), found)
    assert [solid.name for solid in scene.solids] == ["link 3", "point", "wall"]
    link, ball, _ = scene.solids
    q = np.asarray(found.result["arm.mechanism.q"])
    assert link.colour == "#123456" and len(link.shape.points) == 6
    assert np.allclose(link.poses[-1], np.asarray(link_pose(arm.chain, 2, q[-1]), dtype=float), rtol=0, atol=1e-14)
    centre = ball.poses[0] @ [*ball.shape.points.mean(axis=0), 1.0]
    assert np.allclose(centre[:3], arm.striking_point.frame[:3, 3], rtol=0, atol=1e-3)


def test_a_striker_has_the_meshes_of_its_file(tmp_path: Path) -> None:
    pytest.importorskip("lxml")
    source = Path(__file__).parents[1] / "data" / "urdf" / "two_links.urdf"
    robot = striker_from_urdf(source)
    assert {skin.link for skin in robot.visuals} == {"stand", "upper", "fore"}
    assert not striker_from_urdf(source, meshes=False).visuals
    lacking = tmp_path / "lacking.urdf"
    lacking.write_text(re.sub(r"<(box|cylinder|sphere) [^>]*>", '<mesh filename="nowhere.stl"/>', source.read_text(), count=1))
    with pytest.raises(ModelError, match=r"E527 .*nowhere.stl[^$]*--meshes none"):
        striker_from_urdf(lacking)
    assert striker_from_urdf(lacking, meshes=False).chain.freedoms == robot.chain.freedoms


def test_the_command_writes_its_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "impact"
    assert main(["impact", "--out", str(out), "--no-render", "--poses", "3", "--e", "0.3", "--seed", "4"]) == 0
    assert {path.name for path in out.iterdir()} == {*TASK.files, "summary.json"}
    summary = json.loads((out / "summary.json").read_text())
    assert summary["order"]["poses"] == 3 and summary["measured"]["e"] == 0.3 and summary["disagreement"] < 1e-12
    rows = list(csv.DictReader((out / "masses.csv").open()))
    assert [row["kind"] for row in rows] == ["projection", "composite", "momentum", "flexibility"]
    assert float(rows[1]["graph kg"]) == pytest.approx(float(rows[1]["formula kg"]), rel=1e-12)
    with np.load(out / "laws.npz") as laws:
        force, t = laws["viscoelastic force"], laws["viscoelastic t"]
    assert np.trapezoid(force, t) == pytest.approx(0.6662, rel=1e-3)
    poses = np.loadtxt(out / "poses.csv", delimiter=",", skiprows=1)
    assert poses.shape == (3, 7 + 4)
    assert effective_mass(seven_joint_arm(), poses[2, :7], (0.0, 0.0, 0.15), kind="momentum") == pytest.approx(poses[2, 9])
    told = capsys.readouterr().out
    assert "e = 0.3" in told and "composite rigid body" in told and "no graph" in told


def test_the_command_takes_robots_from_files(tmp_path: Path) -> None:
    path = urdf()
    if path is None:
        pytest.skip("NOT TESTED: a robot from its file; pip install example-robot-data")
    pytest.importorskip("lxml")
    out, angles = tmp_path / "out", [repr(float(angle)) for angle in Q]
    arguments = ["--urdf", str(path), "--tip", "panda_link8", "--q", *angles, "--poses", "3", "--no-render"]
    assert main(["impact", "--out", str(out), *arguments]) == 0
    summary = json.loads((out / "summary.json").read_text())
    assert summary["link"] == "panda_link8" and summary["disagreement"] < 1e-12
    for kind, mass in summary["effective_mass"].items():
        assert mass == pytest.approx(effective_mass(panda(), Q, FLANGE, kind=kind), rel=1e-9)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--e", "1"], "e = 1 is invalid for the measured impact"),
        (["--v0", "nan"], "v0 = nan is invalid for the measured impact"),
        (["--poses", "0"], "poses = 0 is invalid for the measured impact"),
        (["--duration", "-1"], "duration = -1.0 is invalid for the measured impact"),
        (["--tip", "hand"], "--tip hand needs a robot"),
        (["--q", "0", "1"], "7 finite numbers"),
        (["--normal", "0", "0", "0"], "the normal is"),
        (["--point", "0", "nan", "0"], "the point is"),
        (["--urdf", "nowhere.urdf"], "no such file"),
    ],
)
def test_bad_arguments_write_nothing(
    arguments: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["impact", "--out", str(tmp_path / "out"), *arguments]) == 2
    assert words in (said := capsys.readouterr().err) and "internal" not in said
    assert not (tmp_path / "out").exists()
