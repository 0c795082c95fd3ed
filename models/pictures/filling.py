"""Results as scenes: a result and its graph in; a scene of every pose, body with a surface, contact, force and energy out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bondgraph import Element, Graph
from bondgraph.model.laws import InertialField, Law, Storing
from bondgraph.piles import PileResult
from bondgraph.run.outcome.result import Result
from models.bodies import Body
from models.contacts.trajectory import contact_intervals, contact_trajectory
from models.pictures.interpolation import Array, poses
from models.pictures.parts import Curve, Frame, Happening, Look, Panel, Solid, Touching
from models.pictures.scene import Scene
from models.pictures.shapes.solids import solids_mesh
from models.pictures.style import AXES, ENERGIES, FORCE, INK, SOLIDS
from screws.shapes import HalfSpace
from screws.shapes import Solid as Shaped
from screws.surfaces import Surface

BODY_AXES = (0.65, 0.55)
"""Length and thickness of the axes of a body's frame over those of a Gauss frame."""

GROUND = "#eef0f5"
"""Colour of floors and walls."""

KINETIC, POTENTIAL = "kinetic", "potential"


def scene_of(
    result: Result,
    graph: Graph,
    title: str = "",
    *,
    name: str = "",
    names: Mapping[str, str] | None = None,
    colours: Mapping[str, tuple[str, str]] | None = None,
    surfaces: Mapping[str, Surface] | None = None,
    **fields: Any,
) -> Scene:
    """A scene of all that a result holds.

    Parameters
    ----------
    result : of a run of `graph`.
    title, name : heading, and which run it is; the graph's name where "".
    names : path of a body in the graph -> what it is called in the picture; its path where none is given.
    colours : path of a body -> its colour, and that of contact paths on it; in turn those of `SOLIDS` where none are given.
    surfaces : path of a body -> its surface, where that was given to a contact only (`ChainGraph.link`).
    fields : further fields of the scene.
    """
    parts = {"": graph, **dict(parts_in(graph))}
    contacts = contacts_in(parts, result)
    # What touches comes first, in the order of the contacts: colours and numbers follow it.
    order = dict.fromkeys([*(path for pair in contacts.values() for path in pair), *parts])
    bodies = {path: part for path in order if isinstance(part := parts[path], Body) and f"{path}.pose" in result}
    solids: dict[str, Solid] = {}
    frames = []
    span = _span(result, bodies)
    for path, body in bodies.items():
        if body.shapes and path not in (surfaces or {}) and body.surface is None:
            own = (colours or {}).get(path, SOLIDS[len(solids) % len(SOLIDS)])
            solids[path] = solid_of_shapes(
                (names or {}).get(path, path), pose_course(result, f"{path}.pose"), body.shapes, own, span
            )
            continue
        H, label = pose_course(result, f"{path}.pose"), ((names or {}).get(path, path), "")
        surface = (surfaces or {}).get(path, body.surface)
        if surface is not None:
            own = (colours or {}).get(path, SOLIDS[len(solids) % len(SOLIDS)])
            solids[path] = solid_of(label[0], H, surface, own)
            label = ("O", str(len(solids)))
        if surface is None or not surface.endless:
            frames.append(Frame(H, *BODY_AXES, label=label))
    touches, panels = _touches(result, contacts, solids)
    elements = {path: part for path, part in parts.items() if isinstance(part, Element)}
    filled: dict[str, Any] = {
        "title": title or graph.name,
        "t": result.t,
        "solids": tuple(solids.values()),
        "touches": tuple(touches),
        "frames": tuple(frames),
        "panels": (
            *panels,
            *pile_panels(result),
            *balance_panels(energies_of(result, elements, list(contacts)), result.ledger.residual),
        ),
        "happenings": happenings_of(result),
        "name": name or graph.name,
        "result": result,
    }
    return Scene(**{**filled, **fields})


def solid_of(called: str, H: Array, surface: Surface, colours: tuple[str, str]) -> Solid:
    """A body with a surface; earlier poses of one that moves and ends are shown."""
    solid = Solid(called, H, surface, *colours)
    return replace(solid, ghosts=-math.inf) if solid.moves() and not surface.endless else solid


