"""The page of parts shows their records."""

from __future__ import annotations

import pytest

from docs.parts import PAGE, PICTURES, SHELVES, picture, table, with_tables

EACH = {part.name: part for shelf in SHELVES.values() for part in shelf.parts.values()}


def test_the_page_shows_the_records() -> None:
    """`python -m docs.parts` writes its tables."""
    page = PAGE.read_text(encoding="utf-8")
    assert all(table(shelf) in page for shelf in SHELVES.values()) and with_tables(page) == page


@pytest.mark.parametrize("name", EACH)
def test_the_pictures_are_those_of_the_records(name) -> None:
    assert (PICTURES / f"{name}.svg").read_text(encoding="utf-8") == picture(EACH[name])


def test_there_is_no_other_picture() -> None:
    assert {path.stem for path in PICTURES.iterdir()} == EACH.keys()
