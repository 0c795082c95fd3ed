"""A step without an answer in; why, in the user's words, out: geometry (E510), balance (E511), friction (E512), stiffness (E513).

Geometry excludes itself where some multipliers y >= 0 give A^T y = 0 and lower . y > 0 (Farkas 1902): the contacts with y > 0.
Forces do not balance where some motion d costs no spring (H d = 0), is open to all contacts (A d >= 0) and is pushed by what is
applied (f . d < 0): the part of the load that no contact and no spring can bear is such a motion, found by least squares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bondgraph.errors import Place, Problem
from bondgraph.model.domains import ROTATION, SCREW, TRANSLATION, motions
from bondgraph.stepping.problem import Steps
from bondgraph.stepping.quadratic.cone import CONE, directions
from bondgraph.stepping.quadratic.solver import EXCLUDED, FAILED, UNSUPPORTED, Answer
from bondgraph.stepping.step import TOO_FAR, UNSETTLED, Stride

_SMALL = 1e-6
"""Part of the largest that counts as none, of multipliers and of motions."""
_ROUNDING = 1e-9
_ROUND = 16
"""Edges that stand for an exact cone."""
_AXES, PLANAR = "xyz", motions([False, False, True])


def explained(steps: Steps, stride: Stride, answer: Answer) -> Problem:
    """Why a step has no answer."""
    if not np.all(np.isfinite(stride.buffer[~np.isneginf(stride.buffer)])):
        return _not_finite(steps, stride)
    if np.any(stride.H) and np.linalg.eigvalsh(stride.H).min() < -1e-9 * np.abs(stride.H).max():
        return _indefinite(steps, stride)
    if answer.outcome == EXCLUDED:
        return _excluded(steps, stride)
    if answer.outcome == UNSUPPORTED or (answer.outcome in (UNSETTLED, FAILED) and falling(steps, stride) is not None):
        return _unsupported(steps, stride)
    if answer.outcome == TOO_FAR:
        moves = _motion_in_words(steps, stride, answer.y)
        title = f"{moves} farther than the {stride.settings.reach:g} m within which contacts are known"
        return Problem("E511", title, (), (), ("a shorter step", "a larger reach", "something that holds it"))
    if answer.outcome == UNSETTLED:
        names = [f'"{cone.path}"' for cone in steps.layout.cones if cone.has_friction]
        names += [f'"{body.name}"' for body in steps.wanted.bodies]
        why = f"contacts of {', '.join(names)}"
        spatial = (
            bool(steps.wanted.bodies) or any(cone.slips == 2 for cone in steps.layout.cones)
        ) and steps.wanted.facets != CONE
        exact = ('facets="cone": facets leave open how a body turns that slides along one',) if spatial else ()
        cures = (*exact, "a shorter step", 'friction="convex", which always has an answer')
        return Problem("E512", "friction does not come to agree with the slips", (why,), (), cures)
    other = "lengths, forces and stiffnesses whose sizes are less apart"
    return Problem(
        "E515", "the quadratic program of a step is not solved", ("the solver gives up",), (), ("a shorter step", other)
    )


def _not_finite(steps: Steps, stride: Stride) -> Problem:
    """Which velocities have a force, and which contacts a place, that is no finite number."""
    n = len(stride.f)
    wrong = ~np.isfinite(stride.f) | ~np.isfinite(stride.H).all(axis=0)
    names = [steps.layout.owners[k] for k in range(n) if wrong[k]]
    names += [cone.path for cone, gap in zip(steps.layout.cones, stride.gap, strict=True) if not np.isfinite(gap)]
    told = ", ".join(f'"{name}"' for name in dict.fromkeys(names)) or "a contact or constraint"
    title = f"forces or places of {told} are not finite numbers"
    cures = ("a look at the formulas there: a division by zero, a root or a logarithm of a negative number",)
    return Problem("E515", title, (), _places(steps, names), cures)


def _indefinite(steps: Steps, stride: Stride) -> Problem:
    values, vectors = np.linalg.eigh(stride.H)
    worst = np.abs(vectors[:, int(np.argmin(values))])
    own = [steps.layout.owners[k] for k in np.flatnonzero(worst > 0.1 * worst.max())]
    names = ", ".join(f'"{name}"' for name in dict.fromkeys(own))
    why = f"it falls as {names} move: such a spring pushes away"
    cures = ("a stiffness that is not negative", 'inertia="damped" or "full" with a shorter step')
    return Problem("E513", "the stiffness of a step is indefinite", (why,), _places(steps, own), cures)


@dataclass(frozen=True, eq=False)
class _Face:
    """A contact within reach: its name, edges of its cone (edges, n), gap, and rows in the program."""

    name: str
    edges: np.ndarray
    gap: float
    rows: range


def _faces(steps: Steps, stride: Stride) -> list[_Face]:
    """All contacts within reach: the graph's own, and pairs of bodies with shapes."""
    found = []
    for cone, gap in zip(steps.layout.cones, stride.gap, strict=True):
        rows = range(cone.first, cone.first + cone.rows)
        if np.all(np.isfinite(stride.lower[rows])):
            found.append(_Face(cone.path, _edges(stride.A[rows], cone.exact), float(gap), rows))
    pairs, bodies, start = stride.pairs, [body.name for body in steps.wanted.bodies], len(stride.owner)
    for k in range(0 if pairs is None else len(pairs.pairs)):
        assert pairs is not None
        rows = range(start + k * pairs.each, start + (k + 1) * pairs.each)
        one, two = (int(body[k]) for body in (pairs.pairs.body1, pairs.pairs.body2))
        name = " and ".join(bodies[body] for body in (one, two) if body >= 0)
        found.append(_Face(name, _edges(stride.A[rows], pairs.exact), float(pairs.pairs.gap[k]), rows))
    return found


