"""Run of a hand: compile and simulate a scenario; result, trajectory, events and summary."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from screwbond.models.contacts.trajectory import find_contact
from screwbond.models.hand.graphs.whole_hand import OBJECT, REFERENCE, TIP, VIRTUAL, Hand, contact_name, equilibrium, finger_name
from screwbond.models.hand.scenarios import HandScenario, read_scenario
from screwbond.models.studies.runs import cost_summary, end_summary, sample_times, wall_times

from bondgraph import Compiled, compile_model
from bondgraph.run.results.result import Result
from screws.renamed import answer_old_names

Arrays = dict[str, np.ndarray]

BODIES = {"reference": REFERENCE, "virtual": VIRTUAL, "object": OBJECT}
"""Name in the trajectory -> path in the graph."""

LEDGER_ARRAYS = ("stored", "dissipated", "supplied", "lost", "residual")
"""Arrays of the energy ledger."""


@answer_old_names
@dataclass(frozen=True)
class HandRun:
    """Run of a hand: scenario, graph, result and cost."""

    scenario: HandScenario
    hand: Hand
    compiled: Compiled
    result: Result
    graph_time: float
    """Time to build the graph with its start posture, s."""
    rtol: float
    method: str

    @property
    def wall_times(self) -> dict[str, float]:
        """Graph (with the start posture), build (graph to equations), compile (trace and machine code) and run, s."""
        return {"graph": self.graph_time, **wall_times(self.compiled, self.result)}

    @cached_property
    def trajectory(self) -> Arrays:
        """Arrays over the sample times t (k,), for n fingers; SI units, world axes unless said otherwise.

        reference, virtual, object (k, 7): poses [qw, qx, qy, qz, px, py, pz]; joints, joint_rates (k, n, 4);
        tips (k, n, 4, 4): poses of the last links; frames1, frames2 (k, n, 4, 4): Gauss frames C1 of tip and C2 of object;
        points1, points2 (k, n, 3): contact (or closest) points in tip and object axes; gap (k, n); normal, tangential
        (k, n): sizes of the contact forces, N; forces (k, n, 3): on the object, N; torques (k, n): about the normal, N m;
        with friction also slipping (k, n);
        stored, dissipated, supplied, lost, residual (k,): the energy ledger, J.
        """
        fingers = [self._finger_arrays(i) for i in range(self.hand.parameters.fingers)]
        return {
            "t": self.result.t,
            **{name: _normalized(self.result[f"{path}.pose"]) for name, path in BODIES.items()},
            **{name: np.stack([arrays[name] for arrays in fingers], axis=1) for name in fingers[0]},
            **{name: np.asarray(getattr(self.result.ledger, name)) for name in LEDGER_ARRAYS},
        }

    def _finger_arrays(self, i: int) -> Arrays:
        """Return the arrays of a finger in the trajectory."""
        result, finger, touch = self.result, finger_name(i), contact_name(i)
        tip, wrench = result[f"{finger}.{TIP}.H"], result[f"{touch}.wrench"]
        local1, local2 = (result[frame] for frame in find_contact(result, touch).point.frames)
        frame2 = result[f"{touch}.frame"]
        arrays = {
            "joints": result[f"{finger}.q"],
            "joint_rates": result[f"{finger}.v"],
            "tips": tip,
            "frames1": tip @ local1,
            "frames2": frame2,
            "points1": local1[:, :3, 3],
            "points2": local2[:, :3, 3],
            "gap": result[f"{touch}.gap"],
            # The wrench is that on the tip, in C2, whose z axis points out of the object.
            "normal": wrench[:, 5],
            "tangential": np.hypot(wrench[:, 3], wrench[:, 4]),
            "forces": -np.einsum("kij,kj->ki", frame2[:, :3, :3], wrench[:, 3:]),
            "torques": -wrench[:, 2],
        }
        if self.hand.parameters.friction is not None:
            arrays["slipping"] = result[f"{touch}.friction.mode"] == 2.0
        return arrays

    def events(self) -> list[dict[str, Any]]:
        """Return time (s), kind, part, and whether it is internal, of every event."""
        return [
            {"time": e.time, "kind": e.kind, "where": e.name.rpartition(".")[0] or e.name, "internal": e.internal}
            for e in self.result.events
        ]

    @property
    def title(self) -> str:
        """Title of its pictures: the scenario, and the coefficient of friction if there is one."""
        text, friction = self.scenario.description or self.scenario.name, self.hand.parameters.friction
        return text[:1].upper() + text[1:] + ("" if friction is None else f" (friction {friction:g})")

    def time_of_loss(self) -> float | None:
        """Return the time at which the object was finally lost, s; None if it is held at the end."""
        times = [e.time for e in self.result.events if e.name == "grasp"]
        return times[-1] if times and self.result["grasp.mode"][-1] == 1.0 else None

    def summary(self) -> dict[str, Any]:
        """Return the content of `summary.json`: final poses, contact forces, friction, events, energy and cost."""
        arrays, result = self.trajectory, self.result
        touching = arrays["normal"] > 0.0
        ratio = np.where(touching, arrays["tangential"] / np.where(touching, arrays["normal"], 1.0), 0.0)
        return {
            "name": self.scenario.name,
            "description": self.scenario.description,
            **end_summary(result),
            "fingers": self.hand.parameters.fingers,
            "final": {name: arrays[name][-1].tolist() for name in BODIES},
            "object_lost": self.time_of_loss(),
            "normal_force": [float(np.min(arrays["normal"])), float(np.max(arrays["normal"]))],
            "largest_tangential_over_normal": float(np.max(ratio)),
            "friction": self.hand.parameters.friction,
            "events": dict(Counter(e.kind for e in result.events if not e.internal)),
            **cost_summary(result, self.wall_times),
        }


def run_hand(
    scenario: HandScenario | str | os.PathLike[str] = "main",
    *,
    rtol: float = 1e-8,
    method: str = "auto",
    parameters: Mapping[str, Any] | None = None,
    progress: bool = True,
) -> HandRun:
    """Build the hand of a scenario as one graph, compile and run it.

    Parameters
    ----------
    scenario : a scenario, the name of one ("main", "far", "rotate"), or the path of a JSON file.
    parameters : changed parameters of the graph by name; the run then starts in their equilibrium (`equilibrium`).

    Raises the errors of reading, posture, checking and compilation. A run that ends early raises nothing but has a
    `result.failure`; slip and loss of the object are events, and the run goes on.
    """
    hand_scenario = scenario if isinstance(scenario, HandScenario) else read_scenario(scenario)
    begin = time.perf_counter()
    hand = Hand.of(hand_scenario)
    graph = hand.graph(hand_scenario.name)
    graph_time = time.perf_counter() - begin
    compiled = compile_model(graph)
    initial = equilibrium(compiled, parameters) if parameters else None
    result = compiled.simulate(
        hand_scenario.t_end,
        samples=sample_times(hand_scenario.t_end, hand_scenario.sample_dt),
        rtol=rtol,
        method=method,
        progress=progress,
        parameters=parameters,
        initial=initial,
    )
    return HandRun(hand_scenario, hand, compiled, result, graph_time, rtol, method)


def rotation_vectors(pose_states: np.ndarray) -> np.ndarray:
    """Return the rotation vectors (k, 3) of poses (k, 7) against the first one, world axes, rad."""
    from scipy.spatial.transform import Rotation

    turns = Rotation.from_quat(np.roll(pose_states[:, :4], -1, axis=1))
    return (turns * turns[0].inv()).as_rotvec()


def _normalized(poses: np.ndarray) -> np.ndarray:
    """Return poses (k, 7) with quaternions of length 1."""
    length = np.linalg.norm(poses[:, :4], axis=1, keepdims=True)
    return np.concatenate([poses[:, :4] / length, poses[:, 4:]], axis=1)
