"""Gradients of a step by the implicit function theorem: derivatives of the state after it by the state before it and parameters.

Active rows of the program stay active, and slipping contacts keep slipping:

    H dy - A' db = dA' b - dH y - df          forces balance
    R dy = dl - dA y - mu u . (dD y + dc) - s dmu          active contacts

with R = A + mu u . D for Coulomb's law, u the direction of slip (R is not symmetric), and R = A for the convex one. Degenerate
sets are solved by least squares. Derivatives of matrices and of the motion through a step come from the tape. At changes of mode
gradients jump; with the convex law a logarithmic barrier in place of the contacts smooths them (Pang 2023).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bondgraph.emit.kernel import Kernel
from bondgraph.emit.numpy import numpy_kernel
from bondgraph.stepping.problem import Steps
from bondgraph.stepping.step import StepResult, StepWorkspace
from bondgraph.tape.differentiate import SparseJacobian, jacobian
from bondgraph.tape.routine import Routine
from bondgraph.tape.specialise import substitute
from bondgraph.tracing.on_tape.values import scalars_of

_ACTIVE = 1e-9
"""Part of the largest multiplier from which a row is active."""
_SLIPS = 1e-6
"""Part of the length of a step from which a contact with an exact cone slips, by an interior-point method."""
_MAX_NEWTON = 100


@dataclass(frozen=True, eq=False)
class StepDerivatives:
    """Derivatives of a step's matrices and motion by states and parameters."""

    inputs: tuple[int, ...]
    """Indices of the parameters."""
    matrices: Kernel
    """Kernel (t, x, p, m, h) -> nonzero derivatives of the buffer, at `rows` and `columns`."""
    rows: np.ndarray
    columns: np.ndarray
    motion: Kernel
    """Kernel (t, x, p, m, h) -> nonzero derivatives of the state after a step with given velocities, at rows `to`, columns
    `by`."""
    to: np.ndarray
    by: np.ndarray

    def of_matrices(self, point: tuple[np.ndarray, ...], size: int) -> np.ndarray:
        """Return the derivatives of the buffer, (size, states + parameters)."""
        return self._dense(self.matrices, self.rows, self.columns, point, size)

    def of_motion(self, point: tuple[np.ndarray, ...]) -> np.ndarray:
        """Return the derivatives of the motion, (states, states + parameters)."""
        return self._dense(self.motion, self.to, self.by, point, len(point[1]))

    def _dense(
        self, kernel: Kernel, rows: np.ndarray, columns: np.ndarray, point: tuple[np.ndarray, ...], size: int
    ) -> np.ndarray:
        dense = np.zeros((size, len(point[1]) + len(self.inputs)))
        dense[rows, columns] = kernel(*point)
        return dense


@functools.lru_cache(maxsize=8)
def step_derivatives(steps: Steps, inputs: tuple[int, ...]) -> StepDerivatives:
    """Differentiate once, for evaluation at many steps; `inputs` are indices of parameters."""
    ground, values = steps.traced.context, steps.traced.values
    tape, blocks_in = ground.tape, ground.inputs
    variables = [*blocks_in["x"], *(blocks_in["p"][k] for k in inputs)]
    blocks = (*((name, len(blocks_in[name])) for name in ("t", "x", "p", "m")), ("h", 1))
    index = range(steps.layout.size) if steps.layout.index is None else steps.layout.index
    matrices = jacobian(steps.routine.outputs, variables)
    rates = [tape.scalar(scalar) for state in ground.system.states for scalar in scalars_of(values[state.rate])]
    t, h = blocks_in["t"][0], tape.inputs("h", 1)[0]

    def stage(at: Sequence, time) -> list:  # type: ignore[no-untyped-def,type-arg]
        replaced = {old.index: tape.scalar(new).index for old, new in zip(blocks_in["x"], at, strict=True)}
        return list(substitute(tape, rates, replaced | {t.index: tape.scalar(time).index}))

    x = list(blocks_in["x"])
    k1 = stage(x, t)
    k2 = stage([a + 0.5 * h * k for a, k in zip(x, k1, strict=True)], t + 0.5 * h)
    k3 = stage([a + 0.5 * h * k for a, k in zip(x, k2, strict=True)], t + 0.5 * h)
    k4 = stage([a + h * k for a, k in zip(x, k3, strict=True)], t + h)
    moved = [a + h / 6.0 * (b + 2.0 * (c + d) + e) for a, b, c, d, e in zip(x, k1, k2, k3, k4, strict=True)]
    motion = jacobian(moved, variables)

    def kernel(name: str, slopes: SparseJacobian) -> Kernel:
        return numpy_kernel(Routine(name, tape, blocks, slopes.values))

    return StepDerivatives(
        inputs,
        kernel("step_slopes", matrices),
        np.array([index[row] for row in matrices.rows], dtype=int),
        np.array(matrices.columns, dtype=int),
        kernel("motion_slopes", motion),
        np.array(motion.rows, dtype=int),
        np.array(motion.columns, dtype=int),
    )


