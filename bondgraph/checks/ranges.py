"""Checks of numbers that no switch, constraint or friction can have, of the model and of what a run changes."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from bondgraph.errors import Problem
from bondgraph.graph.element import Element
from bondgraph.graph.modal import numbers_of
from bondgraph.graph.model import Model
from bondgraph.quantities import real

_ALPHA = {"alpha1": math.inf}
_HIGHEST = {
    "friction": {"limit": math.inf, "stick_limit": math.inf, "viscous": math.inf, **_ALPHA},
    "constraint": {"restitution": 1.0, "alpha0": math.inf, "alpha2": math.inf, **_ALPHA},
    "Sw": _ALPHA,
    "Diode": _ALPHA,
}
"""Kind of element -> parameter -> the highest that it may be; none may be negative."""


def check_ranges(model: Model) -> Iterator[Problem]:
    """Friction takes power, what it holds is no less than what it slips with, and an impact returns no more than it takes."""
    for path, element in model.elements.items():
        highest = _HIGHEST.get(element.kind)
        if highest is None:
            continue
        for key, parameter in element.parameters.items():
            most = highest.get(key.partition(" in ")[0])
            for name, given in numbers_of(key, parameter).items() if most is not None else ():
                value = real(given)
                if value is None or not np.isfinite(value).all() or (np.all(value >= 0.0) and np.all(value <= most)):
                    continue
                wanted = "zero or more" if most == math.inf else f"between 0 and {most:g}"
                yield Problem(
                    "E151",
                    f'{element.kind} "{path}": {name} must be {wanted}',
                    (f"given: {value.tolist()}",),
                    (element.place,),
                    (f"for {name}, a number that is {wanted}",),
                )
        if element.kind == "friction":
            limit, held = (_number(element, key) for key in ("limit", "stick_limit"))
            if limit is not None and held is not None and 0.0 <= held < limit:
                yield Problem(
                    "E151",
                    f'friction "{path}": stick_limit must be no less than limit',
                    (f"stick_limit {held:g}, limit {limit:g}: it would let go of what it cannot move",),
                    (element.place,),
                    ("a stick_limit of the limit or more; for a run, change both",),
                )


def _number(element: Element, key: str) -> float | None:
    """A parameter that is one number, and None otherwise."""
    value = real(element.parameters[key].value) if key in element.parameters else None
    return float(value) if value is not None and value.shape == () else None
