"""Short files of the examples, each with the graph of the page or script that its first line names."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

from bondgraph import Model
from tests.interchange.short.pages import ROOT, graphs_of

FOLDER = ROOT / "examples" / "short"
TWINS = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.yaml"))}

WITH_PARTS = ("winch", "supply", "drive_train")

OSCILLATOR = """
graph: oscillator
elements:
  push: {Se: 1.0}
  velocity: {J1: {domain: translation}}
  mass: {I: {inertia: 2.0}}
  spring: {C: {stiffness: 50.0}}
  damper: {R: {resistance: 5.0}}
bonds: [push -> velocity, velocity -> mass, velocity -> spring, velocity -> damper]
"""
BUCK, QUARTIC = TWINS["buck"], TWINS["quartic"]

_MECHANICS = "bodies, frames, contacts and chains, which functions of Python build"
_PAGES = ("contact", "mechanisms", "piles", "stepping", "surfaces")
LEFT_OUT = {
    **{f"docs/{page}.md": _MECHANICS for page in _PAGES},
    **{f"docs/{page}.md": "recipes of what files of other pages show" for page in ("cookbook", "coming_from")},
    "README.md: an egg falls on a table": _MECHANICS,
    "docs/elements.md: stage": "a multiport, whose law is a function of an array",
    "docs/elements.md: peltier": "no model: a piece of one, with open ports",
    "docs/motion_and_control.md: robot": _MECHANICS,
    "docs/motion_and_control.md: carried": "a motion that a function plans",
    "docs/motion_and_control.md: cart": "a motion that a function plans",
    "docs/analysis.md: speed control": "signal blocks alone, as in servo.yaml",
    "docs/signals.md: plants": "matrices and coefficients of linear systems",
    "docs/signals.md: logged": "a table of 20,001 numbers that NumPy computes",
    "docs/signals.md: table models": "a curve and a map, which are functions of Python",
    "docs/tutorial.md: turntable": _MECHANICS,
    "docs/tutorial.md: wrong": "no model: it shows an error",
    "docs/parts.md: enzyme": "a network of the text of its reactions, with the function that reads it",
}
"""Graphs of pages, or whole pages, that have no short file -> the reason."""


def sources(text: str) -> list[tuple[str, str]]:
    pages, _, name = text.partition("\n")[0].removeprefix("# ").partition(": ")
    return [(page, name) for page in pages.split(", ")]


def model_of(page: str, name: str) -> Model:
    if page.endswith(".py"):
        function, arguments = re.fullmatch(r"(\w+)\((.*)\)", name).groups()  # type: ignore[union-attr]
        graph = getattr(importlib.import_module(f"examples.{Path(page).stem}"), function)
        return graph(*([float(arguments)] if arguments else [])).freeze()  # type: ignore[no-any-return]
    model = graphs_of(page)[name]
    assert model is not None
    return model


def named_on_pages() -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        page, text = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
        for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
            names = re.findall(r'(?<![\w.])Graph\(\s*"([^"]+)"', code)
            found += [(page, name) for name in dict.fromkeys(names)]
    return found
