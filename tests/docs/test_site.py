"""The site: every public name has one entry in the reference, every example its picture, every page its place."""

from __future__ import annotations

import re
import types
from pathlib import Path

import pytest

import bondgraph
import models
import screws
from docs import contents, reference, scripts, thumbnails
from docs.docstrings import restructured
from docs.pages import DOCS

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
