"""Run of a hand, with its result, trajectory, events and summary, and the grasp analysis over time."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from screwbond.models.contacts.trajectory import find_contact
from screwbond.models.hand.graph import OBJECT, REFERENCE, TIP, VIRTUAL, Hand, contact_name, equilibrium, finger_name
from screwbond.models.hand.grasping import (
    finger_extension,
    friction_margins,
    grasp_matrix,
    internal_forces,
    object_manipulability,
    required_friction,
    squeeze_forces,
)
from screwbond.models.hand.scenarios import HandScenario, read_scenario
from screwbond.models.studies.tasks import Table, cost_summary, end_summary, wall_times, write_table

from bondgraph import Compiled, compile_model
from bondgraph.output.files import atomic_file, known_ending
from bondgraph.run.results.result import Result
from screws.arrays import Count
from screws.names import answer_old_names

Arrays = dict[str, np.ndarray]

BODIES = {"reference": REFERENCE, "virtual": VIRTUAL, "object": OBJECT}

LEDGER_ARRAYS = ("stored", "dissipated", "supplied", "lost", "residual")


@answer_old_names
@dataclass(frozen=True)
class HandRun:
    """Run of a hand: scenario, graph, result and cost."""

    scenario: HandScenario
    hand: Hand
    compiled: Compiled
    result: Result
    graph_time: float
    """Time to build the graph and its initial posture, s."""
    rtol: float
    method: str

    @property
    def wall_times(self) -> dict[str, float]:
        """Wall times of graph (with initial posture), build (graph to equations), compile (trace and machine code) and run, s."""
        return {"graph": self.graph_time, **wall_times(self.compiled, self.result)}

    @cached_property
    def trajectory(self) -> Arrays:
        """Arrays over the sample times t (k,) for n fingers, in SI units and world axes unless stated otherwise.

        Arrays
        ------
        reference, virtual, object : (k, 7) poses [qw, qx, qy, qz, px, py, pz].
        joints, joint_rates : (k, n, 4).
        tips : (k, n, 4, 4) poses of the last links.
        frames1, frames2 : (k, n, 4, 4) Gauss frames C1 of tip and C2 of object.
        points1, points2 : (k, n, 3) closest points in tip and object axes.
        gap : (k, n), negative in contact.
        normal, tangential : (k, n) normal force, and magnitude of the tangential force.
        forces, torques : (k, n, 3) and (k, n) contact force on the object, and contact torque about the normal.
        slipping : (k, n) bool, only with friction.
        stored, dissipated, supplied, lost, residual : (k,) energy ledger.
        """
        fingers = [self._finger_arrays(i) for i in range(self.hand.parameters.fingers)]
        return {
            "t": self.result.t,
            **{name: _normalized(self.result[f"{path}.pose"]) for name, path in BODIES.items()},
            **{name: np.stack([arrays[name] for arrays in fingers], axis=1) for name in fingers[0]},
            **{name: np.asarray(getattr(self.result.ledger, name)) for name in LEDGER_ARRAYS},
        }

    def _finger_arrays(self, i: int) -> Arrays:
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
            # The wrench acts on the tip, in C2, whose z axis points out of the object.
            "normal": wrench[:, 5],
            "tangential": np.hypot(wrench[:, 3], wrench[:, 4]),
            "forces": -np.einsum("kij,kj->ki", frame2[:, :3, :3], wrench[:, 3:]),
            "torques": -wrench[:, 2],
        }
        if self.hand.parameters.friction is not None:
            arrays["slipping"] = result[f"{touch}.friction.mode"] == 2.0
        return arrays

    def events(self) -> list[dict[str, Any]]:
        """Return the time (s), kind and part of every event, and whether it is internal."""
        return [
            {"time": e.time, "kind": e.kind, "where": e.name.rpartition(".")[0] or e.name, "internal": e.internal}
            for e in self.result.events
        ]

    @property
    def title(self) -> str:
        """Title of the run's pictures: the scenario and the friction coefficient, if any."""
        text, friction = self.scenario.description or self.scenario.name, self.hand.parameters.friction
        return text[:1].upper() + text[1:] + ("" if friction is None else f" (friction {friction:g})")

    def time_of_loss(self) -> float | None:
        """Return the time of the object's final loss, s, or None if it is held at the end."""
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
    scenario : a scenario, its name ("main", "far", "rotate"), or the path of a JSON file.
    parameters : changed parameters of the graph by name; the run then starts in the new equilibrium (`equilibrium`).

    Raises the errors of reading, posture, checking and compilation. A run that ends early has a `result.failure` instead of an
    error; slip and loss of the object are events that do not end it.
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
        samples=hand_scenario.sample_dt,
        rtol=rtol,
        method=method,
        progress=progress,
        parameters=parameters,
        initial=initial,
    )
    return HandRun(hand_scenario, hand, compiled, result, graph_time, rtol, method)


def rotation_vectors(pose_states: np.ndarray) -> np.ndarray:
    """Return the rotation vectors (k, 3) of poses (k, 7) relative to the first, world axes, rad."""
    from scipy.spatial.transform import Rotation

    turns = Rotation.from_quat(np.roll(pose_states[:, :4], -1, axis=1))
    return (turns * turns[0].inv()).as_rotvec()


