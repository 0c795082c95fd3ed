"""The soft touch of Bortoff 2020, fig. 13, fails without the paper's two ideas."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from screwbond.models.cli import main
from screwbond.models.delta import DeltaParameters, DeltaRobot

from bondgraph import ModelError
from tests.inner.models_delta import BALL, SoftTouchRun, TouchPlan, design, soft_touch

FIT = DeltaParameters.fit()
PLAN = TouchPlan()


@pytest.fixture(scope="module")
def touch() -> SoftTouchRun:
    return soft_touch(FIT, PLAN)


def test_soft_touch_of_the_paper(touch: SoftTouchRun) -> None:
    assert touch.run.ok and touch.run.t[-1] == 20.0 and touch.run.statistics.ticks >= 2 * 20_000
    (time,) = touch.contacts
    assert 12.0 <= time <= 12.05
    (impact,) = touch.impacts
    assert abs(touch.peak - 0.09) < 1e-3 and touch.peak == impact
    before, after = touch.run.result.at_event(0, "contact.multiplier")
    assert before == 0.0 and after == impact
    late = touch.run.t > 13.0
    np.testing.assert_allclose(touch["contact.multiplier"][late], 0.04, atol=5e-4)
    assert touch.displacement == 0.0 and np.abs(touch["brick.flow"]).max() < 1e-15
    assert len(touch.run.result.events) == 1 and touch.bounces == 0 and touch.slips == ()


def test_forces_follow_from_the_task_inertia(touch: SoftTouchRun) -> None:
    """The peak force Lambda_xx alpha1 v and the holding force Lambda_xx kd v determine the gains."""
    designed, gains = touch.design, touch.design.gains
    assert gains.kp0 == 0.25 * gains.kd**2 and gains.alpha0 == 0.25 * gains.alpha1**2
    assert 235.0 < gains.kd < 237.0 and 534.0 < gains.alpha1 < 536.0
    before, _ = touch.run.result.at_event(0, "contact.h'")
    assert abs(-before / designed.speed - 1.0) < 2e-4 and designed.speed < PLAN.speed
    approaching = (touch.run.t > 2.5) & (touch.run.t < 12.0)
    assert np.all(np.diff(touch["contact.h"][approaching]) < 0.0)
    assert abs(float(np.interp(2.5, touch.run.t, touch["contact.h"])) - PLAN.near) < 2e-5


def test_friction_balances_the_finger_force(touch: SoftTouchRun) -> None:
    np.testing.assert_allclose(touch["table.effort"], touch["contact.multiplier"], atol=1e-12)
    assert np.abs(touch["table.effort"]).max() < float(touch["table.limit"])


def test_brick_slips_where_the_gain_is_kept() -> None:
    kept = soft_touch(FIT, replace(PLAN, fade=None), t_end=13.0)
    (contact,), (slip, *_) = kept.contacts, kept.slips
    assert 0.02 < slip - contact < 0.1 and kept.displacement > 1e-4
    # From the contact on, the reference moves ahead of the finger: Lambda (kd v + kp v t) reaches the limit.
    rate = float(kept.design.Lambda[0, 0]) * PLAN.speed
    expected = (float(kept["table.limit"]) / rate - kept.design.gains.kd) / kept.design.gains.kp0
    assert abs(slip - contact - expected) < 5e-3


def test_contact_as_hard_as_a_ball_bounces() -> None:
    ball = soft_touch(FIT, replace(PLAN, constants=BALL), t_end=13.0)
    assert ball.bounces >= 2
    kinds = [event.kind for event in ball.run.result.events]
    assert kinds[:4] == ["contact", "release", "apart", "contact"]
    gaps = np.diff(ball.contacts)
    assert np.all(gaps > 2e-3) and ball["contact.multiplier"].min() >= -1e-12
    _, lifted = ball.run.result.at_event(1, "contact.h'")
    assert lifted > 0.0


@pytest.mark.parametrize(
    "parameters, plan",
    [
        (DeltaParameters.lab(), PLAN),
        (FIT, replace(PLAN, place=(0.02, -0.03, 0.45), hold=0.03, peak=0.06, gap=0.03, contact=8.0, fade=(2.5, 6.0))),
    ],
)
def test_other_robots_places_and_forces(parameters: DeltaParameters, plan: TouchPlan) -> None:
    found = soft_touch(parameters, plan, t_end=plan.contact + 1.0)
    (time,) = found.contacts
    assert plan.contact < time < plan.contact + 0.05
    assert abs(found.peak / plan.peak - 1.0) < 0.01 and abs(found.holding_force / plan.hold - 1.0) < 0.01
    assert found.displacement == 0.0


def test_hamiltonian_arms_touch_alike(touch: SoftTouchRun) -> None:
    other = soft_touch(DeltaRobot(FIT, form="hamiltonian"), PLAN, t_end=12.2)
    np.testing.assert_allclose(other.contacts, touch.contacts, atol=1e-6)
    np.testing.assert_allclose(other.impacts, touch.impacts, rtol=1e-5)


def test_refusals() -> None:
    for plan, code in (
        (replace(PLAN, kp=6e4), "E476"),
        (replace(PLAN, place=(0.0, 0.0, 2.0)), "E463"),
        (replace(PLAN, gap=1.5), "E463"),
        (replace(PLAN, peak=0.02), "E477"),
    ):
        with pytest.raises(ModelError, match=code):
            soft_touch(FIT, plan)
    with pytest.raises(ModelError) as caught:
        soft_touch(FIT, replace(PLAN, kp=6e4))
    assert f"0 ... {design(FIT, PLAN).gains.kd ** 2:g}" in str(caught.value)
    for change in ({"speed": -1e-4}, {"period": 0.0}, {"hold": float("nan")}, {"gap": 1e-3}, {"contact": 2.0}):
        with pytest.raises(ModelError, match="E441"):
            replace(PLAN, **change)


def test_command(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "touch"
    assert main(["delta", "soft-touch", "--params", "fit", "--out", str(out), "--until", "12.5", "--no-render"]) == 0
    assert "90.00 mN at 12.0282 s" in capsys.readouterr().out
    assert {file.name for file in out.iterdir()} == {"touch.csv", "events.json", "summary.json", "graph.svg"}
    summary = json.loads((out / "summary.json").read_text())
    assert summary["brick_displacement"] == 0.0 and len(json.loads((out / "events.json").read_text())) == 1
    rows = np.genfromtxt(out / "touch.csv", delimiter=",", names=True)
    assert rows["gap"][0] == pytest.approx(0.045) and rows["mode"][-1] == 1.0
    assert main(["delta", "soft-touch", "--params", "fit", "--out", str(tmp_path / "no"), "--kp", "1e6"]) == 2
    assert "E476" in capsys.readouterr().err and not (tmp_path / "no").exists()
