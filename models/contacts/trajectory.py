"""Trajectory of a contact from a result: arrays over time (in the polar charts), contact intervals, and untracked contacts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from screwbond.models.contacts.components import COMPONENTS, constrained_components
from screwbond.models.contacts.switches import rotate_pair

from bondgraph.errors import refusal
from bondgraph.run.program import RunContact
from bondgraph.run.results.result import Result
from screws.contact import is_convex
from screws.contact.overlaps import overlap_elsewhere
from screws.poses import inverse, pose_from_state
from screws.surfaces import Surface

Arrays = dict[str, np.ndarray]


def contact_trajectory(
    result: Result, bodies: tuple[str, str], surfaces: tuple[Surface, Surface], contact: str = "contact"
) -> Arrays:
    """Return arrays over the sample times t (k,), by name, in SI units.

    Arrays
    ------
    p1, q1_wxyz, v1 : position, quaternion and velocity of the origin of body 1, in the world; p2 ... for body 2.
    w1_body, w2_body : angular velocities in the axes of each body.
    gap, gapdot : gap, negative in contact, and its rate.
    vx, vy, wz : components of the relative twist in C2.
    fn, fx, fy, tx, ty, tz : contact wrench on body 2 in C2; fn is positive when the bodies press.
    force_on_2_world : contact force on body 2 in the world.
    cp1_O1, cp2_O2 : closest points in the axes of each body.
    uv1, uv2, alpha : contact coordinates in the polar charts (alpha with Montana's sign).
    deformation, spring : deformation of the spring by component (k, 6), and its tangential and torsional parts (k, 3).
    E, Ediss, residual : stored and dissipated energy, and residual of the energy ledger.
    frame1, frame2 : Gauss frames (k, 4, 4) in the world.

    Quantities that a law lacks are zero, such as the deformation without springs.

    Raises `ModelError` E498 if the result has no such contact.
    """
    run_contact = find_contact(result, contact)
    point = run_contact.point
    out: Arrays = {"t": result.t}
    rotations = []
    for index, (name, surface) in enumerate(zip(bodies, surfaces, strict=True), start=1):
        pose, twist = time_series(result, f"{name}.pose"), time_series(result, f"{name}.twist")
        H = np.array([np.asarray(pose_from_state(row), dtype=float) for row in pose])
        chart = result[f"{contact}.chart {index}.mode"] if surface.charts > 1 else np.zeros(len(result.t))
        polar, turn = _polar(surface, result[f"{contact}.q{index}"], chart)
        gauss = _rotated_frames(result[point.frames[index - 1]], turn)
        rotations.append(turn)
        out |= {
            f"p{index}": pose[:, 4:],
            f"q{index}_wxyz": pose[:, :4] / np.linalg.norm(pose[:, :4], axis=1, keepdims=True),
            f"v{index}": np.einsum("kij,kj->ki", H[:, :3, :3], twist[:, 3:]),
            f"w{index}_body": twist[:, :3],
            f"cp{index}_O{index}": gauss[:, :3, 3],
            f"uv{index}": polar,
            f"frame{index}": np.array([outer @ inner for outer, inner in zip(H, gauss, strict=True)]),
        }
    twist_C2 = _rotated(result[f"{contact}.Ad.2.flow"], rotations[1])
    wrench = -_rotated(_wrench(result, run_contact), rotations[1])
    spring = np.zeros((len(result.t), 6))
    components = constrained_components(result, contact) if point.ignored else []
    for deformation in point.ignored:
        spring[:, components] = result[deformation].reshape(len(result.t), -1)
    spring = _rotated(spring, rotations[1])
    ledger = result.ledger
    return out | {
        "alpha": result[f"{contact}.alpha"] + rotations[0] + rotations[1],
        "gap": result[point.gap],
        "gapdot": result[point.gap_rate],
        "vx": twist_C2[:, 3],
        "vy": twist_C2[:, 4],
        "wz": twist_C2[:, 2],
        "fn": -wrench[:, 5],
        "fx": wrench[:, 3],
        "fy": wrench[:, 4],
        "tx": wrench[:, 0],
        "ty": wrench[:, 1],
        "tz": wrench[:, 2],
        "force_on_2_world": np.einsum("kij,kj->ki", out["frame2"][:, :3, :3], wrench[:, 3:]),
        "deformation": spring,
        "spring": _tangential(spring, components),
        "E": ledger.stored,
        "Ediss": ledger.dissipated,
        "residual": ledger.residual,
    }


def contact_intervals(result: Result, contact: str) -> tuple[tuple[float, float], ...]:
    """Return the intervals of contact (s), from the modes of its law before and after every event; they lie within the samples.

    An impact has no duration: with an impact law, only rest counts as contact. Raises `ModelError` E498 for an unknown contact.
    """
    return contact_spans(result, find_contact(result, contact))


def contact_spans(result: Result, contact: RunContact) -> tuple[tuple[float, float], ...]:
    if not contact.off:
        return ()
    touching = contact.touching
    start, end = float(result.t[0]), float(result.t[-1])
    begin = start if touching(result.m[0]) else None
    spans = []
    for event in result.events:
        if event.time <= end and touching(event.m_before) != touching(event.m_after):
            if begin is None:
                begin = event.time
            else:
                spans.append((begin, event.time))
                begin = None
    return tuple(spans) if begin is None else (*spans, (begin, end))


def find_contact(result: Result, path: str) -> RunContact:
    contacts = {contact.point.path: contact for contact in result.program.contacts if contact.point.frames}
    if path not in contacts:
        names = ", ".join(f'"{name}"' for name in contacts)
        cure = f"one of {names}" if contacts else "a graph with a contact: contact(...), attach_contact(...)"
        raise refusal("E498", f'"{result.program.name}" has no contact "{path}"', cure, about=result.program.name)
    return contacts[path]


def _wrench(result: Result, contact: RunContact) -> np.ndarray:
    wrench = np.array(result[f"{contact.point.path}.wrench"])
    if contact.forces:
        normal, friction = (result[force].reshape(len(result.t), -1) for force in contact.forces)
        wrench[:, COMPONENTS.index("v_z")] = normal[:, 0]
        for k, slip in enumerate(contact.point.slip):
            wrench[:, slip.index] = -friction[:, k]
    return wrench


def time_series(result: Result, name: str) -> np.ndarray:
    values = result[name]
    slot = result.program.layout[name]
    return np.broadcast_to(values, (len(result.t), *slot.shape)) if values.shape == slot.shape else values


def _polar(surface: Surface, q: np.ndarray, chart: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the coordinates (k, 2) in chart 0, with continuous angles, and the angle (k,) by which the Gauss frame is rotated
    relative to chart 0."""
    polar, turn = np.array(q, dtype=float), np.zeros(len(q))
    for k in np.flatnonzero(chart):
        polar[k], turn[k] = surface.change_chart(q[k], 1.0)
    if surface.charts > 1:
        polar[:, 1] = np.unwrap(polar[:, 1])
    return polar, turn


def _rotated(vectors: np.ndarray, turn: np.ndarray) -> np.ndarray:
    out = np.array(vectors, dtype=float)
    for x in (0, 3):
        out[:, x], out[:, x + 1] = rotate_pair(vectors[:, x], vectors[:, x + 1], turn)
    return out


def _rotated_frames(H: np.ndarray, turn: np.ndarray) -> np.ndarray:
    out = np.array(H, dtype=float)
    out[:, :3, 0], out[:, :3, 1] = rotate_pair(H[:, :3, 0], H[:, :3, 1], turn[:, None])
    return out


def _tangential(spring: np.ndarray, components: list[int]) -> np.ndarray:
    """Return (s_x, s_y, s_turn): s_x and s_y are those of v_x and v_y if these are constrained, else of omega_x and omega_y;
    s_turn is that of omega_z."""
    names = [COMPONENTS[i] for i in components]
    first = 3 if {"v_x", "v_y"} & set(names) else 0
    return np.stack([spring[:, first], spring[:, first + 1], spring[:, 2]], axis=1)


MAX_SAMPLES = 50


class ContactWarning(UserWarning):
    """Warning of a run in which bodies overlap where no contact acts."""


@dataclass(frozen=True)
class UntrackedContact:
    """Point where two bodies overlap without a contact: time (s), point (3,) in the frame of body 1 (m), depth (m)."""

    time: float
    point: tuple[float, float, float]
    depth: float

    def __str__(self) -> str:
        where = ", ".join(f"{x:.4g}" for x in self.point)
        return (
            f"at t = {self.time:.6g} s the bodies overlap by {self.depth:.3g} m at ({where}) m in the axes of body 1, "
            "without a contact: each contact follows one place; add a contact for each place, with near=(x, y, z)"
        )


def find_untracked_contact(
    result: Result, bodies: tuple[str, str], surfaces: tuple[Surface, Surface], contacts: Sequence[str]
) -> UntrackedContact | None:
    """Return the first point where two bodies overlap and none of their `contacts` acts, or None.

    Convex bodies touch at one point and are not examined. Other bodies are examined at up to 50 samples. Each run itself
    searches for the deepest overlap (`result.warnings`).
    """
    if all(map(is_convex, surfaces)):
        return None
    for k in np.unique(np.linspace(0, len(result.t) - 1, MAX_SAMPLES).astype(int)):
        H1, H2 = (np.asarray(pose_from_state(time_series(result, f"{name}.pose")[k]), dtype=float) for name in bodies)
        points = [find_contact(result, name).point for name in contacts]
        at = np.array([result[point.frames[0]][k][:3, 3] for point in points])
        depth = max((-float(result[point.gap][k]) for point in points), default=0.0)
        overlap = overlap_elsewhere(*surfaces, np.asarray(inverse(H1), dtype=float) @ H2, at, max(depth, 0.0))
        if overlap is not None:
            return UntrackedContact(float(result.t[k]), overlap.point, overlap.depth)
    return None
