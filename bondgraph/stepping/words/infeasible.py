"""A step without an answer in; why, in the user's words, out: geometry (E510), balance (E511), friction (E512), stiffness (E513).

Geometry excludes itself where some multipliers y >= 0 give A^T y = 0 and lower . y > 0 (Farkas 1902): the contacts with y > 0.
Forces do not balance where some motion d costs no spring (H d = 0), is open to all contacts (A d >= 0) and is pushed by what is
applied (f . d < 0): the part of the load that no contact and no spring can bear is such a motion, found by least squares.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bondgraph.errors import Place, Problem
from bondgraph.model.domains import ROTATION, SCREW, TRANSLATION, motions
from bondgraph.stepping.cone import Cone, directions
from bondgraph.stepping.problem import Steps
from bondgraph.stepping.solver import EXCLUDED, FAILED, UNSUPPORTED, Answer
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
        cures = ("a shorter step", 'friction="convex", which always has an answer', "another coefficient of friction")
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


def _excluded(steps: Steps, stride: Stride) -> Problem:
    """Contacts and constraints that cannot hold together."""
    from scipy.optimize import linprog

    rows, held = len(stride.owner), len(steps.layout.constraints)
    known = np.isfinite(stride.lower)
    A, lower = stride.A[known], stride.lower[known]
    bounds = [(0.0, 1.0)] * int(known[:rows].sum()) + [(-1.0, 1.0)] * held
    size = np.maximum(np.linalg.norm(A, axis=0), 1e-300)
    found = linprog(-lower, A_eq=(A / size).T, b_eq=np.zeros(A.shape[1]), bounds=bounds)
    names: list[str] = []
    if found.x is not None:
        owners = [*(steps.layout.contacts[k].path for k in stride.owner), *steps.layout.constraints]
        owners = [name for name, here in zip(owners, known, strict=True) if here]
        share = np.abs(found.x)
        names = [name for name, part in zip(owners, share, strict=True) if part > _SMALL * share.max(initial=0.0)]
    named = list(dict.fromkeys(names))
    told = " and ".join(f'"{name}"' for name in named) or "contacts and constraints"
    short = -float(-lower @ found.x) if found.x is not None else 0.0
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


def _edges(steps: Steps, stride: Stride) -> np.ndarray:
    """Rows of all cones within reach as edges; of those that are open the normals, for there is no friction in the air."""
    rows = []
    for cone, closed in zip(steps.layout.cones, _closed(stride), strict=True):
        if not np.all(np.isfinite(stride.lower[cone.first : cone.first + cone.rows])):
            continue
        edges = _edges_of(stride, cone)
        rows.append(edges if closed else edges.mean(axis=0, keepdims=True))
    return np.concatenate([*rows, np.zeros((0, stride.A.shape[1]))])


def _closed(stride: Stride) -> np.ndarray:
    """Which contacts are closed at the start of a step, (contacts,)."""
    return np.asarray(stride.gap <= max(stride.gap.min(initial=0.0), 0.0) + _SMALL * np.max(np.abs(stride.gap), initial=0.0))


def _edges_of(stride: Stride, cone: Cone) -> np.ndarray:
    own = stride.A[cone.first : cone.first + cone.rows]
    return own[0] + directions(2, _ROUND) @ own[1:] if cone.exact else own


def falling(steps: Steps, stride: Stride) -> np.ndarray | None:
    """The motion (n,) that load, contacts and springs leave without support; None where all is borne."""
    from scipy.optimize import nnls

    edges, held = _edges(steps, stride), stride.A[len(stride.owner) :]
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
    for cone, touches in zip(steps.layout.cones, _closed(stride), strict=True):
        edges = _edges_of(stride, cone)
        if touches and np.min(np.abs(edges @ ray)) <= 1e-3 * reach:
            found.append(f'"{cone.path}"')
    return ", ".join(found)


def _places(steps: Steps, owners: Sequence[str]) -> tuple[Place | None, ...]:
    elements = steps.model.elements
    return tuple(elements[name].place for name in dict.fromkeys(owners) if name in elements)
