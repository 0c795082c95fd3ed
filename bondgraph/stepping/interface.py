"""Time stepper of a graph with rigid contacts: `stepper`, its steps, runs, gradients and report."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.compile.points import point_of
from bondgraph.compile.state_names import pick_inputs
from bondgraph.errors import ModelError, no_model, refusal
from bondgraph.graph.builder import Graph
from bondgraph.model import laws
from bondgraph.model.model import Model
from bondgraph.run.bound import Bound
from bondgraph.run.results.result import Result
from bondgraph.run.settings import number
from bondgraph.stepping.diagnostics import explained, report
from bondgraph.stepping.gradients import gradients
from bondgraph.stepping.problem import MODES, Steps, compiled_steps
from bondgraph.stepping.quadratic.candidates import Candidates, Shapes, check_facets
from bondgraph.stepping.quadratic.matrices import StepOptions
from bondgraph.stepping.quadratic.solver import SOLVED
from bondgraph.stepping.run import forces_of, modes_of, run_steps
from bondgraph.stepping.step import StepResult, StepSettings, StepWorkspace

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
    graph : the dynamic graph, with its contacts; the laws of these (springs, switches) are left out.
    inertia : "ignored" (quasi-static: forces balance at the end of each step), "damped" (velocities begin at zero in each step,
        which determines motions that no spring holds), "full" (velocities continue: Stewart and Trinkle's and Moreau's time
        stepping).
    friction : "coulomb", or "convex" (Anitescu 2006: one quadratic program; sliding bodies lift off by mu v h).
    facets : of a cone in space, 4, 8 (default), 16 or 32; or "cone", exact. In a plane there are two.
    reach : contacts with a larger gap are left out, and a step in which a contact within reach moves farther ends the run, m.
    restitution : with "full", of all contacts or by contact.
    candidates : search for further contacts between bodies at every step, from their poses; by default that of the shapes that
        may touch anywhere (`Model.collisions`), within `reach`, or the smallest half width of a shape.
    backend : as of `compile_model`.

    Raises `ModelError` E100 for anything but a graph, E501 for invalid settings, E502 for unsupported elements.
    """
    if not isinstance(graph, (Graph, Model)):
        raise no_model(graph, "stepper")
    model = graph.freeze() if isinstance(graph, Graph) else graph
    for what, value, choices in (("inertia", inertia, INERTIA), ("friction", friction, FRICTION)):
        if value not in choices:
            raise refusal("E501", f"{what} cannot be {value!r}", f"one of {', '.join(choices)}", about=model.name, places=())
    chosen = check_facets(8 if facets is None else facets, model.name)
    far = number(reach, "E501", "reach")
    if not far > 0.0:
        raise refusal("E501", f"reach cannot be {far!r}", "a length above zero", about=model.name, places=())
    ignored = frozenset(state for contact in model.contacts for state in contact.ignored)
    if candidates is None and model.collisions:
        candidates = Shapes(model.collisions, far)
    bodies = () if candidates is None else tuple(candidates.bodies)
    options = StepOptions(inertia, chosen, _by_contact(model, restitution), ignored, bodies)
    return Stepper(compiled_steps(model, options, backend), StepSettings(friction, far, candidates))


def _by_contact(model: Model, restitution: float | Mapping[str, float]) -> dict[str, float]:
    """Return the restitution of each contact; E501 for unknown contacts and values outside 0 to 1."""
    paths = [contact.path for contact in model.contacts]
    values = dict(restitution) if isinstance(restitution, Mapping) else dict.fromkeys(paths, restitution)
    for path, value in values.items():
        if path not in paths:
            why = f"contacts: {', '.join(paths) or 'none'}"
            raise refusal("E501", f'there is no contact "{path}"', "one of these", about=model.name, why=why, places=())
        if not 0.0 <= number(value, "E501", f'restitution of "{path}"') <= 1.0:
            title = f'restitution of "{path}" cannot be {value!r}'
            raise refusal("E501", title, "a number from 0 to 1", about=model.name, places=())
    return {path: float(value) for path, value in values.items()}


