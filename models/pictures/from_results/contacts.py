"""Contacts of a result in a scene, with the panels of their gaps, forces and coordinates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from screwbond.models.contacts.trajectory import contact_intervals, contact_trajectory
from screwbond.models.pictures.interpolation import Array
from screwbond.models.pictures.parts import ContactDrawing, Curve, Panel, Solid
from screwbond.models.pictures.style import AXES, FORCE, INK, SOLIDS

from bondgraph.run.results.result import Result
from screws.surfaces import Surface


@dataclass(frozen=True, eq=False)
class ContactBodies:
    """Bodies of a contact: their paths, keys of their solids, and their surfaces."""

    bodies: tuple[str, str]
    keys: tuple[str, str]
    surfaces: tuple[Surface, Surface]


def touches_of(
    result: Result, contacts: Mapping[str, ContactBodies], solids: Mapping[str, Solid]
) -> tuple[list[ContactDrawing], list[Panel]]:
    """Return contacts, and the panels of their gaps, forces and coordinates; `contacts` by path, `solids` by key."""
    single, keys = len(contacts) == 1, list(solids)
    touches, gaps, forces, coordinates = [], [], [], []
    for k, (path, touched) in enumerate(contacts.items()):
        first, second = (solids[key] for key in touched.keys)
        arrays = contact_trajectory(result, touched.bodies, touched.surfaces, path)
        words, ink = ("", INK) if single else (path, SOLIDS[k % len(SOLIDS)][1])
        gaps.append(Curve(words, arrays["gap"], ink))
        forces.append(Curve(words, arrays["fn"], FORCE if single else ink))
        uv = (arrays["uv1"], arrays["uv2"])
        coordinates.append(coordinate_panel(uv, arrays["alpha"], touched.surfaces, (first.ink, second.ink), words))
        touches.append(
            ContactDrawing(
                path,
                (keys.index(touched.keys[0]), keys.index(touched.keys[1])),
                (arrays["frame1"], arrays["frame2"]),
                arrays["gap"],
                arrays["fn"],
                arrays["force_on_2_world"],
                contact_intervals(result, path),
                show_gap=single,
                mark="'" * k,
            )
        )
    return touches, contact_panels(gaps, forces, coordinates)


def contact_panels(gaps: list[Curve], forces: list[Curve], coordinates: list[Panel]) -> list[Panel]:
    """Return panels of gaps and normal forces, a curve for each contact, then those of their coordinates."""
    if not gaps:
        return []
    gap = Panel("gap $d$", "m", tuple(gaps), level=True)
    return [gap, Panel("normal force $f_n$", "N", tuple(forces), key=True), *coordinates]


def coordinate_panel(
    uv: tuple[Array, Array], alpha: Array, surfaces: tuple[Surface, Surface], inks: tuple[str, str], words: str = ""
) -> Panel:
    """Return a panel of the coordinates (k, 2) of a contact on both surfaces and of the angle between its frames."""
    curves = [
        Curve(f"${letter}_{side}$", values[:, k], ink, dashed=k == 1)
        for side, values, ink in zip((1, 2), uv, inks, strict=True)
        for k, letter in enumerate("uv")
    ]
    unit = "rad, m" if any(surface.unbounded for surface in surfaces) else "rad"
    title = f"coordinates of\n{words}" if words else "contact\ncoordinates"
    return Panel(title, unit, (*curves, Curve(r"$\alpha$", alpha, AXES[1])))
