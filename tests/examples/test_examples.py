"""Every example: short enough to be read, and right in one physical number."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from examples import ball_on_turntable, bouncing_ball, colliding_eggs, rolling_eggs

rolling_run = cache(rolling_eggs.simulate)
colliding_run = cache(colliding_eggs.simulate)
ball_run = cache(ball_on_turntable.simulate)
FOLDER = Path(rolling_eggs.__file__).parent
EXAMPLES = (ball_on_turntable, bouncing_ball, colliding_eggs, rolling_eggs)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_length(path):
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    assert 20 <= len(lines) <= 80


def test_every_example_is_tested_here():
    tested = {module.__name__.rpartition(".")[2] for module in EXAMPLES}
    assert {path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__"} == tested


def test_rolling_eggs():
    """The place after two seconds, to 1e-9 m, from an independent trajectory integrated at rtol 1e-12."""
    run = rolling_run()
    assert run.result.ok and run.result.ledger.relative_residual < 1e-9
    reference = np.load(Path(__file__).parents[1] / "models" / "data" / "S2a.npz")
    assert run.trajectory["t"][-1] == 2.0
    assert np.abs(run.trajectory["p2"][-1] - reference["p2"][-1]).max() < 1e-9


def test_colliding_eggs():
    """Beginning and end of the impact to 1e-9 s, its largest force to 1e-6."""
    run = colliding_run()
    assert run.result.ok and run.result.ledger.relative_residual < 1e-9
    ((on, off),) = run.contact_intervals()
    assert abs(on - 0.0377504460285) < 1e-9 and abs(off - 0.0401415805939) < 1e-9
    assert run.peak_force()[1] == pytest.approx(21.99746, rel=1e-6)


def test_ball_on_turntable():
    """Circles at 2/7 of the table's rate, to 1e-6 [3e-7]."""
    run = ball_run()
    assert run.result.ok and run.result.ledger.relative_residual < 1e-9
    assert ball_on_turntable.circling_rate(run) == pytest.approx(2.0 / 7.0 * ball_on_turntable.RATE, rel=1e-6)


def test_bouncing_ball():
    """Bounces before rest, the force at rest, and the time at which impacts of restitution .8 accumulate, to 1e-9 s."""
    found = bouncing_ball.runs()
    assert all(result.ok and result.ledger.relative_residual < 1e-9 for result in found.values())
    leaves = {name: sum(e.kind == "lets go" for e in result.events) for name, result in found.items()}
    assert leaves["constraint, a1 = 10"] == 4 and leaves["constraint, a1 = 20"] == 2
    for name in ("constraint, a1 = 10", "constraint, a1 = 20", "restitution 0.8"):
        assert found[name]["floor.multiplier"][-1] == pytest.approx(9.81, abs=1e-6)
    (limit,) = (e.accumulation for e in found["restitution 0.8"].events if e.accumulation is not None)
    fall = np.sqrt(2.0 / 9.81)
    assert limit == pytest.approx(fall * (1.0 + 2.0 * 0.8 / 0.2), abs=1e-9)


@pytest.mark.parametrize("run", [ball_run, colliding_run, rolling_run], ids=["ball", "colliding", "rolling"])
def test_ledger_closes_and_its_residual_falls_with_the_tolerance(run):
    """Below 1e-9 of the energy in play at rtol 1e-9 [1e-11 at most]."""
    compiled = run().compiled
    tight, loose = (
        compiled.simulate(0.2, samples=0.005, rtol=rtol, progress=False).ledger.relative_residual
        for rtol in (1e-9, 1e-3)
    )
    assert tight < 1e-9
    assert tight < 0.1 * loose
