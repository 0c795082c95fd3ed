"""Free bodies of a compiled graph: state indices of their poses and momenta, and their inertias.

A body is free if its twist depends only on its own momentum and pose, T_0_0_b = Ad(H) M^-1 P_b, which is tested numerically.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondgraph.errors import refusal
from bondgraph.model import laws
from bondgraph.model.model import Collider, Model
from bondgraph.run.bound import Bound

if TYPE_CHECKING:
    from bondgraph.compile.compiled import Compiled


@dataclass(frozen=True, eq=False)
class Bodies:
    """Bodies that may collide, by index; the first `free` bodies are free."""

    colliders: tuple[Collider, ...]
    free: int
    pose: np.ndarray
    """Indices in x of the poses of the free bodies, (free, 7)."""
    momentum: np.ndarray
    """Indices in x of the momenta of the free bodies, (free, 6)."""
    inverse: np.ndarray
    """Inverses of the inertias in body coordinates, (free, 6, 6)."""
    mass: np.ndarray
    """Masses, (free,), kg."""
    centre: np.ndarray
    """Centres of mass in body coordinates, (free, 3), m."""


def adjoint(R: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return Ad(H) (n, 6, 6) of poses with rotations R (n, 3, 3) and positions p (n, 3)."""
    out = np.zeros((len(R), 6, 6))
    out[:, :3, :3] = out[:, 3:, 3:] = R
    out[:, 3:, :3] = np.matmul(cross_matrices(p), R)
    return out


def cross_matrices(v: np.ndarray) -> np.ndarray:
    out = np.zeros((len(v), 3, 3))
    out[:, 0, 1], out[:, 0, 2], out[:, 1, 2] = -v[:, 2], v[:, 1], -v[:, 0]
    return out - np.swapaxes(out, 1, 2)


def matrices_of(q: np.ndarray) -> np.ndarray:
    """Return the rotation matrices (n, 3, 3) of unit quaternions (n, 4), real part first."""
    w, v = q[:, 0], q[:, 1:]
    outer = v[:, :, None] * v[:, None, :]
    return (w * w - np.einsum("ni,ni->n", v, v))[:, None, None] * np.eye(3) + 2.0 * (outer + w[:, None, None] * cross_matrices(v))


def free_bodies(compiled: Compiled, p: np.ndarray, x: np.ndarray, m: np.ndarray) -> Bodies:
    """Return the bodies of all collisions of a model, free bodies first.

    Raises `ModelError` E549 for graphs without collisions, with constraints, switches or automata, or with bodies moved by states
    other than their own momentum; E485 for an inertia that is not that of a rigid body.
    """
    model, layout = compiled.model, compiled.program.layout
    _check_model(model)
    by_path = {body.path: body for collisions in model.collisions for body in collisions.bodies}
    ordered = sorted(by_path.values(), key=lambda body: body.momentum is None)
    free = [body for body in ordered if body.momentum is not None]
    for body in free:
        assert body.momentum is not None
        for name, size, block in ((body.pose, 7, "x"), (body.momentum, 6, "x"), (body.twist, 6, "out")):
            if name not in layout or layout[name].block != block or layout[name].size != size:
                raise refusal("E549", f'"{body.path}" is not free: "{name}" depends on other states', _CURE, about=model.name)
    pose = np.array([np.arange(7) + layout[body.pose].start for body in free], dtype=np.intp).reshape(-1, 7)
    momentum = np.array([np.arange(6) + layout[str(body.momentum)].start for body in free], dtype=np.intp).reshape(-1, 6)
    inverse = _inverse_inertias(compiled, free, pose, momentum, p, x, m)
    M = np.linalg.inv(inverse) if free else np.zeros((0, 6, 6))
    mass = np.trace(M[:, 3:, 3:], axis1=1, axis2=2) / 3.0
    centre = np.stack([M[:, 2, 4], M[:, 0, 5], M[:, 1, 3]], axis=1) / mass[:, None]  # the corner of M is m c x
    _check_inertias(M, mass, centre, free, model.name)
    return Bodies(tuple(ordered), len(free), pose, momentum, inverse, mass, centre)


_CURE = "bondgraph.stepping for jointed, constrained or driven bodies, or only rigid_body(), ground() and prescribed_body()"


def _check_model(model: Model) -> None:
    if not model.collisions:
        cure = "collisions(graph, bodies) with bodies that have a shape"
        raise refusal("E549", f'no body of "{model.name}" may collide', cure, about=model.name)
    for path, element in model.elements.items():
        if isinstance(element.law, (laws.IdealConstraint, laws.IdealSwitch)):
            raise refusal("E549", f'"{path}" holds bodies together: they are not free', _CURE, about=model.name)
    if model.automata:
        title = f'"{next(iter(model.automata))}" switches, and free bodies have no modes'
        raise refusal("E549", title, _CURE, about=model.name)


def _check_inertias(M: np.ndarray, mass: np.ndarray, centre: np.ndarray, free: list[Collider], name: str) -> None:
    corner = mass[:, None, None] * cross_matrices(centre)
    rest = M - M * np.pad(np.ones((3, 3)), ((0, 3), (0, 3)))
    rest[:, :3, 3:] -= corner
    rest[:, 3:, :3] += corner
    rest[:, 3:, 3:] -= mass[:, None, None] * np.eye(3)
    off = np.max(np.abs(rest), axis=(1, 2), initial=0.0) > 1e-9 * np.max(np.abs(M), axis=(1, 2), initial=0.0)
    if off.any():
        title = (
            f'the inertia of "{free[int(np.argmax(off))].path}" is not that of a rigid body: its mass depends on the direction'
        )
        raise refusal("E485", title, "spatial_inertia(mass, moment, centre) from screws.inertia", about=name)


def _inverse_inertias(
    compiled: Compiled, free: list[Collider], pose: np.ndarray, momentum: np.ndarray, p: np.ndarray, x: np.ndarray, m: np.ndarray
) -> np.ndarray:
    """Return M^-1 (n, 6, 6) in body coordinates, from the twists due to unit momenta."""
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
    # Test with different momenta that the momentum of one body moves no other body, and that nothing else moves a body.
    some = np.linspace(0.3, 1.7, 6 * len(free)).reshape(-1, 6) * np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    expected, actual = np.matmul(unit, some[..., None])[..., 0], twists(some)
    size = np.matmul(np.abs(unit), np.abs(some)[..., None])[..., 0]
    off = np.any(np.abs(actual - expected) > 1e-6 * size, axis=1)
    if off.any():
        body = free[int(np.argmax(off))]
        raise refusal("E549", f'"{body.path}" does not move by its own momentum alone', _CURE, about=compiled.model.name)
    return np.asarray(unit)