def _normalized(poses: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(poses[:, :4], axis=1, keepdims=True)
    return np.concatenate([poses[:, :4] / length, poses[:, 4:]], axis=1)


@answer_old_names
@dataclass(frozen=True)
class Study:
    """Key figures of a grasp over k samples and n fingers, SI.

    Attributes
    ----------
    t : times (k,), s.
    required : smallest friction coefficient that carries each contact force, |F_t| / N (k, n); nan without contact.
    margin : mu N - |F_t| (k, n), N; nan without friction.
    internal : norm of the contact forces that only squeeze, in the null space of the grasp matrix (k,), N.
    net : norm of the remaining forces, which move the object (k,), N; `internal`, `net` and `manipulability` are nan while a
        finger has no contact.
    manipulability : singular values (k, 6), descending, as in `object_manipulability`.
    extension : extension of each finger, 1 at full reach (k, n).
    path1, path2 : length of the contact path on tip and object up to each sample (k, n), m.
    force_closure : True if the initial grasp can squeeze with all forces inside the friction cones (of mu = 1 if there is no
        friction coefficient).
    """

    t: np.ndarray
    required: np.ndarray
    margin: np.ndarray
    internal: np.ndarray
    net: np.ndarray
    manipulability: np.ndarray
    extension: np.ndarray
    path1: np.ndarray
    path2: np.ndarray
    force_closure: bool

    @property
    def isotropy(self) -> np.ndarray:
        """Ratio of the smallest to the largest singular value (k,)."""
        return self.manipulability[:, -1] / self.manipulability[:, 0]

    def table(self) -> str:
        """Return a table of the quantities at the start, at the end and at their worst, with "-" where they are undefined."""
        rows = [
            ("friction needed, |F_t| / N", _extreme(self.required, "max"), "max"),
            ("friction margin, N", _extreme(self.margin, "min"), "min"),
            ("internal force, N", self.internal, "min"),
            ("finger extension", _extreme(self.extension, "max"), "max"),
            ("smallest singular value", self.manipulability[:, -1], "min"),
            ("isotropy", self.isotropy, "min"),
            ("path on the object, mm", 1e3 * _extreme(self.path2, "max"), "max"),
            ("path on a tip, mm", 1e3 * _extreme(self.path1, "max"), "max"),
        ]
        lines = [f"{'':28}{'start':>10}{'end':>10}{'worst':>10}{'at, s':>9}"]
        for name, values, worst in rows:
            if not np.isfinite(values).any():
                continue
            at = int(np.nanargmax(values) if worst == "max" else np.nanargmin(values))
            cells = "".join(_cell(v) for v in (values[0], values[-1], values[at]))
            lines.append(f"{name:28}{cells}{self.t[at]:9.2f}")
        return "\n".join(lines)

    def columns(self) -> Table:
        """Return all key figures over time."""
        names = ("required", "margin", "extension", "path1", "path2")
        head = ["t", *(f"{name} {i}" for name in names for i in range(self.required.shape[1]))]
        head += ["internal", "net", *(f"singular value {i + 1}" for i in range(6))]
        columns = [self.t, *(getattr(self, name) for name in names), self.internal, self.net, self.manipulability]
        return Table(head, np.column_stack(columns), "%.9g")

    def write_csv(self, path: Path) -> None:
        """Write the columns as .csv; raise E415 for another extension and E414 if the file cannot be written."""
        known_ending(path, ".csv")
        with atomic_file(path) as part:
            write_table(part, self.columns())


def study(run: HandRun, samples: Count = 301) -> Study:
    """Analyse the grasp of a run at up to `samples` of its samples."""
    arrays, parameters = run.trajectory, run.hand.parameters
    samples_index = np.unique(np.linspace(0, len(arrays["t"]) - 1, samples).round().astype(int))
    frames, touching = arrays["frames2"][samples_index], arrays["normal"] > 0.0
    points, normals, forces = frames[:, :, :3, 3], -frames[:, :, :3, 2], arrays["forces"][samples_index]
    in_contact = touching[samples_index]
    internal, net, values = (np.full((len(samples_index), *shape), np.nan) for shape in ((), (), (6,)))
    for k in np.flatnonzero(in_contact.all(axis=1)):
        G = grasp_matrix(points[k], None, arrays["object"][samples_index[k], 4:])
        basis, f = internal_forces(G), forces[k].ravel()
        squeeze = basis @ (basis.T @ f)
        internal[k], net[k] = np.linalg.norm(squeeze), np.linalg.norm(f - squeeze)
        values[k] = object_manipulability(parameters, arrays["joints"][samples_index[k]], points[k])
    margin = np.full(in_contact.shape, np.nan)
    if parameters.friction is not None:
        margin = np.where(in_contact, friction_margins(forces, normals, parameters.friction), np.nan)
    return Study(
        arrays["t"][samples_index],
        np.where(in_contact, required_friction(forces, normals), np.nan),
        margin,
        internal,
        net,
        values,
        finger_extension(parameters, arrays["joints"][samples_index]),
        _path_lengths(arrays["points1"], touching)[samples_index],
        _path_lengths(arrays["points2"], touching)[samples_index],
        squeeze_forces(points[0], normals[0], 1.0 if parameters.friction is None else parameters.friction) is not None,
    )


def _cell(value: float) -> str:
    return f"{'-':>10}" if np.isnan(value) else f" {0.0 if abs(value) < 1e-12 else value:9.4g}"


def _extreme(values: np.ndarray, which: str) -> np.ndarray:
    return np.fmax.reduce(values, axis=1) if which == "max" else np.fmin.reduce(values, axis=1)


def _path_lengths(points: np.ndarray, touching: np.ndarray) -> np.ndarray:
    """Return the lengths (k, n) of paths (k, n, 3) up to each sample, counted only in contact."""
    steps = np.linalg.norm(np.diff(points, axis=0), axis=2) * (touching[1:] & touching[:-1])
    return np.concatenate([np.zeros((1, points.shape[1])), np.cumsum(steps, axis=0)])