def _edges(rows: np.ndarray, exact: bool) -> np.ndarray:
    """Edges of a cone; of an exact one so many around it."""
    return np.asarray(rows[0] + directions(2, _ROUND) @ rows[1:] if exact else rows)


def _excluded(steps: Steps, stride: Stride) -> Problem:
    """Contacts and constraints that cannot hold together."""
    from scipy.optimize import linprog

    faces, constraints = _faces(steps, stride), steps.layout.constraints
    own = [row for face in faces for row in face.rows]
    equal = range(len(stride.lower) - len(constraints), len(stride.lower))
    names = [*(face.name for face in faces for _ in face.rows), *constraints]
    A, lower = stride.A[[*own, *equal]], stride.lower[[*own, *equal]]
    bounds = [(0.0, 1.0)] * len(own) + [(-1.0, 1.0)] * len(constraints)
    found = linprog(-lower, A_eq=(A / _levers(A)).T, b_eq=np.zeros(A.shape[1]), bounds=bounds)
    share = np.zeros(len(names)) if found.x is None else np.abs(found.x)
    named = list(dict.fromkeys(name for name, part in zip(names, share, strict=True) if part > _SMALL * share.max(initial=0.0)))
    told = " and ".join(f'"{name}"' for name in named) or "contacts and constraints"
    short = float(lower @ share) if found.x is not None else 0.0
    why = f"there is no place at which all of them are open or touch: they overlap by {short:.3g} m in all" if short else ""
    cures = ("a larger distance between them", "a commanded motion behind a spring (C between Sf and the joint)")
    title = f"{told} exclude each other" if len(named) != 1 else f"{told} closes by commanded motion alone"
    return Problem("E510", title, (why,) if why else (), (), cures)


def _unsupported(steps: Steps, stride: Stride) -> Problem:
    """A motion that nothing holds."""
    ray = falling(steps, stride)
    if ray is None:
        why = "the part of them that nothing bears is too small to be told from rounding"
        return Problem("E511", "forces do not balance", (why,), (), ("a spring, a contact or inertia that holds the bodies",))
    moves = _motion_in_words(steps, stride, ray)
    past = _pivots(steps, stride, ray)
    title = f"no force balance: {moves}" + (f" {'past' if 'rotating' in moves else 'along'} contact {past}" if past else "")
    why = "nothing holds it in this direction, and what acts on it pushes it there"
    cures = ("a contact or spring that holds it", 'inertia="full", in which it falls as time goes on')
    own = [steps.layout.owners[k] for k in np.flatnonzero(np.abs(ray) > 0.0)]
    return Problem("E511", title, (why,), _places(steps, own), cures)


