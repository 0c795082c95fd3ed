"""Components of the relative twist of a contact: their names, the paper's names for sets of them, and argument checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from screwbond.models.connections import Touchable

from bondgraph.errors import Problem, caller_place
from bondgraph.model.domains import Domain, motions
from screws.contact import is_convex
from screws.numeric_arguments import real, reals
from screws.surfaces import Surface

COMPONENTS = ("omega_x", "omega_y", "omega_z", "v_x", "v_y", "v_z")
"""Components of the relative twist T_{O2}^{C2,O1}, in its order."""

PAPER_NAMES = {
    "rolling": ("omega_z", "v_x", "v_y", "v_z"),
    "sliding": ("omega_x", "omega_y", "v_z"),
    "rolling and sliding": ("v_z",),
}
"""Constrained components of each contact in Visser 2002, section 4, by its name there."""

COMPONENT_KINDS = {"v_z": "normal", "v_x": "tangential", "v_y": "tangential"}


def ordered_components(constrained: str | Sequence[str]) -> tuple[str, ...]:
    requested = PAPER_NAMES.get(constrained, (constrained,)) if isinstance(constrained, str) else _as_tuple(constrained)
    return tuple(component for component in COMPONENTS if component in requested)


def _as_tuple(constrained: Any) -> tuple[Any, ...]:
    return tuple(constrained) if isinstance(constrained, (Sequence, set)) and not isinstance(constrained, str) else (constrained,)


def by_component(values: tuple[Any, Any, Any]) -> dict[str, Any]:
    by_kind = dict(zip(("normal", "tangential", "rotational"), values, strict=True))
    return {component: by_kind[COMPONENT_KINDS.get(component, "rotational")] for component in COMPONENTS}


def domain_of(components: Sequence[str]) -> Domain:
    return motions([component.startswith("omega") for component in components])


def component_pairs(chosen: Sequence[str]) -> list[tuple[int, int]]:
    """Return the indices of the (x, y) pairs in the spring's state; an unpaired component follows the chart's axis."""
    return [
        (chosen.index(f"{kind}_x"), chosen.index(f"{kind}_y"))
        for kind in ("omega", "v")
        if f"{kind}_x" in chosen and f"{kind}_y" in chosen
    ]


def has_unpaired_component(chosen: Sequence[str]) -> bool:
    return any((f"{kind}_x" in chosen) != (f"{kind}_y" in chosen) for kind in ("omega", "v"))


def selection(components: Sequence[str]) -> np.ndarray:
    rows = np.eye(6)[[COMPONENTS.index(component) for component in components]]
    return rows[0] if len(rows) == 1 else rows


def body_problems(name: str, bodies: Sequence[Touchable]) -> list[Problem]:
    source, problems = caller_place(), []
    for body in bodies:
        if not hasattr(body, "surface"):
            title, cures = f'"{name}" joins {body!r}, which is not a body', ("rigid_body(...), ground(...)", "a link of a chain")
            problems.append(Problem("E458", title, (), (source,), cures))
        elif body.surface is None:
            title, cure = (
                f'body "{body.name}" of contact "{name}" has no surface',
                "a surface where the body is built: surface=sphere(0.1)",
            )
            problems.append(Problem("E420", title, (), (body.place,), (cure,)))
    return problems


def component_problems(name: str, constrained: Any, chosen: Sequence[str]) -> list[Problem]:
    unknown = [c for c in _as_tuple(constrained) if c not in COMPONENTS and c not in PAPER_NAMES]
    if chosen and not unknown:
        return []
    title = (
        f'contact "{name}" cannot constrain {", ".join(map(str, unknown))}' if unknown else f'contact "{name}" constrains nothing'
    )
    details = (f"components: {', '.join(COMPONENTS)}", f"names: {', '.join(PAPER_NAMES)}")
    cures = ('constrained="rolling", or a list of components such as ["v_z"]',)
    return [Problem("E421", title, details, (caller_place(),), cures)]


def stiffness_problems(
    name: str, chosen: Sequence[str], stiffness: Mapping[str, Any], damping: Mapping[str, Any]
) -> list[Problem]:
    source, problems = caller_place(), []
    for kind in ("normal", "tangential", "rotational"):
        components = [c for c in chosen if COMPONENT_KINDS.get(c, "rotational") == kind]
        if not components:
            continue
        k, r = stiffness[components[0]], damping[components[0]]
        valid = {"stiffness": 0.0 < real(k) < np.inf, "damping": 0.0 <= real(r) < np.inf}
        if not all(valid.values()):
            title = f'contact "{name}" cannot have {kind}_stiffness = {k!r}, {kind}_damping = {r!r}'
            why = f"constraining {', '.join(components)} requires a positive stiffness and a non-negative damping"
            cure = ", ".join(f"{kind}_{what}=..." for what, is_valid in valid.items() if not is_valid)
            cure += f", or leave {', '.join(components)} free" if len(components) < len(chosen) else ""
            problems.append(Problem("E422", title, (why,), (source,), (cure,)))
    return problems


def near_problems(name: str, near: Any) -> list[Problem]:
    if near is None or reals(near, 3) is not None:
        return []
    cure = "near=(x, y, z), a point of body 1 close to the place of contact, m"
    return [Problem("E429", f'contact "{name}" cannot have near = {near!r}', (), (caller_place(),), (cure,))]


def place_problems(name: str, bodies: Sequence[Touchable], places: Any, near: Any) -> list[Problem]:
    if isinstance(places, bool) or not isinstance(places, (int, np.integer)) or places < 1:
        cure = "a positive integer: places=2"
        return [Problem("E439", f'contact "{name}" cannot have places = {places!r}', (), (caller_place(),), (cure,))]
    surfaces = [surface for body in bodies if isinstance(surface := getattr(body, "surface", None), Surface)]
    if places == 1 or len(surfaces) < 2:
        return []
    problems = []
    if all(map(is_convex, surfaces)):
        title = f'contact "{name}" has {places} places, but its bodies are convex: {surfaces[0].name} and {surfaces[1].name}'
        why = "convex bodies touch in one place"
        problems.append(Problem("E439", title, (why,), (caller_place(),), ("places=1, or omit places",)))
    if near is not None:
        cure = "near=... for a contact with one place, or places=... without near"
        title = f'contact "{name}" has {places} places and also near = {near!r}'
        problems.append(Problem("E429", title, (), (caller_place(),), (cure,)))
    return problems


def constrained_components(result: Any, name: str) -> list[int]:
    """Return the indices in `COMPONENTS` that a contact with springs constrains, read from its selection matrix in a result;
    `name` is the contact's path."""
    selection = np.atleast_2d(np.asarray(result[f"{name}.constrained.N"])[-1])
    return [int(np.argmax(row)) for row in selection]