def solid_of_shapes(called: str, H: Array, shapes: Sequence[Shaped], colours: tuple[str, str], span: float) -> Solid:
    """A body with shapes: opaque; what has no end is a pale sheet round the others, seen from its front."""
    endless = any(isinstance(shape, HalfSpace) for shape in shapes)
    colour, look = (GROUND, Look.WALL) if endless else (colours[0], Look.OPAQUE)
    return Solid(called, H, solids_mesh(shapes, span), colour, colours[1], look=look, framed=not endless)


def _span(result: Result, bodies: Mapping[str, Body]) -> float:
    """How far what has no end is drawn: to where bodies with shapes end up, and as much again; m."""
    ends = [
        np.abs(pose_course(result, f"{path}.pose")[-1, :3, 3]).max()
        + max(float(shape.half.max()) + shape.radius for shape in body.shapes)
        for path, body in bodies.items()
        if body.shapes and not any(isinstance(shape, HalfSpace) for shape in body.shapes)
    ]
    return 2.0 * max(ends, default=1.0)


def pile_panels(result: Result) -> tuple[Panel, ...]:
    """Panels of how many contacts press, and how fast what presses slips, of a run of a pile."""
    if not isinstance(result, PileResult):
        return ()
    touching = Panel("contacts that press", "", (Curve("", result.touching.astype(float), FORCE),))
    return touching, Panel("fastest slip", "m/s", (Curve("", result.slip, AXES[0]),), level=True)


def parts_in(graph: Graph, above: str = "") -> Iterator[tuple[str, Graph | Element]]:
    """Path and record of every part of a graph, those of nested graphs too."""
    for name, part in graph.parts.items():
        if isinstance(part, (Element, Graph)):
            yield f"{above}{name}", part
        if isinstance(part, Graph):
            yield from parts_in(part, f"{above}{name}.")


def contacts_in(parts: Mapping[str, Graph | Element], result: Result) -> dict[str, tuple[str, str]]:
    """Path of every contact that a result holds -> the paths of the two bodies; `parts` by path, the whole graph's being ""."""
    paths = [contact.point.path for contact in result.program.contacts if contact.point.frames]
    return {path: (body_at(parts, path, "pose 1"), body_at(parts, path, "pose 2")) for path in paths if path in parts}


def body_at(parts: Mapping[str, Graph | Element], part: str, name: str) -> str:
    """Path of the body whose pose feeds the input `name` of the part at a path."""
    above, _, own = part.rpartition(".")
    around = parts[above]
    assert isinstance(around, Graph)
    source = around.wires[own, name]
    if source in around.inputs:
        return body_at(parts, above, source)
    # An exported name leads on inside; a body's own signal ends the search.
    path, inside = above, around
    while True:
        inner, _, signal = source.partition(".")
        path, found = f"{path}.{inner}".lstrip("."), inside.parts[inner]
        if isinstance(found, Body) or not isinstance(found, Graph):
            return path
        inside, source = found, found.exports.get(signal, signal)


def pose_course(result: Result, name: str) -> Array:
    """Poses (k, 4, 4) of a signal (7,), also where it is a parameter."""
    states = np.atleast_2d(result[name])
    return np.broadcast_to(poses(states[:, 4:], states[:, :4]), (len(result.t), 4, 4))


def _touches(
    result: Result, contacts: Mapping[str, tuple[str, str]], solids: Mapping[str, Solid]
) -> tuple[list[Touching], list[Panel]]:
    """Touches, and the panels of their gaps, forces and coordinates; `contacts` and `solids` by path."""
    found = {path: pair for path, pair in contacts.items() if set(pair) <= set(solids)}
    alone, places = len(found) == 1, list(solids)
    touches, gaps, forces, coordinates = [], [], [], []
    for k, (path, pair) in enumerate(found.items()):
        first, second = (solids[body] for body in pair)
        surfaces: Any = (first.shape, second.shape)
        arrays = contact_trajectory(result, pair, surfaces, path)
        words, ink = ("", INK) if alone else (path, SOLIDS[k % len(SOLIDS)][1])
        gaps.append(Curve(words, arrays["gap"], ink))
        forces.append(Curve(words, arrays["fn"], FORCE if alone else ink))
        uv = (arrays["uv1"], arrays["uv2"])
        coordinates.append(coordinate_panel(uv, arrays["alpha"], surfaces, (first.ink, second.ink), words))
        touches.append(
            Touching(
                path,
                (places.index(pair[0]), places.index(pair[1])),
                (arrays["frame1"], arrays["frame2"]),
                arrays["gap"],
                arrays["fn"],
                arrays["force_on_2_world"],
                contact_intervals(result, path),
                apart=alone,
                mark="'" * k,
            )
        )
    return touches, contact_panels(gaps, forces, coordinates)


