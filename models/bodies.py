"""Rigid bodies as graphs: free bodies with the Euler junction structure, ground, and prescribed motion.

Every body is a graph with one power port `world` (the twist T_0_0_b of the body b in world coordinates, and its wrench) and the
signals `pose` ([qw, qx, qy, qz, px, py, pz], object to world) and `twist` (T_b_0_b, the body twist).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from screwbond.models.connections import AD, AD_ACTION, AD_SOURCE, screw_transformer
from screwbond.models.visuals import Appearance, Visual, visuals_of

from bondgraph import J1, Block, EulerJunction, Graph, I, Op, Sf, StateSpec
from bondgraph.elements import Element, Port
from bondgraph.errors import refusal
from bondgraph.model.arguments import in_units
from bondgraph.model.domains import SCREW
from bondgraph.model.element import PortRef
from bondgraph.model.laws import Parameter, Storage
from bondgraph.model.model import Visible
from bondgraph.model.ops import IDENTITY, zeros
from screws.arrays import Quaternion, Row, Twist, Vector3
from screws.inertia import check_inertia, spatial_inertia
from screws.numeric_arguments import floats, reals
from screws.poses import pose_from_state, pose_rate, rotation_of
from screws.rotations import tilde
from screws.scalars import array
from screws.shapes import Solid
from screws.surfaces import Surface
from screws.twists import transform_twist_back
from screws.vectors import cross

IDENTITY_QUATERNION = (1.0, 0.0, 0.0, 0.0)

TWIST = SCREW.flow_unit

UNIT_TOLERANCE = 1e-3
"""Largest deviation of a quaternion's norm from 1 that normalisation corrects; larger deviations are refused."""


class Body(Graph):
    """Graph of one body. `surface` is its surface in object coordinates (None: no contact), `shape` one collision solid or
    several (None: no collisions), `visual` one `Visual` or several that pictures show instead of both.

    Raises `ModelError` E427, E545 or E576 if `surface`, `shape` or `visual` is invalid.
    """

    momentum: str | None = None
    fixed = False

    def __init__(
        self,
        name: str,
        surface: Surface | None = None,
        shape: Solid | Sequence[Solid] | None = None,
        visual: Visual | Sequence[Visual] | None = None,
    ):
        super().__init__(name)
        self.shapes = _solids(name, shape)
        self.visuals = visuals_of(name, visual)
        if surface is not None and not isinstance(surface, Surface):
            title = f'the surface of "{name}" is {surface!r}'
            raise refusal("E427", title, "a surface: surface=sphere(0.1)", about=name)
        self.surface = surface

    @property
    def world(self) -> PortRef:
        """Port of the world twist."""
        return self.port("world")

    @property
    def pose_path(self) -> str:
        """Path of the pose signal in the graph around the body."""
        return f"{self.name}.pose"

    @property
    def frame_path(self) -> str:
        """Path of the pose in the form that is cheapest to compute, for this body the pose (7,)."""
        return self.pose_path


def _solids(name: str, shape: Any) -> tuple[Solid, ...]:
    solids = () if shape is None else (shape,) if isinstance(shape, Solid) else shape
    if not isinstance(solids, (tuple, list)) or not all(isinstance(solid, Solid) for solid in solids):
        title, cure = f'the shape of "{name}" is {shape!r}', "one of screws.shapes, or a list of them: shape=Ball(0.1)"
        raise refusal("E545", title, cure, about=name)
    return tuple(solids)


def start_pose(name: str, position: Vector3, quaternion: Quaternion) -> np.ndarray:
    """Return the flat pose state (7,) of a body from position p_0_b (m) and quaternion (w, x, y, z), normalised.

    Raises `ModelError` E424 unless the arguments are 3 and 4 finite numbers, E425 for a quaternion whose norm is off by more than
    `UNIT_TOLERANCE`.
    """
    q = _numbers(name, "quaternion", quaternion, 4)
    norm = float(np.linalg.norm(q))
    if abs(norm - 1.0) > UNIT_TOLERANCE:
        title = f'the quaternion of "{name}" has the norm {norm:.6g}, which is far from 1'
        cure = "a unit quaternion, real part first: (w, x, y, z)"
        raise refusal("E425", title, cure, about=name)
    return np.concatenate([q / norm, _numbers(name, "position", position, 3)])


