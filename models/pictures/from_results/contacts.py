"""Contacts, energies and events of a result in a scene, as drawings, panels and marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from screwbond.models.contacts.trajectory import contact_intervals, contact_trajectory, find_contact
from screwbond.models.pictures.interpolation import Array
from screwbond.models.pictures.parts import ContactDrawing, Curve, EventMark, Panel, Solid
from screwbond.models.pictures.sources import Signal, TouchSource, of_signal, product
from screwbond.models.pictures.style import AXES, ENERGIES, FORCE, SOLIDS

from bondgraph.model.domains import GENERIC
from bondgraph.model.laws import InertialField, is_inertia
from bondgraph.model.model import Model
from bondgraph.output.plot_style import INK
from bondgraph.run.results.result import Result
from bondgraph.stepping.free_bodies import FreeBodyResult
from screws.surfaces import Surface


@dataclass(frozen=True, eq=False)
class ContactBodies:
    bodies: tuple[str, str]
    keys: tuple[str, str]
    surfaces: tuple[Surface, Surface]


def touches_of(
    result: Result, contacts: Mapping[str, ContactBodies], solids: Mapping[str, Solid]
) -> tuple[list[ContactDrawing], list[Panel]]:
    single, keys = len(contacts) == 1, list(solids)
    touches, gaps, forces, coordinates = [], [], [], []
    for k, (path, touched) in enumerate(contacts.items()):
        first, second = (solids[key] for key in touched.keys)
        arrays = contact_trajectory(result, touched.bodies, touched.surfaces, path)
        words, ink = ("", INK) if single else (path, SOLIDS[k % len(SOLIDS)][1])
        gaps.append(Curve(words, without_rounding(arrays["gap"], (first, second)), ink))
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
                source=_source(result, path, touched.bodies),
            )
        )
    return touches, contact_panels(gaps, forces, coordinates)


NEGLIGIBLE_GAP = 1e-9
"""Largest gap that counts as rounding error, relative to the size of the smaller body."""


def without_rounding(gap: Array, solids: Sequence[Solid]) -> Array:
    size = min(solid.size for solid in solids)
    return np.where(np.abs(gap) <= NEGLIGIBLE_GAP * size, 0.0, gap) if np.isfinite(size) else gap


def _source(result: Result, path: str, bodies: tuple[str, str]) -> TouchSource | None:
    contact = find_contact(result, path)
    if contact.forces:
        return None  # a contact of a time-stepping run, which no page can repeat
    pairs = zip(bodies, contact.point.frames, strict=True)
    first, second = (product(of_signal(f"{body}.pose"), of_signal(frame)) for body, frame in pairs)
    force = tuple(Signal(f"{path}.wrench", k) for k in range(3, 6))
    return TouchSource((first, second), force, Signal(contact.point.gap), path)


def contact_panels(gaps: list[Curve], forces: list[Curve], coordinates: list[Panel]) -> list[Panel]:
    if not gaps:
        return []
    gap = Panel("gap $d$", "m", tuple(gaps), level=True)
    return [gap, Panel("normal force $f_n$", "N", tuple(forces), key=True), *coordinates]


def coordinate_panel(
    uv: tuple[Array, Array], alpha: Array, surfaces: tuple[Surface, Surface], inks: tuple[str, str], words: str = ""
) -> Panel:
    curves = [
        Curve(f"${letter}_{side}$", values[:, k], ink, dashed=k == 1)
        for side, values, ink in zip((1, 2), uv, inks, strict=True)
        for k, letter in enumerate("uv")
    ]
    unit = "rad, m" if any(surface.unbounded for surface in surfaces) else "rad"
    title = f"coordinates of\n{words}" if words else "contact\ncoordinates"
    return Panel(title, unit, (*curves, Curve(r"$\alpha$", alpha, AXES[1])))


MECHANISMS = "mechanisms"


def pile_panels(result: Result) -> tuple[Panel, ...]:
    if not isinstance(result, FreeBodyResult):
        return ()
    touching = Panel("pressing contacts", "", (Curve("", result.contact_count.astype(float), FORCE),))
    return touching, Panel("fastest slip", "m/s", (Curve("", result.slip_speed, AXES[0]),), level=True)


def event_marks_of(result: Result) -> tuple[EventMark, ...]:
    events = result.events
    return tuple(EventMark(time, "", mark) for time, mark in zip(events.times.tolist(), events.internal.tolist(), strict=True))


def energies_of(result: Result, contacts: Sequence[str]) -> dict[str, Array]:
    """Return energies (k,) by kind, J; the springs of `contacts`, given by their paths, are a kind of their own."""
    ledger, program, model = result.ledger, result.program, result.program.model
    kinds: dict[str, Array] = {}
    of_contacts = tuple(f"{path}." for path in contacts)
    for name in program.energy_names:
        kind = "contact" if name.startswith(of_contacts) else "stored" if model is None else _kind_of(model, name)
        kinds[kind] = kinds.get(kind, np.zeros(len(result.t))) + ledger.elements[name]
    kinds = {kind: kinds[kind] for kind in ("kinetic", "potential", *kinds) if kind in kinds}
    kinds |= {"dissipated": ledger.dissipated + ledger.lost}
    kinds |= {"minus supplied": -ledger.supplied, "minus injected": -ledger.injected}
    return {kind: values for kind, values in kinds.items() if np.max(np.abs(values)) > 1e-4 * ledger.in_play}


def _kind_of(model: Model, name: str) -> str:
    law = model.elements[name].law
    if isinstance(law, InertialField):
        return MECHANISMS
    domain = next((bond.domain for bond in model.bonds if name in (bond.tail.element, bond.head.element)), GENERIC)
    return domain.energies[is_inertia(law)]


def balance_panels(energies: Mapping[str, ArrayLike], residual: Array | None) -> tuple[Panel, ...]:
    curves = [Curve(kind, np.asarray(v, dtype=float), c) for c, (kind, v) in zip(ENERGIES * 3, energies.items(), strict=False)]
    panels = []
    if curves:
        total = np.sum([curve.values for curve in curves], axis=0)
        panels.append(Panel("energy", "J", (*curves, Curve("sum", total, INK, dashed=True)), key=True))
    if residual is not None:
        # Mostly rounding errors, which matter only if the ledger does not close; with the unit in its title, it stays in J.
        panels.append(Panel("energy ledger\nresidual (J)", "", (Curve("", residual, AXES[0]),), level=True, on_demand=True))
    return tuple(panels)
