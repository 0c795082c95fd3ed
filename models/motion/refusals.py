"""Refusals of motions and controllers: one problem, raised with the line of the user's source."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from bondgraph.errors import refusal


def refuse(code: str, title: str, details: str | tuple[str, ...], cure: str, name: str = "motion") -> NoReturn:
    """Raise a `ModelError` with one problem."""
    raise refusal(code, title, cure, about=name, why=details or ())


def numbers(what: str, value: Any, dimensions: tuple[int, ...] = (0, 1)) -> NDArray[np.float64]:
    """An array of finite floats with one of the given counts of dimensions, or a refusal (E470)."""
    try:
        values = np.array(value, dtype=float)
    except (TypeError, ValueError):
        values = np.full((0,) * 9, 0.0)
    if values.ndim not in dimensions or not np.isfinite(values).all() or not values.size:
        kinds = " or ".join({0: "a number", 1: "a list of numbers", 2: "a list of points"}[d] for d in dimensions)
        refuse("E470", f"{what} of a motion is {value!r}", f"it needs {kinds}, all finite", kinds)
    return values
