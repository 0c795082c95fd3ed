"""Documentation of a functional mock-up unit: a page that simulates, with the picture of the graph, and an icon."""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path

from bondgraph.export.fmi.variables import ModelVariable, VariableKind
from bondgraph.render.diagram import Diagram

MAX_SLIDERS = 6
_ROW = "<tr><td>{causality}</td><td>{name}</td><td>{unit}</td></tr>"


def documentation(picture: Diagram, name: str, variables: Iterable[ModelVariable], live: str = "", why: str = "") -> bytes:
    """Return an HTML page with the graph, inputs and outputs of a model, below the content of the `live` page or, without a
    live page, below the text `why`."""
    title = escape(name)
    rows = [
        _ROW.format(causality=each.causality, name=escape(each.name), unit=escape(each.unit))
        for each in variables
        if each.causality in ("input", "output")
    ]
    body = f"""\
<section style="padding: 0 22px">
{picture.svg}
<table style="text-align: left; border-spacing: 16px 4px">
<tr><th>causality</th><th>variable</th><th>unit</th></tr>
{chr(10).join(rows)}
</table>
</section>
</body>"""
    if live:
        before, end, after = live.rpartition("</body>")
        assert end
        return f"{before}{body}{after}".encode()
    line = f"<p>{escape(why)}</p>\n" if why else ""
    page = f"""\
<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>{title}</title></head>
<body>
<h1>{title}</h1>
{line}{body}
</html>
"""
    return page.encode()


def slider_ranges(variables: Iterable[ModelVariable]) -> Mapping[str, tuple[float, float]]:
    settable = [each for each in variables if each.kind is VariableKind.PARAMETER and each.variability != "constant"]
    every = [each for each in settable if len(each.shape) < 2]
    ranges = dict[str, tuple[float, float]]()
    for variable in sorted(every, key=lambda each: each.causality != "input"):
        assert variable.start is not None
        for number, value in enumerate(map(float, variable.start)):
            name = f"{variable.name}[{number}]" if variable.shape else variable.name
            if value:
                ranges[name] = min(0.5 * value, 2.0 * value), max(0.5 * value, 2.0 * value)
            elif variable.causality == "input":
                ranges[name] = -1.0, 1.0
    return dict(list(ranges.items())[:MAX_SLIDERS])


def icons(picture: Diagram, version: int) -> dict[str, bytes]:
    if importlib.util.find_spec("matplotlib") is None:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        icon = picture.write(Path(folder, "icon.png")).read_bytes()
    if version == 2:
        return {"model.png": icon}
    return {"terminalsAndIcons/icon.png": icon, "terminalsAndIcons/icon.svg": picture.svg.encode()}
