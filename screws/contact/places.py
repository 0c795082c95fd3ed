"""All places where two bodies are nearest to each other or overlap, whichever of them is the first."""

from __future__ import annotations

import numpy as np

from screws.contact.closest import (
    ContactCoordinates,
    StationaryPair,
    contact_coordinates,
    distinct,
    evaluate,
    is_isolated_minimum,
    local_minima,
    solve_stationarity,
)
from screws.contact.initial_guesses import Bodies, Pair
from screws.contact.overlaps import starts_inside
from screws.poses import inverse
from screws.surfaces import Surface


def contact_places(surface1: Surface, surface2: Surface, H_1_2: np.ndarray) -> list[ContactCoordinates]:
    """Return the local minima of the distance, and their continuations into overlap, that a search from both bodies finds:
    overlapping ones first, the shallowest first, then separated ones by their gap.

    `H_1_2` is the pose (4, 4) of body 2 in body 1. In addition to the starts of `all_closest_points`, of either body, the points
    of each body inside of the other are starts. Raises `GeometryError` G124 if H_1_2 is no pose.
    """
    bodies = Bodies(surface1, surface2, np.asarray(H_1_2, dtype=float))
    other_way = Bodies(surface2, surface1, np.asarray(inverse(bodies.H_1_2), dtype=float))
    pairs = [*local_minima(bodies), *(_swapped(bodies, pair) for pair in local_minima(other_way))]
    overlaps = (solve_stationarity(bodies, start.pair) for start in starts_inside(surface1, surface2, bodies.H_1_2))
    pairs += [pair for pair in overlaps if pair is not None and pair.gap < 0.0 and is_isolated_minimum(bodies, pair)]
    return [contact_coordinates(bodies, pair) for pair in distinct(bodies, pairs)]


def _swapped(bodies: Bodies, pair: StationaryPair) -> StationaryPair:
    """Return a pair of the same bodies in the other order."""
    q2, chart2, q1, chart1 = pair.pair
    return evaluate(bodies, Pair(q1, chart1, q2, chart2))
