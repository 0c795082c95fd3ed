"""Trajectory of a contact: a result in; arrays over time, in the polar charts whatever was used, and times of contact out."""

from __future__ import annotations

import numpy as np

from bondgraph.run.outcome.result import Result
from models.contacts.components import COMPONENTS, constrained_components
from models.contacts.switches import STATES, TOUCHING
from screws.poses import pose_from_state
from screws.surfaces import Surface

Arrays = dict[str, np.ndarray]


def contact_trajectory(
    result: Result, bodies: tuple[str, str], surfaces: tuple[Surface, Surface], contact: str = "contact"
) -> Arrays:
    """Arrays over the sample times t (k,), by the names of the scenario format.

    p1, q1_wxyz, v1, w1_body and the same for 2: poses, velocities of the object origins (world), body angular rates;
    gap, gapdot; vx, vy, wz and fn, fx, fy, tx, ty, tz: relative twist and contact wrench on body 2 in C2;
    force_on_2_world; cp1_O1, cp2_O2; uv1, uv2, alpha (Montana's sign) in the polar charts; deformation (k, 6): the
    spring by component, spring (k, 3): its tangential and turning part; E, Ediss; frame1, frame2 (k, 4, 4) Gauss frames
    in the world.
    """
    out: Arrays = {"t": result.t}
    for index, name in enumerate(bodies, start=1):
        pose, twist = _over_time(result, f"{name}.pose"), _over_time(result, f"{name}.twist")
        quaternion = pose[:, :4] / np.linalg.norm(pose[:, :4], axis=1, keepdims=True)
        rotation = np.array([np.asarray(pose_from_state(row), dtype=float)[:3, :3] for row in pose])
        out |= {
            f"p{index}": pose[:, 4:],
            f"q{index}_wxyz": quaternion,
            f"v{index}": np.einsum("kij,kj->ki", rotation, twist[:, 3:]),
            f"w{index}_body": twist[:, :3],
        }
    kinematics = f"{contact}.kinematics"
    charts = [_chart(result, contact, index, surfaces[index - 1]) for index in (1, 2)]
    q1, turn1 = _polar(surfaces[0], result[f"{kinematics}.q1"], charts[0])
    q2, turn2 = _polar(surfaces[1], result[f"{kinematics}.q2"], charts[1])
    twist_C2 = _turned(result[f"{contact}.Ad.2.flow"], turn2)
    wrench = -_turned(result[f"{contact}.wrench"], turn2)
    spring = np.zeros((len(result.t), 6))
    components = constrained_components(result, contact)
    spring[:, components] = result[f"{contact}.spring.q"].reshape(len(result.t), -1)
    spring = _turned(spring, turn2)
    frames = []
    for index, turn in ((1, turn1), (2, turn2)):
        local = _turned_frames(result[f"{kinematics}.H_O{index}_C{index}"], turn)
        out[f"cp{index}_O{index}"] = local[:, :3, 3]
        pose = _over_time(result, f"{bodies[index - 1]}.pose")
        frames.append(np.array([np.asarray(pose_from_state(p), dtype=float) @ H for p, H in zip(pose, local, strict=True)]))
    ledger = result.ledger
    out |= {
        "uv1": q1,
        "uv2": q2,
        "alpha": result[f"{contact}.alpha"] + turn1 + turn2,
        "gap": result[f"{contact}.gap"],
        "gapdot": result[f"{kinematics}.d'"],
        "vx": twist_C2[:, 3],
        "vy": twist_C2[:, 4],
        "wz": twist_C2[:, 2],
        "fn": -wrench[:, 5],
        "fx": wrench[:, 3],
        "fy": wrench[:, 4],
        "tx": wrench[:, 0],
        "ty": wrench[:, 1],
        "tz": wrench[:, 2],
        "force_on_2_world": np.einsum("kij,kj->ki", frames[1][:, :3, :3], wrench[:, 3:]),
        "deformation": spring,
        "spring": _tangential(spring, components),
        "E": ledger.stored,
        "Ediss": ledger.dissipated,
        "residual": ledger.residual,
        "frame1": frames[0],
        "frame2": frames[1],
    }
    return out


def contact_intervals(result: Result, contact: str) -> tuple[tuple[float, float], ...]:
    """Times of contact (s), from the modes of its switch before and after every event; they lie within the samples."""
    slot, touching = result.program.layout[f"{contact}.switch.mode"].start, STATES.index(TOUCHING)
    start, end = float(result.t[0]), float(result.t[-1])
    begin = start if result.m[0, slot] == touching else None
    found = []
    for event in result.events:
        if event.time <= end and event.m_before[slot] != event.m_after[slot]:
            if event.m_after[slot] == touching:
                begin = event.time
            elif begin is not None:
                found.append((begin, event.time))
                begin = None
    return tuple(found) if begin is None else (*found, (begin, end))


def _over_time(result: Result, name: str) -> np.ndarray:
    """A quantity at every sample, also where it is a parameter."""
    values = result[name]
    slot = result.program.layout[name]
    return np.broadcast_to(values, (len(result.t), *slot.shape)) if values.shape == slot.shape else values


def _chart(result: Result, contact: str, index: int, surface: Surface) -> np.ndarray:
    return result[f"{contact}.chart {index}.mode"] if surface.charts > 1 else np.zeros(len(result.t))


def _polar(surface: Surface, q: np.ndarray, chart: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates (k, 2) in chart 0, angles continuous over time, and the turn (k,) of the Gauss frame to that chart."""
    polar, turn = np.array(q, dtype=float), np.zeros(len(q))
    for k in np.flatnonzero(chart):
        polar[k], turn[k] = surface.change_chart(q[k], 1.0)
    if surface.charts > 1:
        polar[:, 1] = np.unwrap(polar[:, 1])
    return polar, turn


def _turned(vectors: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """Components (k, 6) of the same angular and linear vectors in axes turned by `turn` (k,) about z."""
    c, s = np.cos(turn), np.sin(turn)
    out = np.array(vectors, dtype=float)
    for x in (0, 3):
        out[:, x], out[:, x + 1] = c * vectors[:, x] + s * vectors[:, x + 1], c * vectors[:, x + 1] - s * vectors[:, x]
    return out


def _turned_frames(H: np.ndarray, turn: np.ndarray) -> np.ndarray:
    c, s = np.cos(turn), np.sin(turn)
    out = np.array(H, dtype=float)
    out[:, :3, 0] = c[:, None] * H[:, :3, 0] + s[:, None] * H[:, :3, 1]
    out[:, :3, 1] = c[:, None] * H[:, :3, 1] - s[:, None] * H[:, :3, 0]
    return out


def _tangential(spring: np.ndarray, components: list[int]) -> np.ndarray:
    """(s_x, s_y, s_turn): of the velocities where they are constrained, else of omega_x and omega_y; last omega_z."""
    names = [COMPONENTS[i] for i in components]
    first = 3 if {"v_x", "v_y"} & set(names) else 0
    return np.stack([spring[:, first], spring[:, first + 1], spring[:, 2]], axis=1)
