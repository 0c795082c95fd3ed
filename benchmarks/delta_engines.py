"""Forward dynamics of the delta robot in MuJoCo and Pinocchio: seconds per evaluation, with and without the call from Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from screwbond.models.delta import DeltaParameters, DeltaRobot

from benchmarks.delta_joints import hinges, undamped
from benchmarks.timing import interleaved, median, table

START = (0.6, 0.8, 0.95)


def engines(count: int) -> dict[str, Any]:
    """Return the seconds per evaluation of forward dynamics, and per call from Python; "skipped" for an engine that is not
    installed."""
    p = undamped(DeltaParameters.fit())
    robot = DeltaRobot(p)
    posture, u = robot.forward_kinematics(START), robot.gravity_torque(START)
    q, v = posture.q, posture.dq_dy @ np.array([0.3, -0.2, 0.1])
    return {"MuJoCo": _mujoco(p, q, v, u, count), "Pinocchio": _pinocchio(p, q, v, u, count)}


def _mujoco(p: DeltaParameters, q: np.ndarray, v: np.ndarray, u: np.ndarray, count: int) -> dict[str, Any]:
    try:
        import mujoco
    except ImportError:
        return {"skipped": "MuJoCo is not installed"}
    from benchmarks.delta_mujoco import DeltaMujoco

    engine = DeltaMujoco.make(p, step=1e-5)
    engine.put(q, v, u)
    steps, vector = max(count // 4, 10), np.zeros(3)

    def loop() -> None:
        engine.put(q, v, u)
        mujoco.mj_step(engine.model, engine.data, nstep=steps)

    calls = {
        "loop": loop,
        "call": lambda: mujoco.mj_forward(engine.model, engine.data),
        "empty call": lambda: mujoco.mju_zero3(vector),
    }
    return {
        # four evaluations per step of the Runge-Kutta method, in one call from Python
        "seconds": median(interleaved({"": calls["loop"]}, 5)[""]) / (4 * steps),
        "one call": median(interleaved({"": calls["call"]}, 50, inner=20)[""]),
        "empty call": median(interleaved({"": calls["empty call"]}, 50, inner=20)[""]),
    }


def _pinocchio(p: DeltaParameters, q: np.ndarray, v: np.ndarray, u: np.ndarray, count: int) -> dict[str, Any]:
    try:
        import pinocchio as pin
    except ImportError:
        return {"skipped": "Pinocchio is not installed (pip install 'screwbond[pinocchio]')"}
    from benchmarks.delta_pinocchio import DeltaPinocchio

    engine = DeltaPinocchio.make(p)
    (angles, rates), tau = hinges(q, v), np.zeros(9)
    tau[::3] = u
    given = (engine.model, engine.data, angles, rates, tau, engine.ties, engine.tie_data, engine.settings)
    calls = {"call": lambda: pin.constraintDynamics(*given), "empty call": lambda: pin.neutral(engine.model)}
    seconds = interleaved(calls, max(count // 20, 10), inner=20)
    call, empty = median(seconds["call"]), median(seconds["empty call"])
    return {"seconds": call - empty, "one call": call, "empty call": empty}


def engines_text(found: Mapping[str, Any]) -> str:
    rows = []
    for name, part in found.items():
        if "skipped" in part:
            rows.append([name, "-", "-", part["skipped"]])
        else:
            rows.append([name, *(f"{1e9 * part[key]:.0f}" for key in ("seconds", "one call", "empty call"))])
    title = "Two engines, ns per evaluation: alone (MuJoCo: steps in one call), with a call from Python, and an empty call"
    return table(title, ["", "evaluation", "one call", "empty call"], rows)