_FORMS = {
    3: "three numbers",
    4: "[cos(a / 2), *(sin(a / 2) * axis)] for an angle a in rad",
    6: "(wx, wy, wz, vx, vy, vz), or a function of time that returns them",
}


def _numbers(name: str, what: str, value: Any, size: int) -> np.ndarray:
    values = reals(value, size)
    if values is None:
        title, form = f'{what} of "{name}" is {value!r}', _FORMS[size]
        if what == "quaternion" and floats(value, (3, 3)) is not None:
            form = "screws.quaternion(R), for a rotation matrix R"
        raise refusal("E424", title, f"{what}={form}", about=name, why=f"it needs {size} finite numbers")
    return values


def diagonal_if_possible(matrix: np.ndarray) -> np.ndarray:
    diagonal = np.diagonal(matrix)
    return matrix if np.count_nonzero(matrix - np.diag(diagonal)) else diagonal.copy()


def gyroscopic(momentum: Any, twist: Any, inertia: Any) -> Any:
    """Return J(P, T, M), (6, 6) skew-symmetric, with J T = -ad(T)^T P: the efforts of the Euler junction structure.

    The linear momentum is p = m v + b. The part m v is along v: it exerts no torque, and turns with the body under the force m
    omega x v. Computed as p x v, its torque would be a difference of equal products, whose rounding error would rotate a body in
    free flight. m is the entry (4, 4) of M; b is m omega x c for the centre of mass c, plus (M_vv - m 1) v if the inertia depends
    on the direction.
    """
    omega, v = twist[:3], twist[3:]
    if np.ndim(inertia) == 1:
        mass = inertia[3]
        excess = array([(inertia[3 + i] - mass) * v[i] for i in range(3)])
    else:
        mass = inertia[3, 3]
        excess = inertia[3:, :3] @ omega + (inertia[3:, 3:] - mass * np.eye(3)) @ v
    angular, linear = tilde(momentum[:3]), tilde(excess)
    return -array(np.block([[angular, linear], [linear, -mass * tilde(omega)]]))


def _gravity_wrench(pose: Any, mass: Any, centre: Any, acceleration: Any) -> Any:
    """Return minus the wrench of the weight in body coordinates, the effort of the potential V = -m g . p."""
    force = rotation_of(pose_from_state(pose)).T @ (mass * acceleration)
    return -array([*cross(centre, force), *force])


def _gravity_energy(pose: Any, mass: Any, centre: Any, acceleration: Any) -> Any:
    """Return the potential V = -m g . p of the centre of mass, J; it is zero at the world's origin."""
    H = pose_from_state(pose)
    return -mass * (acceleration @ (H[:3, 3] + H[:3, :3] @ centre))


_PARTS = "(R, p) = #1"
GRAVITY = Op(
    "gravity", _gravity_wrench, r"-\begin{bmatrix} #3 \times f \\ f \end{bmatrix}" + "\n" + r"f = #2\,R^T #4,\; " + _PARTS
)
POTENTIAL = Op("potential", _gravity_energy, r"-#2\,#4 \cdot (p + R\,#3)" + "\n" + _PARTS)
POSE_RATE = Op("pose rate", lambda pose, twist, *_: pose_rate(pose, twist), r"\dot H(#1, #2)", "Stramigioli 2001")
BODY_TWIST = Op("Ad", lambda pose, T: transform_twist_back(pose_from_state(pose), T), r"\mathrm{Ad}_{(#1)^{-1}}\,#2", AD_SOURCE)


def _gyroscopic(mass: str) -> Op:
    return Op(
        "Euler junction structure",
        gyroscopic,
        r"-\begin{bmatrix} \tilde a & \tilde b \\ \tilde b & -m\,\tilde\omega \end{bmatrix}"
        + "\n"
        + rf"(a, p) = #1,\; (\omega, v) = #2,\; m = (#3)_{{{mass}}},\; b = p - m\,v",
        "Stramigioli 2001",
    )


GYROSCOPIC, GYROSCOPIC_OF_AXES = _gyroscopic("44"), _gyroscopic("4")
"""Moduli of Euler junction structures for an inertia (6, 6), and for a diagonal one (6,)."""


