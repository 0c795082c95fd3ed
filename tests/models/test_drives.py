"""Drives obey their limits of effort and speed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from screwbond.models.control import limited_drive

from bondgraph import J1, Block, Graph, I, ModelError, compile_model


def shaft(command: Any, velocity: Any, **limits: Any) -> Graph:
    n = np.size(command)
    graph, turning = Graph("g"), J1("shaft", dimension=n if np.ndim(command) else None, domain="rotation")
    graph.connect(limited_drive("drive", "u.y", "shaft.flow", **limits), turning)
    graph.connect(turning, I("rotor", np.full(n, 0.5) if np.ndim(command) else 0.5, initial=0.5 * np.array(velocity)[()]))
    graph.add(Block("u", [("y", lambda y: y, ["y0"])], parameters={"y0": command}))
    return graph


def test_a_motor_runs_up_along_its_speed_torque_line() -> None:
    """v' is 4 up to half the maximum speed of 10 rad/s, and 8 - 0.8 v at higher speeds."""
    run = compile_model(shaft(5.0, 0.0, effort=[2.0], speed=10.0, fade=0.5), backend="numpy").simulate(
        3.0, samples=[0.0, 1.0, 3.0]
    )
    assert np.allclose(run["shaft.flow"], [0.0, 4.0, 10.0 - 5.0 * np.exp(-0.8 * 1.75)], rtol=1e-6)


def test_each_joint_has_its_own_limits_and_brakes_at_any_speed() -> None:
    command, velocity = np.array([1.0, 5.0, 5.0, -5.0, 50.0]), np.array([0.0, 0.0, 12.0, 12.0, 99.0])
    effort, speed = [2.0, 2.0, 2.0, 2.0, np.inf], [10.0, 10.0, 10.0, 10.0, np.inf]
    compiled = compile_model(shaft(command, velocity, effort=effort, speed=speed), backend="numpy")
    x, m = compiled.initial()
    assert compiled.program.rates(0.0, x, compiled.parameters(), m).tolist() == [1.0, 2.0, 0.0, -2.0, 50.0]


@pytest.mark.parametrize("limits", [
    {"effort": -1.0}, {"effort": 1.0, "speed": 0.0}, {"effort": np.nan}, {"effort": [1.0, 2.0], "speed": [1.0] * 3},
    {"effort": 1.0, "fade": 0.0}, {"effort": "large"}, {"effort": []}, {"effort": 1.0, "fade": "small"},
])  # fmt: skip
def test_limits_that_do_not_fit_are_refused(limits: dict[str, Any]) -> None:
    with pytest.raises(ModelError, match="E343"):
        limited_drive("drive", "u.y", "v.flow", **limits)