@dataclass(frozen=True, eq=False)
class Stepper:
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
        """Run from 0 to t_end in steps of `step` (s), which also end at jumps and kinks of sources."""
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
        state : an earlier step, to continue from its end; a state (n,); start values by name; None: the start.
        t : its start, s (after an earlier step: at its end).
        parameters : changes by name.

        Raises `ModelError` E252 for a state that does not fit, E510 to E515 where the step has no solution.
        """
        workspace, p, begin = self._at(state, t, parameters)
        return self._advance(workspace, begin, number(h, "E501", "h"), p)

    def gradients(
        self, step: StepResult, inputs: Sequence[str] | None = None, *, smoothing: float = 0.0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return derivatives of the state after a step by the state before it, (n, n), and by parameters, (n, inputs), from the
        implicit function theorem; they jump where a contact changes its mode.

        Parameters
        ----------
        inputs : names of parameters, one number each or components ("push.value[2]"); those of all Sf by default.
        smoothing : energy (J) of a logarithmic barrier in place of the contacts; 0: none.

        Raises `ModelError` E250 for an unknown parameter, E505 with candidates, and for smoothing without the convex law.
        """
        convex, has_candidates = self.settings.friction == "convex", self.settings.candidates is not None
        if has_candidates or (smoothing > 0.0 and not convex):
            title = (
                "a step with candidates has no gradients" if has_candidates else "only the convex law of friction can be smoothed"
            )
            cure = "contacts of the graph alone" if has_candidates else 'friction="convex"'
            raise refusal("E505", title, cure, about=self.steps.model.name, places=())
        workspace = StepWorkspace(self.steps, self.settings, step.p, step.before, step.m)
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
        """Describe a step: unknowns, which of them are held, contacts with their friction, constraints."""
        workspace, _, _ = self._at(None, 0.0, None)
        return report(self.steps, workspace)

    def _at(
        self, state: StepResult | np.ndarray | Mapping[str, Any] | None, t: float, parameters: Mapping[str, Any] | None
    ) -> tuple[StepWorkspace, np.ndarray, float]:
        if isinstance(state, StepResult):
            p = self.steps.compiled.parameters(parameters) if parameters else state.p
            workspace = StepWorkspace(self.steps, self.settings, p, state.state, state.m.copy())
            workspace.s = state.slips.copy()
            return workspace, p, state.t + state.h
        named = state if isinstance(state, Mapping) else None
        workspace, p = self._workspace(parameters, named)
        if state is not None and named is None:
            point = point_of(self.steps.compiled, t, np.asarray(state))
            workspace.x[:] = point.x
        return workspace, p, float(t)

    def _advance(self, workspace: StepWorkspace, t: float, h: float, p: np.ndarray) -> StepResult:
        if not 0.0 < h < math.inf:
            raise refusal("E501", f"a step cannot take {h!r} s", "a time above zero", about=self.steps.model.name, places=())
        before = workspace.x.copy()
        solution = workspace.advance(t, h)
        if solution.outcome != SOLVED:
            raise ModelError(self.steps.model.name, [explained(self.steps, workspace, solution)])
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
            workspace.s.copy(),
            p,
            workspace.m.copy(),
        )

    def _workspace(
        self, parameters: Mapping[str, Any] | None, initial: Mapping[str, Any] | None
    ) -> tuple[StepWorkspace, np.ndarray]:
        compiled = self.steps.compiled
        (x, m), p = compiled.initial(initial, parameters), compiled.parameters(parameters)
        for slot, state in self.steps.forced.items():
            m[slot] = state
        return StepWorkspace(self.steps, self.settings, p, x, m), p

    def _times(self, t_end: float, step: float, p: np.ndarray) -> list[float]:
        end, h = number(t_end, "E501", "t_end"), number(step, "E501", "step")
        if not (0.0 < h < math.inf and 0.0 < end < math.inf):
            title = f"{end!r} s cannot be gone in steps of {h!r} s"
            raise refusal("E501", title, "an end and a step above zero", about=self.steps.model.name, places=())
        count = math.ceil(end / h * (1.0 - 1e-12))
        times = [k * h for k in range(count)] + [end]
        within = 1e-9 * h
        for _, first, period in Bound(self.steps.compiled.program, p).breaks():
            at = first
            while at < end:
                if at > 0.0 and min(abs(at - time) for time in times) > within:
                    times.append(at)
                if not math.isfinite(period):
                    break
                at += period
        return sorted(times)


def quasistatic(graph: Graph | Model, t_end: float, *, step: float, **settings: Any) -> Result:
    """Run a graph quasi-statically from 0 to t_end in steps of `step`, s: `stepper(graph, ...).simulate(...)`."""
    runs = {name: settings.pop(name) for name in ("parameters", "initial", "progress") if name in settings}
    return stepper(graph, **settings).simulate(t_end, step=step, **runs)
