"""Tables and pictures of the page of parts, from their records: `python -m docs.parts` rewrites them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from screwbond.models import parts
from screwbond.models.parts.record import Part, Shelf

from bondgraph.render.glyphs import icon
from docs.curves import CURVES

PAGE = Path(__file__).parent / "parts.md"
PICTURES = PAGE.parent / "icons"
SHELVES: dict[str, Shelf] = {name: getattr(parts, name).SHELF for name in parts.__all__}
HEAD = "| icon | part | parameters | equation | source |\n|---|---|---|---|---|\n"
WIDTH, HEIGHT = 120.0, 48.0
"""Size of a picture, px: the icon on the left, its curve on the right."""


def picture(part: Part) -> str:
    """Return the icon of a part and its curve with zero lines, as SVG."""
    frame = f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH:g}" height="{HEIGHT:g}" viewBox="0 0 {WIDTH:g} {HEIGHT:g}">'
    return f"{frame}{icon(part.icon, HEIGHT / 2, HEIGHT / 2, '#1d2b3a')}{_curve(*CURVES[part.name].points(part))}</svg>\n"


def _curve(x: np.ndarray, y: np.ndarray) -> str:
    left, top, right, bottom = HEIGHT + 6.0, 4.0, WIDTH - 4.0, HEIGHT - 4.0
    across, zero_across = _scaled(x, left, right)
    down, zero_down = _scaled(y, bottom, top)
    axes = [f"M{left:.1f},{zero_down:.1f} L{right:.1f},{zero_down:.1f}"] if top <= zero_down <= bottom else []
    axes += [f"M{zero_across:.1f},{top:.1f} L{zero_across:.1f},{bottom:.1f}"] if left <= zero_across <= right else []
    line = " L".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, down, strict=True))
    return (
        f'<path d="{" ".join(axes)}" fill="none" stroke="#9aa5b1" stroke-width="0.8"/>'
        f'<path d="M{line}" fill="none" stroke="#c8374b" stroke-width="1.4"/>'
    )


def _scaled(values: np.ndarray, start: float, stop: float) -> tuple[np.ndarray, float]:
    """Return the positions of values on an axis, and of zero, which the axis contains unless the values are far from it."""
    low, high = values.min(), values.max()
    if min(abs(low), abs(high)) < high - low:
        low, high = min(low, 0.0), max(high, 0.0)
    scale = (stop - start) / ((high - low) or 1.0)
    return start + scale * (values - low), start - scale * low


def table(shelf: Shelf) -> str:
    return HEAD + "".join(map(_row, shelf.parts.values()))


def _row(part: Part) -> str:
    values = ", ".join(f"{word} = {each!r}" for word, each in part.parameters.items())
    across, up = CURVES[part.name].axes(part)
    shown = f"![{part.name}: {up} against {across}](icons/{part.name}.svg)"
    return f"| {shown} | `{part.name}`: {part.summary} | {values} | ${part.equation}$ | {part.source} |\n"


def with_tables(page: str) -> str:
    for name, shelf in SHELVES.items():
        pattern = rf"(## {name.capitalize()}\n(?:[^#|\n].*\n|\n)*)(?:\|.*\n)*"
        page = re.sub(pattern, lambda match, shelf=shelf: match[1] + table(shelf), page)
    return page


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    for old in PICTURES.glob("*.svg"):
        old.unlink()
    for shelf in SHELVES.values():
        for part in shelf.parts.values():
            (PICTURES / f"{part.name}.svg").write_text(picture(part), encoding="utf-8")
