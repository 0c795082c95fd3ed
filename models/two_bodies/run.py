"""Two bodies in contact, run: compilation, simulation, and what is worth writing down about it."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from screwbond.models.bodies import Body
from screwbond.models.contacts import ContactWarning, UntrackedContact, attach_contact, contact, find_untracked_contact
from screwbond.models.contacts.trajectory import Arrays, contact_intervals, contact_trajectory
from screwbond.models.gravity import attach_central_gravity, central_gravity
from screwbond.models.studies.runs import cost_summary, end_summary, sample_times, wall_times
from screwbond.models.two_bodies.body_fields import MOTIONS
from screwbond.models.two_bodies.scenario import Scenario

from bondgraph import Compiled, Graph, compile_model
from bondgraph.errors import Problem, caller_place, raise_if_any
from bondgraph.output.short_repr import short_repr
from bondgraph.run.results.result import Result
from screws.renamed import answer_old_names
from screws.surfaces import Surface

CONTACT = "contact"
"""Name of the contact in the graph."""


def two_body_graph(scenario: Scenario) -> Graph:
    """The graph of a scenario: bodies `<surface> 1` and `<surface> 2`, `contact`, and `gravity` where it is central."""
    graph = Graph(scenario.name)
    named = zip(body_names(scenario), (scenario.body1, scenario.body2), strict=True)
    body1, body2 = (MOTIONS[spec.motion].body(name, spec, scenario.gravity.vector) for name, spec in named)
    law = scenario.contact
    touching = contact(
        CONTACT,
        body1,
        body2,
        constrained=law.constrained,
        normal_stiffness=law.k_n,
        normal_damping=law.c_n,
        tangential_stiffness=law.k_t,
        tangential_damping=law.r_t,
        rotational_stiffness=law.k_w,
        rotational_damping=law.r_w,
        friction=law.friction,
        torsional_friction=law.torsional_friction,
        transport=law.transport,
    )
    attach_contact(graph, touching, body1, body2)
    if scenario.gravity.is_central:
        assert scenario.body2.mass is not None
        pull = central_gravity("gravity", body2, body1, scenario.body2.mass * scenario.gravity.g0)
        attach_central_gravity(graph, pull, body2, body1)
    return graph


def body_names(scenario: Scenario) -> tuple[str, str]:
    """Names of the two bodies in the graph."""
    return f"{scenario.body1.surface_type} 1", f"{scenario.body2.surface_type} 2"


MIN_CONTACT_SAMPLES = 400
"""Least count of close samples in an interval of contact."""


@answer_old_names
@short_repr
@dataclass(frozen=True)
class ContactRun:
    """A run of two bodies in contact: what was simulated, its result and its trajectory."""

    name: str
    bodies: tuple[str, str]
    """Names of the bodies in the graph."""
    surfaces: tuple[Surface, Surface]
    contact: str
    """Name of the contact in the graph."""
    compiled: Compiled
    result: Result
    trajectory: Arrays
    rtol: float
    method: str
    title: str = ""
    notes: tuple[str, ...] = ()
    untracked_contact: UntrackedContact | None = None
    """A place where the bodies went through each other, found by a search over the run."""

    @property
    def wall_times(self) -> dict[str, float]:
        """Build (graph to equations), compile (trace and machine code) and run, s."""
        return wall_times(self.compiled, self.result)

    def events(self) -> list[dict[str, Any]]:
        """Time (s), kind and whether it is internal, of every event."""
        return [{"time": e.time, "kind": e.kind, "internal": e.internal} for e in self.result.events]

    def dense(self) -> tuple[Result, Arrays]:
        """The same run again, with close samples in every interval of contact besides the sample times."""
        t, pieces = self.result.t, []
        for start, end in self.contact_intervals():
            # Four for each sample that the trajectory has there.
            count = 4 * int(np.count_nonzero((t >= start) & (t <= end))) + 1
            pieces.append(np.linspace(start, end, max(MIN_CONTACT_SAMPLES, count)))
        times = np.unique(np.concatenate([t, *pieces]))
        # The events of a run that ended early may lie after its last sample.
        times = times[times <= t[-1]]
        times = times[np.diff(times, prepend=-np.inf) > 1e-9 * times[-1]]
        result = self.compiled.simulate(float(times[-1]), samples=times, rtol=self.rtol, method=self.method, progress=False)
        return result, contact_trajectory(result, self.bodies, self.surfaces, self.contact)

    def peak_force(self) -> tuple[float, float]:
        """Time (s) and size (N) of the largest normal force; zeros without contact.

        Taken from close samples in every interval of contact, and the parabola through the largest and its neighbours.
        """
        if not self.contact_intervals():
            return 0.0, 0.0
        arrays = self.dense()[1]
        return vertex(arrays["t"], arrays["fn"])

    def contact_intervals(self) -> list[tuple[float, float]]:
        """Start and end (s) of every contact."""
        return list(contact_intervals(self.result, self.contact))

    def summary(self) -> dict[str, Any]:
        """Energies, ledger residual, peak force, events, cost: what `summary.json` holds."""
        when, force = self.peak_force()
        kinds = Counter(e.kind for e in self.result.events)
        frictions = ("slip", "stick", "torsional slip", "torsional stick")
        return {
            "name": self.name,
            **end_summary(self.result),
            "notes": [*self.notes, *([str(self.untracked_contact)] if self.untracked_contact else [])],
            "peak_force": {"time": when, "value": force},
            "events": {
                "contact on": kinds["contact on"],
                "contact off": kinds["contact off"],
                "chart switches": sum(count for kind, count in kinds.items() if kind.startswith("chart of surface")),
                **{kind: kinds[kind] for kind in frictions if kinds[kind]},
            },
            **cost_summary(self.result, self.wall_times),
        }


def vertex(t: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """Place and height of the largest value, from the parabola through it and its neighbours."""
    top = int(np.argmax(values))
    if 0 < top < len(values) - 1:
        near, height = t[top - 1 : top + 2] - t[top], values[top - 1 : top + 2]
        second, first, _ = np.polyfit(near, height - height[1], 2)
        if second < 0.0:
            shift = float(np.clip(-first / (2.0 * second), near[0], near[2]))
            return float(t[top] + shift), float(height[1] + first * shift + second * shift**2)
    return float(t[top]), float(values[top])


def _check_bodies(name: str, *bodies: Any) -> None:
    cures = (
        "rigid_body(..., surface=sphere(0.02)), ground(...) or prescribed_body(...)",
        "compile_model(graph).simulate(t_end) for a link of a chain: the signals of the contact are in its result",
    )
    titles = [
        f"{body!r} ({type(body).__name__}) is no body with a surface"
        for body in bodies
        if not isinstance(body, Body) or body.surface is None
    ]
    raise_if_any(name, [Problem("E459", title, (), (caller_place(),), cures) for title in titles])


def run_contact(
    graph: Graph,
    body1: Body,
    body2: Body,
    t_end: float,
    samples: float | np.ndarray,
    *,
    contact: str = CONTACT,
    rtol: float = 1e-10,
    method: str = "auto",
    progress: bool = True,
    title: str = "",
    notes: tuple[str, ...] = (),
) -> ContactRun:
    """Compile and run a graph that holds two bodies and the contact between them.

    Raises what checking, causality and compilation raise, and `ModelError` E459 for what is no rigid, prescribed or resting body
    with a surface; a run that ends early is no exception but `result.failure`, and one in which the bodies went through each
    other where no contact is gives a `ContactWarning`.
    """
    _check_bodies(graph.name, body1, body2)
    compiled = compile_model(graph)
    result = compiled.simulate(t_end, samples=samples, rtol=rtol, method=method, progress=progress)
    assert body1.surface is not None and body2.surface is not None  # _refuse_others
    bodies, surfaces = (body1.name, body2.name), (body1.surface, body2.surface)
    trajectory = contact_trajectory(result, bodies, surfaces, contact)
    others = [c.point.path for c in result.program.contacts if c.point.frames and c.point.path in graph.parts]
    untracked = find_untracked_contact(result, bodies, surfaces, others)
    if untracked is not None:
        warnings.warn(f'"{graph.name}": {untracked}', ContactWarning, stacklevel=2)
    return ContactRun(
        graph.name, bodies, surfaces, contact, compiled, result, trajectory, rtol, method, title or graph.name, notes, untracked
    )


def run_scenario(scenario: Scenario, *, rtol: float = 1e-10, method: str = "auto", progress: bool = True) -> ContactRun:
    """Build the graph of a scenario, compile and run it."""
    graph = two_body_graph(scenario)
    body1, body2 = (graph.parts[name] for name in body_names(scenario))
    assert isinstance(body1, Body) and isinstance(body2, Body)
    samples = sample_times(scenario.t_end, scenario.sample_dt)
    labels: dict[str, Any] = {"title": scenario.description, "notes": scenario.notes}
    return run_contact(graph, body1, body2, scenario.t_end, samples, rtol=rtol, method=method, progress=progress, **labels)
