"""One time step of many free bodies of a compiled graph, with impact and Coulomb friction.

    forces -> twists without contacts -> candidates -> impulses -> twists -> poses

Momenta are kept in world coordinates, so that a body without forces keeps its momentum and spin exactly; positions move with the
velocities at the end of the step (Moreau 1988; Stewart and Trinkle 1996).

Free bodies of a compiled graph: state indices of their poses and momenta, and their inertias.

A body is free where its twist follows from its own momentum and pose alone, T_0_0_b = Ad(H) M^-1 P_b, which is tested
numerically.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from bondgraph.errors import refusal
from bondgraph.model import laws
from bondgraph.model.model import Collider, CollisionSet, Model
from bondgraph.run.bound import Bound
from bondgraph.stepping.free_bodies.gauss_seidel import Contacts, solve_contacts
from screws.shapes import Arrangement, PointPairs, candidates
from screws.shapes.solids import crosses, dots

if TYPE_CHECKING:
    from bondgraph.compile.compiled import Compiled


@dataclass(frozen=True, eq=False)
class Bodies:
    """Bodies that may collide, by number; the first `free` of them are free."""

    colliders: tuple[Collider, ...]
    free: int
    pose: np.ndarray
    """Indices in x of the poses of the free bodies, (free, 7)."""
    momentum: np.ndarray
    """Indices in x of their momenta, (free, 6)."""
    M: np.ndarray
    """Inertias in body coordinates, (free, 6, 6)."""
    inverse: np.ndarray
    """Inverses of the inertias."""
    mass: np.ndarray
    """Masses, (free,), kg."""
    centre: np.ndarray
    """Centres of mass in body coordinates, (free, 3), m."""


@dataclass
class Placement:
    """Poses and twists of all bodies in the world: R (n, 3, 3), p (n, 3), T (n, 6)."""

    R: np.ndarray
    p: np.ndarray
    T: np.ndarray


def adjoint(R: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return Ad(H) (n, 6, 6) of poses (n, 3, 3) and (n, 3)."""
    out = np.zeros((len(R), 6, 6))
    out[:, :3, :3] = out[:, 3:, 3:] = R
    out[:, 3:, :3] = np.matmul(cross_matrices(p), R)
    return out


def cross_matrices(v: np.ndarray) -> np.ndarray:
    """Return the cross-product matrices (n, 3, 3) of vectors (n, 3)."""
    out = np.zeros((len(v), 3, 3))
    out[:, 0, 1], out[:, 0, 2], out[:, 1, 2] = -v[:, 2], v[:, 1], -v[:, 0]
    return out - np.swapaxes(out, 1, 2)


def matrices_of(q: np.ndarray) -> np.ndarray:
    """Return rotations (n, 3, 3) of unit quaternions (n, 4), real part first."""
    w, v = q[:, 0], q[:, 1:]
    outer = v[:, :, None] * v[:, None, :]
    return (w * w - np.einsum("ni,ni->n", v, v))[:, None, None] * np.eye(3) + 2.0 * (outer + w[:, None, None] * cross_matrices(v))


def free_bodies(compiled: Compiled, p: np.ndarray, x: np.ndarray, m: np.ndarray) -> Bodies:
    """Return the bodies of all collisions of a model, the free ones first.

    Raises `ModelError` E549 for graphs without collisions, with constraints or switches, or where other states move a body than
    its own momentum."""
    model, layout = compiled.model, compiled.program.layout
    _refuse(model)
    by_path = {body.path: body for collisions in model.collisions for body in collisions.bodies}
    ordered = sorted(by_path.values(), key=lambda body: body.momentum is None)
    free = [body for body in ordered if body.momentum is not None]
    for body in free:
        assert body.momentum is not None
        for name, size, block in ((body.pose, 7, "x"), (body.momentum, 6, "x"), (body.twist, 6, "out")):
            if name not in layout or layout[name].block != block or layout[name].size != size:
                raise refusal("E549", f'"{body.path}" is not free: "{name}" follows from other states', _CURE, about=model.name)
    pose = np.array([np.arange(7) + layout[body.pose].start for body in free], dtype=np.intp).reshape(-1, 7)
    momentum = np.array([np.arange(6) + layout[str(body.momentum)].start for body in free], dtype=np.intp).reshape(-1, 6)
    inverse = _inverse_inertias(compiled, free, pose, momentum, p, x, m)
    M = np.linalg.inv(inverse) if free else np.zeros((0, 6, 6))
    mass = np.trace(M[:, 3:, 3:], axis1=1, axis2=2) / 3.0
    centre = np.stack([M[:, 2, 4], M[:, 0, 5], M[:, 1, 3]], axis=1) / mass[:, None]  # the corner of M is m c x
    return Bodies(tuple(ordered), len(free), pose, momentum, M, inverse, mass, centre)


