"""Diagram of a bond graph as SVG, PDF, PNG or TikZ, with automatic layout or the user's positions, and a legend."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

import numpy as np

from bondgraph.causality.assign import Causality, assign_causality
from bondgraph.errors import ByName, ModelError, no_model, refusal
from bondgraph.graph.builder import Graph
from bondgraph.model.model import Model
from bondgraph.output.files import atomic_file, known_ending, write_text
from bondgraph.output.short_repr import short_repr
from bondgraph.render import glyphs
from bondgraph.render.labels import BOND_LABEL_SIZE as LABEL
from bondgraph.render.labels import Label, Rectangle, Texts, captions, letters_of, title_rectangle, with_label_widths
from bondgraph.render.labels import labels as bond_labels
from bondgraph.render.layout.layout import automatic_centres, centres_from_positions
from bondgraph.render.layout.line import Route, straight
from bondgraph.render.layout.parts import canonical
from bondgraph.render.layout.routes import routes
from bondgraph.render.layout.spacing import frame
from bondgraph.render.paint import paint, tikz
from bondgraph.render.palette import Palette, palette_of
from bondgraph.render.sketch import Sketch, sketch, text_width
from screws.calls import explain_methods
from screws.names.similar import MAX_LISTED, similar_names

LEGEND_SIZE, LINE, GLYPH = 11.0, 22.0, 34.0


@dataclass(frozen=True)
class Sign:
    """Symbol of a diagram: its meaning, and the function that draws it at (x, y) px."""

    words: str
    draw: Callable[[Route, float, float, Palette], str]


def _vector(route: Route, x: float, y: float, palette: Palette) -> str:
    return glyphs.bond_lines(route, 2, palette) + glyphs.text(x + GLYPH / 2 - 2, y - 8.5, "n", 10, palette.muted)


def _labels(route: Route, x: float, y: float, palette: Palette) -> str:
    above, beneath = (
        glyphs.text(x + GLYPH / 2 - 2, y + side, letter, 10, palette.ink) for side, letter in ((-8.0, "e"), (8.5, "f"))
    )
    return glyphs.bond_lines(route, 1, palette) + above + beneath


def _stroke(route: Route, x: float, y: float, palette: Palette) -> str:
    line = f'<path d="M{x:.1f},{y:.1f} H{x + GLYPH - 4:.1f}" stroke="{palette.ink}" stroke-width="1.5"/>'
    return line + glyphs.causal_stroke(route, True, palette)


def _derivative(route: Route, x: float, y: float, palette: Palette) -> str:
    style = f'stroke="{palette.stroke}" stroke-width="1.4" stroke-dasharray="3 2"'
    return f'<path d="M{x + 4:.1f},{y + 4:.1f} H{x + GLYPH - 4:.1f}" {style}/>'


def _switch(route: Route, x: float, y: float, palette: Palette) -> str:
    style = f'fill="{palette.switched}" stroke="{palette.switch}" stroke-width="1.3" stroke-dasharray="4 3"'
    return glyphs.rounded_rectangle(x + 3, y - 8, x + GLYPH - 3, y + 8, 5, style)


def _folded(route: Route, x: float, y: float, palette: Palette) -> str:
    style = f'fill="{palette.box_inside}" stroke="{palette.muted}" stroke-width="1.2"'
    return glyphs.rounded_rectangle(x + 3, y - 7, x + GLYPH - 3, y + 7, 4, style)


SIGNS = {
    "bond": Sign(
        "half arrow: positive power, barb on the flow's side", lambda route, x, y, palette: glyphs.bond_lines(route, 1, palette)
    ),
    "vector": Sign("vector bond with its dimension", _vector),
    "labels": Sign("effort, and flow on the barb's side, with the number of the bond", _labels),
    "stroke": Sign("causal stroke: effort is imposed at this end", _stroke),
    "derivative": Sign("storage in derivative causality", _derivative),
    "switch": Sign("switched by the automaton named in it", _switch),
    "signal": Sign("signal", lambda route, x, y, palette: glyphs.signal_line(route, palette)),
    "folded": Sign("nested graph, folded", _folded),
}
"""All symbols of a diagram, in the order of the legend."""


def legend_lines(kinds: set[str], left: float, top: float, width: float, palette: Palette) -> tuple[str, float]:
    if unknown := kinds - SIGNS.keys():
        raise ValueError(f"symbols without an entry in the legend: {', '.join(sorted(unknown))}")
    parts, x, y = [], left, top + LINE / 2
    for sign in (SIGNS[kind] for kind in SIGNS if kind in kinds):
        advance = GLYPH + 8 + text_width(sign.words, LEGEND_SIZE) + 18
        if x > left and x + advance - 18 > left + width:
            x, y = left, y + LINE
        start, end = np.array([x, y]), np.array([x + GLYPH - 2, y])
        parts.append(sign.draw(straight(start, end), x, y, palette))
        parts.append(glyphs.text(x + GLYPH + 8, y, sign.words, LEGEND_SIZE, palette.muted, "start"))
        x += advance
    return f'<g class="legend" fill="none" stroke-linecap="round">{"".join(parts)}</g>', y + LINE / 2 - top


MARGIN = 24.0


@explain_methods
@short_repr
@dataclass(frozen=True)
class Diagram:
    svg: str
    positions: Mapping[str, tuple[float, float]]
    """Centre (x, y) of each element in px, with y downwards: change some centres and pass the mapping to `diagram` again."""
    width: float
    height: float
    title: str = ""

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the picture as SVG, PDF, PNG or TikZ (.tex), depending on the suffix, and return its path.

        Raises `FileError` E415 for another suffix, E414 if the file cannot be written; `ExtraError` E416 for a PDF or PNG if
        Matplotlib is not installed.
        """
        ending = known_ending(path, ".svg", ".pdf", ".png", ".tex")
        if ending in (".svg", ".tex"):
            return write_text(path, self.svg if ending == ".svg" else tikz(self.svg))

        with atomic_file(path) as part:
            paint(self.svg, part, self.title)
        return Path(path)

    def _repr_svg_(self) -> str:
        return self.svg


