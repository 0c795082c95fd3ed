"""Inverse kinematics of a tree: joint coordinates that bring a link to a pose or point, by damped least squares from many starts.

Each start is a row; all rows take their Levenberg-Marquardt steps together. A joint at a limit is fixed during a step that would
push it beyond.

Source: Wampler 1986; Nakamura and Hanafusa 1986 (damped least squares); Nielsen 1999 (the damping from step to step).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from screwbond.models.chains.kinematics import located_jacobian
from screwbond.models.chains.limits import beyond_limits
from screwbond.models.chains.links import Vector
from screwbond.models.chains.rows import need_tree, state_rows
from screwbond.models.chains.trees import Tree, as_floats

from bondgraph.errors import ModelError, refusal
from bondgraph.model.arguments import in_units
from bondgraph.output.short_repr import short_repr
from screws.errors import plural
from screws.numeric_arguments import floats
from screws.poses import is_pose, pose_from_state

Array = np.ndarray

MOST_STEPS = 200
FIRST_DAMPING, LEAST_DAMPING, LARGEST_DAMPING = 1e-3, 1e-12, 1e12
FIRST_BATCH = 19
SMALLEST_GAIN = 1e-13
"""Relative reduction of the squared error; the search from a start ends when a step achieves no more."""
AT_LIMIT = 1e-9
"""Distance from a limit, in rad or relative to the size of the tree, within which a joint counts as being at the limit."""


@short_repr
@dataclass(frozen=True, eq=False)
class InverseKinematics:
    """Joint coordinates for one goal, or for rows of goals (...).

    Attributes
    ----------
    q : (..., n), within the limits; if the goal is not reached, coordinates of the nearest pose found.
    reached : (...) bool.
    position_error, angle_error : (...) remaining distance, m, and angle, rad (zero for goals that are points).
    gradient : (..., n) decrease of half the squared error, with distances divided by `size`, per rad or m of each joint:
        zero at a solution; at a nearest pose, nonzero for joints held only by their limits.
    tree, size : the mechanism, and the length, m, that is weighted like one rad.

    `print(solution)` shows the joints of a single goal as a table.
    """

    q: Array
    reached: Array
    position_error: Array
    angle_error: Array
    gradient: Array
    tree: Tree
    size: float

    def at_limits(self) -> list[str]:
        """Return the joints blocked by a limit in the solution for a single goal, each with its limit."""
        lower, upper = self.tree.limits.T
        room = AT_LIMIT * _sizes(self.tree, self.size)
        words = []
        for k, name in enumerate(self.tree.coordinates):
            sides = ((lower[k], self.q[k] - lower[k], -1.0), (upper[k], upper[k] - self.q[k], 1.0))
            words += [f"{name} at {limit:g}" for limit, gap, sign in sides if gap < room[k] and sign * self.gradient[k] > 0.0]
        return words

    def __str__(self) -> str:
        if self.q.ndim > 1:
            return f"{int(np.sum(self.reached))} of {self.reached.size} goals reached by {self.tree.name}"
        missed = f"{self.position_error:.3g} m and {self.angle_error:.3g} rad away"
        head = f"{self.tree.name}: " + ("reached" if self.reached else missed)
        units = ["rad" if turns else "m" for turns in self.tree.is_angle]
        rows = zip(self.tree.coordinates, self.q, units, self.tree.limits, self.gradient, strict=True)
        lines = [f"  {c}  {x:.6g} {unit}  limits {a:g} to {b:g}  gradient {g:.2g}" for c, x, unit, (a, b), g in rows]
        return "\n".join([head, *lines])


@in_units(at="m")
def inverse_kinematics(
    tree: Tree,
    link: int | str,
    goal: Any,
    *,
    at: Vector = (0.0, 0.0, 0.0),
    start: Any = None,
    starts: int = 200,
    tolerance: float = 1e-8,
    nearest: bool = False,
) -> InverseKinematics:
    """Return joint coordinates that bring a link to a goal, within the limits of the joints.

    The search begins at `start`; goals that it does not reach from there are tried from `starts` - 1 further starts, spread over
    the limits and the same in every call; of the solutions found there, the one nearest to `start` is returned.

    Parameters
    ----------
    goal : a pose (4, 4) or (7,) of the point in the world, or only its position (3,), m; or rows of these.
    at : the point, in the link's frame, m.
    start : (n,) or a row for each goal, rad and m; by default zero, or the limit nearest to it.
    tolerance : angle in rad, and distance divided by the result's `size`, within which a goal is reached.
    nearest : True to return the nearest pose found for goals out of reach; otherwise they are refused.

    Raises `ModelError` E338 for an invalid argument, E339 for a start beyond the limits, E340 for goals that
    were not reached, with the nearest pose and the joints at their limits; E454 for an unknown link.
    """
    need_tree(tree, "inverse_kinematics")
    number, goals, points = tree.index(link), _goals(tree, goal), floats(at, (3,))
    if points is None or not (isinstance(starts, int) and starts > 0) or not 0.0 < tolerance < 1.0:
        title = f"at={at!r}, starts={starts!r} or tolerance={tolerance!r} is invalid"
        cures = ("at: three finite numbers, m", "starts: a positive integer", "tolerance: a number between 0 and 1")
        raise refusal("E338", title, *cures, about=tree.name)
    leading = goals.shape[: -1 if goals.shape[-1] == 3 else -2]
    search = _Search(tree, number, goals.reshape(-1, *goals.shape[len(leading) :]), points, _size(tree), tolerance)
    first = _start(tree, start, len(search.goals))
    q, error = search.descend(first, np.arange(len(first)))
    further = _spread(tree, starts - 1, search.size)
    for batch in (further[:FIRST_BATCH], further[FIRST_BATCH:]):
        missed = np.flatnonzero(~search.reached(error))
        rows = np.repeat(missed, len(batch))
        if not len(rows):
            break
        others, errors = search.descend(np.tile(batch, (len(missed), 1)), rows)
        for k in missed:
            mine = np.flatnonzero(rows == k)
            away = np.abs(_near(tree, others[mine], first[k]) - first[k]).max(axis=1)
            reached = search.reached(errors[mine])
            best = mine[np.argmin(np.where(reached, away, np.inf) if reached.any() else np.sum(errors[mine] ** 2, axis=1))]
            if reached.any() or np.sum(errors[best] ** 2) < np.sum(error[k] ** 2):
                q[k], error[k] = others[best], errors[best]
    q = _near(tree, q, first)
    if not (nearest or search.reached(error).all()):
        raise search.out_of_reach(q, error, starts)
    return search.solution(q, error, np.arange(len(q)), leading)


@dataclass(frozen=True, eq=False)
class _Search:
    tree: Tree
    link: int
    goals: Array
    at: Array
    size: float
    tolerance: float

    def residuals(self, q: Array, which: Array) -> tuple[Array, Array]:
        """Return the errors (k, m), in rad and as distance / size, and the Jacobian (k, m, n) of the pose with respect to the
        coordinates divided by their natural sizes."""
        H, J = located_jacobian(self.tree, self.link, q, self.at)
        J *= _sizes(self.tree, self.size)
        J[:, 3:] /= self.size
        goal = self.goals[which]
        away = (goal if goal.ndim == 2 else goal[:, :3, 3]) - H[:, :3, 3]
        if goal.ndim == 2:
            return away / self.size, J[:, 3:]
        turn = rotation_vectors(goal[:, :3, :3] @ H[:, :3, :3].transpose(0, 2, 1))
        return np.concatenate([turn, away / self.size], axis=1), J

    def reached(self, error: Array) -> Array:
        parts = error.reshape(len(error), -1, 3)
        return np.all(np.linalg.norm(parts, axis=2) <= self.tolerance, axis=1)

    def descend(self, start: Array, which: Array) -> tuple[Array, Array]:
        sizes, (lower, upper) = _sizes(self.tree, self.size), self.tree.limits.T
        q = np.array(start)
        error, J = self.residuals(q, which)
        damping, growth = np.full(len(q), FIRST_DAMPING), np.full(len(q), 2.0)
        moving = np.flatnonzero(~self.reached(error))
        for _ in range(MOST_STEPS):
            if not len(moving):
                break
            x, e, lever, mu = q[moving], error[moving], J[moving], damping[moving]
            downhill = np.einsum("kmn,km->kn", lever, e)
            blocked = ((x <= lower) & (downhill < 0.0)) | ((x >= upper) & (downhill > 0.0))
            free = np.where(blocked[:, None], 0.0, lever)
            normal = free @ free.transpose(0, 2, 1) + mu[:, None, None] * np.eye(e.shape[1])
            step = np.einsum("kmn,km->kn", free, np.linalg.solve(normal, e[..., None])[..., 0])
            target = np.clip(x + sizes * step, lower, upper)
            new, new_J = self.residuals(target, which[moving])
            before, after = np.sum(e**2, axis=1), np.sum(new**2, axis=1)
            gain = (before - after) / np.maximum(np.sum(step * (mu[:, None] * step + downhill), axis=1), 1e-300)
            better = after < before
            taken = moving[better]
            q[taken], error[taken], J[taken] = target[better], new[better], new_J[better]
            shrink = np.maximum(1.0 / 3.0, 1.0 - (2.0 * np.clip(gain, 0.0, 1.0) - 1.0) ** 3)
            damping[moving] = np.maximum(damping[moving] * np.where(better, shrink, growth[moving]), LEAST_DAMPING)
            growth[moving] = np.where(better, 2.0, 2.0 * growth[moving])
            resting = np.where(better, before - after <= SMALLEST_GAIN * before, damping[moving] > LARGEST_DAMPING)
            moving = moving[~(resting | self.reached(error[moving]))]
        return q, error

    def solution(self, q: Array, error: Array, which: Array, leading: tuple[int, ...]) -> InverseKinematics:
        _, J = self.residuals(q, which)
        gradient = np.einsum("kmn,km->kn", J, error) / _sizes(self.tree, self.size)
        angle = np.linalg.norm(error[:, :3], axis=1) if error.shape[1] == 6 else np.zeros(len(q))
        distance = self.size * np.linalg.norm(error[:, -3:], axis=1)
        q, reached, distance, angle, gradient = (
            values.reshape((*leading, *values.shape[1:]))[()] for values in (q, self.reached(error), distance, angle, gradient)
        )
        return InverseKinematics(q, reached, distance, angle, gradient, self.tree, self.size)

    def out_of_reach(self, q: Array, error: Array, starts: int) -> ModelError:
        missed = np.flatnonzero(~self.reached(error))
        k = missed[:1]
        nearest = self.solution(q[k], error[k], k, ())
        stuck, goal = nearest.at_limits(), f"goal {k[0]}" if len(q) > 1 else "the goal"
        goal += f" and {len(missed) - 1} more" if len(missed) > 1 else ""
        free = "no joint moves it closer: it is out of reach, or the Jacobian is singular there"
        why = "joint limits block it: " + ", ".join(stuck[:6]) if stuck else free
        away = f"{nearest.position_error:.3g} m and {nearest.angle_error:.3g} rad away"
        title = f"{self.tree.name} does not reach {goal}: the nearest pose found is {away}"
        cures = ["nearest=True for that pose", f"more than starts={starts}"]
        cures += ["a point (3,), if the orientation is free"] if self.goals.ndim == 3 else []
        return refusal("E340", title, *cures, about=self.tree.name, why=why)


def rotation_vectors(R: Array) -> Array:
    """Return axis times angle (k, 3), rad, of rotations (k, 3, 3), even near a half turn."""
    vector = 0.5 * np.stack([R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]], axis=1)
    sine, cosine = np.linalg.norm(vector, axis=1), 0.5 * (np.trace(R, axis1=1, axis2=2) - 1.0)
    angle = np.arctan2(sine, cosine)
    outer = 0.5 * (R + R.transpose(0, 2, 1)) - cosine[:, None, None] * np.eye(3)  # (1 - cos) axis axis^T
    column = np.argmax(np.einsum("kii->ki", outer), axis=1)
    axis = np.take_along_axis(outer, column[:, None, None], axis=2)[..., 0]
    axis *= np.where(np.sum(axis * vector, axis=1) < 0.0, -1.0, 1.0)[:, None]
    axis /= np.maximum(np.linalg.norm(axis, axis=1), 1e-300)[:, None]
    small = cosine > 0.0
    scale = np.where(sine > 1e-8, angle / np.maximum(sine, 1e-300), 1.0)
    return np.where(small[:, None], vector * scale[:, None], axis * angle[:, None])


def _size(tree: Tree) -> float:
    return max(float(np.linalg.norm(link.home[:3, 3])) for link in tree.links) or 1.0


def _sizes(tree: Tree, size: float) -> Array:
    return np.where(tree.is_angle, 1.0, size)


def _goals(tree: Tree, goal: Any) -> Array:
    values = as_floats(goal)
    if np.all(np.isfinite(values)) and values.size and values.ndim:
        if values.shape[-2:] == (4, 4) and all(is_pose(H) for H in values.reshape(-1, 4, 4)):
            return values
        if values.shape[-1] == 7 and np.allclose(np.linalg.norm(values[..., :4], axis=-1), 1.0, atol=1e-3):
            rows = values.reshape(-1, 7)
            return np.array([pose_from_state(x).astype(float) for x in rows]).reshape(*values.shape[:-1], 4, 4)
        if values.shape[-1] == 3:
            return values
    fault = f"the goal has the shape {values.shape}" if values.ndim else f"the goal is {goal!r:.60}"
    if values.ndim and np.isnan(values).any():
        fault += " with NaN"
    elif values.shape[-2:] == (4, 4):
        fault = "the goal is not [[R, p], [0, 1]] with orthogonal R of determinant 1"
    elif values.shape[-1:] == (7,):
        fault = "the quaternion of the goal does not have the norm 1"
    cure = "a pose (4, 4) or (7,) with a unit quaternion, a point (3,), or rows of one of these"
    title = f"not a pose or point: {fault}"
    raise refusal("E338", title, cure, about=tree.name)


def _start(tree: Tree, start: Any, count: int) -> Array:
    lower, upper = tree.limits.T
    q = np.clip(0.0, lower, upper) if start is None else state_rows(tree, "the start", start)
    if q.ndim > 1 and q.size != count * tree.freedoms:
        cure = "one start, or one for each goal"
        raise refusal("E338", f"starts of shape {q.shape} do not match {plural(count, 'goal')}", cure, about=tree.name)
    if names := beyond_limits(tree, q):
        title = f"the start is beyond the limits of {', '.join(names[:6])}"
        raise refusal("E339", title, "a start within them: np.clip(q, *tree.limits.T)", about=tree.name)
    return np.broadcast_to(q.reshape(-1, tree.freedoms), (count, tree.freedoms))


def _spread(tree: Tree, count: int, size: float) -> Array:
    reach = np.where(tree.is_angle, np.pi, size)
    lower, upper = tree.limits.T
    lower = np.where(np.isfinite(lower), lower, np.minimum(upper, reach) - 2.0 * reach)
    upper = np.where(np.isfinite(upper), upper, lower + 2.0 * reach)
    return np.random.default_rng(0).uniform(lower, upper, (count, tree.freedoms))


def _near(tree: Tree, q: Array, start: Array) -> Array:
    turns = np.array(tree.is_angle) & ~np.isfinite(tree.limits).any(axis=1)
    for section, drive in zip(tree.sections.freedoms, tree.sections.drives, strict=True):
        if section.pitch or not section.turns or drive.factor % 1.0:  # a full turn of the coordinate changes the pose
            turns[drive.coordinate] = False
    return np.where(turns, q - 2.0 * np.pi * np.round((q - start) / (2.0 * np.pi)), q)