_CURE = "bondgraph.stepping for what is jointed, held or driven; here bodies of rigid_body(), ground() and prescribed_body()"


def _refuse(model: Model) -> None:
    if not model.collisions:
        cure = "collisions(graph, bodies) with bodies that have a shape"
        raise refusal("E549", f'no body of "{model.name}" may collide', cure, about=model.name)
    for path, element in model.elements.items():
        if isinstance(element.law, (laws.IdealConstraint, laws.IdealSwitch)):
            raise refusal("E549", f'"{path}" holds bodies together: they are not free', _CURE, about=model.name)
    if model.automata:
        title = f'"{next(iter(model.automata))}" switches, and steps of free bodies know no modes'
        raise refusal("E549", title, _CURE, about=model.name)


def _inverse_inertias(
    compiled: Compiled, free: list[Collider], pose: np.ndarray, momentum: np.ndarray, p: np.ndarray, x: np.ndarray, m: np.ndarray
) -> np.ndarray:
    """Return M^-1 (n, 6, 6) in body coordinates, from the twists by unit momenta."""
    if not free:
        return np.zeros((0, 6, 6))
    layout, bound = compiled.program.layout, Bound(compiled.program, p)
    at = np.array([np.arange(6) + layout[body.twist].start for body in free])
    R, origin = matrices_of(x[pose[:, :4]]), x[pose[:, 4:]]
    to_body = np.linalg.inv(adjoint(R, origin))

    def twists(momenta: np.ndarray) -> np.ndarray:
        moved = x.copy()
        moved[momentum] = momenta
        return np.matmul(to_body, bound.outputs(0.0, moved, m)[at][..., None])[..., 0]

    unit = np.stack([twists(np.broadcast_to(row, (len(free), 6))) for row in np.eye(6)], axis=2)
    # Momenta of one body must not move another, and nothing else must move a body: tested with different momenta.
    some = np.linspace(0.3, 1.7, 6 * len(free)).reshape(-1, 6) * np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    expected, actual = np.matmul(unit, some[..., None])[..., 0], twists(some)
    size = np.matmul(np.abs(unit), np.abs(some)[..., None])[..., 0]
    off = np.any(np.abs(actual - expected) > 1e-6 * size, axis=1)
    if off.any():
        body = free[int(np.argmax(off))]
        raise refusal("E549", f'"{body.path}" does not move by its own momentum alone', _CURE, about=compiled.model.name)
    return np.asarray(unit)


RECOVERY = 0.2
"""Share of an overlap that a step removes: removing all of it would throw the bodies apart."""


@dataclass(frozen=True, eq=False)
class StepCandidates:
    """Candidates of one step with the friction and restitution of each."""

    pairs: PointPairs
    friction: np.ndarray
    restitution: np.ndarray


def tangents(normal: np.ndarray) -> np.ndarray:
    """Return rows (n, 3, 3): each normal, and two unit vectors perpendicular to it and each other."""
    helper = np.where(np.abs(normal[:, :1]) < 0.6, [[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]])
    first = crosses(normal, helper)
    first /= np.sqrt(dots(first, first))[:, None]
    return np.stack([normal, first, crosses(normal, first)], axis=1)