@in_units(
    mass="kg", inertia="kg m^2", centre_of_mass="m", position="m", velocity="m/s", angular_velocity="rad/s", gravity="m/s^2"
)
def rigid_body(
    name: str,
    *,
    mass: float,
    inertia: Row,
    surface: Surface | None = None,
    shape: Solid | Sequence[Solid] | None = None,
    visual: Visual | Sequence[Visual] | None = None,
    centre_of_mass: Vector3 = (0.0, 0.0, 0.0),
    position: Vector3 = (0.0, 0.0, 0.0),
    quaternion: Quaternion = IDENTITY_QUATERNION,
    velocity: Vector3 = (0.0, 0.0, 0.0),
    angular_velocity: Vector3 = (0.0, 0.0, 0.0),
    gravity: Vector3 = (0.0, 0.0, 0.0),
) -> Body:
    """Build a free rigid body: 1-junction of the body twist with I (inertia), MGY (Euler junction structure), C (pose and
    weight) and an MTF Ad to the world.

    Parameters
    ----------
    mass, inertia : kg, and kg m^2 about the centre of mass in object axes, (3,) principal or (3, 3).
    surface, shape, visual : surface for contacts of curved bodies, collision solids, and visuals that replace both in pictures.
    centre_of_mass : position in object coordinates, m.
    position, quaternion : start pose of the object frame in the world, m and (w, x, y, z).
    velocity, angular_velocity : velocity of the centre of mass, and angular velocity, at the start, in world coordinates, m/s and
        rad/s.
    gravity : uniform acceleration in world coordinates, m/s^2.

    Raises `GeometryError` for a mass or an inertia that no body can have; `ModelError` E424 for vectors of wrong length or with
    non-finite numbers, E425 for a quaternion whose norm is far from 1, and the errors of `Body`.

    Source: Stramigioli 2001 (Newton-Euler in screw form); Breedveld's Euler junction structure.
    """
    check_inertia(mass, inertia, f'"{name}"')
    moment = np.asarray(inertia, dtype=float)
    moment = np.diag(moment) if moment.ndim == 1 else moment
    centre = _numbers(name, "centre_of_mass", centre_of_mass, 3)
    spin = _numbers(name, "angular_velocity", angular_velocity, 3)
    speed = _numbers(name, "velocity", velocity, 3)
    acceleration = _numbers(name, "gravity", gravity, 3)
    M_b = np.asarray(spatial_inertia(mass, moment, centre), dtype=float)
    pose = start_pose(name, position, quaternion)
    R = np.asarray(rotation_of(np.asarray(pose_from_state(pose), dtype=float)), dtype=float)
    omega = R.T @ spin
    twist = np.concatenate([omega, R.T @ speed - np.cross(omega, centre)])

    body = Body(name, surface, shape, visual)
    junction = J1("body twist", domain=SCREW, frame=name, symbols={"flow": rf"T^{{{latex_name(name)},0}}"})
    to_world = screw_transformer(AD, AD_ACTION, "pose.H", (name, "0"))
    world = world_junction(name)
    modulus = diagonal_if_possible(M_b)
    body.connect(junction, I("inertia", modulus, initial=M_b @ twist, symbols={"p": rf"P^{{{latex_name(name)}}}"}))
    law = GYROSCOPIC if np.ndim(modulus) == 2 else GYROSCOPIC_OF_AXES
    moduli = ["inertia.p", "body twist.flow", "inertia.inertia"]
    body.connect(junction, EulerJunction("Euler", law, signals=moduli, dimension=6))
    body.connect(junction, _pose_storage(pose, mass, centre, acceleration, rf"H_{{{latex_name(name)}}}^0"))
    body.connect(junction, to_world)
    body.connect(to_world, world)
    body.momentum = "inertia.p"
    return complete_body(body, world, "pose.H", "body twist.flow", mass=mass, inertia=moment, centre=centre, gravity=acceleration)


def _pose_storage(pose: np.ndarray, mass: float, centre: np.ndarray, gravity: np.ndarray, symbol: str) -> Element:
    law = Storage("effort", "H", StateSpec(pose, 1.0, "1, m", symbol), GRAVITY, POTENTIAL, POSE_RATE)
    parameters = {"mass": Parameter(mass, "kg"), "centre of mass": Parameter(centre, "m"), "gravity": Parameter(gravity, "m/s^2")}
    return Element("C", "pose", law, (Port("1", 6, SCREW),), parameters, (), {"mass": "m", "centre of mass": "c", "gravity": "g"})


