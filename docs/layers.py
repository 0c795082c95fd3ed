"""Layers of the packages: the table of allowed imports, and its Markdown on the architecture page.

`python -m docs.layers` rewrites the tables of docs/architecture.md; `tests/test_architecture.py` enforces them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

PAGE = Path(__file__).parent / "architecture.md"

SUBPACKAGES = {
    "screws": (
        ("arrays", "errors", "linear", "numeric_arguments"),
        ("names", "scalars"),
        ("calls", "jets", "rotations", "vectors"),
        ("poses", "surfaces", "twists"),
        ("contact", "inertia", "joints", "shapes"),
    ),
    "bondgraph": (
        ("errors", "methods", "quantities", "units"),
        ("output", "run_arguments", "tape"),
        ("devices", "emit", "model", "sinks"),
        ("checks", "elements"),
        ("causality", "graph", "signals"),
        ("assembly",),
        ("passes", "render", "run", "tracing"),
        ("schedule",),
        ("compile",),
        ("analysis", "estimation", "export", "interchange", "prepared", "stepping"),
        ("sweeps", "warming"),
    ),
    "screwbond.models": (
        ("alias", "connections", "fmu", "parts", "studies", "visuals"),
        ("bodies", "netlist", "sbml"),
        ("chains", "contacts", "forces", "graph_files", "joints", "planar", "springs"),
        ("pictures",),
        ("maze", "motion", "robots", "sweeping", "two_bodies"),
        ("control", "hand", "impact"),
        ("delta",),
        ("cli",),
    ),
    "bondgraph.run": (
        ("kernel_functions", "python_callbacks", "samples", "status", "table"),
        ("algebraic_loops", "linear", "sparsity"),
        ("program",),
        ("bound", "delays", "settings"),
        ("accuracy", "clock_schedule", "complementarity"),
        ("events",),
        ("ode", "results", "steppers"),
        ("measures", "validation"),
        ("hybrid",),
        ("crossing", "streaming"),
        ("batch",),
        ("simulate",),
    ),
}
"""Subpackages of each package by layer, lowest first: a subpackage imports only from lower layers."""

TABLES = (("bondgraph", "screwbond.models", "screws"), ("bondgraph.run",))
"""Packages that share a table of the page, with a column for each."""
_SHOWN = re.compile(r"^\| layer \|.*\n\|[-|]+\|\n(?:\| \d+ \|.*\n)+", re.MULTILINE)


def table(packages: Sequence[str]) -> str:
    def cell(package: str, layer: int) -> str:
        subpackages = SUBPACKAGES[package][layer - 1] if layer <= len(SUBPACKAGES[package]) else ()
        return ", ".join(f"`{subpackage}`" for subpackage in subpackages)

    rows = [["layer", *(f"`{package}`" for package in packages)]]
    highest = max(len(SUBPACKAGES[package]) for package in packages)
    rows += [[str(layer), *(cell(package, layer) for package in packages)] for layer in range(highest, 0, -1)]
    lines = ["|" + "".join(f" {entry} |" if entry else " |" for entry in row) for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]]) + "\n"


def with_tables(page: str) -> str:
    tables = iter(TABLES)
    return _SHOWN.sub(lambda _: table(next(tables)), page)


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
