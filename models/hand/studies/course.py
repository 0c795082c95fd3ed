"""Grasp analysis over the time of a run: internal forces, friction, manipulability, reach, contact paths."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from screwbond.models.hand.grasping.grasp import (
    finger_extension,
    friction_margins,
    grasp_matrix,
    internal_forces,
    object_manipulability,
    required_friction,
    squeeze_forces,
)
from screwbond.models.hand.studies.run import HandRun
from screwbond.models.studies.files import Table, write_table

from bondgraph.output.files import atomic_file, known_ending
from screws.renamed import answer_old_names


@answer_old_names
@dataclass(frozen=True)
class Study:
    """Figures of a grasp over k samples and n fingers, SI.

    Attributes
    ----------
    t : times (k,), s.
    required : least coefficient of friction that carries each contact force, |F_t| / N (k, n); nan without contact.
    margin : mu N - |F_t| (k, n), N, with friction; nan without.
    internal : size of the part of all contact forces that only squeezes, in the null space of the grasp matrix (k,), N.
    net : size of the part that moves the object (k,), N. Both, and the singular values, are nan while a finger is off.
    manipulability : singular values (k, 6), descending, of joint rates -> object twist while the tips roll.
    extension : of each finger, 1 at the end of its reach (k, n).
    path1, path2 : length of the contact's path on tip and object so far (k, n), m.
    force_closure : whether the grasp at the start can squeeze with all forces inside the cones of friction.
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
        """Least over largest singular value (k,)."""
        return self.manipulability[:, -1] / self.manipulability[:, 0]

    def table(self) -> str:
        """Return the figures at the start, at the end and at their worst as text; - where the object is not held."""
        rows = [
            ("friction needed, |F_t| / N", _extreme(self.required, "max"), "max"),
            ("margin of friction, N", _extreme(self.margin, "min"), "min"),
            ("internal force, N", self.internal, "min"),
            ("stretch of the fingers", _extreme(self.extension, "max"), "max"),
            ("least singular value", self.manipulability[:, -1], "min"),
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
        """Return all figures over time."""
        names = ("required", "margin", "extension", "path1", "path2")
        head = ["t", *(f"{name} {i}" for name in names for i in range(self.required.shape[1]))]
        head += ["internal", "net", *(f"singular value {i + 1}" for i in range(6))]
        columns = [self.t, *(getattr(self, name) for name in names), self.internal, self.net, self.manipulability]
        return Table(head, np.column_stack(columns), "%.9g")

    def write_csv(self, path: Path) -> None:
        """Write the columns as a .csv; raise E415 for another ending, E414 where it cannot be written."""
        known_ending(path, ".csv")
        with atomic_file(path) as part:
            write_table(part, self.columns())


def study(run: HandRun, samples: int = 301) -> Study:
    """Analyse the grasp of a run at about this number of its samples."""
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
    """Return the largest or least value of the fingers (k,); nan where all are."""
    return np.fmax.reduce(values, axis=1) if which == "max" else np.fmin.reduce(values, axis=1)


def _path_lengths(points: np.ndarray, touching: np.ndarray) -> np.ndarray:
    """Return the length (k, n) so far of paths (k, n, 3), counted while in contact."""
    steps = np.linalg.norm(np.diff(points, axis=0), axis=2) * (touching[1:] & touching[:-1])
    return np.concatenate([np.zeros((1, points.shape[1])), np.cumsum(steps, axis=0)])
