"""State of many free bodies and a step in -> state at its end, with what happened at contacts.

    forces -> twists without contacts -> candidates -> impulses -> twists -> poses

Momenta are carried in world coordinates, so that what no force acts on keeps its momentum and spin exactly; positions move with
the velocities at the end of the step (Moreau 1988; Stewart and Trinkle 1996).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from bondgraph.errors import Problem
from bondgraph.model.model import CollisionSet, Model
from bondgraph.run.bound import Bound
from bondgraph.stepping.free_bodies.bodies import Bodies, Placement, adjoint, matrices_of
from bondgraph.stepping.free_bodies.contact_rows import Touch, contact_rows, guess
from bondgraph.stepping.free_bodies.gauss_seidel import settle
from screws.shapes import Arrangement, PointPairs, candidates
from screws.shapes.nearest_points import crosses, dots

__all__ = ["Accuracy", "PileStep", "Encounter", "TooMany", "Walk", "encounters"]


PUSHED = 0.2
"""Share of the fastest body's way that candidates of all bodies may be apart beyond their own."""


@dataclass(frozen=True)
class Accuracy:
    """When impulses fit: no relative velocity changes by more than `tolerance` of the largest in a whole sweep."""

    tolerance: float = 1e-4
    sweeps: int = 1000


@dataclass(frozen=True, eq=False)
class Encounter:
    """One set of collisions, with its bodies by their numbers among all."""

    collisions: CollisionSet
    arranged: Arrangement


@dataclass(frozen=True, eq=False)
class PileStep:
    """What one step did."""

    pairs: PointPairs
    impulses: np.ndarray
    """In the world, on body 2, (k, 3), N s."""
    pressing: np.ndarray
    """Whether each presses, (k,)."""
    overlap: float
    """Deepest at the start of the step, m."""
    slip: float
    """Largest velocity along a surface of what is pressed, m/s."""
    lost: float
    """Energy that contacts took, J."""
    given: float
    """Energy that bodies which are moved gave through contacts, J."""
    taken: float
    """Energy that the step itself took, J: forces are those at its start and velocities those at its end, and spins stay while
    bodies turn."""
    sweeps: int
    change: float
    """Last change of a relative velocity in the sweeps, m/s, and what it may be."""
    allowed: float


