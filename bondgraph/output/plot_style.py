"""Style of all Matplotlib plots: typeface, sizes, lines and colours, as one table of settings.

Draw inside `styled()`, take colours from this module, and set no font sizes except `SMALL` and `TITLE`. The colours of `CYCLE`
can be distinguished by colour-blind readers (red-green and blue-yellow); the first two mark bodies in contact.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from bondgraph.errors import refusal
from bondgraph.output.extras import require_package
from screws.errors import plural

PAPER = "#ffffff"
INK = "#1c2331"
MUTED = "#667085"
RULE = "#d5d9e0"
SHADE = "#eef1f7"
"""Background of a time span in which a contact or a mode is active."""
TINTS = ("#f3c98b", "#9ec5e8", "#a9d3b5", "#cdb6e0", "#c3c8d1")
"""Backgrounds of the modes of automata."""
DANGER = "#fdf0ef"
"""Background of unstable regions."""
CYCLE = ("#1e3a8a", "#c2410c", "#14a3a8", "#937ee6", "#b28262", "#5c2410")
DASHES: tuple[Any, ...] = ("-", (0, (4, 1.6)), (0, (1.5, 1.5)))

SMALL = 8.5
"""Font size of legends and of notes inside a panel, points."""
TITLE = 12.5
FLAT = 1e-6
"""Relative range below which a curve is flat: only its last digits vary."""

SHEET: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "mathtext.fontset": "stix",
    "text.color": INK,
    "figure.facecolor": PAPER,
    "figure.titlesize": TITLE,
    "figure.titleweight": "bold",
    "axes.facecolor": PAPER,
    "axes.prop_cycle": f"cycler('color', {list(CYCLE)})",
    "axes.titlesize": 10.0,
    "axes.titlelocation": "left",
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.formatter.use_mathtext": True,
    "axes.formatter.limits": (-3, 4),
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "lines.linewidth": 1.5,
    "lines.solid_capstyle": "round",
    "legend.frameon": False,
    "legend.fontsize": SMALL,
    "legend.edgecolor": RULE,
    "pdf.fonttype": 42,
}


@contextmanager
def styled() -> Iterator[None]:
    """Draw with Matplotlib in this style inside the block; afterwards restore all settings except the interactive mode. Raises
    E416 without Matplotlib."""

    require_package("plots", "matplotlib")
    import matplotlib

    with matplotlib.rc_context(SHEET):
        try:
            yield
        finally:
            interactive = matplotlib.is_interactive()
    # notebooks turn interactive mode on with the first figure; if it were restored, only that figure would be shown
    matplotlib.interactive(interactive)


def widen_flat_range(axes: Any) -> None:
    low, high = axes.dataLim.intervaly
    size = max(abs(low), abs(high))
    if 0.0 < size < float("inf") and high - low < FLAT * size:
        axes.set_ylim(low - 0.05 * size, high + 0.05 * size)


MAX_PANELS = 12
"""Maximum number of panels plotted by default, and of curves that a legend can distinguish in one panel."""


@contextmanager
def panels(count: int, axes: Any, what: str, about: str, *, title: str = "", same_x: bool = True) -> Iterator[np.ndarray]:
    """Yield `count` axes (count,): the first of the given axes, or the axes of a new figure in this style. No window opens.

    Raises E416, which is also an ImportError, if Matplotlib is not installed; `ModelError` E560 for other objects and too few.
    """
    if axes is not None:
        supplied = np.asarray(axes, dtype=object).reshape(-1)
        if others := [each for each in supplied if not hasattr(each, "plot")]:
            title = f"a {what} cannot be plotted on {others[0]!r}"
            raise refusal("E560", title, "Matplotlib axes, such as axes=plt.subplots(n)[1], or none", about=about)
        if len(supplied) < count:
            title = f"{plural(count, what)} cannot be plotted on {len(supplied)} of your axes"
            raise refusal("E560", title, f"axes for each {what}, or none", about=about)
        yield supplied[:count]
        return
    with styled():
        import matplotlib.pyplot as plt

        size = (8.0, 0.9 + (1.75 if same_x else 2.6) * max(count, 1))
        figure, grid = plt.subplots(max(count, 1), 1, sharex=same_x, squeeze=False, figsize=size, layout="constrained")
        figure.suptitle(title or about, x=0.01, ha="left")
        new_axes = grid.reshape(-1)
        try:
            yield new_axes[:count]
        except BaseException:
            plt.close(figure)
            raise
        figure.align_ylabels(new_axes)


def legend_beside(axes: Any, handles: Any = None, labels: Any = None, title: str | None = None) -> None:
    arguments = () if handles is None else (handles, labels)
    length = 1.2 if len(axes.lines) <= len(CYCLE) else 2.2  # so that dashes are visible
    axes.legend(*arguments, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=length, title=title)


def axis_label(name: str, unit: str, separator: str = "\n") -> str:
    """Return the label of an axis, without the unit of a pure number.

    >>> axis_label("mass.flow", "m/s", " "), axis_label("gear.slip", "1")
    ('mass.flow (m/s)', 'gear.slip')
    """
    return name + (f"{separator}({unit})" if unit not in ("", "1") else "")
