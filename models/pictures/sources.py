"""Sources of poses, from which a page computes what it draws at each sample of a run.

A source applies a rule of the page's script (`live.js`) to numbers, signals and other sources, and gives a pose (4, 4) at a
sample.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from screwbond.models.chains import Tree


@dataclass(frozen=True)
class Signal:
    name: str
    index: int = 0


@dataclass(frozen=True, eq=False)
class Source:
    """Rule of the page's script, and its arguments: numbers, arrays, signals, or other sources."""

    rule: str
    arguments: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class TouchSource:
    """Sources of a contact.

    Parameters
    ----------
    frames : sources of both Gauss frames.
    force : signals of the components of the force on the first body, in the axes of the second frame; empty if unknown.
    gap : signal of the gap, m.
    contact : path of the contact.
    """

    frames: tuple[Source, Source]
    force: tuple[Signal, ...]
    gap: Signal
    contact: str


def fixed(pose: np.ndarray) -> Source:
    return Source("fixed", (np.asarray(pose, dtype=float),))


def of_signal(name: str) -> Source:
    """Return the source of a signal: a pose (7,) or (4, 4), or a position (3,)."""
    return Source("signal", (Signal(name),))


def product(first: Source, second: Source) -> Source:
    return Source("product", (first, second))


def in_plane(signals: Mapping[str, str]) -> Source:
    if "place" in signals:
        return Source("place", (Signal(signals["place"]),))
    return Source("plane", tuple(Signal(signals[word]) if word in signals else None for word in ("x", "y", "angle")))


def of_links(tree: Tree, q: str) -> list[Source]:
    sections = tree.sections
    frames = [fixed(np.asarray(tree.base))]
    for section, drive in zip(sections.freedoms, sections.drives, strict=True):
        factor, offset = (1.0, 0.0) if drive.direct else (drive.factor, drive.offset)
        start = _pose(section.R, section.p)
        motion = (section.axis, section.sign, section.turns, section.pitch, Signal(q, drive.coordinate), factor, offset)
        frames.append(Source("freedom", (frames[section.before], start, *motion)))
    links = zip(sections.carrier, sections.R, sections.p, strict=True)
    return [product(frames[carrier], fixed(_pose(R, p))) for carrier, R, p in links]


def _pose(R: np.ndarray, p: np.ndarray) -> np.ndarray:
    H = np.eye(4)
    H[:3, :3], H[:3, 3] = R, p
    return H
