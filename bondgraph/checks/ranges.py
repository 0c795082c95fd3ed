"""Checks of numbers that no switch, constraint or friction can have, of the model and of what a run changes."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from bondgraph.errors import Problem
from bondgraph.model.element import Element
from bondgraph.model.modal import numbers_of
from bondgraph.model.model import Model
from bondgraph.quantities import real


def check_ranges(model: Model) -> Iterator[Problem]:
    """Parameters are what their element declares: from zero to their `max_value`, and no less than the one they name."""
    for path, element in model.elements.items():
        for key, parameter in element.parameters.items():
            most = parameter.max_value
            for name, given in numbers_of(key, parameter).items() if most is not None else ():
                value = real(given)
                if value is None or not np.isfinite(value).all() or (np.all(value >= 0.0) and np.all(value <= most)):
                    continue
                wanted = "zero or more" if most == math.inf else f"between 0 and {most:g}"
                title = f'{element.kind} "{path}": {name} must be {wanted}'
                details = (f"given: {value.tolist()}",)
                yield Problem("E151", title, details, (element.place,), (f"for {name}, a number that is {wanted}",))
            if not parameter.not_below:
                continue
            own, least = _number(element, key), _number(element, parameter.not_below)
            if own is not None and least is not None and 0.0 <= own < least:
                title = f'{element.kind} "{path}": {key} must be no less than {parameter.not_below}'
                cures = (f"a {key} of the {parameter.not_below} or more; for a run, change both",)
                yield Problem("E151", title, (f"{key} {own:g}, {parameter.not_below} {least:g}",), (element.place,), cures)


def _number(element: Element, key: str) -> float | None:
    """A parameter that is one number, and None otherwise."""
    value = real(element.parameters[key].value) if key in element.parameters else None
    return float(value) if value is not None and value.shape == () else None