def world_junction(name: str) -> Element:
    return J1("world twist", domain=SCREW, frame="0", symbols={"flow": rf"T_{{{latex_name(name)}}}^{{0,0}}"})


def complete_body(body: Body, world: Element, pose: str, twist: str, frame: str | None = None, **appearance_fields: Any) -> Body:
    body.expose("world", world)
    body.export("pose", pose)
    body.export("twist", twist)
    appearance = Appearance(body.surface, body.shapes, body.visuals, **appearance_fields)
    body.mark_visible(Visible("body", {"pose": pose, "frame": frame or pose}, appearance))
    return body


def latex_name(name: str) -> str:
    plain = re.sub(r"([_&%$#{}])", r"\\\1", name).replace(" ", r"\ ")
    return rf"\mathrm{{{plain}}}"


@in_units(position="m")
def ground(
    name: str,
    *,
    surface: Surface | None = None,
    shape: Solid | Sequence[Solid] | None = None,
    visual: Visual | Sequence[Visual] | None = None,
    position: Vector3 = (0.0, 0.0, 0.0),
    quaternion: Quaternion = IDENTITY_QUATERNION,
) -> Body:
    """Build a body that never moves: an Sf of zero twist at its 1-junction. Arguments and errors are as for `rigid_body`."""
    body, world = Body(name, surface, shape, visual), world_junction(name)
    body.fixed = True
    body.connect(Sf("rest", dimension=6, domain=SCREW, frame="0"), world)
    body.add(
        Block(
            "pose",
            [("H", IDENTITY, ["fixed"]), ("twist", zeros((6,)), [])],
            parameters={"fixed": Parameter(start_pose(name, position, quaternion), "1, m")},
            symbols={
                "H": rf"H_{{{latex_name(name)}}}^0",
                "fixed": rf"H_{{{latex_name(name)}}}^0",
                "twist": rf"T^{{{latex_name(name)},0}}",
            },
            units={"H": "1, m", "twist": TWIST},
        )
    )
    return complete_body(body, world, "pose.H", "pose.twist")


def _need_time_alone(name: str, twist: Callable[[Any], Any]) -> None:
    try:
        signature = inspect.signature(twist)
        signature.bind(0.0)
    except ValueError:  # some functions of C have none
        return
    except TypeError:
        title = f'twist of "{name}" is a function of {signature}'
        cure = "twist=lambda t: (0.0, 0.0, 1.0, 0.0, 0.0, 0.0), a function of the time in s"
        raise refusal("E424", title, cure, about=name) from None


@in_units(twist="rad/s, m/s", position="m")
def prescribed_body(
    name: str,
    *,
    twist: Twist | Callable[[Any], Any],
    surface: Surface | None = None,
    shape: Solid | Sequence[Solid] | None = None,
    visual: Visual | Sequence[Visual] | None = None,
    position: Vector3 = (0.0, 0.0, 0.0),
    quaternion: Quaternion = IDENTITY_QUATERNION,
) -> Body:
    """Build a body with prescribed world twist T_0_0_b (6,), constant or a function of time: an Sf at its 1-junction.

    The twist's linear part is the velocity of the body-fixed point that is now at the world's origin; a turntable about an
    axis through `c` has [omega, c x omega]. Raises `ModelError` E424 for a twist that is neither six finite numbers nor a
    function of one argument; other errors are as for `rigid_body`.
    """
    body, world = Body(name, surface, shape, visual), world_junction(name)
    if callable(twist):
        _need_time_alone(name, twist)
        drive = Sf("drive", twist, signals=["time"], dimension=6, domain=SCREW, frame="0")
    else:
        drive = Sf("drive", _numbers(name, "twist", twist, 6), domain=SCREW, frame="0")
    body.connect(drive, world)
    body.add(
        Block(
            "pose",
            [("twist", BODY_TWIST, ["H", "T"]), ("rate", POSE_RATE, ["H", "twist"])],
            inputs={"T": "world twist.flow"},
            states={"H": StateSpec(start_pose(name, position, quaternion), 1.0, "1, m", rf"H_{{{latex_name(name)}}}^0")},
            rates={"H": "rate"},
            symbols={"twist": rf"T^{{{latex_name(name)},0}}"},
            units={"twist": TWIST},
        )
    )
    return complete_body(body, world, "pose.H", "pose.twist")
