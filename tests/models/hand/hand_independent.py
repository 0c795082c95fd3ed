"""A second dexterous hand, from vectors and scalars only; the geometry of this package is not used.

The formulas run on NumPy floats and, for speed, on the tape: a run integrates them as one signal block.

Conventions that the description leaves open and that affect the last digits:

Fingers
    Each finger moves in a vertical plane that joint 1 turns. With rho, h the radial and vertical position of a point in
    this plane (from joint 1) the kinetic energy is sum m (rho'^2 + h'^2 + rho^2 q1'^2) / 2
    + It (s'^2 + q1'^2 sin^2 s) / 2 + Ia q1'^2 cos^2 s / 2, where s is the pitch of a link: joint 1 is not coupled to the others.
    Links are solid cylinders: Ia = m r^2 / 2, It = m (3 r^2 + L^2) / 12. The tip ball turns with the last link.
Contact
    Tip = body 1, object = body 2. n points from the tip's centre to the ball's; gap d = |b - c| - r1 - r2, p2 = b - r2 n.
    The relative twist of the ball is taken at p2 for both bodies; equal and opposite wrenches act at p2.
    Axes of C2: x = e_u, y = e_v of polar coordinates about the ball's own z axis, z = -n (outward from the ball).
    Spring states are integrals of the components omega_z, v_x, v_y along these axes ("polar" below); the normal state is -d.
    "parallel": the tangential spring is a vector that does not turn about n as n moves (no coordinates at all).
Controller
    The pole is c - r1 e_r at the home posture, fixed to the last link. Springs of rest length zero reach from the pole to the
    point (object radius - grip) e_r of the virtual object. Moment of the reference spring: kappa times the rotation vector of
    R_ref R_virtual^T, in world axes, which is the gradient of kappa angle^2 / 2.
Reference
    Quintic smooth steps 10 x^3 - 15 x^4 + 6 x^5. `rotate`: R_ref = R_x(b) R_z(a), the second turn about the world's x axis.

Digits reached (equal to 1e-14 m from rtol 1e-7): `main` ends with the ball at (.009487665, 0, .135843805) and the virtual
object at (.010431877, 0, .139803823) m, normal forces 2.9190 to 3.1529 N, tangential/normal at most .27501 (finger 0,
8.34 s; the ratio passes .2 at 5.454 s). "parallel" moves the ball by 6e-7 m, contact stiffness x 1/2 and x 2 by 1.05e-4 and
5.4e-5 m. `far`: ball (.007128846, 0, .138373145). `rotate`: ball turned by (.09571, -.03091, .25575), and by .2538 about z at
2.5 s; with R_z(a) R_x(b) it would be (.10108, .00868, .25573).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bondgraph import Block, Graph, StateSpec, compile_model
from screws.scalars import array, atan2, cos, less, maximum, minimum, sin, sqrt, where

HOME = np.array([0.0, -0.5058167754, 1.5417097332, 0.1641070423])
Z = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class Numbers:
    fingers: int = 3
    base: float = 0.08
    lengths: tuple[float, ...] = (0.015, 0.050, 0.040, 0.030)
    masses: tuple[float, ...] = (0.020, 0.030, 0.020, 0.012)
    link_radius: float = 0.006
    tip_radius: float = 0.012
    tip_mass: float = 0.008
    joint_damping: float = 5e-3
    ball_radius: float = 0.03
    ball_mass: float = 0.1
    start: tuple[float, float, float] = (0.0, 0.0, 0.09)
    home: tuple[float, ...] = tuple(HOME)
    contact_stiffness: float = 2e4
    contact_damping: float = 20.0
    spin_stiffness: float = 1.0
    spin_damping: float = 1e-3
    virtual_mass: float = 0.1
    virtual_inertia: float = 1e-4
    virtual_damping: tuple[float, float] = (8.0, 0.01)
    reference_stiffness: tuple[float, float] = (400.0, 1.0)
    finger_stiffness: float = 300.0
    grip: float = 0.01
    transport: str = "polar"


def smooth(t: float, begin: float, end: float) -> float:
    x = minimum(maximum((t - begin) / (end - begin), 0.0), 1.0)
    return x * x * x * (10.0 - 15.0 * x + 6.0 * x * x)


def main_motion(t: float) -> tuple[np.ndarray, np.ndarray]:
    """Return position and rotation of a reference that moves in x by .012 m, then in z from .09 to .15 m."""
    return array([0.012 * smooth(t, 0.5, 2.5), 0.0, 0.09 + 0.06 * smooth(t, 2.5, 7.5)]), np.eye(3)


def far_motion(t: float) -> tuple[np.ndarray, np.ndarray]:
    return array([0.012 * smooth(t, 0.5, 2.5), 0.0, 0.09 + 0.09 * smooth(t, 2.5, 9.5)]), np.eye(3)


def rotate_motion(t: float) -> tuple[np.ndarray, np.ndarray]:
    a, b = 0.4 * smooth(t, 0.5, 2.5), 0.3 * smooth(t, 2.5, 4.5)
    Rz = array([[cos(a), -sin(a), 0.0], [sin(a), cos(a), 0.0], [0.0, 0.0, 1.0]])
    Rx = array([[1.0, 0.0, 0.0], [0.0, cos(b), -sin(b)], [0.0, sin(b), cos(b)]])
    return np.array([0.0, 0.0, 0.09]), Rx @ Rz


MOTIONS: dict[str, tuple[Callable[[float], tuple[np.ndarray, np.ndarray]], float]] = {
    "main": (main_motion, 9.0),
    "far": (far_motion, 12.0),
    "rotate": (rotate_motion, 6.0),
}


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    ax, ay, az = a[..., 0], a[..., 1], a[..., 2]
    bx, by, bz = b[..., 0], b[..., 1], b[..., 2]
    return np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=-1)


def turned(quaternion: np.ndarray) -> np.ndarray:
    w, x, y, z = quaternion / sqrt(quaternion @ quaternion)
    return array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def quaternion_rate(quaternion: np.ndarray, omega: np.ndarray) -> np.ndarray:
    w, v = quaternion[0], quaternion[1:]
    return 0.5 * array([-(omega @ v), *(w * omega + cross(omega, v))])


def rotation_vector(R: np.ndarray) -> np.ndarray:
    axial = 0.5 * array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    square = axial @ axial
    small = less(square, 1e-10)
    sine = sqrt(where(small, 1.0, square))
    angle = atan2(sine, 0.5 * (R[0, 0] + R[1, 1] + R[2, 2] - 1.0))
    return axial * where(small, 1.0 + square / 6.0, angle / sine)


def solved(M: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return solutions (fingers, 3) of M x = b by Cramer's rule."""
    r0, r1, r2 = M[:, 0], M[:, 1], M[:, 2]
    c0, c1, c2 = cross(r1, r2), cross(r2, r0), cross(r0, r1)
    x = c0 * b[:, :1] + c1 * b[:, 1:2] + c2 * b[:, 2:]
    return x / np.sum(r0 * c0, axis=1)[:, None]