def gradients(
    steps: Steps, workspace: StepWorkspace, step: StepResult, inputs: tuple[int, ...], smoothing: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Return d(state after)/d(state before) (n, n) and d(state after)/d(parameters) (n, inputs) of a step, repeated in
    `workspace`."""
    slopes, layout, n = step_derivatives(steps, inputs), steps.layout, len(step.before)
    p = np.ascontiguousarray(step.p[: steps.matrices.sizes[2]])
    t, h = np.array([step.t]), np.array([step.h])
    rest, moving, written_at = step.before.copy(), step.before.copy(), workspace.start.copy()
    rest[layout.velocity_indices], moving[layout.velocity_indices] = 0.0, step.dq / step.h
    to_rest = slopes.of_motion((t, rest, p, step.m, h))
    to_end = slopes.of_motion((t, moving, p, step.m, h))
    # derivatives of the state at which the program was written: after the sources moved, with the velocities of before
    arrived = to_rest.copy()
    arrived[:, layout.velocity_indices] = 0.0
    arrived[layout.velocity_indices] = 0.0
    arrived[layout.velocity_indices, layout.velocity_indices] = 1.0
    raw = slopes.of_matrices((t + step.h, written_at, p, step.m, h), layout.size)
    buffer = raw[:, :n] @ arrived
    buffer[:, n:] += raw[:, n:]
    dy = _displaced(workspace, step, buffer, smoothing)
    after = to_end.copy()
    by_velocity = to_end[:, layout.velocity_indices] / step.h
    after[:, layout.velocity_indices] = 0.0
    after += by_velocity @ dy
    return after[:, :n], after[:, n:]


def _displaced(workspace: StepWorkspace, step: StepResult, buffer: np.ndarray, smoothing: float) -> np.ndarray:
    """Return d(dq) by all variables (unknowns, variables), from the derivatives of the program's numbers."""
    layout, count = workspace.layout, buffer.shape[1]

    def part(name: str) -> np.ndarray:
        start, shape = layout.fields[name]
        return buffer[start : start + int(np.prod(shape))].reshape(*shape, count)

    y, H, A = step.dq, workspace.H, workspace.A
    dH, df, dA, dlower = part("H"), part("f"), part("A"), part("lower")
    lower, bounds = workspace.bounds_with_slip(workspace.s), dlower.copy()
    R = A.copy()
    if workspace.settings.friction == "coulomb" and len(workspace.drift):
        u = _directions(workspace)
        slipping = part("slip").transpose(0, 2, 1) @ y + part("drift")  # (slips, variables)
        for k, cone in enumerate(layout.cones):
            slips = slice(cone.slip, cone.slip + cone.slips)
            rows = np.flatnonzero(workspace.slip_weights[:, k])
            weight = workspace.slip_weights[rows, k][:, None]  # -mu
            R[rows] -= weight * (u[slips] @ workspace.slip[slips])
            bounds[rows] += weight * (u[slips] @ slipping[slips]) - workspace.s[k] * part("mu")[k]
    equal = len(layout.constraints)
    if smoothing > 0.0:
        return _smoothed(workspace, step, (dH, df, dA, dlower, lower), smoothing)
    pressing = np.abs(step.multipliers) > _ACTIVE * np.max(np.abs(step.multipliers), initial=0.0)
    pressing[len(pressing) - equal :] = True
    forces = np.einsum("ijv,i->jv", dA, step.multipliers) - np.einsum("ijv,j->iv", dH, y) - df
    rows = bounds[pressing] - np.einsum("ijv,j->iv", dA[pressing], y)
    active = int(pressing.sum())
    corner = np.zeros((active, active))
    number = np.cumsum(pressing) - 1
    for cone in layout.cones:
        s = float(np.linalg.norm(workspace.along[cone.slip : cone.slip + cone.slips]))
        if not (cone.exact and pressing[cone.first] and s > _SLIPS * workspace.length):
            continue
        # a slipping contact is on the edge of its cone: friction opposes the slip, and turns with it
        slips, first = slice(cone.slip, cone.slip + 2), cone.first
        u, sliding = workspace.along[slips] / s, slice(first + 1, first + 3)
        if not np.all(pressing[sliding]):
            continue
        n, both = number[first], slice(number[first] + 1, number[first] + 3)
        turning = step.multipliers[first] / s * (np.eye(2) - np.outer(u, u))
        moved = part("slip").transpose(0, 2, 1)[slips] @ y + part("drift")[slips]
        if workspace.settings.friction == "coulomb":
            left, right = A[first], dlower[first] - dA[first].T @ y
        else:
            left = A[first] - u @ A[sliding]
            edge = np.einsum("ijv,j->iv", dA[sliding], y)
            right = dlower[first] - dA[first].T @ y - u @ (dlower[sliding] - edge)
        R[first], rows[n] = left, right
        R[sliding], rows[both] = turning @ workspace.slip[slips], -turning @ moved
        corner[both, both], corner[both, n] = np.eye(2), u
    matrix = np.block([[H, -A[pressing].T], [R[pressing], corner]])
    size = np.max(np.abs(matrix), axis=1, keepdims=True)
    size[size == 0.0] = 1.0
    solution = np.linalg.lstsq(matrix / size, np.concatenate([forces, rows]) / size, rcond=1e-12)[0]
    return np.asarray(solution[: len(y)])


def _directions(workspace: StepWorkspace) -> np.ndarray:
    """Return the derivative of each contact's slip length by its slips, (slips,); 0 where it sticks."""
    u = np.zeros(len(workspace.along))
    for cone, s in zip(workspace.layout.cones, workspace.s, strict=True):
        slips = slice(cone.slip, cone.slip + cone.slips)
        if cone.slips and s > 10.0 * _ACTIVE * np.max(workspace.s):
            along = workspace.along[slips]
            u[slips] = along / s if cone.exact else cone.facets[int(np.argmax(cone.facets @ along))]
    return u


def _smoothed(workspace: StepWorkspace, step: StepResult, slopes: tuple[np.ndarray, ...], kappa: float) -> np.ndarray:
    """Return d(dq) with a logarithmic barrier: min 1/2 y'H y + f'y - kappa sum of log(A y - lower) (Pang 2023)."""
    dH, df, dA, dlower, lower = slopes
    keep = np.isfinite(lower)
    H, f, A, lower = workspace.H, workspace.f, workspace.A[keep], lower[keep]
    y = _interior_point(A, lower, step.dq)
    for _ in range(_MAX_NEWTON):
        room = A @ y - lower
        slope = H @ y + f - kappa * (A / room[:, None]).sum(axis=0)
        bend = H + kappa * (A / room[:, None] ** 2).T @ A
        step_y = -np.linalg.lstsq(bend, slope, rcond=None)[0]
        shrinks = -(A @ step_y) / room
        y = y + min(1.0, 0.9 / max(float(np.max(shrinks, initial=0.0)), 1e-300)) * step_y
        if np.max(np.abs(A @ step_y) / room, initial=0.0) < 1e-12:
            break
    room = A @ y - lower
    bend = H + kappa * (A / room[:, None] ** 2).T @ A
    d_room = np.einsum("ijv,j->iv", dA[keep], y) - dlower[keep]
    right = np.einsum("ijv,j->iv", dH, y) + df
    right = right - kappa * np.einsum("ijv,i->jv", dA[keep], 1.0 / room) + kappa * (A / room[:, None] ** 2).T @ d_room
    return np.asarray(-np.linalg.lstsq(bend, right, rcond=None)[0])


def _interior_point(A: np.ndarray, lower: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return a displacement near y at which all contacts are open."""
    from scipy.optimize import linprog

    rows, n = A.shape
    room = float(np.max(np.abs(A @ y), initial=0.0) + np.max(np.abs(lower), initial=0.0)) or 1.0
    cost = np.concatenate([np.zeros(n), [-1.0]])
    sides = [(value - 10.0 * room, value + 10.0 * room) for value in y]
    solution = linprog(cost, A_ub=np.column_stack([-A, np.ones(rows)]), b_ub=-lower, bounds=[*sides, (0.0, room)])
    return np.asarray(solution.x[:n])
