"""Solids of bodies: from their visuals, surface, collision shapes or inertia."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from screwbond.models.pictures.interpolation import Array
from screwbond.models.pictures.parts import Look, Solid
from screwbond.models.pictures.shapes.solids import solids_mesh
from screwbond.models.pictures.shapes.visual_meshes import box_of_inertia, visuals_mesh
from screwbond.models.visuals import Appearance

from screws.shapes import HalfSpace
from screws.shapes import Solid as Shaped
from screws.surfaces import Surface

BODY_AXES = (0.65, 0.55)
"""Length and thickness of the axes of a body's frame over those of a Gauss frame."""

GROUND = "#eef0f5"
"""Colour of the user's floors and walls."""

FLOOR = "#fbfcfd"
"""Colour of the floor that a picture adds."""


def body_solid(called: str, H: Array, looks: Appearance, colours: tuple[str, str], span: float) -> Solid | None:
    """Return a body by its visuals, its surface, its shapes, or the box of its inertia; None if it has none of these.

    `colours` : of itself, and of contact paths on it; `span`: drawn size of endless shapes, m.
    """
    if looks.visuals:
        clear = any(visual.opacity < 1.0 for visual in looks.visuals)
        mesh, colour = visuals_mesh(looks.visuals, colours[0]), looks.visuals[0].colour or colours[0]
        return Solid(called, H, mesh, colour, colours[1], look=Look.GLASS if clear else Look.OPAQUE)
    if looks.surface is not None:
        return solid_of(called, H, looks.surface, colours)
    if looks.solids:
        return solid_of_shapes(called, H, looks.solids, colours, span)
    if looks.mass is None or looks.inertia is None or looks.centre is None or not looks.mass > 0.0:
        return None
    return Solid(called, H, box_of_inertia(looks.mass, looks.inertia, looks.centre), *colours)


def solid_of(called: str, H: Array, surface: Surface, colours: tuple[str, str]) -> Solid:
    """Return a body with a surface; moving bodies of finite size leave ghosts of earlier poses."""
    solid = Solid(called, H, surface, *colours)
    return replace(solid, ghosts=-math.inf) if solid.moves() and not surface.unbounded else solid


def solid_of_shapes(called: str, H: Array, shapes: Sequence[Shaped], colours: tuple[str, str], span: float) -> Solid:
    """Return an opaque body with shapes; endless ones are pale sheets round the others, seen from the front."""
    endless = any(isinstance(shape, HalfSpace) for shape in shapes)
    colour, look = (GROUND, Look.WALL) if endless else (colours[0], Look.OPAQUE)
    return Solid(called, H, solids_mesh(shapes, span), colour, colours[1], look=look, framed=not endless)