@dataclass(frozen=True)
class FingerState:
    e_r: np.ndarray
    a: np.ndarray
    u: np.ndarray
    c: np.ndarray
    v: np.ndarray
    omega: np.ndarray
    J_v: np.ndarray
    J_w: np.ndarray


class Hand:
    """Right-hand side of the hand, with the states q, q' (fingers, 4), springs (fingers, 3), ball and virtual object (13,).

    The 13 states of a body are quaternion (w, x, y, z), position, angular velocity and velocity of the centre, in world axes.
    """

    def __init__(self, numbers: Numbers | None = None):
        n = self.n = numbers or Numbers()
        angles = 2.0 * np.pi * np.arange(n.fingers) / n.fingers
        self.angles = angles
        self.radial = np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], axis=1)
        L, m, r = np.array(n.lengths), np.array(n.masses), n.link_radius
        self.L = L
        self.m = np.array([*m, n.tip_mass])
        self.along = np.array([*(m * r * r / 2.0), 0.4 * n.tip_mass * n.tip_radius**2])
        self.across = np.array([*(m * (3.0 * r * r + L * L) / 12.0), 0.4 * n.tip_mass * n.tip_radius**2])
        self.ball_inertia = 0.4 * n.ball_mass * n.ball_radius**2
        # Place of the mass centres along links 2..4 (coefficients of unit vectors u2, u3, u4): bodies 2, 3, 4, tip.
        self.G = np.array([[L[1] / 2, 0, 0], [L[1], L[2] / 2, 0], [L[1], L[2], L[3] / 2], [L[1], L[2], L[3]]])
        pitch = sum(n.home[1:])
        # The pole, -e_r at home, along the last link's own e_r and u.
        self.pole = (-n.tip_radius * np.cos(pitch), n.tip_radius * np.sin(pitch))

    def unpack(self, x: np.ndarray) -> tuple[np.ndarray, ...]:
        k = self.n.fingers
        return (
            x[: 4 * k].reshape(k, 4),
            x[4 * k : 8 * k].reshape(k, 4),
            x[8 * k : 11 * k].reshape(k, 3),
            x[11 * k : 11 * k + 13],
            x[11 * k + 13 :],
        )

    def start(self) -> np.ndarray:
        n, k = self.n, self.n.fingers
        body = np.array([1.0, 0, 0, 0, *n.start, 0, 0, 0, 0, 0, 0])
        return np.concatenate([np.tile(n.home, k), np.zeros(4 * k), np.zeros(3 * k), body, body])

    def tips(self, q: np.ndarray, w: np.ndarray) -> FingerState:
        turn = self.angles + q[:, 0]
        cs, sn, zero = cos(turn), sin(turn), np.zeros(self.n.fingers)
        e_r, e_t = np.stack([cs, sn, zero], axis=1), np.stack([-sn, cs, zero], axis=1)
        s = np.cumsum(q[:, 1:], axis=1)
        sine, cosine = sin(s), cos(s)
        rho, h = -sine @ self.L[1:], self.L[0] + cosine @ self.L[1:]
        c = self.n.base * self.radial + rho[:, None] * e_r + h[:, None] * Z
        # d rho / d q_j = -sum_{i >= j} L_i cos s_i, and so on.
        columns_v, columns_w = [rho[:, None] * e_t], [np.broadcast_to(Z, e_t.shape)]
        for j in range(3):
            d_rho, d_h = -cosine[:, j:] @ self.L[j + 1 :], -sine[:, j:] @ self.L[j + 1 :]
            columns_v.append(d_rho[:, None] * e_r + d_h[:, None] * Z)
            columns_w.append(-e_t)
        J_v, J_w = np.stack(columns_v, axis=2), np.stack(columns_w, axis=2)
        u = cosine[:, 2:] * Z - sine[:, 2:] * e_r
        a = cosine[:, 2:] * e_r + sine[:, 2:] * Z
        v, omega = (J_v @ w[:, :, None])[:, :, 0], (J_w @ w[:, :, None])[:, :, 0]
        return FingerState(e_r, a, u, c, v, omega, J_v, J_w)

    def finger_terms(self, q: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the inertias of joint 1 (fingers,), the mass matrices of joints 2 to 4 (fingers, 3, 3), and the bias forces
        (fingers, 4)."""
        s, rate = np.cumsum(q[:, 1:], axis=1), np.cumsum(w[:, 1:], axis=1)
        sn, cs = sin(s), cos(s)
        m, G = self.m[1:], self.G
        rho = -sn @ G.T  # (fingers, bodies)
        # With the pitches s as coordinates: M_ij = sum m G_bi G_bj cos(s_i - s_j) + It.
        W = G.T @ (m[:, None] * G)
        It, Ia = (np.array([v[1], v[2], v[3] + v[4]]) for v in (self.across, self.along))
        C = cs[:, :, None] * cs[:, None, :] + sn[:, :, None] * sn[:, None, :]
        S = sn[:, :, None] * cs[:, None, :] - cs[:, :, None] * sn[:, None, :]
        M_s = W * C + np.diag(It)
        M11 = (rho * rho) @ m + (sn * sn) @ It + (cs * cs) @ Ia + self.along[0]
        # d M11 / d s_i
        d_M11 = -2.0 * ((rho * m) @ G) * cs + 2.0 * sn * cs * (It - Ia)
        b_s = ((W * S) @ (rate * rate)[:, :, None])[:, :, 0] - 0.5 * d_M11 * (w[:, :1] * w[:, :1])
        A = np.tril(np.ones((3, 3)))  # s = A (q2, q3, q4)
        bias1 = np.sum(d_M11 * rate, axis=1) * w[:, 0]
        return M11, A.T @ M_s @ A, np.concatenate([bias1[:, None], b_s @ A], axis=1)

    def contacts(self, f: FingerState, springs: np.ndarray, ball: np.ndarray) -> dict[str, np.ndarray]:
        """Return wrenches on the ball at p2, spring rates and gaps."""
        n = self.n
        R, b, omega, v = turned(ball[:4]), ball[4:7], ball[7:10], ball[10:13]
        apart = b - f.c
        distance = sqrt(np.sum(apart * apart, axis=1))
        normal = apart / distance[:, None]
        d = distance - n.tip_radius - n.ball_radius
        p2 = b - n.ball_radius * normal
        spin = omega - f.omega
        slip = v + cross(omega, p2 - b) - f.v - cross(f.omega, p2 - f.c)
        z = -normal
        axis = R[:, 2]
        y = cross(np.broadcast_to(axis, z.shape), z)
        sine = sqrt(np.sum(y * y, axis=1))
        y = y / sine[:, None]
        x = cross(y, z)
        spin_z, vx, vy, vz = (np.sum(p * q, axis=1) for p, q in ((spin, z), (slip, x), (slip, y), (slip, z)))
        on = less(d, 0.0)
        k, c = n.contact_stiffness, n.contact_damping
        fz = where(on, maximum(0.0, c * vz - k * d), 0.0)
        fx, fy = (where(on, k * springs[:, i] + c * rate, 0.0) for i, rate in ((1, vx), (2, vy)))
        tz = where(on, n.spin_stiffness * springs[:, 0] + n.spin_damping * spin_z, 0.0)
        rates = np.stack([spin_z, vx, vy], axis=1)
        if n.transport == "parallel":
            # Rate of turn of the polar axes about z, removed: x, y are then axes that do not spin in the world.
            c_dot = (v - f.v) / distance[:, None]
            n_dot = c_dot - normal * np.sum(normal * c_dot, axis=1)[:, None]
            y_dot = cross(cross(omega, axis)[None, :], z) + cross(np.broadcast_to(axis, z.shape), -n_dot)
            turning = -np.sum(y_dot * x, axis=1) / sine
            rates = rates + np.stack([0.0 * turning, turning * springs[:, 2], -turning * springs[:, 1]], axis=1)
        rates = where(on[:, None], rates, 0.0)
        force = -(fx[:, None] * x + fy[:, None] * y + fz[:, None] * z)
        return {
            "d": d,
            "p2": p2,
            "force": force,
            "moment": -tz[:, None] * z,
            "rates": rates,
            "normal": fz,
            "fx": fx,
            "fy": fy,
            "n": normal,
            "vz": vz,
            "spin_z": spin_z,
            "vx": vx,
            "vy": vy,
            "x": x,
            "y": y,
        }

    def poles(self, f: FingerState, virtual: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        pole = f.c + self.pole[0] * f.a + self.pole[1] * f.u
        points = virtual[4:7] + ((self.n.ball_radius - self.n.grip) * self.radial) @ turned(virtual[:4]).T
        return pole, points, self.n.finger_stiffness * (points - pole)

    def rates(self, t: float, x: np.ndarray, motion: Callable[[float], tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
        n = self.n
        q, w, springs, ball, virtual = self.unpack(x)
        f = self.tips(q, w)
        touch = self.contacts(f, springs, ball)
        pole, points, pull = self.poles(f, virtual)
        force = pull - touch["force"]
        moment = cross(pole - f.c, pull) - touch["moment"] - cross(touch["p2"] - f.c, touch["force"])
        M11, M, bias = self.finger_terms(q, w)
        torque = (force[:, None, :] @ f.J_v + moment[:, None, :] @ f.J_w)[:, 0, :] - bias - n.joint_damping * w
        acceleration = np.concatenate([(torque[:, 0] / M11)[:, None], solved(M, torque[:, 1:])], axis=1)
        ball_force = touch["force"].sum(axis=0)
        ball_moment = (touch["moment"] + cross(touch["p2"] - ball[4:7], touch["force"])).sum(axis=0)
        place, R_ref = motion(t)
        virtual_force = n.reference_stiffness[0] * (place - virtual[4:7]) - n.virtual_damping[0] * virtual[10:]
        virtual_force = virtual_force - pull.sum(axis=0)
        virtual_moment = n.reference_stiffness[1] * rotation_vector(R_ref @ turned(virtual[:4]).T)
        virtual_moment = virtual_moment - n.virtual_damping[1] * virtual[7:10]
        virtual_moment = virtual_moment - cross(points - virtual[4:7], pull).sum(axis=0)
        return np.concatenate(
            [
                w.ravel(),
                acceleration.ravel(),
                touch["rates"].ravel(),
                quaternion_rate(ball[:4], ball[7:10]),
                ball[10:],
                ball_moment / self.ball_inertia,
                ball_force / n.ball_mass,
                quaternion_rate(virtual[:4], virtual[7:10]),
                virtual[10:],
                virtual_moment / n.virtual_inertia,
                virtual_force / n.virtual_mass,
            ]
        )

    def energy(self, t: float, x: np.ndarray, motion: Callable[[float], tuple[np.ndarray, np.ndarray]]) -> float:
        n = self.n
        q, w, springs, ball, virtual = self.unpack(x)
        f = self.tips(q, w)
        M11, M, _ = self.finger_terms(q, w)
        kinetic = 0.5 * np.sum(M11 * w[:, 0] ** 2) + 0.5 * np.einsum("ki,kij,kj->", w[:, 1:], M, w[:, 1:])
        pole, points, _ = self.poles(f, virtual)
        place, R_ref = motion(t)
        angle = rotation_vector(R_ref @ turned(virtual[:4]).T)
        d = self.contacts(f, springs, ball)["d"]
        return float(
            kinetic
            + 0.5 * n.ball_mass * ball[10:] @ ball[10:]
            + 0.5 * self.ball_inertia * ball[7:10] @ ball[7:10]
            + 0.5 * n.virtual_mass * virtual[10:] @ virtual[10:]
            + 0.5 * n.virtual_inertia * virtual[7:10] @ virtual[7:10]
            + 0.5 * n.finger_stiffness * np.sum((points - pole) ** 2)
            + 0.5 * n.reference_stiffness[0] * np.sum((place - virtual[4:7]) ** 2)
            + 0.5 * n.reference_stiffness[1] * angle @ angle
            + 0.5 * n.contact_stiffness * (np.sum(springs[:, 1:] ** 2) + np.sum(np.minimum(d, 0.0) ** 2))
            + 0.5 * n.spin_stiffness * np.sum(springs[:, 0] ** 2)
        )

    def dissipation(self, t: float, x: np.ndarray) -> float:
        n = self.n
        q, w, springs, ball, virtual = self.unpack(x)
        touch = self.contacts(self.tips(q, w), springs, ball)
        c = n.contact_damping
        damping_z = np.maximum(c * touch["vz"], n.contact_stiffness * touch["d"])
        at_contacts = c * (touch["vx"] ** 2 + touch["vy"] ** 2) + damping_z * touch["vz"] + n.spin_damping * touch["spin_z"] ** 2
        return float(
            n.joint_damping * np.sum(w * w)
            + n.virtual_damping[0] * virtual[10:] @ virtual[10:]
            + n.virtual_damping[1] * virtual[7:10] @ virtual[7:10]
            + np.sum(np.where(touch["d"] < 0.0, at_contacts, 0.0))
        )

    def run(self, name: str = "main", samples: np.ndarray | None = None, rtol: float = 1e-9) -> tuple[np.ndarray, ...]:
        """Return times (m,) and states (m, n) of one of `MOTIONS`."""
        motion, end = MOTIONS[name]
        times = np.linspace(0.0, end, round(end / 0.02) + 1) if samples is None else samples
        block = Block(
            "hand",
            [("rate", lambda x, t: self.rates(t, x, motion), ["x", "t"])],
            inputs={"t": "time"},
            states={"x": StateSpec(self.start(), self.nominal())},
            rates={"x": "rate"},
        )
        graph = Graph("hand from vectors")
        graph.add(block)
        found = compile_model(graph).simulate(float(times[-1]), samples=times, rtol=rtol, progress=False)
        return times, found["hand.x"]

    def nominal(self) -> np.ndarray:
        k, body = self.n.fingers, [1.0] * 4 + [0.1] * 9
        return np.array([1.0] * 8 * k + [1e-3] * 3 * k + body + body)

    def loads(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the normal and tangential forces (m, fingers), N."""
        normal, tangential = [], []
        for x in states:
            q, w, springs, ball, _ = self.unpack(x)
            touch = self.contacts(self.tips(q, w), springs, ball)
            normal.append(touch["normal"])
            tangential.append(np.hypot(touch["fx"], touch["fy"]))
        return np.array(normal), np.array(tangential)
