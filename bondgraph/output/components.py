"""Components of quantities: a name and its shape in; a name for each number out."""

from __future__ import annotations

import numpy as np


def component_names(name: str, shape: tuple[int, ...]) -> list[str]:
    """A name for each number of a quantity, in their order.

    >>> component_names("body.v", (2,)), component_names("rotor.flow", ())
    (['body.v[0]', 'body.v[1]'], ['rotor.flow'])
    """
    return [f"{name}[{', '.join(map(str, place))}]" for place in np.ndindex(*shape)] if shape else [name]
