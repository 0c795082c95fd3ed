"""Time stepper of a graph with rigid contacts: `stepper`, with steps, runs, a report, and gradients of steps.

Gradients are derivatives of the state after a step with respect to the state before it and to parameters, by the implicit
function theorem, for the quadratic program min 1/2 y'H y + f'y with A y >= l, multipliers b, and slips D y + c of length s.
Active rows stay active, and slipping contacts keep slipping:

    H dy - A' db = dA' b - dH y - df          forces balance
    R dy = dl - dA y - mu u . (dD y + dc) - s dmu          active contacts

with R = A + mu u . D for Coulomb's law, u the direction of slip (R is not symmetric), and R = A for the convex law. Degenerate
sets are solved by least squares. Derivatives of matrices and of the motion through a step come from the tape. Gradients jump at
changes of mode; with the convex law, replacing the contacts by a logarithmic barrier smooths the gradients (Pang 2023).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.compile.points import point_of
from bondgraph.compile.state_names import pick_inputs
from bondgraph.emit.kernel import Kernel
from bondgraph.emit.numpy import numpy_kernel
from bondgraph.errors import ModelError, no_model, refusal
from bondgraph.graph.builder import Graph
from bondgraph.model import laws
from bondgraph.model.model import Model
from bondgraph.model.ops import Frozen
from bondgraph.output.short_repr import short_repr
from bondgraph.run.bound import Bound
from bondgraph.run.results.result import Result
from bondgraph.run.settings import number
from bondgraph.stepping.diagnostics import report, step_problem
from bondgraph.stepping.problem import MODES, Steps, compiled_steps, refuse_jumps
from bondgraph.stepping.quadratic.candidates import Candidates, Shapes, check_facets
from bondgraph.stepping.quadratic.matrices import StepOptions
from bondgraph.stepping.quadratic.solver import SOLVED
from bondgraph.stepping.run import forces_of, modes_of, run_steps
from bondgraph.stepping.step import StepResult, StepSettings, StepWorkspace, carry_out_events
from bondgraph.tape.differentiate import SparseJacobian, jacobian
from bondgraph.tape.routine import Routine
from bondgraph.tape.specialise import substitute
from bondgraph.tracing.on_tape.values import scalars_of

_ACTIVE = 1e-9
"""Fraction of the largest multiplier above which a row is active."""
_SLIPS = 1e-6
"""Slip, as a fraction of a step's length scale, above which a contact with an exact cone slips: interior-point solutions are
inexact."""
_MAX_NEWTON = 100


@dataclass(frozen=True, eq=False)
class StepDerivatives:
    inputs: tuple[int, ...]
    matrices: Kernel
    """Kernel (t, x, p, m, h) -> nonzero derivatives of the buffer, at `rows` and `columns`."""
    rows: np.ndarray
    columns: np.ndarray
    motion: Kernel
    """Kernel (t, x, p, m, h) -> nonzero derivatives of the state after a step with given velocities, at `motion_rows` and
    `motion_columns`."""
    motion_rows: np.ndarray
    motion_columns: np.ndarray

    def of_matrices(self, point: tuple[np.ndarray, ...], size: int) -> np.ndarray:
        """Return the derivatives of the buffer, (size, states + parameters)."""
        return self._dense(self.matrices, self.rows, self.columns, point, size)

    def of_motion(self, point: tuple[np.ndarray, ...]) -> np.ndarray:
        """Return the derivatives of the motion, (states, states + parameters)."""
        return self._dense(self.motion, self.motion_rows, self.motion_columns, point, len(point[1]))

    def _dense(
        self, kernel: Kernel, rows: np.ndarray, columns: np.ndarray, point: tuple[np.ndarray, ...], size: int
    ) -> np.ndarray:
        dense = np.zeros((size, len(point[1]) + len(self.inputs)))
        dense[rows, columns] = kernel(*point)
        return dense


@functools.lru_cache(maxsize=8)
def step_derivatives(steps: Steps, inputs: tuple[int, ...]) -> StepDerivatives:
    """Compile the derivatives of a step; `inputs` holds indices of parameters."""
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
    """Return d(state after)/d(state before) (n, n) and d(state after)/d(parameters) (n, inputs) of a step that
    `workspace` has just repeated."""
    slopes, layout, n = step_derivatives(steps, inputs), steps.layout, len(step.before)
    p = np.ascontiguousarray(step.p[: steps.matrices.sizes[2]])
    t, h = np.array([step.t]), np.array([step.h])
    rest, moving, written_at = step.before.copy(), step.before.copy(), workspace.start.copy()
    rest[layout.velocity_indices], moving[layout.velocity_indices] = 0.0, step.dq / step.h
    to_rest = slopes.of_motion((t, rest, p, step.m, h))
    to_end = slopes.of_motion((t, moving, p, step.m, h))
    # derivatives of the state at which the quadratic program was written: after the sources moved, with the previous velocities
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
    """Return the derivatives of dq with respect to all variables, (unknowns, variables), from the derivatives of the quadratic
    program's entries."""
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
    size = np.max(np.abs(matrix), axis=1, keepdims=True, initial=0.0)
    size[size == 0.0] = 1.0
    solution = np.linalg.lstsq(matrix / size, np.concatenate([forces, rows]) / size, rcond=1e-12)[0]
    return np.asarray(solution[: len(y)])


