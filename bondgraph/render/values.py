"""Values: a model and the path of an element in; what its parameters are, one short line each, out."""

from __future__ import annotations

from typing import Any

import numpy as np

from bondgraph.assembly.units import parameter_unit
from bondgraph.model.laws import ByMode
from bondgraph.model.model import Model

TIMES = " \N{MULTIPLICATION SIGN} "
MOST = 4
"""Lines beyond which it is only said how many more there are."""


def values_of(model: Model, path: str) -> tuple[str, ...]:
    """Name, value and unit of each parameter of an element; of an array that is no short vector, its shape."""
    lines = []
    for name, parameter in model.elements[path].parameters.items():
        unit = parameter.unit or parameter_unit(model, path, name, parameter.value)
        lines.append(f"{name} = {_written(parameter.value)}{' ' if unit not in ('', '1') else ''}{unit if unit != '1' else ''}")
    rest = len(lines) - MOST
    return tuple(lines if rest <= 0 else [*lines[: MOST - 1], f"and {rest + 1} more"])


def _written(value: Any) -> str:
    if isinstance(value, ByMode):
        return f"({', '.join(f'{state}: {_written(each)}' for state, each in value.values.items())})"
    array = np.asarray(value, dtype=float)
    if array.ndim == 0:
        return f"{float(array):.4g}"
    if array.ndim == 1 and len(array) <= 3:
        return f"({', '.join(f'{entry:.4g}' for entry in array)})"
    return f"[{TIMES.join(map(str, array.shape))}]"