@runtime_checkable
class Analysed(Protocol):
    """Object with a model and its causality, such as a compiled model."""

    @property
    def model(self) -> Model:
        """Return the model."""

    @property
    def causality(self) -> Causality:
        """Return the causality of the model."""


BondLabels = bool | Literal["numbers"] | Mapping[str, Texts]
Drawable = Graph | Model | Analysed


def diagram(
    model: Drawable,
    positions: Mapping[str, tuple[float, float]] | None = None,
    *,
    folded: Collection[str] | None = None,
    unfolded: Collection[str] = (),
    title: str | None = None,
    legend: bool = True,
    values: bool = False,
    labels: BondLabels = False,
    names: Mapping[str, str] | None = None,
    colours: str | Mapping[str, str] = "colour",
) -> Diagram:
    """Draw a model with half arrows, causal strokes, vector bonds as double lines, switches and signals.

    A graph need not be compiled; with a causality conflict, it is drawn without strokes.
    `positions` maps paths of elements to centres in px, x to the right and y downwards; the automatic layout of all other
    elements is shifted to fit them. `folded` names nested graphs (or is "all") that are drawn as single boxes, at which their
    external bonds and signals end; if only elements inside have positions, the box is in their middle. By default, nested graphs
    with an icon are folded and, if more than 60 nodes remain, other nested graphs, innermost first. Nested graphs in
    `unfolded` stay open.

    | option | what it does |
    |---|---|
    | `title` | text above the picture; None: the name of the graph, "": none |
    | `legend` | explain the symbols below the drawing |
    | `values` | show parameters of elements, with units |
    | `labels` | labels on bonds: letters of effort and flow with the number of the bond, "numbers" alone, or your own labels |
    | `names` | text at an element or nested graph instead of its name, by path |
    | `colours` | "colour", "black" (for printing in black), or colours by field of `Palette`: {"stroke": "#c8374b"} |

    Bonds are numbered from 1. Your own labels are a mapping from a bond's name to its labels of effort and flow;
    `result.diagram(at=0.2)` shows their values.

    Raises `ModelError` (E100, E131, E132, E134, E585, E586, E589) for an object without a model, an unknown element, an invalid
    position, an unknown nested graph, invalid colours, a nested graph that is both folded and unfolded, invalid labels.
    By convention, the barb of a half arrow is on the flow side, below a horizontal bond and to the right of a vertical one
    (Karnopp, Margolis and Rosenberg, 2012).

    >>> from bondgraph.graph.builder import Graph
    >>> from bondgraph.elements import C, J1, R
    >>> loop = J1("loop")
    >>> drawing = diagram(Graph("rc").connect(loop, C("store", capacitance=1.0)).connect(loop, R("leak", 2.0)))
    >>> sorted(drawing.positions)
    ['leak', 'loop', 'store']
    """
    model, causality = _with_causality(model)
    palette = palette_of(colours, model.name)
    drawn = canonical(sketch(model, folded, unfolded, values, names))
    texts = _texts(model, drawn, labels)
    drawn = with_label_widths(drawn, texts)
    where = centres_from_positions(drawn, positions) if positions else automatic_centres(drawn)
    frames = [frame(drawn, box, where) for box in drawn.boxes]
    lines = routes(drawn, where)
    titles = [title_rectangle(box.title, edges, lines) for box, edges in zip(drawn.boxes, frames, strict=True)]
    letters = bond_labels(drawn, where, lines, texts, titles)
    below = captions(drawn, where, lines, frames, titles, [label.rectangle for each in letters.values() for label in each])
    head = model.name if title is None else title
    shift, width, height, foot = _extent(drawn, where, frames, lines, below, head)
    body = [
        f'<g transform="translate({shift[0]:.1f} {shift[1]:.1f})">',
        *_boxes(drawn, frames, lines, palette),
        *_edges(drawn, lines, letters, causality, palette),
        *_nodes(drawn, where, below, causality, palette),
        "</g>",
    ]
    note, rows = legend_lines(
        _kinds(drawn, causality, labels is True) if legend else set(), MARGIN, foot, width - 2 * MARGIN, palette
    )
    height += rows
    heading = [glyphs.text(MARGIN, 26, head, 16, palette.ink, "start", 'font-weight="600" class="title"')] if head else []
    known_as = escape(glyphs.xml_text(head or model.name), quote=False)
    svg = "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" font-family="{glyphs.FONT}">',
            f"<title>{known_as}</title>",
            f'<rect width="100%" height="100%" fill="{palette.ground}"/>',
            *heading,
            *body,
            note,
            "</svg>\n",
        ]
    )
    centres = {node.name: (float(x), float(y)) for node, (x, y) in zip(drawn.nodes, where, strict=True)}
    return Diagram(svg, ByName(centres), width, height, head or model.name)


