"""Diagnostics of time stepping: a report of a step's unknowns, and the reasons why a step has no solution.

The reasons are geometry (E510), balance of forces (E511), friction (E512), stiffness (E513) and numbers (E515). The geometry is
infeasible if some multipliers y >= 0 give A^T y = 0 and lower . y > 0 (Farkas 1902); contacts with y > 0 are at fault. Forces do
not balance if some motion d deforms no spring (H d = 0), closes no contact (A d >= 0) and follows the load (f . d < 0): the part
of the load that contacts and springs cannot bear is such a motion, found by least squares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bondgraph.errors import Place, Problem
from bondgraph.model.domains import ROTATION, SCREW, TRANSLATION, motions
from bondgraph.stepping.problem import Steps
from bondgraph.stepping.quadratic.candidates import CONE, directions
from bondgraph.stepping.quadratic.solver import EXCLUDED, FAILED, UNSUPPORTED, ProgramSolution
from bondgraph.stepping.step import TOO_FAR, UNSETTLED, StepWorkspace
from screws.errors import plural

_SMALL = 1e-6
"""Fraction of the largest multiplier, or of the largest motion, up to which a value counts as zero."""
_ROUNDING = 1e-9
_ROUND = 16
"""Number of edges that approximate an exact cone."""
_AXES, PLANAR = "xyz", motions([False, False, True])


def step_problem(steps: Steps, workspace: StepWorkspace, solution: ProgramSolution) -> Problem:
    if not np.all(np.isfinite(workspace.buffer[~np.isneginf(workspace.buffer)])):
        return _not_finite(steps, workspace)
    if np.any(workspace.H) and np.linalg.eigvalsh(workspace.H).min() < -1e-9 * np.abs(workspace.H).max():
        return _indefinite(steps, workspace)
    if solution.outcome == EXCLUDED:
        return _excluded(steps, workspace)
    if solution.outcome == UNSUPPORTED or (
        solution.outcome in (UNSETTLED, FAILED) and unbalanced_motion(steps, workspace) is not None
    ):
        return _unsupported(steps, workspace)
    if solution.outcome == TOO_FAR:
        moves = _motion_in_words(steps, workspace, solution.y)
        title = f"{moves} farther than the {workspace.settings.reach:g} m within which contacts are known"
        return Problem("E511", title, (), (), ("a shorter step", "a larger reach", "a constraint or spring that holds the body"))
    if solution.outcome == UNSETTLED:
        names = [f'"{cone.path}"' for cone in steps.layout.cones if cone.has_friction]
        names += [f'"{body.name}"' for body in steps.options.bodies]
        why = f"contacts of {', '.join(names)}"
        spatial = (
            bool(steps.options.bodies) or any(cone.slips == 2 for cone in steps.layout.cones)
        ) and steps.options.facets != CONE
        exact = ('facets="cone": with facets, a body that slides along a facet has an undetermined rotation',) if spatial else ()
        cures = (*exact, "a shorter step", 'friction="convex", which needs no iteration')
        return Problem("E512", "the friction iteration does not converge", (why,), (), cures)
    other = "lengths, forces and stiffnesses of similar magnitude"
    return Problem(
        "E515", "the quadratic program of a step was not solved", ("the solver failed",), (), ("a shorter step", other)
    )


def _not_finite(steps: Steps, workspace: StepWorkspace) -> Problem:
    n = len(workspace.f)
    wrong = ~np.isfinite(workspace.f) | ~np.isfinite(workspace.H).all(axis=0)
    names = [steps.layout.owners[k] for k in range(n) if wrong[k]]
    names += [cone.path for cone, gap in zip(steps.layout.cones, workspace.gap, strict=True) if not np.isfinite(gap)]
    text = ", ".join(f'"{name}"' for name in dict.fromkeys(names)) or "a contact or constraint"
    title = f"forces or positions of {text} are not finite numbers"
    cures = ("a check of its formulas for a division by zero, or a root or logarithm of a negative number",)
    return Problem("E515", title, (), _places(steps, names), cures)


def _indefinite(steps: Steps, workspace: StepWorkspace) -> Problem:
    values, vectors = np.linalg.eigh(workspace.H)
    worst = np.abs(vectors[:, int(np.argmin(values))])
    owners = [steps.layout.owners[k] for k in np.flatnonzero(worst > 0.1 * worst.max())]
    names = ", ".join(f'"{name}"' for name in dict.fromkeys(owners))
    why = f"it is negative for motions of {names}: a spring of negative stiffness pushes away from its rest position"
    cures = ("a stiffness that is not negative", 'inertia="damped" or "full" with a shorter step')
    return Problem("E513", "the stiffness of a step is indefinite", (why,), _places(steps, owners), cures)


@dataclass(frozen=True, eq=False)
class _Face:
    """Contact within reach: name, edges of its cone (edges, n), gap, and rows in the quadratic program."""

    name: str
    edges: np.ndarray
    gap: float
    rows: range


def _faces(steps: Steps, workspace: StepWorkspace) -> list[_Face]:
    faces = []
    for cone, gap in zip(steps.layout.cones, workspace.gap, strict=True):
        rows = range(cone.first, cone.first + cone.rows)
        if np.all(np.isfinite(workspace.lower[rows])):
            faces.append(_Face(cone.path, _edges(workspace.A[rows], cone.exact), float(gap), rows))
    pairs, bodies, start = workspace.pairs, [body.name for body in steps.options.bodies], len(workspace.owner)
    for k in range(0 if pairs is None else len(pairs.pairs)):
        assert pairs is not None
        rows = range(start + k * pairs.rows_per_pair, start + (k + 1) * pairs.rows_per_pair)
        first, second = (int(body[k]) for body in (pairs.pairs.body1, pairs.pairs.body2))
        name = " and ".join(bodies[body] for body in (first, second) if body >= 0)
        faces.append(_Face(name, _edges(workspace.A[rows], pairs.exact), float(pairs.pairs.gap[k]), rows))
    return faces


def _edges(rows: np.ndarray, exact: bool) -> np.ndarray:
    return np.asarray(rows[0] + directions(2, _ROUND) @ rows[1:] if exact else rows)


def _excluded(steps: Steps, workspace: StepWorkspace) -> Problem:
    from scipy.optimize import linprog

    faces, constraints = _faces(steps, workspace), steps.layout.constraints
    face_rows = [row for face in faces for row in face.rows]
    equal = range(len(workspace.lower) - len(constraints), len(workspace.lower))
    names = [*(face.name for face in faces for _ in face.rows), *constraints]
    A, lower = workspace.A[[*face_rows, *equal]], workspace.lower[[*face_rows, *equal]]
    bounds = [(0.0, 1.0)] * len(face_rows) + [(-1.0, 1.0)] * len(constraints)
    solution = linprog(-lower, A_eq=(A / _levers(A)).T, b_eq=np.zeros(A.shape[1]), bounds=bounds)
    share = np.zeros(len(names)) if solution.x is None else np.abs(solution.x)
    named = list(dict.fromkeys(name for name, part in zip(names, share, strict=True) if part > _SMALL * share.max(initial=0.0)))
    text = " and ".join(f'"{name}"' for name in named) or "contacts and constraints"
    overlap = 0.0 if solution.x is None else -float(solution.fun)
    owner = "its" if len(named) == 1 else "no position satisfies all of them: their"
    why = f"{owner} total overlap is {overlap:.3g} m" if overlap else ""
    cures = ("a larger distance between these parts", "a commanded motion behind a spring (C between Sf and the joint)")
    title = f"{text} contradict each other" if len(named) != 1 else f"{text} is closed by commanded motion alone"
    return Problem("E510", title, (why,) if why else (), (), cures)


def _unsupported(steps: Steps, workspace: StepWorkspace) -> Problem:
    ray = unbalanced_motion(steps, workspace)
    if ray is None:
        why = "no force is unbalanced beyond rounding error, but some motions meet no resistance: no friction, spring or inertia"
        cures = ('inertia="damped" or "full"', "friction of the contacts, or a spring")
        return Problem("E511", "the motion of a step is not determined", (why,), (), cures)
    moves = _motion_in_words(steps, workspace, ray)
    past = _pivots(steps, workspace, ray)
    title = f"no force balance: {moves}" + (f" {'past' if 'rotating' in moves else 'along'} contact {past}" if past else "")
    why = "a force acts in this direction, and nothing resists it"
    cures = ("a contact or spring that resists it", 'inertia="full", which lets the bodies move')
    owners = [steps.layout.owners[k] for k in np.flatnonzero(np.abs(ray) > 0.0)]
    return Problem("E511", title, (why,), _places(steps, owners), cures)


def _is_closed(face: _Face, faces: Sequence[_Face], length: float) -> bool:
    return face.gap <= _SMALL * max(length, *(abs(other.gap) for other in faces))


def unbalanced_motion(steps: Steps, workspace: StepWorkspace) -> np.ndarray | None:
    """Return the motion (n,) under the load that contacts and springs do not bear, or None if forces balance."""
    from scipy.optimize import nnls

    faces, n = _faces(steps, workspace), len(workspace.f)
    # an open contact has only its normal, no friction
    rows = [face.edges if _is_closed(face, faces, workspace.length) else face.edges.mean(axis=0, keepdims=True) for face in faces]
    edges, held = np.concatenate([*rows, np.zeros((0, n))]), workspace.A[len(workspace.A) - len(steps.layout.constraints) :]
    size = _levers(np.concatenate([edges, held]))
    H, load = workspace.H / np.outer(size, size), -workspace.f / size
    weight = np.max(np.abs(H), initial=0.0) or 1.0
    free = np.concatenate([held / size, H / weight])
    bearing = np.concatenate([edges / size, free, -free]).T
    strength = np.max(np.abs(load), initial=0.0)
    if strength == 0.0:
        return None
    shares, residual = nnls(bearing, -load / strength)
    if residual < _SMALL:
        return None
    ray = (load / strength + bearing @ shares) / size
    displacements = np.abs(ray * size)
    return np.asarray(np.where(displacements > _SMALL * displacements.max(), ray, 0.0))


def _levers(rows: np.ndarray) -> np.ndarray:
    size = np.max(np.abs(rows), axis=0, initial=0.0)
    return np.asarray(np.where(size > _ROUNDING * np.max(size, initial=0.0), size, 1.0))


def _motion_in_words(steps: Steps, workspace: StepWorkspace, ray: np.ndarray) -> str:
    displacements = np.abs(ray) * _levers(workspace.A)
    owners = list(dict.fromkeys(steps.layout.owners))
    by_owner = {owner: max(displacements[k] for k, name in enumerate(steps.layout.owners) if name == owner) for owner in owners}
    moving = sorted((o for o in owners if by_owner[o] > 0.1 * max(by_owner.values())), key=lambda o: -by_owner[o])
    texts = []
    for owner in moving[:3]:
        indices = [k for k, name in enumerate(steps.layout.owners) if name == owner]
        domain = steps.model.bonds_at(owner)[0].domain
        texts.append(f'"{owner.rpartition(".")[0] or owner}" {_direction_in_words(ray[indices], displacements[indices], domain)}')
    return " and ".join(texts)


def _direction_in_words(ray: np.ndarray, displacements: np.ndarray, domain: object) -> str:
    if domain == SCREW and len(ray) == 6:
        turning = displacements[:3].max() > 0.1 * displacements.max()
        part = ray[:3] if turning else ray[3:]
        axis = int(np.argmax(np.abs(part)))
        along = np.abs(part[axis]) > 0.95 * np.linalg.norm(part)
        if turning:
            return "falls by rotating" + (f" about {_AXES[axis]}" if along else "")
        return "moves" + (f" along {'-' if part[axis] < 0.0 else ''}{_AXES[axis]}" if along else "")
    if domain == ROTATION or (domain == PLANAR and displacements[2] > 0.1 * displacements.max()):
        return "falls by rotating"
    if domain == TRANSLATION:
        return f"moves {'backwards' if ray[0] < 0.0 else 'forwards'}" if len(ray) == 1 else "moves"
    return "moves"


def _pivots(steps: Steps, workspace: StepWorkspace, ray: np.ndarray) -> str:
    names = []
    reach = np.max(np.abs(ray) * _levers(workspace.A), initial=0.0)
    faces = _faces(steps, workspace)
    for face in faces:
        if _is_closed(face, faces, workspace.length) and np.min(np.abs(face.edges @ ray)) <= 1e-3 * reach:
            names.append(f'"{face.name}"')
    return ", ".join(dict.fromkeys(names))


def _places(steps: Steps, owners: Sequence[str]) -> tuple[Place | None, ...]:
    elements = steps.model.elements
    return tuple(elements[name].place for name in dict.fromkeys(owners) if name in elements)


_TINY = 1e-12


def report(steps: Steps, workspace: StepWorkspace) -> str:
    """Describe unknowns, contacts, constraints and the rank of H for a step of one second at the start."""
    layout, options = steps.layout, steps.options
    workspace.fill()
    stiff = np.diagonal(workspace.H)
    is_held = stiff > _TINY * np.max(stiff, initial=0.0)
    friction = workspace.settings.friction
    lines = [f'steps of "{steps.model.name}": inertia {options.inertia}, friction {friction}, facets {options.facets}']
    rank = int(np.linalg.matrix_rank(workspace.H)) if len(stiff) else 0
    holders = "contacts and constraints" if layout.constraints else "contacts"
    need = f"; {holders} must hold the other unknowns" if rank < len(stiff) else ""
    summary = f"{plural(len(stiff), 'unknown')}, of which springs, resistors and inertia determine {rank}{need}"
    lines.append(summary + ":" * bool(layout.owners))
    for owner in dict.fromkeys(layout.owners):
        indices = [k for k, name in enumerate(layout.owners) if name == owner]
        held = sum(bool(is_held[k]) for k in indices)
        by = "held" if held == len(indices) else "free" if not held else f"{held} of {len(indices)} held"
        lines.append(f"  {owner}: {len(indices)}, {by}")
    lines.append(f"{plural(len(layout.cones), 'contact')}:" if layout.cones else "no contacts of the graph")
    for cone, contact, gap in zip(layout.cones, layout.contacts, workspace.gap, strict=True):
        coefficient = "no friction" if contact.friction is None else f"friction {workspace.mu[layout.cones.index(cone)]:g}"
        ways = f", slips in {plural(cone.slips, 'direction')}" if cone.slips else ""
        lines.append(f"  {cone.path or contact.gap}: gap {gap:.6g} m, {coefficient}{ways}, {plural(cone.rows, 'row')}")
    if options.bodies:
        lines.append(f"further contacts of {', '.join(body.name for body in options.bodies)} are found at every step")
    if layout.constraints:
        lines.append("constraints: " + ", ".join(dict.fromkeys(layout.constraints)))
    return "\n".join(lines)
