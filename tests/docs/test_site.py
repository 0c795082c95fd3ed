"""Every public name has one entry in the site's reference, every example a picture, and every page a place in the contents."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
import types
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import bondgraph
import screws
from docs import contents, live_pages, reference, scripts, thumbnails
from docs.docstrings import restructured
from docs.notebooks import notebooks
from docs.pages import DOCS
from screwbond import models
from tests.browser import PATIENCE, Browser, browser, needs_chromium

PAGES = dict(reference.pages())
DESCRIBED = re.compile(r"^\.\. (?:autoclass|autofunction|py:data):: (\w+)$", re.MULTILINE)
PACKAGES = {"bondgraph": bondgraph, "screwbond.models": models, "screws": screws}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_has_its_entry(package: str) -> None:
    names = PACKAGES[package].__all__
    modules = {name for name in names if isinstance(getattr(PACKAGES[package], name), types.ModuleType)}
    described = DESCRIBED.findall(PAGES[package])
    assert sorted(described) == sorted(set(names) - modules)
    assert {f"{package}.{name}" for name in modules} <= set(PAGES)


def test_no_object_is_described_twice() -> None:
    entries: dict[int, str] = {}
    for page in reference.public_modules():
        for name in DESCRIBED.findall(PAGES[page.name]):
            value = getattr(page.imported, name)
            if isinstance(value, types.FunctionType | type):
                assert id(value) not in entries, (page.name, name, entries[id(value)])
                entries[id(value)] = f"{page.name}.{name}"
    assert entries[id(screws.torus)] == "screws.torus" and "`torus <screws.torus>`" in PAGES["screws.surfaces"]
    assert reference.entries()["screws.surfaces", "torus"] == "screws"


def test_every_name_has_a_summary() -> None:
    for page in reference.public_modules():
        for name in DESCRIBED.findall(PAGES[page.name]):
            assert reference.summary(page.name, name), f"{page.name}.{name}"


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
    assert not set(thumbnails.FROM_PAGES) & set(thumbnails.FROM_EXAMPLES)
    for picture in pictures.values():
        assert (DOCS / picture).is_file(), picture
    assert {path.stem for path in thumbnails.THUMBNAILS.iterdir()} == set(pictures)


def test_every_example_has_a_live_page_or_a_reason() -> None:
    assert not set(live_pages.PAGES) & set(live_pages.ABSENT)
    assert {*live_pages.PAGES, *live_pages.ABSENT} == {path.stem for path in scripts.EXAMPLES.glob("[!_]*.py")}


def test_a_script_of_the_gallery_is_the_example_below_its_title(tmp_path: Path) -> None:
    scripts.stage(tmp_path, thumbnails.of_examples())
    for path in scripts.EXAMPLES.glob("[!_]*.py"):
        staged = (tmp_path / path.name).read_text(encoding="utf-8")
        code = path.read_text(encoding="utf-8").split('"""', 2)[2]
        assert staged.startswith('r"""') and staged.endswith(code.lstrip("\n"))
        compile(staged, path.name, "exec")


def test_every_page_has_its_place_in_the_contents() -> None:
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


