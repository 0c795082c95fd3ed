"""Check of relations that their authors declare passive: effort times flow is never negative, tried at many values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bondgraph.errors import Problem
from bondgraph.model.element import Element
from bondgraph.model.laws import Resistor
from bondgraph.model.model import Model

SIZES = np.concatenate([[0.0], np.logspace(-6, 6, 49)])
DIRECTIONS = 24
"""Directions in which a relation of several components is tried, besides its axes."""
ROUNDING = 1e-12
"""Power that counts as zero, as a part of |effort| |flow|."""


def check_passive(model: Model) -> Iterator[Problem]:
    """A relation that is declared passive takes power wherever it is tried; with signals it cannot be tried."""
    for path, element in model.elements.items():
        law = element.law
        if not isinstance(law, Resistor) or not law.passive:
            continue
        if element.signals:
            yield _problem(element, "it reads signals, so that it cannot be tried by itself", "leave `passive` out")
            continue
        values = [np.asarray(parameter.value, dtype=float)[()] for parameter in element.parameters.values()]
        bonds = model.bonds_at(path)
        dimension = bonds[0].dimension if bonds else 1
        for name, formula in (("flow", law.effort), ("effort", law.flow)):
            found = None if formula is None else _giving(formula, values, dimension)
            if found is not None:
                why = f"at {name} = {np.array2string(np.asarray(found[0]), precision=4)} its power is {found[1]:.4g} W"
                yield _problem(element, why, "a relation through zero that stays in its quadrants")
                break


def _giving(formula: Any, values: list[Any], dimension: int) -> tuple[Any, float] | None:
    """A value at which the relation gives power, and that power; None if there is none among those tried."""
    for given in _tried(dimension):
        with np.errstate(all="ignore"):
            result = np.asarray(formula(given, *values), dtype=float)
            power, size = float(np.sum(result * given)), float(np.sum(np.abs(result * given)))
        if np.isfinite(power) and power < -ROUNDING * size:
            return given, power
    return None


def _tried(dimension: int) -> Iterator[Any]:
    if dimension == 1:
        yield from (float(sign * size) for size in SIZES for sign in (1.0, -1.0))
        return
    rng = np.random.default_rng(0)
    directions = np.vstack([np.eye(dimension), -np.eye(dimension), rng.normal(size=(DIRECTIONS, dimension))])
    yield from (size * direction / np.linalg.norm(direction) for size in SIZES for direction in directions)


def _problem(element: Element, why: str, cure: str) -> Problem:
    title = f'{element.kind} "{element.name}" is declared passive, and is not known to be'
    return Problem("E153", title, (why,), (element.place,), (cure,))
