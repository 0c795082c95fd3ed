"""The neutral record that every picture is made from: poses, contacts, Gauss frames, forces, energies over time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Event:
    """Something that happened at time t (s), e.g. "contact on"; `internal` events (chart switches) are not drawn."""

    t: float
    kind: str
    internal: bool = False


@dataclass(frozen=True)
class ContactMotion:
    """Two bodies in contact over k samples; SI units, world axes unless said otherwise.

    Attributes
    ----------
    surface1, surface2 : surfaces of `screws`.
    t (k,); p1, p2 (k, 3); q1_wxyz, q2_wxyz (k, 4) : object origins and unit quaternions from object to world.
    cp1_O1, cp2_O2 (k, 3) : contact (or closest) points in object axes.
    frame1, frame2 (k, 4, 4) : Gauss frames C1, C2, z outward, in the world.
    gap, fn (k,) : gap (m, negative in contact) and normal force (N).
    force_on_2_world (k, 3) : contact force on body 2 (N).
    uv1, uv2 (k, 2); alpha (k,) : contact coordinates.
    energies : name -> (k,) (J), to be stacked: their sum is the total.
    residual (k,) : residual of the energy ledger (J), if known.
    """

    name: str
    title: str
    surface1: Any
    surface2: Any
    t: Array
    p1: Array
    q1_wxyz: Array
    p2: Array
    q2_wxyz: Array
    cp1_O1: Array
    cp2_O2: Array
    frame1: Array
    frame2: Array
    gap: Array
    fn: Array
    force_on_2_world: Array
    uv1: Array
    uv2: Array
    alpha: Array
    energies: Mapping[str, Array] = field(default_factory=dict)
    residual: Array | None = None
    events: tuple[Event, ...] = ()
    names: tuple[str, str] = ("body 1", "body 2")

    @property
    def surfaces(self) -> tuple[Any, Any]:
        """Both surfaces."""
        return self.surface1, self.surface2

    @cached_property
    def poses(self) -> tuple[Array, Array]:
        """Poses H of O1 and O2 in the world, (k, 4, 4) each."""
        return poses(self.p1, self.q1_wxyz), poses(self.p2, self.q2_wxyz)

    @cached_property
    def sizes(self) -> tuple[float, float]:
        """Largest extent of each body (m); infinite for an endless ground."""
        return tuple(  # type: ignore[return-value]
            math.inf if s.endless else float(np.ptp(np.asarray(s.grid(17, 17)).reshape(-1, 3), axis=0).max())
            for s in self.surfaces
        )

    @property
    def size(self) -> float:
        """Largest extent of the smaller body (m)."""
        return min(self.sizes)

    @property
    def largest_force(self) -> float:
        """Largest contact force (N)."""
        return float(np.linalg.norm(self.force_on_2_world, axis=1).max())

    def moving(self, body: int) -> bool:
        """Whether body 0 or 1 leaves its first pose."""
        pose = self.poses[body]
        return bool(np.abs(pose - pose[0]).max() > 1e-9 * (1.0 + np.abs(pose[0]).max()))

    def contact_intervals(self) -> list[tuple[float, float]]:
        """Times of contact: from the events where they tell, else from the sign of the sampled gap."""
        turns = [e for e in self.events if e.kind in ("contact on", "contact off")]
        if turns:
            start = self.t[0] if turns[0].kind == "contact off" else None
            intervals = []
            for event in turns:
                if event.kind == "contact on" and start is None:
                    start = event.t
                elif event.kind == "contact off" and start is not None:
                    intervals.append((float(start), float(event.t)))
                    start = None
            return intervals + ([(float(start), float(self.t[-1]))] if start is not None else [])
        touching = np.concatenate([[False], self.gap < 0.0, [False]]).astype(int)
        starts, ends = np.flatnonzero(np.diff(touching) == 1), np.flatnonzero(np.diff(touching) == -1) - 1
        return [(float(self.t[a]), float(self.t[b])) for a, b in zip(starts, ends, strict=True)]

    def touching(self) -> NDArray[np.bool_]:
        """Whether each sample lies in a contact interval, (k,)."""
        inside = np.zeros(len(self.t), dtype=bool)
        for start, end in self.contact_intervals():
            inside |= (self.t >= start) & (self.t <= end)
        return inside

    def at_times(self, times: ArrayLike) -> ContactMotion:
        """The motion at other times: positions and forces interpolated, rotations along the shortest way."""
        times = np.asarray(times, dtype=float)
        low = np.clip(np.searchsorted(self.t, times, side="right") - 1, 0, max(len(self.t) - 2, 0))
        high = np.minimum(low + 1, len(self.t) - 1)
        step = np.where(high > low, self.t[high] - self.t[low], 1.0)
        part = np.clip((times - self.t[low]) / step, 0.0, 1.0)

        def between(values: Array) -> Array:
            w = part.reshape((-1,) + (1,) * (values.ndim - 1))
            return (1.0 - w) * values[low] + w * values[high]

        linear = ("p1", "p2", "cp1_O1", "cp2_O2", "gap", "fn", "force_on_2_world", "uv1", "uv2", "alpha")
        changed: dict[str, Any] = {name: between(getattr(self, name)) for name in linear}
        changed["q1_wxyz"], changed["q2_wxyz"] = (_slerp(q, low, high, part) for q in (self.q1_wxyz, self.q2_wxyz))
        changed["frame1"], changed["frame2"] = (_frames(f, low, high, part) for f in (self.frame1, self.frame2))
        changed["energies"] = {name: between(np.asarray(values)) for name, values in self.energies.items()}
        changed["residual"] = None if self.residual is None else between(self.residual)
        return replace(self, t=times, **changed)


def poses(p: ArrayLike, q_wxyz: ArrayLike) -> Array:
    """Poses (k, 4, 4) of positions (k, 3) and quaternions (k, 4)."""
    p, q = np.asarray(p, dtype=float), np.asarray(q_wxyz, dtype=float)
    w, x, y, z = (q / np.linalg.norm(q, axis=1, keepdims=True)).T
    H = np.zeros((len(p), 4, 4))
    H[:, 0, :3] = np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], axis=1)
    H[:, 1, :3] = np.stack([2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)], axis=1)
    H[:, 2, :3] = np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], axis=1)
    H[:, :3, 3], H[:, 3, 3] = p, 1.0
    return H


def gauss_frames(surface: Any, uv: ArrayLike, pose: ArrayLike, charts: ArrayLike | None = None) -> Array:
    """Gauss frames in the world, (k, 4, 4), of contact coordinates uv (k, 2) on a surface with poses (k, 4, 4)."""
    uv, pose = np.asarray(uv, dtype=float), np.asarray(pose, dtype=float)
    chart = np.zeros(len(uv)) if charts is None else np.asarray(charts, dtype=float)
    local = [np.asarray(surface.geometry(q, c).H, dtype=float) for q, c in zip(uv, chart, strict=True)]
    return pose @ np.stack(local)


def from_archive(archive: Mapping[str, Any], surfaces: tuple[Any, Any], name: str, **extra: Any) -> ContactMotion:
    """A motion from the arrays of a `trajectory.npz` (keys of the reference files; uv in chart 0).

    Parameters
    ----------
    archive : the arrays, e.g. `numpy.load(file)`.
    surfaces : surfaces of body 1 and 2.
    name : of the run.
    extra : further attributes of `ContactMotion` (title, names, events, energies, residual, frame1, frame2).
    """
    wanted = {f.name for f in fields(ContactMotion)}
    values: dict[str, Any] = {key: np.asarray(archive[key], dtype=float) for key in archive if key in wanted and key not in extra}
    for body in (1, 2):
        if f"frame{body}" not in values and f"frame{body}" not in extra:
            pose = poses(values[f"p{body}"], values[f"q{body}_wxyz"])
            values[f"frame{body}"] = gauss_frames(surfaces[body - 1], values[f"uv{body}"], pose)
    extra.setdefault("title", name)
    if "energies" not in extra and "E" in archive:
        dissipated = np.asarray(archive["Ediss"]) if "Ediss" in archive else np.zeros(len(values["t"]))
        extra["energies"] = {"stored": np.asarray(archive["E"], dtype=float), "dissipated": dissipated}
    return ContactMotion(name=name, surface1=surfaces[0], surface2=surfaces[1], **values, **extra)


def _slerp(q: Array, low: NDArray[np.intp], high: NDArray[np.intp], part: Array) -> Array:
    a, b = q[low], q[high]
    b = np.where(np.sum(a * b, axis=1, keepdims=True) < 0.0, -b, b)
    angle = np.arccos(np.clip(np.sum(a * b, axis=1, keepdims=True), -1.0, 1.0))
    w = part[:, None]
    near = angle < 1e-6
    sine = np.where(near, 1.0, np.sin(angle))
    first = np.where(near, 1.0 - w, np.sin((1.0 - w) * angle) / sine)
    second = np.where(near, w, np.sin(w * angle) / sine)
    mixed = first * a + second * b
    return mixed / np.linalg.norm(mixed, axis=1, keepdims=True)


def _frames(frames: Array, low: NDArray[np.intp], high: NDArray[np.intp], part: Array) -> Array:
    """Frames between samples; the nearer sample where two differ by more than 60 degrees (a change of chart)."""
    a, b = frames[low], frames[high]
    w = part[:, None, None]
    mixed = (1.0 - w) * a + w * b
    u, _, vt = np.linalg.svd(mixed[:, :3, :3])
    mixed[:, :3, :3] = u @ vt
    turn = np.einsum("kij,kij->k", a[:, :3, :3], b[:, :3, :3])
    jump = turn < 1.0 + 2.0 * 0.5
    nearer = np.where(w < 0.5, a, b)
    nearer[:, :3, 3] = mixed[:, :3, 3]
    return np.where(jump[:, None, None], nearer, mixed)