def contact_rows(
    touch: StepCandidates, inverse: np.ndarray, before: np.ndarray, coming: np.ndarray, h: float
) -> tuple[Contacts, np.ndarray]:
    """Return the rows of a step of h seconds, and their directions (k, 3, 3).

    inverse : M^-1 in world coordinates, (bodies, 6, 6), zero for fixed bodies.
    before, coming : twists (bodies, 6) at the start of the step, and at its end without contacts.
    """
    pairs = touch.pairs
    along = tangents(pairs.normal)
    J1 = -np.concatenate([crosses(pairs.p1[:, None, :], along), along], axis=2)
    J2 = np.concatenate([crosses(pairs.p2[:, None, :], along), along], axis=2)
    response = np.concatenate([np.matmul(J1, inverse[pairs.body1]), np.matmul(J2, inverse[pairs.body2])], axis=2)
    approach = dots(J1[:, 0], before[pairs.body1]) + dots(J2[:, 0], before[pairs.body2])
    predicted = dots(J1[:, 0], coming[pairs.body1]) + dots(J2[:, 0], coming[pairs.body2])
    b = np.zeros((len(pairs), 3))
    opening = np.where(pairs.gap > 0.0, pairs.gap, RECOVERY * pairs.gap) / h
    bounces = (pairs.gap + h * predicted <= 0.0) & (touch.restitution > 0.0)
    b[:, 0] = np.where(bounces, np.minimum(opening, touch.restitution * np.minimum(approach, 0.0)), opening)
    bodies = np.stack([pairs.body1, pairs.body2], axis=1)
    return Contacts(bodies, np.concatenate([J1, J2], axis=2), response, b, touch.friction), along


def guess(pairs: PointPairs, along: np.ndarray, last: tuple[PointPairs, np.ndarray] | None) -> np.ndarray:
    """Return impulses (k, 3) of the nearest contact between the same shapes in the step before; zero where there was none.

    last : the candidates of that step, and their impulses in the world (k, 3).
    """
    out = np.zeros((len(pairs), 3))
    if last is None or not len(last[0]) or not len(pairs):
        return out
    earlier, impulses = last
    count = 1 + int(max(pairs.shape2.max(), earlier.shape2.max()))
    key, earlier_key = pairs.shape1 * count + pairs.shape2, earlier.shape1 * count + earlier.shape2
    low, high = np.searchsorted(earlier_key, key, "left"), np.searchsorted(earlier_key, key, "right")
    nearest, best = np.full(len(pairs), np.inf), np.full(len(pairs), -1)
    for k in range(int((high - low).max())):
        row = np.minimum(low + k, len(earlier_key) - 1)
        distance = dots(pairs.p1 - earlier.p1[row], pairs.p1 - earlier.p1[row])
        nearer = (low + k < high) & (distance < nearest)
        nearest, best = np.where(nearer, distance, nearest), np.where(nearer, row, best)
    # Each impulse is used once, even with two contacts near an old one.
    order = np.lexsort((nearest, best))
    first = order[np.flatnonzero(np.diff(best[order], prepend=-1) != 0)]
    first = first[best[first] >= 0]
    out[first] = np.matmul(along[first], impulses[best[first]][..., None])[..., 0]
    return out


PUSH_REACH = 0.2
"""Share of the fastest body's way that is added to the reach of all candidates."""


@dataclass(frozen=True)
class Accuracy:
    """Accuracy of impulses: no relative velocity changes by more than `tolerance` times the largest in a sweep."""

    tolerance: float = 1e-4
    sweeps: int = 1000


@dataclass(frozen=True, eq=False)
class CollisionGroup:
    """Set of collisions, with its bodies by their numbers among all."""

    collisions: CollisionSet
    arranged: Arrangement


@dataclass(frozen=True, eq=False)
class FreeBodyStep:
    """Result of one step."""

    pairs: PointPairs
    impulses: np.ndarray
    """Impulses in the world, on body 2, (k, 3), N s."""
    pressing: np.ndarray
    """True for contacts that press, (k,)."""
    overlap: float
    """Deepest overlap at the start of the step, m."""
    slip: float
    """Largest sliding velocity of a pressed contact, m/s."""
    lost: float
    """Energy lost at contacts, J."""
    supplied: float
    """Energy supplied through contacts by bodies with prescribed motion, J."""
    step_loss: float
    """Energy lost by the step itself, J: forces are those at its start and velocities those at its end, and spins stay constant
    while bodies turn."""
    sweeps: int
    change: float
    """Last change of a relative velocity in the sweeps, m/s."""
    allowed: float
    """Largest allowed change, m/s."""


def collision_groups(model: Model, bodies: Bodies) -> tuple[CollisionGroup, ...]:
    """Return the sets of collisions of a model, over the numbers of all bodies."""
    number = {body.path: k for k, body in enumerate(bodies.colliders)}
    return tuple(CollisionGroup(each, each.arranged([number[body.path] for body in each.bodies])) for each in model.collisions)


