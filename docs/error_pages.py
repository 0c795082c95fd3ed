"""Pages of error codes, and the lists on the page of errors, from the table errors.toml."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from docs.docstrings import inline

TABLE = Path(__file__).with_name("errors.toml")
SHARED = {
    "signals": "from screwbond import signals",
    "shapes": "from screws import shapes",
    "graph": 'graph = Graph("graph")',
    "rc": 'rc = Graph("rc")\nrc.series(C("c", capacitance=1.0, initial=1.0), R("r", 3.0))',
    "model": "model = rc.compile()",
    "floor": 'floor = ground("floor", surface=plane())',
    "ball": 'ball = rigid_body("ball", mass=1.0, inertia=(1.0, 1.0, 1.0), surface=sphere(1.0), position=(0.0, 0.0, 0.9))',
}
"""Lines that define the names which examples share."""


@dataclass(frozen=True)
class Row:
    """Error with its title, cause ("" if the title states it), cure, and the shortest example that raises it."""

    code: str
    theme: str
    title: str
    cure: str
    cause: str = ""
    example: str = ""


@cache
def rows() -> tuple[Row, ...]:
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return tuple(Row(code, theme, **row) for theme, codes in table.items() for code, row in codes.items())


def program(row: Row) -> str:
    """Return an example with its import, the shared lines that it uses, and a call that compiles its graph."""
    needed = [name for name in SHARED if re.search(rf"(?<!\")\b{name}\b", row.example)]
    needed = ["rc", *needed] if needed[:1] == ["model"] else needed
    lines = ["from screwbond import *", "", *(SHARED[name] for name in needed), row.example.strip()]
    return "\n".join(lines + ["graph.compile()"] * ("graph" in needed and ".compile()" not in row.example)) + "\n"


def page(row: Row) -> str:
    title = inline(f"{row.code}: {row.title}")
    cause = [inline(row.cause), ""] if row.cause else []
    lines = [":orphan:", "", title, "=" * len(title), "", *cause, f"**Try:** {inline(row.cure)}", ""]
    if row.example:
        lines += [".. code-block:: python", "", *(f"    {line}".rstrip() for line in program(row).splitlines()), ""]
    return "\n".join([*lines, ":doc:`All errors </errors>`", ""])


def with_lists(text: str) -> str:
    """Return the page of errors with a list of codes at the end of each section."""
    head, *sections = re.split(r"(?m)^(?=## )", text)
    return "".join([head, *(f"{section.rstrip()}\n\n{_list(_anchor(section))}\n\n" for section in sections)])


def _anchor(section: str) -> str:
    return section.partition("\n")[0].removeprefix("## ").lower().replace(" ", "-")


def _list(theme: str) -> str:
    return "\n".join(f"* [{row.code}](/errors/{row.code}.rst): {row.title}" for row in rows() if row.theme == theme)


def linked(text: str) -> str:
    """Return a page on which each link for a single error code leads to the page of this code."""
    return re.sub(r"\[([EG]\d{3})\]\(errors\.md[^)]*\)", r"[\1](/errors/\1.rst)", text)


def write(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for row in rows():
        (folder / f"{row.code}.rst").write_text(page(row), encoding="utf-8")
