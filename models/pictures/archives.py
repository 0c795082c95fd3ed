"""Scenes of two bodies and their contact from archives: the arrays of a `trajectory.npz`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from screwbond.models.pictures.from_results.contacts import balance_panels, contact_panels, coordinate_panel
from screwbond.models.pictures.from_results.links import BODY_AXES, solid_of
from screwbond.models.pictures.interpolation import Array, poses
from screwbond.models.pictures.parts import ContactDrawing, Curve, Frame, Spans, negative
from screwbond.models.pictures.scene import Scene
from screwbond.models.pictures.style import FORCE, INK, PATHS, SOLIDS

from screws.surfaces import Surface


def gauss_frames(surface: Any, uv: ArrayLike, pose: ArrayLike, charts: ArrayLike | None = None) -> Array:
    """Return the Gauss frames in the world, (k, 4, 4), of contact coordinates uv (k, 2) on a surface with poses (k, 4, 4)."""
    uv, pose = np.asarray(uv, dtype=float), np.asarray(pose, dtype=float)
    chart = np.zeros(len(uv)) if charts is None else np.asarray(charts, dtype=float)
    local = [np.asarray(surface.geometry(q, c).H, dtype=float) for q, c in zip(uv, chart, strict=True)]
    return pose @ np.stack(local)


def from_archive(
    archive: Mapping[str, Any],
    surfaces: tuple[Surface, Surface],
    name: str,
    *,
    names: Sequence[str] = ("body 1", "body 2"),
    energies: Mapping[str, ArrayLike] | None = None,
    intervals: Spans | None = None,
    **fields: Any,
) -> Scene:
    """Build a scene from the arrays of a `trajectory.npz` (keys of the reference files; uv in chart 0).

    Parameters
    ----------
    archive : the arrays, e.g. `numpy.load(file)`: t (k,); p1, p2 (k, 3) and q1_wxyz, q2_wxyz (k, 4), object origins and unit
        quaternions from object to world; uv1, uv2 (k, 2) and alpha (k,); gap, fn (k,), m and N; force_on_2_world (k, 3), N;
        optional: frame1, frame2 (k, 4, 4), the Gauss frames in the world, E and Ediss (k,), J, and residual (k,), J.
    surfaces : of body 1 and 2.
    name : of the run.
    names : of the bodies.
    energies : name -> (k,), J, whose sum is the total; by default the stored and the dissipated energy.
    intervals : times of contact, s; by default those of a negative gap.
    fields : further fields of the scene, such as title and event marks.
    """
    arrays = {key: np.asarray(archive[key]) for key in archive}
    t, solids, frames, gauss = arrays["t"], [], [], []
    for side, (body_name, surface, colours) in enumerate(zip(names, surfaces, SOLIDS, strict=False), start=1):
        H = poses(arrays[f"p{side}"], arrays[f"q{side}_wxyz"])
        solids.append(solid_of(body_name, H, surface, colours))
        if not surface.unbounded:
            frames.append(Frame(H, *BODY_AXES, label=("O", str(side))))
        frame = arrays.get(f"frame{side}")
        gauss.append(gauss_frames(surface, arrays[f"uv{side}"], H) if frame is None else frame)
    gap, fn = arrays["gap"], arrays["fn"]
    spans = negative(t, gap) if intervals is None else intervals
    touch = ContactDrawing("contact", (0, 1), (gauss[0], gauss[1]), gap, fn, arrays["force_on_2_world"], spans)
    coordinates = coordinate_panel((arrays["uv1"], arrays["uv2"]), arrays["alpha"], surfaces, PATHS)
    if energies is None and "E" in arrays:
        energies = {"stored": arrays["E"], "dissipated": arrays.get("Ediss", np.zeros(len(t)))}
    panels = contact_panels([Curve("", gap, INK)], [Curve("", fn, FORCE)], [coordinates])
    panels += balance_panels(energies or {}, arrays.get("residual"))
    return Scene(
        **{"title": name, "name": name, "t": t, "solids": tuple(solids), "contacts": (touch,), "frames": tuple(frames)}
        | {"panels": tuple(panels)}
        | fields
    )