def _directions(workspace: StepWorkspace) -> np.ndarray:
    """Return the derivative of each contact's slip length with respect to its slips, (slips,), which is 0 where the contact
    sticks."""
    u = np.zeros(len(workspace.along))
    for cone, s in zip(workspace.layout.cones, workspace.s, strict=True):
        slips = slice(cone.slip, cone.slip + cone.slips)
        if cone.slips and s > 10.0 * _ACTIVE * np.max(workspace.s):
            along = workspace.along[slips]
            u[slips] = along / s if cone.exact else cone.facets[int(np.argmax(cone.facets @ along))]
    return u


def _smoothed(workspace: StepWorkspace, step: StepResult, slopes: tuple[np.ndarray, ...], kappa: float) -> np.ndarray:
    """Return derivatives of dq with a logarithmic barrier: min 1/2 y'H y + f'y - kappa sum of log(A y - lower) (Pang 2023)."""
    dH, df, dA, dlower, lower = slopes
    keep = np.isfinite(lower)
    H, f, A, lower = workspace.H, workspace.f, workspace.A[keep], lower[keep]
    y = _interior_point(A, lower, step.dq)
    for _ in range(_MAX_NEWTON):
        slack = A @ y - lower
        gradient = H @ y + f - kappa * (A / slack[:, None]).sum(axis=0)
        hessian = H + kappa * (A / slack[:, None] ** 2).T @ A
        step_y = -np.linalg.lstsq(hessian, gradient, rcond=None)[0]
        shrinks = -(A @ step_y) / slack
        y = y + min(1.0, 0.9 / max(float(np.max(shrinks, initial=0.0)), 1e-300)) * step_y
        if np.max(np.abs(A @ step_y) / slack, initial=0.0) < 1e-12:
            break
    slack = A @ y - lower
    hessian = H + kappa * (A / slack[:, None] ** 2).T @ A
    d_slack = np.einsum("ijv,j->iv", dA[keep], y) - dlower[keep]
    right = np.einsum("ijv,j->iv", dH, y) + df
    right = right - kappa * np.einsum("ijv,i->jv", dA[keep], 1.0 / slack) + kappa * (A / slack[:, None] ** 2).T @ d_slack
    return np.asarray(-np.linalg.lstsq(hessian, right, rcond=None)[0])


def _interior_point(A: np.ndarray, lower: np.ndarray, y: np.ndarray) -> np.ndarray:
    from scipy.optimize import linprog

    rows, n = A.shape
    limit = float(np.max(np.abs(A @ y), initial=0.0) + np.max(np.abs(lower), initial=0.0)) or 1.0
    cost = np.concatenate([np.zeros(n), [-1.0]])
    sides = [(value - 10.0 * limit, value + 10.0 * limit) for value in y]
    solution = linprog(cost, A_ub=np.column_stack([-A, np.ones(rows)]), b_ub=-lower, bounds=[*sides, (0.0, limit)])
    return np.asarray(solution.x[:n])


