"""The delta robot in minimal coordinates: an IC of the three motor angles, with forward kinematics in closed form.

It has six states instead of eighteen and no multipliers, but the inertia at the motors, dtheta/dy^T M dtheta/dy, must be
differentiated through the kinematics. It is infinite where the forward kinematics is singular, and no motion can pass through
that posture.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from screwbond.models.delta.kinematics import arm
from screwbond.models.delta.kinematics.arm import Constants
from screwbond.models.delta.kinematics.closure import forward_closed_form, newton_step
from screwbond.models.delta.kinematics.parameters import UNITS, DeltaParameters

from bondgraph import IC, J1, Graph, Parameter, R, Se
from bondgraph.model.domains import ROTATION

NUMBERS = tuple(name for name in UNITS if name != "DAMPING")


def minimal_graph(
    parameters: DeltaParameters,
    y: Sequence[float] | np.ndarray,
    *,
    rates: Sequence[float] | np.ndarray = (0.0, 0.0, 0.0),
    torques: Sequence[float] | np.ndarray = (0.0, 0.0, 0.0),
) -> Graph:
    """Return the graph with the states `mechanism.q`, the motor angles, and `mechanism.v`."""
    graph, motors = Graph("delta robot in minimal coordinates"), J1("motor rates", dimension=3, domain=ROTATION)
    numbers = {name: Parameter(getattr(parameters, name), UNITS[name]) for name in NUMBERS}
    mechanism = IC(
        "mechanism",
        inertia=_inertia,
        potential=_potential,
        position=np.asarray(y, dtype=float),
        velocity=np.asarray(rates, dtype=float),
        parameters=numbers,
        domain=ROTATION,
    )
    graph.connect(motors, mechanism)
    signals = ["mechanism.q", *(f"mechanism.{name}" for name in NUMBERS)]
    damping = {"damping": Parameter(parameters.DAMPING, UNITS["DAMPING"])}
    graph.connect(motors, R("damping", effort=_friction, parameters=damping, signals=signals, dimension=3))
    return graph.connect(Se("motors", np.asarray(torques, dtype=float)), motors)


def _posture(y: Any, p: Constants) -> tuple[list[Any], Any]:
    """Return the coordinates of the three arms, and dtheta/dy (9, 3)."""
    x = forward_closed_form(y, p, 1.0)["x"]
    theta = [np.array([y[i], x[2 * i], x[2 * i + 1]], dtype=object) for i in range(3)]
    return theta, newton_step(x, y, p)["dtheta_dy"].reshape(9, 3)


def _constants(numbers: Sequence[Any]) -> Constants:
    return Constants(**dict(zip(NUMBERS, numbers, strict=True)), DAMPING=0.0)


def _inertia(y: Any, *numbers: Any) -> Any:
    p = _constants(numbers)
    theta, slopes = _posture(y, p)
    parts = [slopes[3 * i : 3 * i + 3] for i in range(3)]
    return sum((part.T @ (arm.inertia(angles, p) @ part) for angles, part in zip(theta, parts, strict=True)), np.zeros((3, 3)))


def _potential(y: Any, *numbers: Any) -> Any:
    p = _constants(numbers)
    return sum(arm.potential_energy(angles, p) for angles in _posture(y, p)[0])


def _friction(rates: Any, damping: Any, y: Any, *numbers: Any) -> Any:
    theta, slopes = _posture(y, _constants(numbers))
    parts = [arm.friction_rates(angles) @ slopes[3 * i : 3 * i + 3] for i, angles in enumerate(theta)]
    return damping * sum((part.T @ (part @ rates) for part in parts), np.zeros(3))
