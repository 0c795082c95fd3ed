"""The page of parts agrees with the records of the parts."""

from __future__ import annotations

import re

import pytest

from docs.curves import CURVES
from docs.parts import PAGE, PICTURES, SHELVES, picture, table, with_tables

EACH = {part.name: part for shelf in SHELVES.values() for part in shelf.parts.values()}


def test_the_page_shows_the_records() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert all(table(shelf) in page for shelf in SHELVES.values()) and with_tables(page) == page


NUMBER = r"-?\d+\.\d"


@pytest.mark.parametrize("name", EACH)
def test_the_pictures_are_those_of_the_records(name) -> None:
    """Curves of runs may differ by rounding errors of up to 0.2 px."""
    shown, wanted = (PICTURES / f"{name}.svg").read_text(encoding="utf-8"), picture(EACH[name])
    assert re.sub(NUMBER, "", shown) == re.sub(NUMBER, "", wanted)
    places, those = ([float(each) for each in re.findall(NUMBER, text)] for text in (shown, wanted))
    assert places == pytest.approx(those, abs=0.2)


def test_every_part_has_a_picture_and_a_curve() -> None:
    assert {path.stem for path in PICTURES.iterdir()} == CURVES.keys() == EACH.keys()