INERTIA = ("ignored", "damped", "full")
FRICTION = ("convex", "coulomb")


def stepper(
    graph: Graph | Model,
    inertia: str = "ignored",
    friction: str = "coulomb",
    *,
    facets: int | str | None = None,
    reach: float = math.inf,
    restitution: float | Mapping[str, float] = 0.0,
    candidates: Candidates | None = None,
    backend: str = "auto",
) -> Stepper:
    """Compile a graph for time stepping with rigid contacts.

    Parameters
    ----------
    graph : dynamic graph with rigid contacts.
    inertia : "ignored" (quasi-static: forces balance at the end of each step), "damped" (velocities start at zero in each step,
        which determines motions that no spring holds), "full" (velocities continue: Stewart and Trinkle's and Moreau's time
        stepping).
    friction : "coulomb", or "convex" (Anitescu 2006: one quadratic program; sliding bodies lift off by mu v h).
    facets : number of facets of a cone in space, 4, 8 (default), 16 or 32; or "cone" for an exact cone. In a plane there are two.
    reach : largest gap of contacts that are taken into account, m; a step in which a contact moves further than this ends the
        run.
    restitution : coefficient of restitution with inertia="full": one number for all contacts, or numbers by contact.
    candidates : search for further contacts between bodies at every step, from their poses; by default between the shapes that
        may touch anywhere (`Model.collisions`), within `reach` or, if that is infinite, the smallest half width of a shape.
    backend : as for `compile_model`.

    Raises E501 for invalid settings; `ModelError` E100 for anything but a graph, E502 for unsupported elements, E487 for rolling
    or spinning friction of collisions.
    """
    if not isinstance(graph, (Graph, Model)):
        raise no_model(graph, "stepper", "graph")
    model = graph.freeze() if isinstance(graph, Graph) else graph
    for what, value, choices in (("inertia", inertia, INERTIA), ("friction", friction, FRICTION)):
        if value not in choices:
            raise refusal("E501", f"{what} cannot be {value!r}", f"one of {', '.join(choices)}", about=model.name, places=())
    chosen = check_facets(8 if facets is None else facets, model.name)
    far = number(reach, "E501", "reach")
    if not far > 0.0:
        raise refusal("E501", f"reach cannot be {far!r}", "a positive length", about=model.name, places=())
    if any(each.rolling_friction or each.spinning_friction for each in model.collisions):
        title = "this stepper does not support rolling or spinning friction of collisions"
        raise refusal(
            "E487",
            title,
            "collisions(...) without rolling_friction and spinning_friction",
            "free_body_stepper(graph) for free bodies",
            about=model.name,
        )
    if candidates is not None and not (callable(candidates) and hasattr(candidates, "bodies")):
        cure = "an object with `bodies` that returns `Pairs` when called with their poses"
        raise refusal("E501", f"candidates cannot be {candidates!r:.60}", cure, about=model.name, places=())
    if candidates is None and model.collisions:
        candidates = Shapes(model.collisions, far)
    bodies = () if candidates is None else tuple(candidates.bodies)
    options = StepOptions(inertia, chosen, _by_contact(model, restitution), bodies)
    return Stepper(compiled_steps(model, options, backend), StepSettings(friction, far, candidates))


def _by_contact(model: Model, restitution: float | Mapping[str, float]) -> dict[str, float]:
    paths = [contact.path for contact in model.contacts]
    values = dict(restitution) if isinstance(restitution, Mapping) else dict.fromkeys(paths, restitution)
    for path, value in values.items():
        if path not in paths:
            cure = f"one of {', '.join(paths)}" if paths else "stepper(...) without restitution=; collisions(...) has its own"
            raise refusal("E501", f'there is no contact "{path}"', cure, about=model.name, places=())
        if not 0.0 <= number(value, "E501", f'restitution of "{path}"') <= 1.0:
            title = f'restitution of "{path}" cannot be {value!r}'
            raise refusal("E501", title, "a number from 0 to 1", about=model.name, places=())
    return {path: float(value) for path, value in values.items()}


