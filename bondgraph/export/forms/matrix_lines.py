"""Matrices: a form's equation and its matrices by name in; text, and LaTeX for notebooks, out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bondgraph.export.forms.written import Writing


def plain_lines(writing: Writing, equation: str, parts: Mapping[str, Any]) -> str:
    """The equation, and a line for each part, or one for each row of a matrix."""
    lines = [equation]
    for name, part in parts.items():
        if not getattr(part, "is_Matrix", False):
            lines.append(f"{name} = {writing.plain(part)}")
            continue
        lead = f"{name} = "
        if 0 in part.shape:
            lines.append(f"{lead}{part.shape[0]} x {part.shape[1]}")
        cells = [[writing.plain(entry) for entry in part.row(i)] for i in range(part.rows)] if part.cols else []
        widths = [max(len(row[j]) for row in cells) for j in range(part.cols)] if cells else []
        for i, row in enumerate(cells):
            inside = "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
            lines.append(f"{lead if i == 0 else ' ' * len(lead)}[{inside}]")
    return "\n".join(lines)


def latex_lines(writing: Writing, equation: str, parts: Mapping[str, Any]) -> str:
    """An `align*` environment: the equation, and a line for each part; matrices without entries are left out."""
    shown = {name: part for name, part in parts.items() if 0 not in getattr(part, "shape", (1,))}
    lines = [equation, *(rf"{name} &= {writing.latex(part)}" for name, part in shown.items())]
    return "\\begin{align*}\n" + " \\\\\n".join(lines) + "\n\\end{align*}\n"