@dataclass(eq=False)
class FreeBodyRun:
    """Run of free bodies: its state, and the contacts of the last step."""

    bodies: Bodies
    sets: tuple[CollisionGroup, ...]
    bound: Bound
    x: np.ndarray
    m: np.ndarray
    accuracy: Accuracy
    others: np.ndarray
    """Indices in x of states of other elements than free bodies."""
    moved: Callable[[float, np.ndarray], Placement]
    """Function of time and state that returns the placement of the bodies that are not free."""
    radius: np.ndarray
    """Radius of each body about its frame's origin, (bodies,), m; infinite for half-spaces."""
    last: tuple[PointPairs, np.ndarray] | None = None

    def where(self, t: float) -> Placement:
        """Return the placement of all bodies, with twists from the momenta."""
        bodies, x = self.bodies, self.x
        fixed = self.moved(t, x)
        free_R, free_p = matrices_of(x[bodies.pose[:, :4]]), x[bodies.pose[:, 4:]]
        body_twist = np.matmul(bodies.inverse, x[bodies.momentum][..., None])
        free_T = np.matmul(adjoint(free_R, free_p), body_twist)[..., 0]
        return Placement(np.concatenate([free_R, fixed.R]), np.concatenate([free_p, fixed.p]), np.concatenate([free_T, fixed.T]))

    def step(self, t: float, h: float) -> FreeBodyStep:
        """Advance by h seconds. Raises `ModelError` E514 for more candidates than a set may have."""
        bodies, n, x = self.bodies, self.bodies.free, self.x
        free = np.arange(len(bodies.colliders)) < n
        motion = self.where(t)
        R, p = motion.R[:n], motion.p[:n]
        A = adjoint(R, p)
        back = np.linalg.inv(A)
        rates = self.bound.rates(t, x, self.m)
        P = x[bodies.momentum]
        T = np.matmul(bodies.inverse, P[..., None])[..., 0]
        wrench = rates[bodies.momentum] - _carried(T, P)
        to_world = np.swapaxes(back, 1, 2)
        P_0 = np.matmul(to_world, (P + h * wrench)[..., None])[..., 0]
        inverse = np.zeros((len(motion.R), 6, 6))
        inverse[:n] = np.matmul(np.matmul(A, bodies.inverse), np.swapaxes(A, 1, 2))
        coming = motion.T.copy()
        coming[:n] = np.matmul(inverse[:n], P_0[..., None])[..., 0]
        touch = self._touching(motion, coming, h)
        contacts, along = contact_rows(touch, inverse, motion.T, coming, h)
        before = _relative(contacts.J, contacts.bodies, coming)
        allowed = self.accuracy.tolerance * float(np.max(np.abs(before), initial=0.0))
        solved = solve_contacts(contacts, coming, guess(touch.pairs, along, self.last), allowed, self.accuracy.sweeps)
        r, v = solved.impulses, solved.twists
        impulses = np.matmul(np.swapaxes(along, 1, 2), r[..., None])[..., 0]
        self.last = touch.pairs, impulses
        after = _relative(contacts.J, contacts.bodies, v)
        lost = -0.5 * float(np.sum(r * (_relative(contacts.J, contacts.bodies, motion.T) + after)))
        supplied = -float(np.sum(r * _relative(contacts.J, contacts.bodies, np.where(free[:, None], 0.0, motion.T))))
        pressed = r[:, 0] > 0.0
        slip = float(np.max(np.hypot(after[pressed, 1], after[pressed, 2]), initial=0.0))
        pushed = np.matmul(back, (v - coming)[:n, :, None])
        P_0 += np.matmul(to_world, np.matmul(bodies.M, pushed))[..., 0]
        forces = h * np.matmul(to_world, wrench[..., None])[..., 0]
        self._move(t, h, motion, v, P_0)
        P = x[bodies.momentum]
        turned = 0.5 * float(np.vdot(P, np.matmul(bodies.inverse, P[..., None])) - np.vdot(P_0, v[:n]))
        step_loss = 0.5 * float(np.vdot(forces, v[:n] - motion.T[:n])) - turned
        overlap = max(0.0, -float(np.min(touch.pairs.gap, initial=0.0)))
        return FreeBodyStep(
            touch.pairs, impulses, pressed, overlap, slip, lost, supplied, step_loss, solved.sweeps, solved.change, allowed
        )

    def _touching(self, motion: Placement, coming: np.ndarray, h: float) -> StepCandidates:
        """Return candidates within reach of each body's motion without contacts, plus a share of the fastest body's, which may
        push others."""
        centre = motion.p.copy()
        n = self.bodies.free
        centre[:n] += np.matmul(motion.R[:n], self.bodies.centre[..., None])[..., 0]
        turning = np.where(np.isfinite(self.radius), self.radius, 0.0) * np.sqrt(dots(coming[:, :3], coming[:, :3]))
        linear = coming[:, 3:] + crosses(coming[:, :3], centre)
        speed = np.sqrt(dots(linear, linear)) + turning
        reach = h * (speed + PUSH_REACH * np.max(speed, initial=0.0))
        parts, mu, e, shapes = [], [], [], 0
        for each in self.sets:
            pairs = candidates(each.arranged, motion.R, motion.p, reach)
            if len(pairs) > (most := each.collisions.max_contacts):
                title = f"{len(pairs)} candidates for contact, where there may be {most}"
                more = f"collisions(..., max_contacts={2 * len(pairs)})"
                cures = (more, "a shorter step: fast bodies may reach many others")
                raise refusal("E514", title, *cures, about="collisions", places=())
            parts.append(replace(pairs, shape1=pairs.shape1 + shapes, shape2=pairs.shape2 + shapes))
            shapes += len(each.arranged.solids)
            mu.append(np.full(len(pairs), each.collisions.friction))
            e.append(np.full(len(pairs), each.collisions.restitution))
        return StepCandidates(merged(parts), np.concatenate(mu), np.concatenate(e))

    def _move(self, t: float, h: float, motion: Placement, v: np.ndarray, P_0: np.ndarray) -> None:
        """Move poses by the velocities of centres and spins, constant in the step; other states by their rates at its end."""
        bodies, n, x = self.bodies, self.bodies.free, self.x
        R, p = motion.R[:n], motion.p[:n]
        arm = np.matmul(R, bodies.centre[..., None])[..., 0]
        if len(self.others):
            x[bodies.momentum] = np.matmul(np.swapaxes(adjoint(R, p), 1, 2), P_0[..., None])[..., 0]
            x[self.others] += h * self.bound.rates(t + h, x, self.m)[self.others]
        spin, centre = v[:n, :3], p + arm + h * (v[:n, 3:] + crosses(v[:n, :3], p + arm))
        q = x[bodies.pose[:, :4]]
        q = _turned(q, h * spin)
        R = matrices_of(q)
        p = centre - np.matmul(R, bodies.centre[..., None])[..., 0]
        x[bodies.pose[:, :4]], x[bodies.pose[:, 4:]] = q, p
        x[bodies.momentum] = np.matmul(np.swapaxes(adjoint(R, p), 1, 2), P_0[..., None])[..., 0]