def _is_closed(face: _Face, faces: Sequence[_Face], length: float) -> bool:
    """Whether a contact is closed at the start of a step, beside the other gaps and the length of a step."""
    return face.gap <= _SMALL * max(length, *(abs(other.gap) for other in faces))


def falling(steps: Steps, stride: Stride) -> np.ndarray | None:
    """The motion (n,) that load, contacts and springs leave without support; None where all is borne."""
    from scipy.optimize import nnls

    faces, n = _faces(steps, stride), len(stride.f)
    # of those that are open the normals: there is no friction in the air
    rows = [face.edges if _is_closed(face, faces, stride.length) else face.edges.mean(axis=0, keepdims=True) for face in faces]
    edges, held = np.concatenate([*rows, np.zeros((0, n))]), stride.A[len(stride.A) - len(steps.layout.constraints) :]
    size = _levers(np.concatenate([edges, held]))
    H, load = stride.H / np.outer(size, size), -stride.f / size
    weight = np.max(np.abs(H), initial=0.0) or 1.0
    free = np.concatenate([held / size, H / weight])
    bearing = np.concatenate([edges / size, free, -free]).T
    strength = np.max(np.abs(load), initial=0.0)
    if strength == 0.0:
        return None
    shares, rest = nnls(bearing, -load / strength)
    if rest < _SMALL:
        return None
    ray = (load / strength + bearing @ shares) / size
    ways = np.abs(ray * size)
    return np.asarray(np.where(ways > _SMALL * ways.max(), ray, 0.0))


def _levers(rows: np.ndarray) -> np.ndarray:
    """How fast each velocity (n,) moves a contact; 1 where it moves none."""
    size = np.max(np.abs(rows), axis=0, initial=0.0)
    return np.asarray(np.where(size > _ROUNDING * np.max(size, initial=0.0), size, 1.0))


def _motion_in_words(steps: Steps, stride: Stride, ray: np.ndarray) -> str:
    """What moves and how: the inertia that contacts see move farthest."""
    ways = np.abs(ray) * _levers(stride.A)
    owners = list(dict.fromkeys(steps.layout.owners))
    by_owner = {owner: max(ways[k] for k, own in enumerate(steps.layout.owners) if own == owner) for owner in owners}
    moving = sorted((o for o in owners if by_owner[o] > 0.1 * max(by_owner.values())), key=lambda o: -by_owner[o])
    told = []
    for owner in moving[:3]:
        own = [k for k, name in enumerate(steps.layout.owners) if name == owner]
        domain = steps.model.bonds_at(owner)[0].domain
        told.append(f'"{owner.rpartition(".")[0] or owner}" {_way(ray[own], ways[own], domain)}')
    return " and ".join(told)


def _way(ray: np.ndarray, ways: np.ndarray, domain: object) -> str:
    if domain == SCREW and len(ray) == 6:
        turning = ways[:3].max() > 0.1 * ways.max()
        part = ray[:3] if turning else ray[3:]
        axis = int(np.argmax(np.abs(part)))
        along = np.abs(part[axis]) > 0.95 * np.linalg.norm(part)
        if turning:
            return "falls by rotating" + (f" about {_AXES[axis]}" if along else "")
        return "moves" + (f" along {'-' if part[axis] < 0.0 else ''}{_AXES[axis]}" if along else "")
    if domain == ROTATION or (domain == PLANAR and ways[2] > 0.1 * ways.max()):
        return "falls by rotating"
    if domain == TRANSLATION:
        return f"moves {'backwards' if ray[0] < 0.0 else 'forwards'}" if len(ray) == 1 else "moves"
    return "moves"


def _pivots(steps: Steps, stride: Stride, ray: np.ndarray) -> str:
    """Contacts that stay closed in a motion."""
    found = []
    reach = np.max(np.abs(ray) * _levers(stride.A), initial=0.0)
    faces = _faces(steps, stride)
    for face in faces:
        if _is_closed(face, faces, stride.length) and np.min(np.abs(face.edges @ ray)) <= 1e-3 * reach:
            found.append(f'"{face.name}"')
    return ", ".join(dict.fromkeys(found))


def _places(steps: Steps, owners: Sequence[str]) -> tuple[Place | None, ...]:
    elements = steps.model.elements
    return tuple(elements[name].place for name in dict.fromkeys(owners) if name in elements)
