"""The site: every public name has one entry in the reference, every example its picture, every page its place."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import types
from pathlib import Path

import pytest

import bondgraph
import models
import screws
from docs import contents, reference, scripts, thumbnails
from docs.docstrings import restructured
from docs.pages import DOCS
from tests.browser import browser, needs_chromium

PAGES = dict(reference.pages())
DESCRIBED = re.compile(r"^\.\. (?:autoclass|autofunction|py:data):: (\w+)$", re.MULTILINE)
PACKAGES = {"bondgraph": bondgraph, "models": models, "screws": screws}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_has_its_entry(package: str) -> None:
    """On the page of the package that exports it; modules have a page of their own."""
    names = PACKAGES[package].__all__
    modules = {name for name in names if isinstance(getattr(PACKAGES[package], name), types.ModuleType)}
    described = DESCRIBED.findall(PAGES[package])
    assert sorted(described) == sorted(set(names) - modules)
    assert {f"{package}.{name}" for name in modules} <= set(PAGES)


def test_no_object_is_described_twice() -> None:
    """What inner packages export again is a link to its entry."""
    entries: dict[int, str] = {}
    for room in reference.rooms():
        for name in DESCRIBED.findall(PAGES[room.name]):
            value = getattr(room.module, name)
            if isinstance(value, types.FunctionType | type):
                assert id(value) not in entries, (room.name, name, entries[id(value)])
                entries[id(value)] = f"{room.name}.{name}"
    assert entries[id(screws.torus)] == "screws.torus" and "`torus <screws.torus>`" in PAGES["screws.surfaces"]
    assert reference.entries()["screws.surfaces", "torus"] == "screws"


def test_every_name_is_told_in_a_line() -> None:
    for room in reference.rooms():
        for name in DESCRIBED.findall(PAGES[room.name]):
            assert reference.summary(room.name, name), f"{room.name}.{name}"


def test_the_index_of_the_reference_leads_to_every_page() -> None:
    listed = re.findall(r":doc:`([\w.]+)`", PAGES["index"])
    assert sorted(listed) == sorted(set(PAGES) - {"index"})


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (["Rate |x| of *args and `a_b`s."], ["Rate \\|x\\| of \\*args and ``a_b``\\ s.", ""]),
        (
            ["Parameters", "----------", "a, b : of `c`,", "    in m.", "rest : none."],
            [".. rubric:: Parameters", "", "``a, b``", "    of ``c``,", "    in m.", "``rest``", "    none.", ""],
        ),
        ([">>> print(1 * 2)", "2"], [">>> print(1 * 2)", "2", ""]),
        (["See:", "   a --> b"], ["See:", "", "::", "", "       a --> b", "", ""]),
    ],
)
def test_a_docstring_is_shown_as_it_is_written(written: list[str], read: list[str]) -> None:
    assert restructured(written) == read


def test_every_example_has_its_picture() -> None:
    pictures = thumbnails.of_examples()
    assert set(pictures) == {path.stem for path in scripts.EXAMPLES.glob("[!_]*.py")}
    assert not set(thumbnails.SHOWN) & set(thumbnails.DRAWN)
    for picture in pictures.values():
        assert (DOCS / picture).is_file(), picture
    assert {path.stem for path in thumbnails.THUMBNAILS.iterdir()} == set(thumbnails.DRAWN)


def test_a_script_of_the_gallery_is_the_example_below_its_title(tmp_path: Path) -> None:
    scripts.stage(tmp_path, thumbnails.of_examples())
    for path in scripts.EXAMPLES.glob("[!_]*.py"):
        staged = (tmp_path / path.name).read_text(encoding="utf-8")
        code = path.read_text(encoding="utf-8").split('"""', 2)[2]
        assert staged.startswith('r"""') and staged.endswith(code.lstrip("\n"))
        compile(staged, path.name, "exec")


def test_every_page_has_its_place_in_the_contents() -> None:
    """The index of the folder is the table of contents of the site."""
    placed = [page for pages in contents.sections().values() for page in pages]
    assert len(placed) == len(set(placed))
    here = {path.stem for path in DOCS.glob("*.md")} - {"README", "index"}
    assert {page for page in placed if "/" not in page} == here
    for page in placed:
        assert f"\n{page}\n" in contents.home()


