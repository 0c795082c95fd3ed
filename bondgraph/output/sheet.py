"""Sheet: how every picture of Matplotlib looks: nothing in; typeface, sizes, lines and colours, as one table of settings, out.

Whoever draws does so inside of `styled()`, takes colours from here, and gives no font a size but `SMALL` and `TITLE`. The
colours of `CYCLE` differ for people who see red and green, or blue and yellow, alike; the first two are of bodies in contact.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = [
    "CYCLE",
    "DANGER",
    "DASHES",
    "INK",
    "MUTED",
    "PAPER",
    "RULE",
    "SHADE",
    "SHEET",
    "SMALL",
    "STEADY",
    "TINTS",
    "TITLE",
    "calm",
    "styled",
]

PAPER = "#ffffff"
INK = "#1c2331"
MUTED = "#667085"
RULE = "#d5d9e0"
SHADE = "#eef1f7"
"""Behind a time in which something holds: a contact, a mode."""
TINTS = ("#f3c98b", "#9ec5e8", "#a9d3b5", "#cdb6e0", "#c3c8d1")
"""Behind the modes of automata."""
DANGER = "#fdf0ef"
"""Behind what is not stable."""
CYCLE = ("#1e3a8a", "#c2410c", "#14a3a8", "#937ee6", "#b28262", "#5c2410")
"""Colours of curves, in their order."""
DASHES: tuple[Any, ...] = ("-", (0, (4, 1.6)), (0, (1.5, 1.5)))
"""Of whole, dashed and dotted lines."""

SMALL = 8.5
"""Size of legends and of notes inside of a panel, points."""
TITLE = 12.5
"""Size of the title of a picture, points."""
STEADY = 1e-6
"""What changes less, over what it is, stands still: its last digits are no course."""

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
"""Settings of Matplotlib, by their names there."""


@contextmanager
def styled() -> Iterator[None]:
    """A block in which Matplotlib draws by this sheet; its settings are as before afterwards. Needs Matplotlib (else E416)."""
    from bondgraph.output.extras import required

    required("plots", "matplotlib")
    import matplotlib

    with matplotlib.rc_context(SHEET):
        try:
            yield
        finally:
            interactive = matplotlib.is_interactive()
    # The backend of notebooks, which wakes up with the first figure, says so there: else none but that one would be shown.
    matplotlib.interactive(interactive)


def calm(axes: Any) -> None:
    """Give curves that stand still (`STEADY`) a range of a tenth of what they are, so that their rounding is not drawn large."""
    low, high = axes.dataLim.intervaly
    size = max(abs(low), abs(high))
    if 0.0 < size < float("inf") and high - low < STEADY * size:
        axes.set_ylim(low - 0.05 * size, high + 0.05 * size)
