"""Plots take their style only from the style sheet, whose colours differ for every kind of colour vision."""

from __future__ import annotations

import ast
import itertools
import re
from pathlib import Path

import numpy as np
import pytest

from tests.inner.models_pictures import AXES, rgb
from tests.inner.output import CYCLE, INK, PAPER, SHEET, styled, widen_flat_range

ROOT = Path(__file__).parents[2]
BESIDE = {"bondgraph/output/plot_style.py", "bondgraph/render/paint.py", "models/pictures/style.py"}
"""Modules exempt from the rules: the style sheet itself, SVG diagrams, and the colours of solids in scenes."""
SOLIDS = {
    *("models/delta/pictures/scene.py", "models/hand/pictures.py", "models/impact/figures.py", "models/maze/pictures.py"),
    *(f"models/pictures/stage/{name}.py" for name in ("posters", "stage")),
}
PLOTTING = ("matplotlib", "plot_file", "bondgraph.output.plot_style", "figure.subplots")
SETTINGS = {"rcParams", "rc_context", "rcdefaults", "rc"}
GIVEN = {"fontsize", "labelsize", "titlesize", "fontweight", "fontfamily", "color", "facecolor", "edgecolor"}
SOURCES = [path for room in ("screws", "bondgraph", "models", "examples") for path in sorted((ROOT / room).rglob("*.py"))]


def settings_of(source: str) -> list[str]:
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and node.attr in SETTINGS:
            found.append(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch("#[0-9a-fA-F]{3,8}", node.value):
            found.append(node.value)
        elif isinstance(node, ast.keyword) and isinstance(node.value, ast.Constant) and node.value.value != "none":
            found += [f"{node.arg}={node.value.value}"] if node.arg in GIVEN else []
    return found


FOREIGN = (
    "mpl.rcParams['font.size'] = 3",
    "with mpl.rc_context({}): pass",
    "plot(x, color='red')",
    "x = '#ff0000'",
    "text('a', fontsize=7)",
)


@pytest.mark.parametrize("line", FOREIGN)
def test_settings_outside_the_style_sheet_are_found(line: str) -> None:
    assert settings_of(line)


@pytest.mark.parametrize("line", ["plot(x, color=INK, fontsize=SMALL)", "'# heading'", "fill(x, facecolor='none')"])
def test_style_sheet_values_are_not_repeated(line: str) -> None:
    assert not settings_of(line)


def test_no_module_that_plots_has_settings_of_its_own() -> None:
    plotting = {
        path.relative_to(ROOT).as_posix(): text
        for path in SOURCES
        if any(word in (text := path.read_text(encoding="utf-8")) for word in PLOTTING)
    }
    assert len(plotting) > 10
    found = {name: settings_of(text) for name, text in plotting.items() if name not in BESIDE}
    own = {name: [word for word in words if not (name in SOLIDS and word[0] == "#")] for name, words in found.items()}
    assert not any(own.values()), own
    assert all(found[name] for name in SOLIDS)


def test_styled_leaves_no_trace() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    before = dict(matplotlib.rcParams)
    with styled():
        inside = dict(matplotlib.rcParams)
    assert dict(matplotlib.rcParams) == before
    assert [entry["color"] for entry in inside["axes.prop_cycle"]] == [*CYCLE]
    assert all(inside[name] == value for name, value in SHEET.items() if isinstance(value, bool | float))


# Colours as seen by people who lack one kind of cone, in linear RGB.
# Source: Machado, Oliveira, Fernandes 2009, table 1, severity 1.
SIGHT = {
    "all cones": [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    "no long cones": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no medium cones": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "no short cones": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
# Linear RGB to CIE XYZ (IEC 61966-2-1), and the common white.
TO_XYZ = np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]])
WHITE = TO_XYZ.sum(axis=1)


def linear(colour: str) -> np.ndarray:
    """Return a colour as linear RGB (3,), from 0 to 1."""
    given = np.array(rgb(colour)) / 255.0
    return np.where(given <= 0.04045, given / 12.92, ((given + 0.055) / 1.055) ** 2.4)


def lab(light: np.ndarray) -> np.ndarray:
    """Return CIE L*, a*, b* (3,) of a colour in linear RGB."""
    x = TO_XYZ @ np.clip(light, 0.0, 1.0) / WHITE
    f = np.where(x > (6 / 29) ** 3, np.cbrt(x), x / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("colours", [(*CYCLE, INK), AXES], ids=["curves", "axes"])
@pytest.mark.parametrize("sight", SIGHT)
def test_colours_differ_for_every_colour_vision(colours: tuple[str, ...], sight: str) -> None:
    """Curves are thin, so colours differ by more than 20, about nine times the just noticeable difference of 2.3 for large
    patches (CIE 1976)."""
    seen = {colour: lab(np.array(SIGHT[sight]) @ linear(colour)) for colour in colours}
    assert min(float(np.linalg.norm(seen[a] - seen[b])) for a, b in itertools.combinations(colours, 2)) > 20.0


@pytest.mark.parametrize("colour", [*CYCLE, INK, *AXES])
def test_colours_stand_out_from_the_paper(colour: str) -> None:
    """The contrast is at least 3 : 1, as required for graphics (WCAG 2.1, 1.4.11)."""
    paper, own = (float(TO_XYZ[1] @ linear(c)) + 0.05 for c in (PAPER, colour))
    assert paper / own > 3.0


def test_interactive_mode_set_while_drawing_is_kept() -> None:
    """The notebook backend becomes interactive when the first figure is made, possibly inside a `styled` block."""
    matplotlib = pytest.importorskip("matplotlib")
    before, size = matplotlib.is_interactive(), matplotlib.rcParams["font.size"]
    try:
        matplotlib.interactive(False)
        with styled():
            assert matplotlib.rcParams["font.size"] == SHEET["font.size"]
            matplotlib.interactive(True)
        assert matplotlib.is_interactive() and matplotlib.rcParams["font.size"] == size
    finally:
        matplotlib.interactive(before)


@pytest.mark.parametrize("size", [1e-9, 0.981, -4e6])
def test_rounding_is_not_drawn_large(size: float) -> None:
    """If a value changes only in its last digits, the axis spans a tenth of its size, in any unit."""
    figure = pytest.importorskip("matplotlib.figure")
    with styled():
        still, moving, nought = figure.Figure().subplots(3)
        for axes, values in ((still, 1.0 + 1e-11 * np.sin(np.arange(50.0))), (moving, np.linspace(1.0, 1.001, 50))):
            axes.plot(size * values)
            widen_flat_range(axes)
        nought.plot(np.zeros(3))
        widen_flat_range(nought)
    assert np.ptp(still.get_ylim()) == pytest.approx(0.1 * abs(size), rel=1e-6) and np.mean(still.get_ylim()) == pytest.approx(
        size
    )
    assert np.ptp(moving.get_ylim()) < 0.0012 * abs(size) and nought.get_autoscaley_on()