@short_repr
@dataclass(frozen=True, eq=False)
class Stepper(Frozen):
    """Graph compiled for time stepping (`stepper`)."""

    steps: Steps
    settings: StepSettings

    def simulate(
        self,
        t_end: float,
        *,
        step: float,
        parameters: Mapping[str, Any] | None = None,
        initial: Mapping[str, Any] | None = None,
        progress: bool = True,
    ) -> Result:
        """Run from 0 to t_end in steps of `step`, s, which also end at jumps and kinks of sources; a step without a solution ends
        the run. Raises E501 for invalid times."""
        workspace, p = self._workspace(parameters, initial)
        return run_steps(self.steps, workspace, self._times(t_end, step, p), p, progress)

    def step(
        self,
        state: StepResult | np.ndarray | Mapping[str, Any] | None = None,
        *,
        h: float,
        t: float = 0.0,
        parameters: Mapping[str, Any] | None = None,
    ) -> StepResult:
        """Take one step of h seconds.

        Parameters
        ----------
        state : an earlier step, to continue from its end; a state (n,); start values by name; or None for the start. Charts of
            surfaces and other automata with a positive guard change before the step.
        t : start of the step, s; ignored after an earlier step, which is continued at its end.
        parameters : values by name, instead of the model's; None for those of the earlier step, if any.

        Raises E501 for an invalid h or t; `ModelError` E252 for a state of the wrong size, E594 for parameters of a source that
        moves an inertia on which the step acts too, E510 to E515 for a step without a
        solution, E320 for a contact beyond an edge.
        """
        workspace, p, begin = self._at(state, t, parameters)
        return self._advance(workspace, begin, number(h, "E501", "h"), p)

    def gradients(
        self, step: StepResult, inputs: Sequence[str] | None = None, *, smoothing: float = 0.0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return derivatives of the state after a step with respect to the state before it, (n, n), and to parameters, (n,
        inputs), from the implicit function theorem; they jump where a contact changes its mode.

        Parameters
        ----------
        inputs : names of scalar parameters or of components ("push.value[2]"); by default the parameters of all Sf.
        smoothing : energy (J) of a logarithmic barrier that replaces the contacts; 0 for no smoothing.

        Raises `ModelError` E250 for an unknown parameter, E505 for a stepper with candidates, or for smoothing without the convex
        law; E501 for invalid smoothing.
        """
        convex, has_candidates = self.settings.friction == "convex", self.settings.candidates is not None
        if has_candidates or (number(smoothing, "E501", "smoothing") > 0.0 and not convex):
            title, cure = "only the convex law of friction can be smoothed", 'friction="convex"'
            if has_candidates:
                title, cure = "a step with candidates has no gradients", "contacts of the graph instead of candidates"
            raise refusal("E505", title, cure, about=self.steps.model.name, places=())
        workspace = StepWorkspace(self.steps, self.settings, step.p, step.before, step.m)
        if not convex:
            workspace.s = step.slips.copy()
        repeated = self._advance(workspace, step.t, step.h, step.p)
        if inputs is None:
            sources = [
                path for path, e in self.steps.model.elements.items() if isinstance(e.law, laws.Source) and e.law.gives == "flow"
            ]
            inputs = [name for name in self.steps.compiled.system.parameters if name.rpartition(".")[0] in sources]
        _, indices = pick_inputs(self.steps.traced, inputs)
        return gradients(self.steps, workspace, repeated, tuple(indices), smoothing)

    def report(self) -> str:
        """Describe a step: its unknowns and how many are held, its contacts with their friction, and its constraints."""
        workspace, _, _ = self._at(None, 0.0, None)
        return report(self.steps, workspace)

    def _at(
        self, state: StepResult | np.ndarray | Mapping[str, Any] | None, t: float, parameters: Mapping[str, Any] | None
    ) -> tuple[StepWorkspace, np.ndarray, float]:
        if isinstance(state, StepResult):
            p = self.steps.compiled.parameters(parameters) if parameters else state.p
            refuse_jumps(self.steps, state.p, p)
            workspace = StepWorkspace(self.steps, self.settings, p, state.state, state.m.copy())
            workspace.s = state.slips.copy()
            return self._after_events(workspace, p, state.t + state.h)
        named = state if isinstance(state, Mapping) else None
        workspace, p = self._workspace(parameters, named)
        if state is not None and named is None:
            point = point_of(self.steps.compiled, t, np.asarray(state))
            workspace.x[:] = point.x
        return self._after_events(workspace, p, number(t, "E501", "t"))

    def _after_events(self, workspace: StepWorkspace, p: np.ndarray, t: float) -> tuple[StepWorkspace, np.ndarray, float]:
        if self.steps.has_guards:
            carry_out_events(Bound(self.steps.compiled.program, p), workspace, t)
        return workspace, p, t

    def _advance(self, workspace: StepWorkspace, t: float, h: float, p: np.ndarray) -> StepResult:
        if not 0.0 < h < math.inf:
            raise refusal("E501", f"a step cannot take {h!r} s", "a positive step size", about=self.steps.model.name, places=())
        before = workspace.x.copy()
        solution = workspace.advance(t, h)
        if solution.outcome != SOLVED:
            raise ModelError(self.steps.model.name, [step_problem(self.steps, workspace, solution)])
        multipliers = solution.multipliers
        normal, friction = forces_of(workspace, multipliers[None, :])
        modes = modes_of(workspace, normal, workspace.along[None, : workspace.sums.shape[1]])
        return StepResult(
            t,
            h,
            before,
            workspace.x.copy(),
            solution.y,
            multipliers,
            normal[0],
            friction[0],
            tuple(MODES[k] for k in modes[0]),
            workspace.programs,
            workspace.lengths(workspace.along),
            p,
            workspace.m.copy(),
        )

    def _workspace(
        self, parameters: Mapping[str, Any] | None, initial: Mapping[str, Any] | None
    ) -> tuple[StepWorkspace, np.ndarray]:
        x, m, p = self.steps.compiled.starting_point(initial, parameters)
        for slot, state in self.steps.forced.items():
            m[slot] = state
        return StepWorkspace(self.steps, self.settings, p, x, m), p

    def _times(self, t_end: float, step: float, p: np.ndarray) -> list[float]:
        end, h = number(t_end, "E501", "t_end"), number(step, "E501", "step")
        if not (0.0 < h < math.inf and 0.0 < end < math.inf):
            title = f"{end!r} s cannot be divided into steps of {h!r} s"
            raise refusal("E501", title, "a positive end and step size", about=self.steps.model.name, places=())
        times = np.append(np.arange(math.ceil(end / h * (1.0 - 1e-12))) * h, end)
        for _, first, period in Bound(self.steps.compiled.program, p).breaks():
            count = math.ceil((end - first) / period) if 0.0 < period < math.inf else 1
            breaks = np.array([first + k * period if k else first for k in range(count)])
            breaks = breaks[(breaks > 0.0) & (breaks < end)]
            after = np.searchsorted(times, breaks)
            distance = np.minimum(breaks - times[after - 1], times[after] - breaks)
            times = np.sort(np.concatenate([times, breaks[distance > 1e-9 * h]]))
        return times.tolist()


def quasistatic(graph: Graph | Model, t_end: float, *, step: float, **settings: Any) -> Result:
    """Run a graph quasi-statically from 0 to t_end in steps of `step`, s: `stepper(graph, ...).simulate(...)`."""
    runs = {name: settings.pop(name) for name in ("parameters", "initial", "progress") if name in settings}
    return stepper(graph, **settings).simulate(t_end, step=step, **runs)
