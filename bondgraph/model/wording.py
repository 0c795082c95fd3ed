"""Elements in the words of a message."""

from __future__ import annotations

from collections.abc import Sequence

from bondgraph.model.element import Element
from bondgraph.model.model import Model


def elements_at(model: Model, paths: Sequence[str]) -> list[Element]:
    """Elements by their paths, each once."""
    return [model.elements[path] for path in dict.fromkeys(paths) if path in model.elements]


def named(elements: Sequence[Element], most: int = 12) -> str:
    """Elements in words for a message, at most so many."""
    shown = [f'{e.kind} "{e.name}"' for e in elements[:most]]
    return ", ".join(shown + ([f"{len(elements) - most} more"] if len(elements) > most else []))
