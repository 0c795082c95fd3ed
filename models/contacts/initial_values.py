"""Start values of a contact: contact coordinates, law states and modes from the closest points of the start poses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cmp_to_key, lru_cache
from typing import Any

import numpy as np
from screwbond.models.contacts.components import has_unpaired_component
from screwbond.models.contacts.switches import POLE_MESSAGE

from bondgraph.errors import refusal
from screws.contact import ContactCoordinates, all_closest_points, closest_points, is_convex
from screws.contact.closest import MERGE_DISTANCE
from screws.contact.overlaps import contact_places
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


StartPlace = Callable[[str, tuple[Surface, Surface], np.ndarray, np.ndarray], ContactCoordinates]
"""Function of a contact's name (for errors), surfaces, pose (4, 4) of body 1 in the world and pose of body 2 in body 1, which
returns the contact coordinates of the place at which it starts."""


def only_place(near: np.ndarray | None = None) -> StartPlace:
    """Return the only place of a contact, or of several the one nearest to the point `near` (3,) of body 1, m."""

    def place(name: str, surfaces: tuple[Surface, Surface], H1: np.ndarray, H_1_2: np.ndarray) -> ContactCoordinates:
        nearest = closest_points(*surfaces, H_1_2, near=near)
        if near is None and not all(map(is_convex, surfaces)):
            _check_single_contact(name, *surfaces, H_1_2)
        return nearest

    return place


def numbered_place(number: int, count: int) -> StartPlace:
    """Return the place of this number, from 1, among the `count` places of a contact."""
    return lambda name, surfaces, H1, H_1_2: _numbered_places(name, surfaces, tuple(H1.ravel()), tuple(H_1_2.ravel()), count)[
        number - 1
    ]


def start_values(
    name: str,
    surface1: Surface,
    surface2: Surface,
    chosen: Sequence[str],
    begin: Callable[[float], tuple[Any, ...]],
    place: StartPlace,
) -> Any:
    """Return the function: start poses -> contact coordinates of the closest points, states and modes of the law by the gap
    (`begin`: d, states and modes), and charts."""

    def start(pose1: Any, pose2: Any, *numbers: Any) -> tuple[Any, ...]:
        count = len(surface1.parameters)
        actual1, actual2 = _with_numbers(surface1, numbers[:count]), _with_numbers(surface2, numbers[count:])
        H1 = pose_from_state(pose1)
        H_1_2 = np.asarray(inverse(H1) @ pose_from_state(pose2), dtype=float)
        try:
            nearest = place(name, (actual1, actual2), np.asarray(H1, dtype=float), H_1_2)
        except GeometryError as error:
            raise refusal(error.code, error.message, error.cure, about=name, why=f'contact "{name}"', places=()) from error
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
    title = f'contact "{name}" is one, but its bodies touch in {len(overlaps)} places'
    cures = (
        f"places={len(overlaps)}",
        "a contact for each place between the same bodies, each with near=(x, y, z), a point of body 1 close to its place",
    )
    raise refusal("E428", title, *cures, about=name, why=_described(surface1, overlaps), places=())


def _described(surface1: Surface, minima: Sequence[ContactCoordinates]) -> tuple[str, ...]:
    """Describe the point of each place and its depth or gap."""
    least = 1e-9 * surface1.size
    points = ([x if abs(x) > least else 0.0 for x in surface1.point(contact.q1, contact.chart1)] for contact in minima)
    gaps = (f"{-contact.d:.3g} m deep" if contact.d < 0.0 else f"{contact.d:.3g} m apart" for contact in minima)
    return tuple(f"at ({', '.join(f'{x:.4g}' for x in point)}) m, {gap}" for point, gap in zip(points, gaps, strict=True))


@lru_cache(maxsize=8)
def _numbered_places(
    name: str, surfaces: tuple[Surface, Surface], H1: tuple[float, ...], H_1_2: tuple[float, ...], count: int
) -> tuple[ContactCoordinates, ...]:
    """Return the `count` places of a contact: overlapping ones, then those with the smallest gaps, numbered along x, y, z of the
    world, so that neither the order of the bodies nor that of the search matters.

    Raises `ModelError` E439 for fewer places, E428 for more places in which the bodies touch.
    """
    pose1, H = np.reshape(H1, (4, 4)), np.reshape(H_1_2, (4, 4))
    minima = contact_places(*surfaces, H)
    if not minima:
        minima = [closest_points(*surfaces, H)]  # or the reason why there is none
    touching = sum(contact.d < 0.0 for contact in minima)
    if len(minima) < count:
        title = f'contact "{name}" has {count} places, but its bodies come near each other in {len(minima)} at the start'
        cures = ("a start closer to the touch, from which each place has a nearest point of its own", f"places={len(minima)}")
        raise refusal("E439", title, *cures, about=name, why=_described(surfaces[0], minima), places=())
    if touching > count:
        title = f'contact "{name}" has {count} places, but its bodies touch in {touching}'
        raise refusal("E428", title, f"places={touching}", about=name, why=_described(surfaces[0], minima[:touching]), places=())
    equal = MERGE_DISTANCE * min(surface.size for surface in surfaces)

    def position(contact: ContactCoordinates) -> np.ndarray:
        ends = surfaces[0].point(contact.q1, contact.chart1), H[:3, :3] @ surfaces[1].point(contact.q2, contact.chart2) + H[:3, 3]
        return np.asarray(pose1[:3, :3] @ (0.5 * (ends[0] + ends[1])) + pose1[:3, 3], dtype=float)

    def along_axes(first: ContactCoordinates, second: ContactCoordinates) -> int:
        apart = position(first) - position(second)
        return next((1 if x > 0.0 else -1 for x in apart if abs(x) > equal), 0)

    def by_gap(first: ContactCoordinates, second: ContactCoordinates) -> int:
        order, apart = (second.d < 0.0) - (first.d < 0.0), abs(first.d) - abs(second.d)
        if order == 0 and abs(apart) > equal:
            return 1 if apart > 0.0 else -1
        return order or along_axes(first, second)

    return tuple(sorted(sorted(minima, key=cmp_to_key(by_gap))[:count], key=cmp_to_key(along_axes)))


def _in_polar_chart(name: str, surface2: Surface, nearest: ContactCoordinates) -> ContactCoordinates:
    q2, turn = surface2.change_chart(nearest.q2, 1.0)
    if surface2.chart_margin(q2, 0.0) <= 0.0:
        cure = "constrain both components of a pair, or start farther from the pole"
        raise refusal("E423", f'contact "{name}" cannot start: {POLE_MESSAGE}', cure, about=name, places=())
    return replace(nearest, q2=np.asarray(q2, dtype=float), chart2=0.0, alpha=float(nearest.alpha + turn))


def _with_numbers(surface: Surface, numbers: Sequence[Any]) -> Surface:
    return replace(surface, parameters=dict(zip(surface.parameters, map(float, numbers), strict=True)))