# --- the site itself -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of all pages, built from a copy of the sources; a warning from Sphinx is an error."""
    for name in ("sphinx", "furo", "myst_nb", "sphinx_gallery"):
        pytest.importorskip(name, reason='THE SITE IS NOT TESTED: pip install "screwbond[docs]"')
    folder = tmp_path_factory.mktemp("site")
    made_elsewhere = ("*.py", "__pycache__", "api", "errors", "examples")
    shutil.copytree(DOCS, folder / "docs", ignore=shutil.ignore_patterns(*made_elsewhere))
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "--keep-going",
        "-q",
        "-c",
        str(DOCS),
        str(folder / "docs"),
        str(folder / "site"),
    ]
    done = subprocess.run(
        command,
        cwd=DOCS.parent,
        env={**os.environ, "PYTHONPATH": str(DOCS.parent), live_pages.SWITCH: "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder / "site"


class Targets(HTMLParser):
    def __init__(self, page: Path):
        super().__init__()
        self.names: set[str] = set()
        self.targets: list[str] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        self.names |= {given[key] or "" for key in ("id", "name") if key in given}
        self.targets += [target for key in ("href", "src") if (target := given.get(key))]


@pytest.mark.release
def test_every_link_of_the_site_leads_somewhere(site: Path) -> None:
    pages = {page: Targets(page) for page in site.rglob("*.html") if "_static" not in page.parts}
    assert len(pages) > 50
    within = 0
    for page, found in pages.items():
        for target in found.targets:
            address = urlsplit(target)
            if address.scheme in ("http", "https", "data", "mailto"):
                continue
            file = (page.parent / unquote(address.path)).resolve() if address.path else page
            assert file.exists(), (page.name, target)
            if address.fragment and file in pages:
                assert unquote(address.fragment) in pages[file].names, (page.name, target)
                within += 1
    assert within > 1000


@pytest.mark.release
def test_no_page_asks_a_network_for_its_parts(site: Path) -> None:
    parts = re.compile(r"<(?:script|img|iframe|link)\b[^>]*(?:src|href)=\"(?:https?:)?//", re.IGNORECASE)
    for page in site.rglob("*.html"):
        assert not parts.search(page.read_text(encoding="utf-8")), page.name


# --- in a browser ----------------------------------------------------------------------------------------------------


WIDER = """[...document.querySelectorAll("article math, article table, article pre, article img, article svg, article iframe")]
.filter(element => {
  for (let e = element; e.tagName != "ARTICLE"; e = e.parentElement) if (getComputedStyle(e).overflowX != "visible") return false;
  return element.getBoundingClientRect().right > innerWidth + 1}).length"""
"""Number of formulas, tables, listings and pictures that overflow the window and do not scroll."""
NARROW = """[...document.querySelectorAll("article td, article th")]
.filter(cell => cell.innerText.trim().length > 8 && cell.clientWidth < 50).map(cell => cell.innerText)"""
"""Texts of table cells so narrow that words are broken between letters."""
STACKED = """[...document.querySelectorAll("article math")].filter(formula => {
  const signs = [...formula.children].filter(part => part.tagName == "mo" && part.textContent.trim() == "=");
  const places = signs.map(sign => sign.getBoundingClientRect().top);
  return Math.max(...places) - Math.min(...places) > 1}).length"""
"""Number of formulas whose equals signs are not on one line."""
LOOKED_AT = (
    "index",
    "surfaces",
    "delta",
    "contact",
    "papers",
    "errors",
    "errors/E101",
    "api/screws",
    "api/bondgraph",
    "examples/index",
    "examples/rolling_eggs",
    *(f"examples/{name}" for name in notebooks()),
)


@pytest.fixture(scope="module")
def window() -> Iterator[Browser]:
    with browser(webgl=False) as found:
        yield found


@pytest.mark.release
@needs_chromium
def test_pages_fit_their_window_and_ask_nothing_of_a_network(site: Path, window: Browser) -> None:
    for name in LOOKED_AT:
        window.open(site / f"{name}.html")
        for width in (1300, 390):
            window.resize(width, 850)
            window.rest()
            assert window.overflow() == 0 and window.run(WIDER) == 0, (name, width)
            assert window.run(NARROW) == [], (name, width)
            assert window.run(STACKED) == 0, (name, width)
        assert all(address.startswith(("file:", "data:", "blob:", "about:")) for address in window.asked), name
        assert "screwbond" in window.run("document.title")
        assert window.run('document.querySelector(".sidebar-brand-text").textContent').strip() == "screwbond"
    assert window.complaints == []


@pytest.mark.release
@needs_chromium
def test_formulas_tables_and_pictures_are_there(site: Path, window: Browser) -> None:
    window.open(site / "delta.html")
    assert window.run('document.querySelectorAll("math").length') > 50
    fonts = '[...document.fonts].filter(font => font.status == "loaded").map(font => font.family.replaceAll("\\"", ""))'
    assert "screwbond math" in window.run(fonts)
    heads = '[...document.querySelectorAll("article table")].filter(t => !t.tHead || !t.tHead.innerText.trim()).length'
    assert window.run(heads) == 0
    window.open(site / "index.html")
    assert window.run("[...document.images].every(picture => picture.complete && picture.naturalWidth > 100)")
    window.open(site / "examples/index.html")
    assert window.run('document.querySelectorAll(".sphx-glr-thumbcontainer img").length') == len(thumbnails.of_examples())
    widths = window.run('[...document.querySelectorAll(".sphx-glr-thumbcontainer img")].map(picture => picture.clientWidth)')
    assert min(widths) > 250
    sentences = '[...document.querySelectorAll(".example-words")].every(words => words.innerText.endsWith("."))'
    assert window.run('document.querySelectorAll(".example-words").length') == len(widths) and window.run(sentences)
    window.open(site / "api/screws.html")
    assert window.run('document.getElementById("screws.torus").textContent').strip().startswith("screws.torus")


@pytest.mark.release
@needs_chromium
def test_the_search_finds_the_torus(site: Path, window: Browser) -> None:
    window.open(site / "index.html")
    window.run('document.querySelector(".sidebar-search").value = "torus"')
    window.run('setTimeout(() => document.querySelector(".sidebar-search-container").requestSubmit(), 0)')
    found: list[str] = []
    end = time.monotonic() + PATIENCE
    while not {"surfaces", "screws"} <= {Path(urlsplit(target).path).stem for target in found} and time.monotonic() < end:
        time.sleep(0.05)
        found = window.run('[...document.querySelectorAll("#search-results li a")].map(a => a.getAttribute("href"))')
    assert any("api/screws.html#screws.torus" in target for target in found), found
    assert any("surfaces.html" in target for target in found), found
    assert window.complaints == []


@pytest.mark.release
@needs_chromium
@pytest.mark.skipif(not notebooks(), reason="there are no notebooks")
def test_notebooks_keep_their_outputs_on_the_site(site: Path, window: Browser) -> None:
    for name in notebooks():
        window.open(site / f"examples/{name}.html")
        assert window.run('document.querySelectorAll("article .cell_output").length') > 3, name
        assert window.run('[...document.querySelectorAll("article img")].every(i => i.complete && i.naturalWidth > 0)'), name