def contact_panels(gaps: list[Curve], forces: list[Curve], coordinates: list[Panel]) -> list[Panel]:
    """Panels of gaps and normal forces, a curve for each contact, then those of their coordinates."""
    if not gaps:
        return []
    gap = Panel("gap $d$", "m", tuple(gaps), level=True)
    return [gap, Panel("normal force $f_n$", "N", tuple(forces), key=True), *coordinates]


def coordinate_panel(
    uv: tuple[Array, Array], alpha: Array, surfaces: tuple[Surface, Surface], inks: tuple[str, str], words: str = ""
) -> Panel:
    """Panel of the coordinates (k, 2) of a contact on both surfaces and of the angle between its frames."""
    curves = [
        Curve(f"${letter}_{side}$", values[:, k], ink, dashed=k == 1)
        for side, values, ink in zip((1, 2), uv, inks, strict=True)
        for k, letter in enumerate("uv")
    ]
    unit = "rad, m" if any(surface.endless for surface in surfaces) else "rad"
    title = f"coordinates of\n{words}" if words else "contact\ncoordinates"
    return Panel(title, unit, (*curves, Curve(r"$\alpha$", alpha, AXES[1])))


def happenings_of(result: Result) -> tuple[Happening, ...]:
    """Its events, without words."""
    return tuple(Happening(event.time, "", event.internal) for event in result.events)


def energies_of(result: Result, elements: Mapping[str, Element], contacts: Sequence[str]) -> dict[str, Array]:
    """Energies (k,) by kind, J, whose sum is constant; kinds that do not matter are left out.

    Parameters
    ----------
    elements : those of the graph, by path.
    contacts : paths of contacts, whose springs are a kind of their own.
    """
    ledger = result.ledger
    kinds: dict[str, Array] = {}
    of_contacts = tuple(f"{path}." for path in contacts)
    for name in result.program.energy_names:
        kind = "contact" if name.startswith(of_contacts) else _kind_of(elements[name].law)
        kinds[kind] = kinds.get(kind, np.zeros(len(result.t))) + ledger.elements[name]
    kinds = {kind: kinds[kind] for kind in (KINETIC, POTENTIAL, *kinds) if kind in kinds}
    kinds |= {"dissipated": ledger.dissipated + ledger.lost}
    kinds |= {"less supplied": -ledger.supplied, "less injected": -ledger.injected}
    return {kind: values for kind, values in kinds.items() if np.max(np.abs(values)) > 1e-4 * ledger.in_play}


def _kind_of(law: Law) -> str:
    """Which kind of energy the element of a law stores."""
    if isinstance(law, InertialField):
        return "mechanisms"
    return KINETIC if isinstance(law, Storing) and law.gives == "flow" else POTENTIAL


def balance_panels(energies: Mapping[str, ArrayLike], residual: Array | None) -> tuple[Panel, ...]:
    """Panel of energies (k,), J, with their sum, and of the residual of their account where it is known."""
    curves = [Curve(kind, np.asarray(v, dtype=float), c) for c, (kind, v) in zip(ENERGIES * 3, energies.items(), strict=False)]
    found = []
    if curves:
        total = np.sum([curve.values for curve in curves], axis=0)
        found.append(Panel("energy", "J", (*curves, Curve("sum", total, INK, dashed=True)), key=True))
    if residual is not None:
        # It is tiny beside what it is a residual of: in joule all the same.
        found.append(Panel("energy ledger\nresidual (J)", "", (Curve("", residual, AXES[0]),), level=True))
    return tuple(found)
