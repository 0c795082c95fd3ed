"""One command draws all pictures of the pages, and the stored pictures match its output."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from screwbond.models.pictures import rendering

from docs.gallery import DIAGRAMS, PICTURES, PLOTS, SCENES, draw, narrowed
from docs.pages import DOCS

NOTE = "README.md"
COARSE = 8
"""Side in pixels of squares averaged before a comparison, so that shifted edges and hinting do not count."""
DIFFERENT = 16.0
"""Difference of two averages, in shades of 255, above which drawings visibly differ."""
RARELY = {
    *("crane.png", "delta_robot.png", "delta_workspace.png", "hand_figure6.png"),
    *("maze_gains.png", "rounded_cube.png", "satellite.png", "sweep.png"),
}
"""Pictures that take the longest to draw and are therefore redrawn only before a release."""


def test_the_gallery_draws_every_picture() -> None:
    assert {path.name for path in PICTURES.iterdir()} - {NOTE} == {*DIAGRAMS, *PLOTS, *SCENES}


def test_each_picture_has_a_note() -> None:
    text = (PICTURES / NOTE).read_text(encoding="utf-8")
    rows = {
        heading: re.findall(r"^\| \[(.+?)\]\(\1\) \| \S.{20,} \|$", part, flags=re.MULTILINE)
        for heading, _, part in (part.partition("\n") for part in text.split("\n## ")[1:])
    }
    kinds = {"Bond graphs": DIAGRAMS, "Plots": PLOTS, "Scenes": SCENES}
    assert {heading: sorted(names) for heading, names in rows.items()} == {kind: sorted(names) for kind, names in kinds.items()}
    pages = "".join(page.read_text(encoding="utf-8") for page in [*DOCS.glob("*.md"), DOCS.parent / "README.md"])
    assert all(f"pictures/{name})" in pages for names in kinds.values() for name in names)


@pytest.mark.thorough
@pytest.mark.parametrize("name", DIAGRAMS)
def test_diagrams_equal_those_that_the_code_draws(name: str, tmp_path: Path) -> None:
    draw(name, tmp_path / name)
    kept = (PICTURES / name).read_text(encoding="utf-8")
    assert (tmp_path / name).read_text(encoding="utf-8") == kept, f"python -m docs.gallery {name}"
    assert len(kept) < 60_000


def different(drawn: Path, kept: Path) -> float:
    from PIL import Image

    pictures = [narrowed(path) for path in (drawn, kept)]
    assert pictures[0].size == pictures[1].size
    size = pictures[0].width // COARSE, pictures[0].height // COARSE
    one, two = (np.asarray(picture.resize(size, Image.Resampling.BOX), dtype=float) for picture in pictures)
    return float(np.mean(np.abs(one - two).max(axis=2) > DIFFERENT))


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.release if name in RARELY else pytest.mark.thorough) for name in (*PLOTS, *SCENES)],
)
def test_pictures_equal_those_that_the_code_draws(name: str, tmp_path: Path) -> None:
    if find_spec("matplotlib") is None:
        pytest.skip('Matplotlib is not installed: pip install "screwbond[viz]"')
    if name in SCENES and not rendering()[0]:
        pytest.skip(rendering()[1])
    (PLOTS | SCENES)[name](tmp_path / name)
    assert different(tmp_path / name, PICTURES / name) < 2e-3, f"python -m docs.gallery {name}"


def test_another_palette_is_seen(tmp_path: Path) -> None:
    from PIL import Image

    kept = PICTURES / "delta_soft_touch.png"
    Image.open(kept).convert("RGB").convert("L").save(tmp_path / "grey.png")
    assert different(tmp_path / "grey.png", kept) > 2e-3
    assert different(kept, kept) == 0.0
