"""Palettes of diagrams, by name or by role of each colour."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from bondgraph.errors import ModelError, Problem


@dataclass(frozen=True)
class Palette:
    ink: str = "#1f2d3d"
    """Bonds, names, junctions."""
    stroke: str = "#c8374b"
    """Causal strokes, and the mark of derivative causality."""
    signal: str = "#8a97a8"
    switch: str = "#c77d0a"
    """Automata and switched junctions."""
    storage: str = "#12668c"
    loss: str = "#a8501c"
    source: str = "#2f7a43"
    muted: str = "#5b6b7d"
    """Secondary text: names of junctions, dimensions, values, titles of boxes, the legend."""
    ground: str = "#ffffff"
    block: str = "#ffffff"
    """Fill of blocks and automata."""
    switched: str = "#fff8ec"
    """Fill of switched junctions."""
    box: str = "#f2f5f9"
    """Fill of nested graphs."""
    box_inside: str = "#e7edf4"
    """Fill of nested graphs within nested graphs, and of folded graphs."""
    box_deep: str = "#dde5ee"
    box_edge: str = "#cfd8e3"

    def of_kind(self, kind: str) -> str:
        return {"C": self.storage, "I": self.storage, "IC": self.storage, "R": self.loss, "RS": self.loss}.get(
            kind, self.source if kind in ("Se", "Sf") else self.ink
        )

    def of_box(self, depth: int) -> str:
        return (self.box, self.box_inside, self.box_deep)[min(depth, 2)]


COLOURED = Palette()
BLACK = Palette(
    **dict.fromkeys(("ink", "stroke", "signal", "switch", "storage", "loss", "source", "muted"), "#000000"),
    **dict.fromkeys(("switched", "box", "box_inside", "box_deep"), "#ffffff"),
    box_edge="#808080",
)
PALETTES: Mapping[str, Palette] = {"colour": COLOURED, "black": BLACK}


def palette_of(colours: str | Mapping[str, str], model: str) -> Palette:
    if isinstance(colours, str):
        if colours in PALETTES:
            return PALETTES[colours]
        title = f'there is no palette "{colours}"'
    elif isinstance(colours, Mapping):
        unknown = [role for role in colours if role not in _ROLES]
        wrong = [role for role, colour in colours.items() if not (isinstance(colour, str) and _COLOUR.fullmatch(colour))]
        if not (unknown or wrong):
            return replace(COLOURED, **colours)
        if unknown:
            title = f'no part of a diagram is called "{unknown[0]}"'
        else:
            title = f'"{wrong[0]}" is given {colours[wrong[0]]!r}, which is not a colour of the form #rrggbb'
    else:
        title = f"colours are given as a {type(colours).__name__}"
    cures = ('colours="black"', f'colours={{"stroke": "#c8374b"}}, with names among {", ".join(_ROLES)}')
    raise ModelError(model, [Problem("E585", title, cures=cures)])


_ROLES = tuple(field.name for field in fields(Palette))
_COLOUR = re.compile("#[0-9a-fA-F]{6}")
