"""Start values of a contact: contact coordinates, law states and modes from the closest points of the start poses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from screwbond.models.contacts.components import has_unpaired_component
from screwbond.models.contacts.switches import POLE_MESSAGE

from bondgraph.errors import refusal
from screws.contact import ContactCoordinates, all_closest_points, closest_points, is_convex
from screws.errors import GeometryError
from screws.poses import inverse, pose_from_state
from screws.surfaces import Surface


def start_parameters(surface1: Surface, surface2: Surface) -> list[str]:
    """Return the paths of the surfaces' parameters, in the order in which `start_values` takes them."""
    return [f"kinematics.surface {i} {key}" for i, s in ((1, surface1), (2, surface2)) for key in s.parameters]


def start_results(surface1: Surface, surface2: Surface, of_law: Sequence[str]) -> list[str]:
    """Return the states and automata that `start_values` sets, in its order."""
    charts = [f"chart {i}" for i, s in ((1, surface1), (2, surface2)) if s.charts > 1]
    return ["kinematics.q1", "kinematics.q2", "kinematics.alpha", *of_law, *charts]


def start_values(
    name: str,
    surface1: Surface,
    surface2: Surface,
    chosen: Sequence[str],
    begin: Callable[[float], tuple[Any, ...]],
    near: np.ndarray | None = None,
) -> Any:
    """Return the function: start poses -> contact coordinates of the closest points, states and modes of the law by the gap
    (`begin`: d, states and modes), and charts."""

    def start(pose1: Any, pose2: Any, *numbers: Any) -> tuple[Any, ...]:
        count = len(surface1.parameters)
        actual1, actual2 = _with_numbers(surface1, numbers[:count]), _with_numbers(surface2, numbers[count:])
        H_1_2 = np.asarray(inverse(pose_from_state(pose1)) @ pose_from_state(pose2), dtype=float)
        try:
            nearest = closest_points(actual1, actual2, H_1_2, near=near)
        except GeometryError as error:
            raise refusal(error.code, error.message, error.cure, about=name, why=f'contact "{name}"', places=()) from error
        if near is None and not (is_convex(surface1) and is_convex(surface2)):
            _check_single_contact(name, actual1, actual2, H_1_2)
        if has_unpaired_component(chosen) and nearest.chart2 == 1.0:
            nearest = _in_polar_chart(name, actual2, nearest)
        charts = [
            ("axis z", "axis x")[int(c)] for c, s in ((nearest.chart1, surface1), (nearest.chart2, surface2)) if s.charts > 1
        ]
        return (nearest.q1, nearest.q2, nearest.alpha, *begin(float(nearest.d)), *charts)

    return start


def _check_single_contact(name: str, surface1: Surface, surface2: Surface, H_1_2: np.ndarray) -> None:
    """Refuse (E428) bodies that overlap at several points: a contact tracks one."""
    overlaps = [contact for contact in all_closest_points(surface1, surface2, H_1_2) if contact.d < 0.0]
    if len(overlaps) < 2:
        return
    points = [surface1.point(contact.q1, contact.chart1) for contact in overlaps]
    where = [
        f"({', '.join(f'{x:.4g}' for x in p)}) m, {-contact.d:.3g} m deep" for p, contact in zip(points, overlaps, strict=True)
    ]
    title = f'contact "{name}" is one, but its bodies touch in {len(overlaps)} places'
    cure = "a contact for each place between the same bodies, each with near=(x, y, z), a point of body 1 close to its place"
    raise refusal("E428", title, cure, about=name, why=tuple(f"at {w}" for w in where), places=())


def _in_polar_chart(name: str, surface2: Surface, nearest: ContactCoordinates) -> ContactCoordinates:
    q2, turn = surface2.change_chart(nearest.q2, 1.0)
    if surface2.chart_margin(q2, 0.0) <= 0.0:
        cure = "constrain both components of a pair, or start farther from the pole"
        raise refusal("E423", f'contact "{name}" cannot start: {POLE_MESSAGE}', cure, about=name, places=())
    return replace(nearest, q2=np.asarray(q2, dtype=float), chart2=0.0, alpha=float(nearest.alpha + turn))


def _with_numbers(surface: Surface, numbers: Sequence[Any]) -> Surface:
    return replace(surface, parameters=dict(zip(surface.parameters, map(float, numbers), strict=True)))
