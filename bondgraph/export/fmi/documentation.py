"""Documentation of a functional mock-up unit: the picture of its graph, as a page and as an icon."""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Iterable
from html import escape
from pathlib import Path

from bondgraph.export.fmi.variables import ModelVariable
from bondgraph.model.model import Model
from bondgraph.render.diagram import diagram

_ROW = "<tr><td>{causality}</td><td>{name}</td><td>{unit}</td></tr>"


def documentation(model: Model, variables: Iterable[ModelVariable], version: int) -> dict[str, bytes]:
    """Return files by name: a page with the graph, its inputs and outputs, and an icon where Matplotlib can draw it."""
    picture, title = diagram(model), escape(model.name)
    rows = [
        _ROW.format(causality=each.causality, name=escape(each.name), unit=escape(each.unit))
        for each in variables
        if each.causality in ("input", "output")
    ]
    page = f"""\
<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>{title}</title></head>
<body>
<h1>{title}</h1>
{picture.svg}
<table>
<tr><th>causality</th><th>variable</th><th>unit</th></tr>
{chr(10).join(rows)}
</table>
</body>
</html>
"""
    files = {"documentation/index.html": page.encode()}
    if importlib.util.find_spec("matplotlib") is None:
        return files
    with tempfile.TemporaryDirectory() as folder:
        icon = picture.write(Path(folder, "icon.png")).read_bytes()
    if version == 2:
        return {**files, "model.png": icon}
    return {**files, "terminalsAndIcons/icon.png": icon, "terminalsAndIcons/icon.svg": picture.svg.encode()}
