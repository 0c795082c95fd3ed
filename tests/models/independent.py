"""An independent simulator of two bodies in contact from NumPy and SciPy, without charts or graphs.

Only poses and velocities are integrated, with the deformations of the tangential springs. Every evaluation finds the closest
points again by Newton iteration on the implicit equations of both surfaces. Springs are components in the Gauss frame of body 2
(transport "gauss"), or vectors in world axes that turn with the normal and, about the normal, either not at all ("parallel") or
with the mean spin of the bodies ("bodies"). Of this package, only the records of a scenario are used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import DOP853
from scipy.optimize import brentq

EYE = np.eye(3)
COMPONENTS = ("omega_x", "omega_y", "omega_z", "v_x", "v_y", "v_z")
POLE_MARGIN = 0.3


# --- surfaces: value, gradient and Hessian of an implicit equation, negative inside -----------------------------------


class Quadric:
    """Ellipsoid (x^2 / a^2 + y^2 / b^2 + z^2 / c^2 - 1) L / 2 = 0, where the length L makes gradients of order one."""

    def __init__(self, semi_axes: Sequence[float]):
        self.semi_axes = np.asarray(semi_axes, dtype=float)
        self.size = float(self.semi_axes.min())
        self.diagonal = self.size / self.semi_axes**2
        self.hessian = np.diag(self.diagonal)

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        gradient = self.diagonal * x
        return 0.5 * (float(x @ gradient) - self.size), gradient, self.hessian

    def polar(self, x: np.ndarray, normal: np.ndarray, axis: int) -> tuple[float, np.ndarray]:
        m = x / self.semi_axes
        sine, along = _meridian(m / np.sqrt(m @ m), axis)
        return sine, _unit(self.semi_axes * along)

    def points(self, count: int) -> np.ndarray:
        return self.semi_axes * _directions(count)


class Oval:
    """Cartesian oval |x - A| + 2 |x - B| = S with foci A and B, a distance f apart on the z axis."""

    def __init__(self, f: float, S: float, zB: float):
        self.A, self.B, self.S, self.f = np.array([0.0, 0.0, zB - f]), np.array([0.0, 0.0, zB]), S, f
        self.size = 0.3 * S

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        to_A, to_B = x - self.A, x - self.B
        r_A, r_B = _length(to_A), _length(to_B)
        a, b = to_A / r_A, to_B / r_B
        hessian = (EYE - _outer(a, a)) / r_A + (EYE - _outer(b, b)) * (2.0 / r_B)
        return r_A + 2.0 * r_B - self.S, a + 2.0 * b, hessian

    def polar(self, x: np.ndarray, normal: np.ndarray, axis: int) -> tuple[float, np.ndarray]:
        m = _unit(x - self.B)
        sine, along = _meridian(m, axis)
        return sine, _unit(along - (normal @ along) / (normal @ m) * m)

    def points(self, count: int) -> np.ndarray:
        directions = _directions(count)
        b = 2.0 * self.S + self.f * directions[:, 2]
        rho = (b - np.sqrt(b * b - 3.0 * (self.S**2 - self.f**2))) / 3.0
        return self.B + rho[:, None] * directions


class Plane:
    size = 1.0
    normal = np.array([0.0, 0.0, 1.0])
    hessian = np.zeros((3, 3))

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        return float(x[2]), self.normal, self.hessian

    def polar(self, x: np.ndarray, normal: np.ndarray, axis: int) -> tuple[float, np.ndarray]:
        return 1.0, EYE[0]

    def points(self, count: int) -> np.ndarray:
        return np.zeros((0, 3))


def _meridian(m: np.ndarray, axis: int) -> tuple[float, np.ndarray]:
    """Return sin u of the unit vector m about an axis, and the unit tangent along increasing u."""
    cosine = m[axis]
    sine = np.sqrt(max(1.0 - cosine * cosine, 1e-300))
    return float(sine), (cosine * m - EYE[axis]) / sine


def _bend(surface: Any, x: np.ndarray) -> np.ndarray:
    """Return the shape operator dn/dx (3, 3) of a surface at a point on it."""
    _, g, H = surface(x)
    length = _length(g)
    normal = g / length
    across = EYE - _outer(normal, normal)
    return across @ H @ across / length


def _length(x: np.ndarray) -> float:
    return math.sqrt(x @ x)


def _unit(x: np.ndarray) -> np.ndarray:
    return x / _length(x)


def _outer(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a[:, None] * b


def _directions(count: int) -> np.ndarray:
    """Return nearly uniform directions on a Fibonacci spiral."""
    z = 1.0 - (2.0 * np.arange(count) + 1.0) / count
    turn = np.pi * (3.0 - np.sqrt(5.0)) * np.arange(count)
    r = np.sqrt(1.0 - z * z)
    return np.stack([r * np.cos(turn), r * np.sin(turn), z], axis=1)


def surface_of(kind: str, parameters: Sequence[float]) -> Any:
    if kind == "egg":
        return Oval(*parameters)
    if kind == "plane":
        return Plane()
    return Quadric(parameters if kind == "ellipsoid" else [parameters[0]] * 3)


@dataclass(frozen=True)
class Closest:
    """Points of bodies 1 and 2 with opposite normals on one line, the normal of body 1, and the gap d, in O1."""

    x1: np.ndarray
    normal: np.ndarray
    d: float
    multiplier: float


def closest(one: Any, two: Any, R: np.ndarray, r: np.ndarray, start: Closest) -> Closest:
    """Solve F1(x1) = 0, F2(x2) = 0 and grad F2 + mu n1 = 0 with x2 = x1 + d n1; R and r are the pose of O2 in O1."""
    x1, d, mu = start.x1, start.d, start.multiplier
    J, residual = np.zeros((5, 5)), np.empty(5)
    limit = 0.3 * min(one.size, two.size)
    for _ in range(60):
        F1, g1, H1 = one(x1)
        length = _length(g1)
        n = g1 / length
        F2, g2, H2 = two(R.T @ (x1 + d * n - r))
        g2, H2 = R @ g2, R @ H2 @ R.T
        N = (H1 - _outer(n, n @ H1)) / length
        shift = EYE + d * N
        J[0, :3] = g1
        J[1, :3], J[1, 3] = g2 @ shift, g2 @ n
        J[2:, :3], J[2:, 3], J[2:, 4] = H2 @ shift + mu * N, H2 @ n, n
        residual[0], residual[1], residual[2:] = F1, F2, g2 + mu * n
        step = np.linalg.solve(J, residual)
        size = max(map(abs, step[:4].tolist()))
        if size > limit:
            step *= limit / size
        x1, d, mu = x1 - step[:3], d - step[3], mu - step[4]
        if size < 1e-9 * limit:
            break
    else:
        raise RuntimeError("closest points were not found")
    _, g1, _ = one(x1)
    return Closest(x1, _unit(g1), float(d), float(mu))


def first_closest(one: Any, two: Any, R: np.ndarray, r: np.ndarray) -> Closest:
    """Find closest points without a guess, from the nearest of many pairs of points that face each other."""
    seen2 = two.points(600) @ R.T + r
    points1 = one.points(600)
    if not len(points1):
        points1 = seen2 * [1.0, 1.0, 0.0]
    if not len(seen2):
        seen2 = points1 - ((points1 - r) @ R[:, 2])[:, None] * R[:, 2]
    normals1 = np.array([_unit(one(x)[1]) for x in points1])
    normals2 = np.array([R @ _unit(two(R.T @ (x - r))[1]) for x in seen2])
    facing = normals1 @ normals2.T < -0.9
    distances = np.where(facing, np.linalg.norm(points1[:, None] - seen2[None], axis=2), np.inf)
    i, j = np.unravel_index(int(np.argmin(distances)), distances.shape)
    gap = float(normals1[i] @ (seen2[j] - points1[i]))
    multiplier = float(np.linalg.norm(two(R.T @ (seen2[j] - r))[1]))
    return closest(one, two, R, r, Closest(points1[i], normals1[i], gap, multiplier))


# --- bodies and the contact -------------------------------------------------------------------------------------------


def rotation(q: np.ndarray) -> np.ndarray:
    w, x, y, z = _unit(q).tolist()
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    (x, y, z), (u, v, w) = a.tolist(), b.tolist()  # Python floats multiply faster
    return np.array([y * w - z * v, z * u - x * w, x * v - y * u])


@dataclass(frozen=True)
class Contact:
    """Closest points, Gauss frame C2 (columns, world), twist (6,), deformation (6,) and wrench on body 2 in C2."""

    near: Closest
    frame: np.ndarray
    place: np.ndarray
    twist: np.ndarray
    deformation: np.ndarray
    wrench: np.ndarray


@dataclass(frozen=True)
class Course:
    """Run with states (k, 32) of `Simulator`, gap (k,), deformation and wrench on body 2 in C2 (k, 6), and C2 (k, 3, 3)."""

    t: np.ndarray
    y: np.ndarray
    gap: np.ndarray
    spring: np.ndarray
    wrench: np.ndarray
    frame: np.ndarray
    events: tuple[tuple[float, str], ...]

    def body(self, index: int) -> dict[str, np.ndarray]:
        """Return p (k, 3), q (k, 4) and v (k, 3) of body 1 or 2 in world axes, and w (k, 3) in body axes."""
        y = self.y[:, 13 * (index - 1) : 13 * index]
        return {"p": y[:, :3], "q": y[:, 3:7], "v": y[:, 7:10], "w": y[:, 10:]}


class Simulator:
    """Two bodies and a contact from a scenario.

    The state is p, q, v (world axes) and w (body axes) of both bodies, then six deformations: components in C2, or two vectors in
    world axes.
    """

    def __init__(self, scenario: Any):
        self.scenario = scenario
        self.specs = (scenario.body1, scenario.body2)
        self.one, self.two = (surface_of(b.surface_type, list(b.surface.parameters.values())) for b in self.specs)
        self.gravity = np.array(scenario.gravity.vector) if scenario.gravity.type == "uniform" else np.zeros(3)
        self.omega = [np.array(b.omega0_world) for b in self.specs]
        self.inertia = [np.array(b.inertia if b.inertia else (1.0, 1.0, 1.0)) for b in self.specs]
        law = scenario.contact
        self.k = np.array([law.k_w] * 3 + [law.k_t] * 2 + [law.k_n])
        self.c = np.array([law.r_w] * 3 + [law.r_t] * 2 + [law.c_n])
        self.on = np.array([c in law.constrained for c in COMPONENTS], dtype=float)
        self.transport = law.transport
        # A pair is a vector; a single component is a number along its axis of C2.
        self.vectors = [o for o in (0, 3) if law.transport != "gauss" and self.on[o] and self.on[o + 1]]
        self.touching, self.axis, self.near = False, 2, None

    def start(self) -> np.ndarray:
        parts: list[Any] = []
        for body in self.specs:
            q = np.array(body.quat0_wxyz) / np.linalg.norm(body.quat0_wxyz)
            parts += [*body.p0, *q, *body.v0_com_world, *(rotation(q).T @ np.array(body.omega0_world))]
        y = np.array([*parts, *np.zeros(6)])
        R, r, _, _ = self._relative(y)
        self.near = first_closest(self.one, self.two, R, r)
        self.touching = self.near.d < 0.0
        m_z = self._pole_distance(y, 2)
        # The start chart of `screws.surfaces.frames`: about z unless |n_z| > 0.8.
        self.axis = 2 if m_z >= 0.6 - 1e-12 or isinstance(self.two, Plane) else 0
        return y

    def _relative(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        R1, R2 = rotation(y[3:7]), rotation(y[16:20])
        return R1.T @ R2, R1.T @ (y[13:16] - y[:3]), R1, R2

    def _closest(self, R: np.ndarray, r: np.ndarray) -> Closest:
        """Find the closest points from the previous ones, if these are near."""
        try:
            near = closest(self.one, self.two, R, r, self.near)
        except (RuntimeError, np.linalg.LinAlgError):
            near = first_closest(self.one, self.two, R, r)
        if near.multiplier < 0.0:
            near = first_closest(self.one, self.two, R, r)
        self.near = near
        return near

    def _pole_distance(self, y: np.ndarray, axis: int, near: Closest | None = None) -> float:
        R, r, _, _ = self._relative(y)
        near = near or self._closest(R, r)
        x2 = R.T @ (near.x1 + near.d * near.normal - r)
        return self.two.polar(x2, -(R.T @ near.normal), axis)[0]

    def contact(self, y: np.ndarray) -> Contact:
        R, r, R1, R2 = self._relative(y)
        near = self._closest(R, r)
        p1, p2 = y[:3], y[13:16]
        place = p1 + R1 @ (near.x1 + near.d * near.normal)
        z = -(R1 @ near.normal)
        x = R2 @ self.two.polar(R2.T @ (place - p2), R2.T @ z, self.axis)[1]
        frame = np.array([x, _cross(z, x), z]).T
        w1, w2 = R1 @ y[10:13], R2 @ y[23:26]
        v = y[20:23] + _cross(w2, place - p2) - y[7:10] - _cross(w1, place - p1)
        twist = np.concatenate([frame.T @ (w2 - w1), frame.T @ v])
        deformation = y[26:].copy()
        for o in self.vectors:
            deformation[o : o + 3] = frame.T @ deformation[o : o + 3]
        wrench = np.zeros(6)
        if self.touching:
            wrench = -self.on * (self.k * deformation + self.c * twist)
            # Gap rate is -v_z: the normal force pushes along -z2 and never pulls.
            wrench[5] = -self.on[5] * max(0.0, -self.k[5] * near.d + self.c[5] * twist[5])
        return Contact(near, frame, place, twist, deformation, wrench)

    def rates(self, t: float, y: np.ndarray) -> np.ndarray:
        gravity, dy = self.scenario.gravity, np.zeros(32)
        torque = force = place = np.zeros(3)
        if self.touching:
            now = self.contact(y)
            torque, force, place = now.frame @ now.wrench[:3], now.frame @ now.wrench[3:], now.place
            dy[26:] = self.on * now.twist
            turn = self._turn(y, now) if self.vectors else None
            for o in (26 + first for first in self.vectors):
                dy[o : o + 3] = now.frame @ dy[o : o + 3] + _cross(turn, y[o : o + 3])
        pull = np.zeros(3)
        if gravity.type == "central":
            line = y[:3] - y[13:16]
            pull = self.specs[1].mass * gravity.g0 * _unit(line)
        for index, (body, sign) in enumerate(zip(self.specs, (-1.0, 1.0), strict=True)):
            o = 13 * index
            R = rotation(y[o + 3 : o + 7])
            w = y[o + 10 : o + 13]
            if body.motion == "prescribed":
                w = R.T @ self.omega[index]
            s, u = y[o + 3], y[o + 4 : o + 7]
            dy[o + 3] = -0.5 * u @ w
            dy[o + 4 : o + 7] = 0.5 * (s * w + _cross(u, w))
            if body.motion == "free":
                acceleration = sign * (force + pull) / body.mass
                dy[o : o + 3], dy[o + 7 : o + 10] = y[o + 7 : o + 10], acceleration + self.gravity
                moment = R.T @ (sign * (torque + _cross(place - y[o : o + 3], force)))
                J = self.inertia[index]
                dy[o + 10 : o + 13] = (moment - _cross(w, J * w)) / J
            elif body.motion == "prescribed":
                # It is constant in the world, so that it stays constant in body axes.
                dy[o + 10 : o + 13] = 0.0
        return dy

    def _turn(self, y: np.ndarray, now: Contact) -> np.ndarray:
        """Return the angular velocity (3,), in world axes, of the frame that carries the springs.

        The normal turns by [W1 + W2 (I + d W1)] c1' = w x n + W2 v, and the transport prescribes the turn about the normal.
        """
        R, r, R1, R2 = self._relative(y)
        n, d = R1 @ now.near.normal, now.near.d
        x2 = R.T @ (now.near.x1 + d * now.near.normal - r)
        W1, W2 = R1 @ _bend(self.one, now.near.x1) @ R1.T, R2 @ _bend(self.two, x2) @ R2.T
        w1, w2 = R1 @ y[10:13], R2 @ y[23:26]
        v = now.frame[:, :2] @ now.twist[3:5]
        S = W1 + W2 @ (EYE + d * W1) + _outer(n, n)
        rate = _cross(w1, n) + W1 @ np.linalg.solve(S, _cross(w2 - w1, n) + W2 @ v)
        spin = 0.5 * (w1 + w2) @ n if self.transport == "bodies" else 0.0
        return _cross(n, rate) + spin * n

    def run(self, times: np.ndarray, rtol: float = 1e-10, max_step: float = 5e-3) -> Course:
        y, t = self.start(), float(times[0])
        if self.touching:
            pressed = np.array([0.0, 0.0, -self.near.d * self.on[5]])
            y[29:] = self.contact(y).frame @ pressed if 3 in self.vectors else pressed
        scale = np.concatenate([np.tile([0.01] * 3 + [1.0] * 4 + [0.1] * 3 + [10.0] * 3, 2), np.full(6, 1e-4)])
        rows, seen, events = [y], [self.contact(y)], []
        solver = self._solver(t, y, times, rtol, scale, max_step)
        levels = self._guards(y)
        guarded = [1e-300 if level >= 0.0 else 0.0 for level in levels]
        while len(rows) < len(times):
            message = solver.step()
            if solver.status == "failed":
                raise RuntimeError(message)
            begin, end, after = solver.t_old, solver.t, solver.y
            now = self._guards(after)
            fired = [i for i in range(3) if now[i] > guarded[i] and levels[i] <= guarded[i]]
            stop = end
            if fired:
                stop, which = self._locate(solver, fired)
                after = self._exact(solver, stop, rtol, scale)
            if times[len(rows)] <= stop:
                inside = solver.dense_output()
                for row in map(inside, times[len(rows) :][times[len(rows) :] <= stop]):
                    rows.append(row)
                    seen.append(self.contact(row))
            if fired:
                after = self._switch(which, after, stop, events)
                solver = self._solver(stop, after, times, rtol, scale, max_step, min(solver.step_size, end - begin))
                now = self._guards(after)
                # A guard that has just been zero must become negative before it counts again.
                guarded = [max(3.0 * abs(level), 1e-15) if level > -1e-13 else 0.0 for level in now]
            else:
                guarded = [0.0 if level < 0.0 else g for level, g in zip(now, guarded, strict=True)]
            levels = now
        kept = ((s.near.d, s.deformation, s.wrench, s.frame) for s in seen)
        return Course(np.asarray(times), np.array(rows), *map(np.array, zip(*kept, strict=True)), tuple(events))

    def _solver(self, t: float, y: np.ndarray, times: Any, rtol: float, scale: Any, longest: float, first: Any = None) -> Any:
        end = float(times[-1]) * (1.0 + 1e-12)
        return DOP853(
            self.rates, t, y, end, rtol=rtol, atol=rtol * scale, max_step=longest, first_step=first and min(first, end - t)
        )

    def _guards(self, y: np.ndarray) -> list[float]:
        R, r, _, _ = self._relative(y)
        near = self._closest(R, r)
        pole = POLE_MARGIN - self._pole_distance(y, self.axis, near)
        return [-near.d if not self.touching else -1.0, near.d if self.touching else -1.0, pole]

    def _locate(self, solver: Any, fired: list[int]) -> tuple[float, int]:
        inside = solver.dense_output()
        found = []
        for index in fired:
            ends = [self._guards(inside(t))[index] for t in (solver.t_old, solver.t)]
            if ends[0] < 0.0 < ends[1]:
                at = brentq(lambda t, i=index: self._guards(inside(t))[i], solver.t_old, solver.t, xtol=1e-16, rtol=1e-15)
            else:
                at = solver.t
            found.append((at, index))
        return min(found)

    def _exact(self, solver: Any, stop: float, rtol: float, scale: np.ndarray) -> np.ndarray:
        """Return the state at an event from a separate step, which is more accurate than the interpolant."""
        if stop <= solver.t_old:
            return np.array(solver.dense_output()(stop))
        again = DOP853(
            self.rates,
            solver.t_old,
            solver.dense_output()(solver.t_old),
            stop,
            rtol=rtol,
            atol=rtol * scale,
            first_step=stop - solver.t_old,
        )
        while again.status == "running":
            again.step()
        return np.array(again.y)

    def _switch(self, which: int, y: np.ndarray, t: float, events: list[tuple[float, str]]) -> np.ndarray:
        y = y.copy()
        if which < 2:
            self.touching = which == 0
            events.append((t, "contact on" if self.touching else "contact off"))
            y[26:] = 0.0
            return y
        old = self.contact(y).frame
        self.axis = 2 - self.axis
        turn = self.contact(y).frame.T @ old
        for o in (26 + first for first in (0, 3) if first not in self.vectors):
            x, w = y[o : o + 2].copy()
            y[o : o + 2] = turn[:2, 0] * x + turn[:2, 1] * w
        return y
