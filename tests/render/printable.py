"""Requirements on a printed diagram, checked in its SVG: nothing overlaps, and every bond and stroke is in its place."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import numpy as np

from bondgraph import Model, ModelError, assign_causality
from tests.inner.render import Diagram, Sketch, sketch, text_width

SVG = "{http://www.w3.org/2000/svg}"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def along(path: str, count: int = 60) -> np.ndarray:
    """Return points (k, 2) on a path of SVG commands M, L and Q."""
    found, last = [], np.zeros(2)
    for letter, given in re.findall(r"([MLQ])([^MLQ]*)", path):
        places = np.array(NUMBER.findall(given), dtype=float).reshape(-1, 2)
        s = np.linspace(0.0, 1.0, count)[:, None]
        if letter == "M":
            found.append(places[:1])
        elif letter == "L":
            found.append((1 - s) * last + s * places[0])
        else:
            found.append((1 - s) ** 2 * last + 2 * s * (1 - s) * places[0] + s**2 * places[1])
        last = places[-1]
    return np.concatenate(found)


def bonds_of(root: ElementTree.Element) -> dict[str, ElementTree.Element]:
    return {group.get("data-bond", ""): group for group in root.iter(f"{SVG}g") if group.get("class") == "bond"}


def words_of(root: ElementTree.Element) -> list[tuple[str, np.ndarray, str]]:
    """Return (string, [[left, top], [right, bottom]], name of its node or box) of all labels."""
    found = []
    for group in root.find(f"{SVG}g").iter(f"{SVG}g"):
        for text in group.findall(f"{SVG}text"):
            size, x, y = (float(text.get(key)) for key in ("font-size", "x", "y"))
            width = 0.9 * text_width(text.text, size)
            left = x - {"start": 0.0, "middle": 0.5, "end": 1.0}[text.get("text-anchor")] * width
            owner = group.get("data-name") or group.get("data-bond")
            found.append((text.text, np.array([[left, y - 0.7 * size], [left + width, y]]), owner))
    return found


def faults(model: Model, drawing: Diagram, drawn: Sketch | None = None, **given: object) -> list[str]:
    drawn = drawn or sketch(model, **{"folded": None, **given})
    root = ElementTree.fromstring(drawing.svg)
    names = [node.name for node in drawn.nodes]
    centres = np.array([drawing.positions[name] for name in names]).reshape(-1, 2)
    half = np.array([(node.half_width, node.half_height) for node in drawn.nodes]).reshape(-1, 2)
    found = []
    apart = np.abs(centres[:, None] - centres[None]) - half[:, None] - half[None]
    for i, j in np.argwhere(np.triu(np.all(apart < -0.2, axis=2), 1)):
        found.append(f"{names[i]} lies on {names[j]}")
    groups = bonds_of(root)
    edges = [edge for edge in drawn.edges if edge.bond is not None]
    if set(groups) != {edge.bond.name for edge in edges}:
        found.append("not every bond is drawn")
    try:
        effort_into_head = assign_causality(model).effort_into_head
    except ModelError:
        effort_into_head = None
    for edge in edges:
        lines = [path for path in groups[edge.bond.name].iter(f"{SVG}path") if path.get("class") == "line"]
        points = along(lines[0].get("d"))
        inside = np.all(np.abs(points[:, None] - centres) < half, axis=2).any(axis=0)
        inside[[edge.tail, edge.head]] = False
        found += [f"{edge.bond.name} passes {names[i]}" for i in np.flatnonzero(inside)]
        if effort_into_head is not None:
            (stroke,) = (path for path in groups[edge.bond.name].iter(f"{SVG}path") if path.get("class") == "stroke")
            middle = along(stroke.get("d"), 3).mean(axis=0)
            at_head = np.linalg.norm(middle - points[-1]) < np.linalg.norm(middle - points[0])
            if at_head != effort_into_head[edge.bond.name]:
                found.append(f"the stroke of {edge.bond.name} is at the wrong end")
    words = words_of(root)
    low, high = np.array([box[0] for _, box, _ in words]).reshape(-1, 2), np.array([box[1] for _, box, _ in words]).reshape(-1, 2)
    both = np.minimum(high[:, None], high[None]) - np.maximum(low[:, None], low[None])
    found += [f"{words[i][0]!r} lies on {words[j][0]!r}" for i, j in np.argwhere(np.triu(np.all(both > 0.5, axis=2), 1))]
    over = np.minimum(high[:, None], (centres + half)[None]) - np.maximum(low[:, None], (centres - half)[None])
    for i, j in np.argwhere(np.all(over > 1.0, axis=2)):
        if words[i][2] != names[j]:
            found.append(f"{words[i][0]!r} lies on the node {names[j]}")
    signals = [(group.get("data-name", ""), group) for group in root.iter(f"{SVG}g") if group.get("class") == "signal"]
    for name, group in (*groups.items(), *signals):
        for path in group.iter(f"{SVG}path"):
            points = along(path.get("d"), 200)
            on = np.all((points[:, None] > low + 1.0) & (points[:, None] < high - 1.0), axis=2).any(axis=0)
            kind = "stroke" if path.get("class") == "stroke" else "line"
            found += [f"{words[i][0]!r} lies on the {kind} of {name}" for i in np.flatnonzero(on)]
    return found
