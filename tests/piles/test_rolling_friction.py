"""Rolling and spinning friction of contacts agree with closed forms."""

import numpy as np
import pytest
from screwbond.models import prescribed_body

from bondgraph.stepping import stepper
from screws.shapes import HalfSpace
from tests.inner.stepping import free_body_stepper
from tests.piles.bodies import G, ball, cuboid, floor, graph_of, refused, turned

LENGTH, RADIUS = 2e-3, 0.05


def run_of(*bodies, step=2e-3, end=1.0, **friction):
    return free_body_stepper(graph_of(*bodies, friction=0.5, **friction)).simulate(end, step=step)


def test_a_rolling_ball_slows_down_and_stops():
    """The ball decelerates at 5/7 g c / r, with the rolling-friction length c, since it does not slip."""
    v0, a = 0.3, 5.0 / 7.0 * G * LENGTH / RADIUS
    rolling = ball("ball", position=(0, 0, RADIUS), velocity=(v0, 0, 0), angular_velocity=(0, v0 / RADIUS, 0))
    run = run_of(floor(), rolling, end=1.2, rolling_friction=LENGTH)
    speed = np.linalg.norm(run["ball.twist"][:, 3:], axis=1)
    assert np.allclose(speed, np.maximum(v0 - a * run.t, 0.0), atol=1.1 * a * 2e-3)
    assert speed[-1] < 1e-9 and run["ball.pose"][-1, 4] == pytest.approx(0.5 * v0**2 / a, rel=5e-3)
    assert run.ledger.relative_residual < 1e-11
    assert run.ledger.elements["contacts"][-1] == pytest.approx(0.7 * v0**2, rel=1e-2)


@pytest.mark.parametrize("share", [0.9, 1.1])
def test_a_ball_rests_on_a_slope_below_the_limit(share):
    """The limit is tan(slope) = c / r, with the rolling-friction length c."""
    angle = np.arctan(share * LENGTH / RADIUS)
    up, q = np.array([np.sin(angle), 0.0, np.cos(angle)]), turned((0, 1, 0), angle)
    run = run_of(floor(quaternion=q), ball("ball", position=RADIUS * up), rolling_friction=LENGTH)
    a = 5.0 / 7.0 * G * max(0.0, np.sin(angle) - LENGTH / RADIUS * np.cos(angle))
    assert np.linalg.norm(run["ball.twist"][-1, 3:]) == pytest.approx(a, abs=1e-9)


def test_a_ball_spins_to_rest():
    """The spin about the normal decreases at the rate c m g / I, with the spinning-friction length c, or is constant without this
    friction."""
    spin, slow = 10.0, LENGTH * G / (0.4 * RADIUS**2)
    spinning = ball("ball", position=(0, 0, RADIUS), angular_velocity=(0, 0, spin))
    run = run_of(floor(), spinning, spinning_friction=LENGTH)
    assert np.allclose(run["ball.twist"][:, 2], np.maximum(spin - slow * run.t, 0.0), atol=1.1 * slow * 2e-3)
    assert run["ball.twist"][-1, 2] == pytest.approx(0.0, abs=1e-9)
    assert run_of(floor(), spinning, rolling_friction=LENGTH, end=0.1)["ball.twist"][-1, 2] == pytest.approx(spin, rel=1e-12)


def test_a_turntable_takes_a_box_along():
    table = prescribed_body("table", twist=lambda t: (0, 0, 3.0, 0, 0, 0), shape=HalfSpace())
    run = run_of(table, cuboid("box", position=(0, 0, 0.05)), spinning_friction=LENGTH, rolling_friction=LENGTH, end=0.3)
    assert run["box.twist"][-1, 2] == pytest.approx(3.0, rel=1e-4)
    assert run.ledger.relative_residual < 1e-11 and run.ledger.elements["moved bodies"][-1] > 0.5 * 9.0 / 600.0


def test_negative_or_jointed_rolling_resistance_is_refused():
    refused("E546 rolling_friction", lambda: graph_of(floor(), ball("a"), rolling_friction=-1.0))
    refused("E546 spinning_friction", lambda: graph_of(floor(), ball("a"), spinning_friction=np.inf))
    refused("E487", lambda: stepper(graph_of(floor(), ball("a"), rolling_friction=1e-3), "full"))