class TooMany(Exception):
    """A step with more candidates than a set may have: ends a run."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem = problem


def encounters(model: Model, bodies: Bodies) -> tuple[Encounter, ...]:
    """The sets of collisions of a model, over the numbers of all bodies."""
    number = {body.path: k for k, body in enumerate(bodies.colliders)}
    found = []
    for collisions in model.collisions:
        found.append(Encounter(collisions, collisions.arranged([number[body.path] for body in collisions.bodies])))
    return tuple(found)


@dataclass(eq=False)
class Walk:
    """A run's own numbers: its state, and what it remembers from step to step."""

    bodies: Bodies
    sets: tuple[Encounter, ...]
    bound: Bound
    x: np.ndarray
    m: np.ndarray
    accuracy: Accuracy
    others: np.ndarray
    """Places in x of states that are no free body's."""
    moved: Callable[[float, np.ndarray], Placement]
    """Time and state -> where the bodies are that are not free."""
    radius: np.ndarray
    """Of each body about its frame's origin, (bodies,), m; infinite for half-spaces."""
    last: tuple[PointPairs, np.ndarray] | None = None

    def where(self, t: float) -> Placement:
        """All bodies, with the twists that momenta say."""
        bodies, x = self.bodies, self.x
        rest = self.moved(t, x)
        free_R, free_p = matrices_of(x[bodies.pose[:, :4]]), x[bodies.pose[:, 4:]]
        body_twist = np.matmul(bodies.inverse, x[bodies.momentum][..., None])
        free_T = np.matmul(adjoint(free_R, free_p), body_twist)[..., 0]
        return Placement(np.concatenate([free_R, rest.R]), np.concatenate([free_p, rest.p]), np.concatenate([free_T, rest.T]))

    def step(self, t: float, h: float) -> PileStep:
        """Go on by h seconds. Raises `TooMany`."""
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
        settled = settle(contacts, coming, guess(touch.pairs, along, self.last), allowed, self.accuracy.sweeps)
        r, v = settled.impulses, settled.twists
        impulses = np.matmul(np.swapaxes(along, 1, 2), r[..., None])[..., 0]
        self.last = touch.pairs, impulses
        after = _relative(contacts.J, contacts.bodies, v)
        lost = -0.5 * float(np.sum(r * (_relative(contacts.J, contacts.bodies, motion.T) + after)))
        given = -float(np.sum(r * _relative(contacts.J, contacts.bodies, np.where(free[:, None], 0.0, motion.T))))
        pressed = r[:, 0] > 0.0
        slip = float(np.max(np.hypot(after[pressed, 1], after[pressed, 2]), initial=0.0))
        pushed = np.matmul(back, (v - coming)[:n, :, None])
        P_0 += np.matmul(to_world, np.matmul(bodies.M, pushed))[..., 0]
        forces = h * np.matmul(to_world, wrench[..., None])[..., 0]
        self._move(t, h, motion, v, P_0)
        P = x[bodies.momentum]
        turned = 0.5 * float(np.vdot(P, np.matmul(bodies.inverse, P[..., None])) - np.vdot(P_0, v[:n]))
        taken = 0.5 * float(np.vdot(forces, v[:n] - motion.T[:n])) - turned
        overlap = max(0.0, -float(np.min(touch.pairs.gap, initial=0.0)))
        return PileStep(
            touch.pairs, impulses, pressed, overlap, slip, lost, given, taken, settled.sweeps, settled.change, allowed
        )

    def _touching(self, motion: Placement, coming: np.ndarray, h: float) -> Touch:
        """Candidates: what bodies may come to in this step as they move without contacts, and a share of the fastest for
        those that it pushes."""
        centre = motion.p.copy()
        n = self.bodies.free
        centre[:n] += np.matmul(motion.R[:n], self.bodies.centre[..., None])[..., 0]
        turning = np.where(np.isfinite(self.radius), self.radius, 0.0) * np.sqrt(dots(coming[:, :3], coming[:, :3]))
        linear = coming[:, 3:] + crosses(coming[:, :3], centre)
        speed = np.sqrt(dots(linear, linear)) + turning
        reach = h * (speed + PUSHED * np.max(speed, initial=0.0))
        parts, mu, e, shapes = [], [], [], 0
        for one in self.sets:
            pairs = candidates(one.arranged, motion.R, motion.p, reach)
            if len(pairs) > one.collisions.most:
                raise TooMany(_too_many(len(pairs), one.collisions))
            parts.append(replace(pairs, shape1=pairs.shape1 + shapes, shape2=pairs.shape2 + shapes))
            shapes += len(one.arranged.solids)
            mu.append(np.full(len(pairs), one.collisions.friction))
            e.append(np.full(len(pairs), one.collisions.restitution))
        return Touch(merged(parts), np.concatenate(mu), np.concatenate(e))

    def _move(self, t: float, h: float, motion: Placement, v: np.ndarray, P_0: np.ndarray) -> None:
        """Poses with the velocities of centres and spins, which stay through the step; other states by their rates at its end."""
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
    """ad(T)^T P, (n, 6): the rate of a momentum in body coordinates that stays in the world."""
    omega, v = T[:, :3], T[:, 3:]
    return np.concatenate([crosses(P[:, :3], omega) + crosses(P[:, 3:], v), crosses(P[:, 3:], omega)], axis=1)


def _turned(q: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Unit quaternions (n, 4) after turning by vectors (n, 3) of the world."""
    size = np.sqrt(dots(angle, angle))
    w, v = np.cos(0.5 * size), 0.5 * np.sinc(size / (2.0 * np.pi))[:, None] * angle
    turned = np.empty_like(q)
    turned[:, 0] = w * q[:, 0] - dots(v, q[:, 1:])
    turned[:, 1:] = w[:, None] * q[:, 1:] + q[:, :1] * v + crosses(v, q[:, 1:])
    return turned / np.sqrt(dots(turned, turned))[:, None]


def _relative(J: np.ndarray, bodies: np.ndarray, twists: np.ndarray) -> np.ndarray:
    """J v of contacts, (k, 3), m/s."""
    both = np.concatenate([twists[bodies[:, 0]], twists[bodies[:, 1]]], axis=1)
    return np.matmul(J, both[..., None])[..., 0]


def merged(parts: list[PointPairs]) -> PointPairs:
    """Candidates of several sets, in their order; shapes are numbered through."""
    if len(parts) == 1:
        return parts[0]
    names = PointPairs.__dataclass_fields__
    return PointPairs(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def _too_many(found: int, collisions: CollisionSet) -> Problem:
    title = f"{found} candidates for contact, where there may be {collisions.most}"
    return Problem(
        "E514", title, cures=(f"collisions(..., most={2 * found})", "a shorter step: fast bodies may reach many others")
    )