def _texts(model: Model, drawn: Sketch, labels: BondLabels) -> Mapping[str, Texts]:
    if isinstance(labels, Mapping):
        names = {bond.name: None for bond in model.bonds}
        for bond, texts in labels.items():
            if bond not in names:
                bonds = [name for name in names if bond in name.split(" -> ")] or similar_names(bond, names)
                cure = ", ".join(f'"{name}"' for name in (bonds or list(names))[:MAX_LISTED])
                raise refusal("E589", f'there is no bond "{bond}" to label', cure, about=model.name)
            if not (isinstance(texts, tuple) and len(texts) == 2 and all(isinstance(each, str) for each in texts)):
                title = f'the label of "{bond}" is not a pair of strings'
                raise refusal("E589", title, 'strings for its effort and its flow: ("3 N", "2 m/s")', about=model.name)
        return labels
    if not (isinstance(labels, bool) or (isinstance(labels, str) and labels == "numbers")):
        cures = 'labels=True, "numbers", or a mapping from bond names to pairs of strings'
        raise refusal("E589", f"labels cannot be {labels!r}", cures, about=model.name)
    numbered = {edge.number: edge.bond for edge in drawn.edges if edge.bond is not None} if labels else {}
    if labels == "numbers":
        return {bond.name: (str(number), "") for number, bond in numbered.items()}
    return {bond.name: letters_of(bond, number) for number, bond in numbered.items()}


def _with_causality(model: Drawable) -> tuple[Model, Causality | None]:
    if isinstance(model, Analysed):
        return model.model, model.causality
    frozen = model.freeze() if isinstance(model, Graph) else model
    if not isinstance(frozen, Model):
        raise no_model(model, "diagram")
    try:
        return frozen, assign_causality(frozen)
    except ModelError:
        return frozen, None


