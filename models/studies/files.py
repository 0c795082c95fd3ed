"""Write the files of a study, each in the format of its suffix.

| suffix | content |
|---|---|
| .npz | arrays by name |
| .json | JSON values; non-finite numbers become null |
| .csv | a `Table` |
| .tex, .txt | text |
| .svg | a drawing, as of `bondgraph.render.diagram` |
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bondgraph.compile.compiled import Compiled
from bondgraph.export import document
from bondgraph.output.files import json_text
from bondgraph.render.diagram import diagram


@dataclass(frozen=True, eq=False)
class Table:
    """Rows (k, n) under n column heads; `form` is the format of an entry."""

    head: Sequence[str]
    rows: Any
    form: str = "%.17g"


def write_table(path: Path, table: Table) -> None:
    """Write a table as CSV."""
    np.savetxt(path, table.rows, delimiter=",", header=",".join(table.head), comments="", fmt=table.form, encoding="utf-8")


WRITERS: dict[str, Callable[[Path, Any], object]] = {
    ".npz": lambda path, arrays: np.savez_compressed(path, **arrays),
    ".json": lambda path, content: path.write_text(json_text(content), encoding="utf-8"),
    ".csv": write_table,
    ".tex": lambda path, text: path.write_text(text, encoding="utf-8"),
    ".txt": lambda path, text: path.write_text(text, encoding="utf-8"),
    ".svg": lambda path, drawing: drawing.write(path),
}
"""Writers of file contents by suffix."""


def write_files(contents: Mapping[str, Any], folder: Path) -> None:
    """Write every content, or the result of a function, to the file of its name."""
    for name, content in contents.items():
        WRITERS[Path(name).suffix](folder / name, content() if callable(content) else content)


def graph_files(compiled: Compiled, folded: Collection[str] = ()) -> dict[str, Callable[[], Any]]:
    """Return functions for graph.svg, with some nested graphs `folded`, and equations.tex."""
    return {"graph.svg": lambda: diagram(compiled, folded=folded), "equations.tex": lambda: document(compiled)}
