"""Surfaces in scenario files: the surface of `screws` from the section "surface"."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from screwbond.models.studies.fields import Declared
from screwbond.models.studies.reading import JsonSection

from screws.errors import GeometryError
from screws.surfaces import Surface, egg, ellipsoid, plane, sphere


@dataclass(frozen=True)
class SurfaceKind:
    """Type of surface: its constructor, its numbers in a file in the order of the constructor's arguments, the number named in
    geometry errors, and whether it is flat (two flat surfaces have no contact point)."""

    make: Callable[..., Surface]
    numbers: Mapping[str, Declared]
    blamed: str = ""
    is_flat: bool = False


_EGG = {
    "f": Declared("focal distance of the oval r_A + 2 r_B = S", "m"),
    "S": Declared("the sum r_A + 2 r_B", "m"),
    "zB": Declared("height of the focus B over the origin", "m"),
}

SURFACES = {
    "egg": SurfaceKind(egg, _EGG, "S"),
    "sphere": SurfaceKind(sphere, {"radius": Declared("radius", "m", above=0.0)}, "radius"),
    "ellipsoid": SurfaceKind(ellipsoid, {"semi_axes": Declared("semi-axes", "m", many=True, count=3, above=0.0)}, "semi_axes"),
    "plane": SurfaceKind(plane, {}, is_flat=True),
}
"""All types of surface in a file."""

TYPE = Declared("type of the surface", options=tuple(SURFACES))


def read_surface(section: JsonSection | None) -> tuple[Surface | None, str]:
    """Read a surface of `screws` and its type; (None, type) for an invalid section or geometry."""
    if section is None:
        return None, ""
    before = len(section.document.problems)
    name = section.value("type", TYPE)
    if not name:
        return None, ""
    kind = SURFACES[name]
    numbers = [section.value(key, declared) for key, declared in kind.numbers.items()]
    section.finish()
    if len(section.document.problems) > before:
        return None, name
    try:
        return kind.make(*numbers), name
    except GeometryError as error:
        section.report("E409", kind.blamed, f"{error.code} {error.message}", error.cure)
        return None, name