def _extent(
    drawn: Sketch,
    where: np.ndarray,
    frames: list[Rectangle],
    lines: tuple[Route, ...],
    names: dict[int, tuple[float, float]],
    title: str,
) -> tuple[np.ndarray, float, float, float]:
    """Return the shift of the drawing, the width and height of the picture without its legend, and the top of the legend."""
    corners = [(0.0, 0.0)] if not len(where) else []
    for node, (x, y) in zip(drawn.nodes, where, strict=True):
        corners += [(x - node.half_width, y - node.half_height), (x + node.half_width, y + node.half_height)]
    for i, (x, y) in names.items():
        half = drawn.nodes[i].below / 2
        corners += [(x - half, y - 8), (x + half, y + 8)]
    for left, top, right, bottom in frames:
        corners += [(left, top), (right, bottom)]
    for line in lines:
        corners += [(float(x), float(y)) for x, y in line.at(np.linspace(0, 1, 33))]
    low, high = np.min(corners, axis=0), np.max(corners, axis=0)
    width = max(float(high[0] - low[0]) + 2 * MARGIN, 460.0, text_width(title, 16) + 2 * MARGIN)
    shift = np.array([(width - high[0] - low[0]) / 2, (52.0 if title else MARGIN) - low[1]])
    foot = float(high[1] + shift[1]) + 20.0
    return shift, width, foot + 12.0, foot


def _boxes(drawn: Sketch, frames: list[Rectangle], lines: tuple[Route, ...], palette: Palette) -> list[str]:
    order = sorted(range(len(frames)), key=lambda i: drawn.boxes[i].path.count("."))
    parts = []
    for i in order:
        box, (left, top, right, bottom) = drawn.boxes[i], frames[i]
        style = f'fill="{palette.of_box(box.path.count("."))}" stroke="{palette.box_edge}" stroke-width="1"'
        title_box = title_rectangle(box.title, frames[i], lines)
        title = glyphs.text(title_box[0] + 6, top + 12, box.title, 11.5, palette.muted, "start", 'font-weight="600"')
        outline = glyphs.rounded_rectangle(left, top, right, bottom, 10, style)
        parts.append(f'<g class="box" {glyphs.attributes(box.path)}>{outline}{title}</g>')
    return parts


def _edges(
    drawn: Sketch,
    lines: tuple[Route, ...],
    letters: Mapping[int, tuple[Label, ...]],
    causality: Causality | None,
    palette: Palette,
) -> list[str]:
    signals, bonds = [], []
    for k, (edge, line) in enumerate(zip(drawn.edges, lines, strict=True)):
        if edge.bond is None:
            ends = f"{drawn.nodes[edge.tail].name} -> {drawn.nodes[edge.head].name}"
            signals.append(f'<g class="signal" {glyphs.attributes(ends)}>{glyphs.signal_line(line, palette)}</g>')
            continue
        parts = [glyphs.bond_lines(line, edge.bond.dimension, palette)]
        for label in letters[k]:
            colour = palette.muted if label.kind in ("dimension", "port") else palette.ink
            parts.append(glyphs.text(label.x, label.y, label.words, LABEL, colour, extra=f'class="{label.kind}"'))
        if causality is not None:
            parts.append(glyphs.causal_stroke(line, causality.effort_into_head[edge.bond.name], palette))
        bonds.append(f'<g class="bond" {glyphs.attributes(edge.bond.name, "data-bond")}>{"".join(parts)}</g>')
    return ['<g fill="none" stroke-linecap="round" stroke-linejoin="round">', *signals, *bonds, "</g>"]


def _nodes(
    drawn: Sketch, where: np.ndarray, names: dict[int, tuple[float, float]], causality: Causality | None, palette: Palette
) -> list[str]:
    derivative = set(causality.derivative) if causality else set()
    return [
        f'<g class="{node.shape}" {glyphs.attributes(node.name)}>'
        + glyphs.node_text(node, float(where[i, 0]), float(where[i, 1]), names.get(i), node.name in derivative, palette)
        + "</g>"
        for i, node in enumerate(drawn.nodes)
    ]


def _kinds(drawn: Sketch, causality: Causality | None, labels: bool) -> set[str]:
    bonds = [edge.bond for edge in drawn.edges if edge.bond is not None]
    occurring = {
        "bond": bool(bonds),
        "labels": labels and bool(bonds),
        "vector": any(bond.dimension > 1 for bond in bonds),
        "stroke": bool(bonds) and causality is not None,
        "derivative": causality is not None and any(node.name in causality.derivative for node in drawn.nodes),
        "switch": any(node.shape == "switch" for node in drawn.nodes),
        "signal": any(edge.bond is None for edge in drawn.edges),
        "folded": any(node.shape == "folded" for node in drawn.nodes),
    }
    return {kind for kind, occurs in occurring.items() if occurs}
