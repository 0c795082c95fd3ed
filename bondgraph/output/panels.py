"""Panels: how many and whose in; axes of Matplotlib, given or new and one below the other, out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from bondgraph.errors import refusal
from bondgraph.output.sheet import styled

MANY = 12
"""Panels, at most, where nobody said what to plot; curves of one panel that a legend still tells apart."""


@contextmanager
def panels(count: int, axes: Any, what: str, about: str, *, title: str = "", same_x: bool = True) -> Iterator[np.ndarray]:
    """As many axes (count,) as there are panels: the first of those that are given, or, where there are none, of a new figure
    that looks as the sheet says. No window is opened.

    Raises E416, an ImportError too, where Matplotlib is not installed; `ModelError` E560 for axes that are too few.
    """
    if axes is not None:
        given = np.asarray(axes, dtype=object).reshape(-1)
        if len(given) < count:
            title = f"{count} {what} are to be plotted on {len(given)} axes"
            raise refusal("E560", title, f"as many axes as {what}, or none", about=about)
        yield given[:count]
        return
    with styled():
        import matplotlib.pyplot as plt

        size = (8.0, 0.9 + (1.75 if same_x else 2.6) * max(count, 1))
        figure, made = plt.subplots(max(count, 1), 1, sharex=same_x, squeeze=False, figsize=size, layout="constrained")
        figure.suptitle(title or about, x=0.01, ha="left")
        drawn = made.reshape(-1)
        try:
            yield drawn[:count]
        except BaseException:
            plt.close(figure)
            raise
        figure.align_ylabels(drawn)


def legend_beside(axes: Any, handles: Any = None, labels: Any = None, title: str | None = None) -> None:
    """A legend on the right of a panel."""
    chosen = () if handles is None else (handles, labels)
    axes.legend(*chosen, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=1.2, title=title)


def labelled(name: str, unit: str, between: str = "\n") -> str:
    """What stands at an axis.

    >>> labelled("mass.flow", "m/s", " ")
    'mass.flow (m/s)'
    """
    return name + (f"{between}({unit})" if unit else "")