def _carried(T: np.ndarray, P: np.ndarray) -> np.ndarray:
    """Return ad(T)^T P, (n, 6): the rate in body coordinates of a momentum that is constant in the world."""
    omega, v = T[:, :3], T[:, 3:]
    return np.concatenate([crosses(P[:, :3], omega) + crosses(P[:, 3:], v), crosses(P[:, 3:], omega)], axis=1)


def _turned(q: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Turn unit quaternions (n, 4) by rotation vectors (n, 3) in the world."""
    size = np.sqrt(dots(angle, angle))
    w, v = np.cos(0.5 * size), 0.5 * np.sinc(size / (2.0 * np.pi))[:, None] * angle
    turned = np.empty_like(q)
    turned[:, 0] = w * q[:, 0] - dots(v, q[:, 1:])
    turned[:, 1:] = w[:, None] * q[:, 1:] + q[:, :1] * v + crosses(v, q[:, 1:])
    return turned / np.sqrt(dots(turned, turned))[:, None]


def _relative(J: np.ndarray, bodies: np.ndarray, twists: np.ndarray) -> np.ndarray:
    """Return J v of contacts, (k, 3), m/s."""
    both = np.concatenate([twists[bodies[:, 0]], twists[bodies[:, 1]]], axis=1)
    return np.matmul(J, both[..., None])[..., 0]


def merged(parts: list[PointPairs]) -> PointPairs:
    """Return the candidates of several sets, in their order; shapes are numbered consecutively."""
    if len(parts) == 1:
        return parts[0]
    names = PointPairs.__dataclass_fields__
    return PointPairs(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))