def test_links_of_the_front_page_lead_to_pages_of_the_site() -> None:
    shown = contents.without_foreign_links(contents.home())
    assert "](docs/" not in shown and "](../" not in shown
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", shown):
        assert target.startswith(("http", "/examples/")) or target == "index.md" or (DOCS / target).is_file(), target


# --- in a browser ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Home, a page of formulas, one of the reference and one of the gallery, made as `make docs` makes all of them."""
    pytest.importorskip("sphinx", reason='THE SITE IS NOT TRIED: pip install "screwbond[docs]"')
    source, made = tmp_path_factory.mktemp("pages"), tmp_path_factory.mktemp("site")
    (source / "index.md").write_text("# Home\n", encoding="utf-8")  # the README takes its place
    for name in ("surfaces.md", "delta.md"):
        shutil.copy(DOCS / name, source / name)
    shutil.copytree(DOCS / "pictures", source / "pictures", ignore=shutil.ignore_patterns("*.md"))
    shutil.copytree(thumbnails.THUMBNAILS, source / thumbnails.THUMBNAILS.name)
    left = ["api/[bm]*", "api/screws.[cijpt]*", "examples/[a-h]*.rst", "examples/[j-q]*.rst", "examples/[s-z]*.rst"]
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-Q",
        "-c",
        str(DOCS),
        "-D",
        f"exclude_patterns={','.join(left)}",
        str(source),
        str(made),
    ]
    subprocess.run(command, check=True, cwd=DOCS.parent, env={**os.environ, "PYTHONPATH": str(DOCS.parent)})
    return made


WIDER = """[...document.querySelectorAll("article math, article table, article pre, article img")].filter(element => {
  for (let e = element; e.tagName != "ARTICLE"; e = e.parentElement) if (getComputedStyle(e).overflowX != "visible") return false;
  return element.getBoundingClientRect().right > innerWidth + 1}).length"""
"""How many formulas, tables, listings and pictures stand out of the window, and do not scroll by themselves."""


@needs_chromium
def test_pages_fit_their_window_and_ask_nothing_of_a_network(site: Path) -> None:
    with browser() as window:
        for name in ("index", "surfaces", "delta", "api/screws", "examples/index", "examples/rolling_eggs"):
            for width in (390, 1300):
                window.open(site / f"{name}.html", width)
                assert window.overflow() == 0 and window.run(WIDER) == 0, (name, width)
                assert all(address.startswith(("file:", "data:")) for address in window.asked), name
                assert "screwbond" in window.run("document.title")
                assert (
                    window.run('document.querySelector(".sidebar-brand-text, .header-center").textContent').strip() == "screwbond"
                )
        assert window.complaints == []


@needs_chromium
def test_formulas_tables_and_pictures_are_there(site: Path) -> None:
    with browser() as window:
        window.open(site / "delta.html")
        assert window.run('document.querySelectorAll("math").length') > 50
        heads = window.run(
            '[...document.querySelectorAll("article table")].filter(t => !t.tHead || !t.tHead.innerText.trim()).length'
        )
        assert heads == 0
        window.open(site / "index.html")
        assert window.run("[...document.images].every(picture => picture.complete && picture.naturalWidth > 100)")
        window.open(site / "examples/index.html")
        assert window.run('document.querySelectorAll(".sphx-glr-thumbcontainer img").length') == len(thumbnails.of_examples())
        window.open(site / "api/screws.html")
        assert window.run('document.getElementById("screws.torus").textContent').strip().startswith("screws.torus")


@needs_chromium
def test_the_search_finds_the_torus(site: Path) -> None:
    with browser() as window:
        window.open(site / "search.html")
        window.run('Search.performSearch("torus")')
        found: list[str] = []
        for _ in range(200):
            window.rest()
            found = window.run('[...document.querySelectorAll("#search-results li a")].map(a => a.getAttribute("href"))')
            if any("surfaces.html" in target for target in found):
                break
        assert any("api/screws.html#screws.torus" in target for target in found) and any("surfaces.html" in t for t in found)
        assert window.complaints == []
