"""The code of the pages in docs/ runs and prints what they show, and the pages describe what the packages contain."""

from __future__ import annotations

import contextlib
import io
import itertools
import re
import types
from collections.abc import Iterator
from pathlib import Path

import pytest
from screwbond.models.cli import main

import bondgraph
from bondgraph import signals
from docs.pages import DOCS, FRONT, program_of, run_page, text_of

ROOT = Path(bondgraph.__file__).parents[1]
EXECUTED = [
    FRONT,
    "tutorial.md",
    "cookbook.md",
    "coming_from.md",
    "elements.md",
    "equations.md",
    "signals.md",
    "parts.md",
    "mechanisms.md",
    "robots.md",
    "urdf.md",
    "surfaces.md",
    "contact.md",
    "piles.md",
    "runs.md",
    "sweeps.md",
    "gpu.md",
    "analysis.md",
    "estimation.md",
    "export.md",
    "live.md",
    "fmu.md",
    "interchange.md",
    "files.md",
    "stepping.md",
    "motion_and_control.md",
    "delta.md",
    "hand.md",
    "impact.md",
    "maze.md",
    "papers.md",
    "notation.md",
    "code.md",
    "modelica.md",
    "casadi_and_jax.md",
    "architecture.md",
]
NEEDED = {"casadi_and_jax.md": ("casadi", "jax"), "coming_from.md": ("mujoco",)}
ELEMENTS = {
    "C",
    "I",
    "R",
    "Se",
    "Sf",
    "TF",
    "MTF",
    "GY",
    "MGY",
    "EulerJunction",
    "J0",
    "J1",
    "X0",
    "X1",
    "Constraint",
    "Block",
    "Diode",
    "Friction",
    "Switch",
    "IC",
    "Ce",
    "Re",
    "HeatTransfer",
    "multiport",
}


def plain(text: str) -> list[str]:
    """Return lines without trailing blanks, in which `LINE` replaces the page's own line numbers."""
    return [re.sub(r"(\.md):\d+", r"\1:LINE", line.rstrip()) for line in text.strip("\n").splitlines()]


@pytest.mark.parametrize("page", EXECUTED)
def test_code_of_pages_prints_the_shown_output(page: str) -> None:
    for package in NEEDED.get(page, ()):
        pytest.importorskip(package)
    _, shown = program_of(page)
    _, printed = run_page(page)
    assert len(printed) == len(shown)
    for number, (told, wanted) in enumerate(zip(printed, shown, strict=True), start=1):
        assert plain(told) == plain(wanted or ""), f"block {number} of {page}"


_MODULES = [path.relative_to(ROOT) for package in ("bondgraph", "models", "screws") for path in (ROOT / package).rglob("*.py")]
SOURCES = {"/" + "/".join(place.parts[k:]) for path in _MODULES for place in (path, path.parent) for k in range(len(place.parts))}

PAGES = [ROOT / "README.md", ROOT / "examples" / "README.md", *sorted(DOCS.rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)]+)\)", prose):
        if target.startswith("http"):
            continue
        file, _, anchor = target.partition("#")
        path = (page.parent / file) if file else page
        assert path.exists(), target
        if anchor:
            assert anchor in headings(path), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_table_has_a_head(page: Path) -> None:
    lines = page.read_text(encoding="utf-8").splitlines()
    for head, rule in itertools.pairwise(lines):
        if re.fullmatch(r"\|[-:| ]+\|", rule) and head.startswith("|"):
            assert all(cell.strip() for cell in re.split(r"(?<!\\)\|", head)[1:-1]), head


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_paths_of_the_source_lead_somewhere(page: Path) -> None:
    """A path may be a file (`run/clock_schedule.py`), a module (`events/guards`) or a folder (`run/batch`)."""
    for path in re.findall(r"`(\w+(?:/\w+)+(?:\.py)?)`", page.read_text(encoding="utf-8")):
        assert (ROOT / path).exists() or any(f"/{path}{end}" in SOURCES for end in ("", ".py")), path


def headings(path: Path) -> set[str]:
    found = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in found}


@pytest.mark.parametrize("folder", [DOCS, DOCS / "decisions"], ids=["docs", "decisions"])
def test_the_index_lists_every_page(folder: Path) -> None:
    index = (folder / "README.md").read_text(encoding="utf-8")
    for path in folder.glob("*.md"):
        assert path.name in ("README.md", "index.md") or f"({path.name})" in index, path.name


def test_every_page_with_code_is_executed() -> None:
    assert {page.name for page in DOCS.glob("*.md") if "```python" in page.read_text(encoding="utf-8")} == set(EXECUTED) - {FRONT}


def test_the_architecture_names_every_package() -> None:
    text = text_of("architecture.md")
    folders = [path.parent for layer in ("bondgraph", "models") for path in (ROOT / layer).glob("*/__init__.py")]
    modules = [path for name in ("assembly", "tracing") for path in (ROOT / "bondgraph" / name).glob("[!_]*.py")]
    known = {"execute", "system", "routines"}
    missing = [p.stem for p in (*folders, *modules) if not re.search(rf"`(run\.)?{p.stem}`", text) and p.stem not in known]
    assert not missing


def test_the_front_page_shows_a_plot_within_ten_lines() -> None:
    first = (ROOT / "README.md").read_text(encoding="utf-8").partition("```python\n")[2].partition("```")[0]
    lines = [line for line in first.splitlines() if line.strip()]
    assert len(lines) <= 10 and ".plot(" in lines[-1]


def test_the_front_page_names_commands_that_exist() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"(?:^|`)make (\w+)", text, flags=re.MULTILINE))
    assert {"demo", "test", "docs", "dist"} <= targets <= set(re.findall(r"^(\w+):", makefile, flags=re.MULTILINE))
    for command in re.findall(r"screwbond (\w+)", text):
        with pytest.raises(SystemExit) as done, contextlib.redirect_stdout(io.StringIO()):
            main([command, "--help"])
        assert done.value.code == 0, command


def test_the_examples_are_listed_beside_them() -> None:
    listed = re.findall(r"`python -m examples\.(\w+)`", (ROOT / "examples" / "README.md").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(path.stem for path in (ROOT / "examples").glob("*.py"))


# --- elements --------------------------------------------------------------------------------------------------------


def sections(page: str) -> Iterator[tuple[str, str]]:
    for part in re.split(r"^## ", text_of(page), flags=re.MULTILINE)[1:]:
        title, _, body = part.partition("\n")
        yield title.strip(), body


def test_every_element_has_its_section() -> None:
    made = {
        name
        for name in bondgraph.__all__
        if isinstance(getattr(bondgraph, name), types.FunctionType)
        and getattr(bondgraph, name).__annotations__.get("return") in ("Element", "Graph", "Graph | Element")
        and name != "read_graph"
    }
    assert made == ELEMENTS
    titles = " ".join(title for title, _ in sections("elements.md"))
    assert set(re.findall(r"\b\w+\b", titles)) >= ELEMENTS


def test_every_signal_block_is_on_the_page() -> None:
    assert set(re.findall(r"^\| `(\w+)\(", text_of("signals.md"), flags=re.MULTILINE)) == set(signals.__all__)


def test_every_element_has_an_example_that_runs() -> None:
    run_page("elements.md")
    assert set(re.findall(r"^(\w+)\(", program_of("elements.md")[0], flags=re.MULTILINE)) >= ELEMENTS
