"""Rotations about axes and motions of a rigid body: pose, twist and twist rate, as signals and as a body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from screwbond.models.bodies import BODY_TWIST, IDENTITY_QUATERNION, Body, complete_body, start_pose, world_junction
from screwbond.models.motion.blocks import DERIVATIVES, motion_parameters, motion_symbols
from screwbond.models.motion.polynomials import Array, Motion, axes, hold, numbers, refuse

from bondgraph import Block, Element, Op, Parameter, Sf
from bondgraph.model.domains import SCREW
from bondgraph.model.ops import IDENTITY
from bondgraph.model.units import per_second
from screws.rotations import quaternion_product
from screws.scalars import array, cos, sin
from screws.surfaces import Surface
from screws.vectors import cross, scaled


@dataclass(frozen=True)
class AxisRotations:
    """Successive rotations about axes, which are fixed in the world or move with the body.

    Parameters
    ----------
    angles : motion of k angles, rad.
    directions : (k, 3) unit vectors.
    moving : True if earlier rotations also rotate later axes.
    """

    angles: Motion
    directions: Array
    moving: bool = False


def axis_rotations(angles: Motion | Sequence[Motion], directions: ArrayLike, *, moving: bool = False) -> AxisRotations:
    """Compose rotations about axes, which are normalised.

    Parameters
    ----------
    angles : a scalar motion, a motion of k angles, or k scalar motions, rad.
    directions : (3,) or (k, 3), not zero.
    moving : False: fixed axes of the world, R = R_k ... R_2 R_1; True: axes of the body, R = R_1 R_2 ... R_k.

    Raises `ModelError` E470 for angles without a motion, or axes that are not finite; E475 for a zero axis, or if the numbers of
    axes and angles differ.
    """
    motions = [angles] if isinstance(angles, Motion) else list(angles)
    joined = axes(*motions)
    vectors = np.atleast_2d(numbers("the axis", directions, (1, 2)))
    lengths = np.linalg.norm(vectors, axis=1)
    if vectors.shape != (joined.shape[0], 3) or not np.all(lengths > 0.0):
        title = f"the axes of a rotation are {np.asarray(directions).tolist()}"
        refuse("E475", title, f"there are {joined.shape[0]} angles", "a vector of three numbers, not zero, for each angle")
    return AxisRotations(joined, vectors / lengths[:, None], moving)


@dataclass(frozen=True)
class PoseMotion:
    """Motion of a body: one of its points follows `centre`, and the body rotates about this point.

    Parameters
    ----------
    centre : motion (3,) of a body-fixed point c, world coordinates, m.
    turn : rotation since the initial orientation.
    quaternion : (4,) initial orientation R0 of the object frame, R = R_turn R0.
    arm : (3,) from c to the origin of the object frame, m, in world coordinates where R_turn is the identity.
    """

    centre: Motion
    turn: AxisRotations
    quaternion: Array
    arm: Array

    def pose(self, t: ArrayLike) -> Array:
        """Return the flat pose [qw, qx, qy, qz, px, py, pz] (..., 7), object to world, at times t (...)."""
        return self._at(t, 0)

    def twist(self, t: ArrayLike) -> Array:
        """Return the world twist T_0_0_b = [omega; v] (..., 6), rad/s and m/s: v is the velocity of the body-fixed point at the
        origin."""
        return self._at(t, 1)

    def twist_rate(self, t: ArrayLike) -> Array:
        """Return d/dt T_0_0_b (..., 6)."""
        return self._at(t, 2)

    def _at(self, t: ArrayLike, index: int) -> Array:
        values = [
            np.moveaxis(motion.derivative(t, order), -1, 0) for motion in (self.centre, self.turn.angles) for order in (0, 1, 2)
        ]
        rates = _rates if self.turn.moving else _fixed_rates
        values_at = rates(*values, self.turn.directions, self.quaternion, self.arm)[index]
        return np.moveaxis(np.asarray(values_at, dtype=float), 0, -1)


def pose_motion(
    centre: Motion | ArrayLike = (0.0, 0.0, 0.0),
    turn: AxisRotations | None = None,
    *,
    quaternion: Sequence[float] = IDENTITY_QUATERNION,
    arm: ArrayLike = (0.0, 0.0, 0.0),
) -> PoseMotion:
    """Return the motion of a body that rotates about its point `centre`, which moves or is fixed (3,); arguments as for
    `PoseMotion`.

    Raises `ModelError` E424 and E425 for an invalid quaternion, E470 for a centre or an arm without three components.
    """
    path = centre if isinstance(centre, Motion) else hold(numbers("the centre", centre), 1.0)
    offset = numbers("the arm", arm)
    if path.shape != (3,) or offset.shape != (3,):
        title = "centre and arm of a body's motion need three components"
        refuse("E470", title, f"given: {path.shape} and {offset.shape}", "points in the world's coordinates, m")
    rotation = turn or axis_rotations(hold(0.0, 1.0), (0.0, 0.0, 1.0))
    return PoseMotion(path, rotation, start_pose("motion", (0.0, 0.0, 0.0), quaternion)[:4], offset)


# --- formulas: components may be any scalar type, or arrays over time ----------------------------------------------


def _rotated(q: Any, v: Any) -> Any:
    u = (q[1], q[2], q[3])
    side = cross(u, v)
    twice = cross(u, side)
    return tuple(v[k] + 2.0 * (q[0] * side[k] + twice[k]) for k in range(3))


def _sum(*vectors: Any) -> Any:
    return tuple(sum(components[1:], start=components[0]) for components in zip(*vectors, strict=True))


def _compose_rotations(angle: Any, rate: Any, second: Any, directions: Any, moving: bool) -> Any:
    q: Any = IDENTITY_QUATERNION
    omega: Any = (0.0, 0.0, 0.0)
    alpha: Any = (0.0, 0.0, 0.0)
    for k in range(len(angle)):
        axis = tuple(directions[k][i] for i in range(3))
        turn = (cos(0.5 * angle[k]), *scaled(axis, sin(0.5 * angle[k])))
        if moving:
            axis = _rotated(q, axis)
            spin = scaled(axis, rate[k])
            alpha = _sum(alpha, cross(omega, spin), scaled(axis, second[k]))
            omega = _sum(omega, spin)
            q = tuple(quaternion_product(q, turn))
        else:
            spin, before = scaled(axis, rate[k]), _rotated(turn, omega)
            alpha = _sum(scaled(axis, second[k]), _rotated(turn, alpha), cross(spin, before))
            omega = _sum(spin, before)
            q = tuple(quaternion_product(turn, q))
    return q, omega, alpha


def _rates_formula(moving: bool) -> Any:
    def rates(c: Any, dc: Any, ddc: Any, angle: Any, rate: Any, second: Any, directions: Any, start: Any, arm: Any) -> Any:
        q, omega, alpha = _compose_rotations(angle, rate, second, directions, moving)
        point = _sum(c, _rotated(q, arm))
        linear = _sum(dc, cross(c, omega))
        linear_rate = _sum(ddc, cross(c, alpha), cross(dc, omega))
        return array([*quaternion_product(q, start), *point]), array([*omega, *linear]), array([*alpha, *linear_rate])

    return rates


_rates, _fixed_rates = _rates_formula(True), _rates_formula(False)
_LATEX = r"\left(H, T, \dot T\right)(#1, #2, #3, #4, #5, #6)"
MOVING = Op("motion of a body, moving axes", _rates, _LATEX)
FIXED = Op("motion of a body, fixed axes", _fixed_rates, _LATEX)


# --- in a graph -------------------------------------------------------------------------------------------------------


_UNITS = {"pose": "1, m", "twist": "rad/s, m/s", "body_twist": "rad/s, m/s", "twist_rate": "rad/s^2, m/s^2"}
_LETTERS = {
    "pose": "H",
    "twist": "T",
    "body_twist": r"T_{\mathrm{body}}",
    "twist_rate": r"\dot T",
    "axes": "a",
    "quaternion": r"\eta",
    "arm": r"\rho",
}


def pose_reference(name: str, motion: PoseMotion, *, time: str = "time") -> Element:
    """Build the signals `<name>.pose` (7,), `.twist` (6,) in world coordinates, `.twist_rate` (6,) and `.body_twist` (6,)."""
    equations: list[tuple[Any, Op, list[str]]] = []
    arguments: list[str] = []
    parameters: dict[str, Parameter] = {}
    units, symbols = dict(_UNITS), dict(_LETTERS)
    for prefix, letter, path, unit in (("centre", "r", motion.centre, "m"), ("angle", r"\varphi", motion.turn.angles, "rad")):
        parameters |= motion_parameters(path, unit, f"{prefix} ")
        symbols |= motion_symbols(letter, f"{prefix} ")
        names = (prefix, f"{prefix} rate", f"{prefix} acceleration")
        units |= {what: per_second(unit, order) for order, what in enumerate(names)}
        symbols |= {what: f"{dots}{letter}" for dots, what in zip(("", r"\dot ", r"\ddot "), names, strict=True)}
        inputs = ["t", f"{prefix} breaks", f"{prefix} coefficients"]
        equations += [(what, DERIVATIVES[order], inputs) for order, what in enumerate(names)]
        arguments += names
    constants = {
        "axes": Parameter(motion.turn.directions, "1"),
        "quaternion": Parameter(motion.quaternion, "1"),
        "arm": Parameter(motion.arm, "m"),
    }
    rates = MOVING if motion.turn.moving else FIXED
    equations.append((("pose", "twist", "twist_rate"), rates, [*arguments, *constants]))
    equations.append(("body_twist", BODY_TWIST, ["pose", "twist"]))
    return Block(
        name,
        equations,
        inputs={"t": time},
        parameters=parameters | constants,
        units=units,
        symbols=symbols,
        breaks=["centre breaks", "angle breaks"] if time == "time" else [],
    )


def following_body(name: str, motion: PoseMotion, *, surface: Surface | None = None, time: str = "time") -> Body:
    """Build a body that follows a motion exactly: an Sf imposes its twist, and its pose comes from the motion, not from an
    integral.

    `screwbond.models.prescribed_body` integrates a twist instead.
    """
    body = Body(name, surface)
    world = world_junction(name)
    body.add(pose_reference("motion", motion, time=time))
    body.connect(Sf("drive", IDENTITY, signals=["motion.twist"], dimension=6, domain=SCREW, frame="0"), world)
    return complete_body(body, world, "motion.pose", "motion.body_twist")
