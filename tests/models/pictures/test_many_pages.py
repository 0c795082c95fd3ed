"""Pages of models of many kinds work in a wide browser and on a phone."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from screwbond.models.pictures import Page, Scene, page

from bondgraph import J1, C, Graph, I, R, Se, compile_model, simulate
from examples.bouncing_ball import with_restitution
from tests.browser import Browser, browser, needs_chromium
from tests.inner.run import Result
from tests.models.pictures.shown import SHOWN
from tests.models.pictures.test_pages import TITLES, curve_of, data_of, quiet, times_of

SIZES = {1300: 850, 390: 844}
TOLD = "panels.map(panel => panel.outputs.map(o => o.textContent))"

BEYOND = """[...document.querySelectorAll('body *')].filter(n => n.checkVisibility() && !n.closest('svg')
    && n.getBoundingClientRect().right > innerWidth + 1).map(n => n.outerHTML.slice(0, 90))"""

PLACE_OF = """(name => { const hit = bonds.find(b => M.bonds[b.k].name === name).hit, all = hit.getTotalLength();
    hit.scrollIntoView({ block: 'center', behavior: 'instant' });
    for (let k = 1; k < 40; k++) {
      const p = hit.getPointAtLength(all * k / 40), q = new DOMPoint(p.x, p.y).matrixTransform(hit.getScreenCTM());
      if (document.elementFromPoint(q.x, q.y) === hit) return [q.x, q.y]; } })"""


pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def window() -> Iterator[Browser]:
    with browser() as found:
        yield found


@cache
def made(kind: str) -> Result | Scene:
    return SHOWN[kind][0]()


@cache
def page_of(kind: str) -> Page:
    return page(made(kind))


def written(kind: str, folder: Path) -> Path:
    return page_of(kind).write(folder / "page.html")


def result_of(shown: Result | Scene) -> Result:
    found = shown.result if isinstance(shown, Scene) else shown
    assert found is not None
    return found


def number(text: str) -> float:
    return float(text.replace("−", "-"))


def near(text: str, value: float, course: np.ndarray) -> bool:
    return abs(number(text) - value) <= 1e-3 * abs(value) + 6e-3 * float(np.ptp(course)) + 1e-12


@needs_chromium
@pytest.mark.parametrize("kind", SHOWN)
def test_pages_of_every_kind(kind: str, window: Browser, tmp_path: Path) -> None:
    path = written(kind, tmp_path)
    assert path.stat().st_size < 4.5e6
    first, second = sorted(SIZES, reverse=bool(list(SHOWN).index(kind) % 2))
    window.open(path, first, SIZES[first])
    _try(kind, first, window)
    window.resize(second, SIZES[second])
    window.rest()
    _try(kind, second, window)
    quiet(window, path)


def _try(kind: str, width: int, window: Browser) -> None:
    result, watched = result_of(made(kind)), SHOWN[kind][1]
    assert window.overflow() == 0 and window.run(BEYOND) == []
    # The selection is plotted, and the slider moves it.
    window.run(f"choose({watched!r})")
    assert window.run(TITLES)[0].startswith(watched)
    seen, told = [], []
    for part in (0.13, 0.77):
        window.run(f"$('time').value = {part}; $('time').dispatchEvent(new Event('input')); 1")
        window.rest()
        time, values = window.run("t"), window.run("panels[0].outputs.map(o => o.textContent)")
        course = result[watched].reshape(len(result.t), -1)
        for k, shown_text in enumerate(values):
            assert near(shown_text, float(np.interp(time, result.t, course[:, k])), course[:, k]), (watched, k, time)
        told.append(values)
        seen.append(window.picture() if width > 600 else str(part))
    assert len({str(values) for values in told}) > 1 and len(set(seen)) == 2
    assert window.overflow() == 0 and window.run(BEYOND) == []
    _click_a_bond(result, window)
    assert window.overflow() == 0 and window.run(BEYOND) == []


def _click_a_bond(result: Result, window: Browser) -> None:
    drawn = window.run("bonds.map(b => M.bonds[b.k].name)")
    assert drawn or not window.run("document.body.classList.contains('graph')")
    if not drawn:
        return
    name = max(drawn, key=lambda name: np.abs(np.nan_to_num(result.bond_values(name).power)).mean())
    (bond,) = (own for own in result.bonds if own.name == name)
    # At a sample, so that the comparison needs no interpolation.
    time = float(result.t[int(0.6 * len(result.t))])
    window.run(f"go({time!r})")
    before = window.run(TITLES)
    window.run("zoom(0)")  # a large graph opens zoomed in
    place = window.run(f"{PLACE_OF}({name!r})")
    window.click(*place)
    titles = window.run(TITLES)
    new = titles[: len(titles) - len(before)]
    assert (
        titles[len(new) :] == before and new[-1] == f"{name}: power (W)" and all(title.startswith(f"{name}: ") for title in new)
    )
    values = result.bond_values(name)
    at = int(np.flatnonzero(result.t == time)[0])
    told = [text for panel in window.run(TOLD)[: len(new)] for text in panel]
    courses = [course.reshape(len(result.t), -1) for course in (values.effort, values.flow, values.power)]
    wanted = [(float(course[at, k]), course[:, k]) for course in courses for k in range(course.shape[1])]
    assert len(told) == len(wanted) == 2 * bond.dimension + 1
    assert all(near(text, *value) for text, value in zip(told, wanted, strict=True)), (name, told)
    assert window.run("document.querySelectorAll('.bond.picked').length") == 1
    window.click(*window.run(f"{PLACE_OF}({name!r})"))
    assert window.run(TITLES) == before


@needs_chromium
def test_keys_and_buttons(window: Browser, tmp_path: Path) -> None:
    path = written("arm on a table", tmp_path)
    window.open(path)
    end = window.run("END")
    for key, time in (
        ("ArrowRight", 0.005 * end),
        ("ArrowRight", 0.01 * end),
        ("ArrowLeft", 0.005 * end),
        ("End", end),
        ("Home", 0.0),
    ):
        window.press(key)
        assert window.run("t") == pytest.approx(time, abs=1e-9)
    assert window.run("$('play').getAttribute('aria-label')") == "Play"
    window.press("Space")
    assert window.run("playing") and window.run("$('play').getAttribute('aria-label')") == "Pause"
    window.run("new Promise(done => setTimeout(done, 300))")
    assert window.run("t") > 0.0
    window.press("Space")
    assert not window.run("playing")
    window.run("$('speed').value = '.25'; $('speed').onchange(); 1")
    assert "slow motion 67×" in window.run("$('now').textContent")
    # A box keeps its key; so does a bond.
    window.run("$('frames').focus()")
    window.press("Space")
    assert not window.run("$('frames').checked") and not window.run("playing")
    before = window.run(TITLES)
    window.run("bonds[0].hit.focus()")
    window.press("Space")
    assert window.run(TITLES) != before and window.run("bonds[0].hit.getAttribute('aria-pressed')") == "true"
    small = window.run("$('drawing').clientWidth")
    window.run("$('alone').click()")
    assert window.run("$('drawing').clientWidth") > 1.4 * small and window.overflow() == 0 and window.run(BEYOND) == []
    unnamed = "n.checkVisibility() && !n.closest('label') && !n.getAttribute('aria-label')"
    assert window.run(f"[...document.querySelectorAll('button, input, select, canvas, .hit')].filter(n => {unnamed}).length") == 0
    quiet(window, path)


@needs_chromium
def test_fingers_and_the_mouse(window: Browser, tmp_path: Path) -> None:
    path = written("arm on a table", tmp_path)
    window.open(path, 390, 844)
    middle = """(n => { n.scrollIntoView({ block: 'center' });
      const b = n.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })"""
    far = window.run("view.distance")
    window.pinch(*window.run(f"{middle}($('gl'))"), by=2.0)
    assert window.run("view.distance") == pytest.approx(0.5 * far, rel=0.05)
    wide = window.run("see[2]")
    window.pinch(*window.run(f"{middle}($('drawing'))"), by=2.0)
    assert window.run("see[2]") == pytest.approx(0.5 * wide, rel=0.05)
    window.open(path)
    x, y = window.run(f"{middle}($('gl'))")
    back = window.run("view.back")
    window.drag((x, y), (x + 60.0, y))
    assert np.dot(window.run("view.back"), back) < 0.95
    box = window.run("(b => [b.x, b.y, b.width, b.height])(panels[0].canvas.getBoundingClientRect())")
    window.click(box[0] + 58.0 + 0.5 * (box[2] - 70.0), box[1] + 0.5 * box[3])
    assert window.run("t / END") == pytest.approx(0.5, abs=0.02)
    left = window.run("see[0]")
    x, y = window.run(f"{middle}($('drawing'))")
    window.drag((x, y + 60.0), (x - 50.0, y + 60.0))
    assert window.run("see[0]") > left


NAMES = ('<b>"&amp;`</script><!--<script>', "@DATA@ @GRAPH@", "Größe Ω₀ 質量 🙂", "a name that has no end " * 6 + "really")


@needs_chromium
@pytest.mark.parametrize("width", SIZES)
def test_names_of_any_kind(width: int, window: Browser, tmp_path: Path) -> None:
    title = f"{NAMES[0]} '@DATA@'"
    graph, junction = Graph(title), J1(NAMES[1], domain="translation")
    graph.connect(Se(NAMES[0], 1.0), junction).connect(junction, I(NAMES[2], mass=2.0))
    graph.connect(junction, C(NAMES[3], stiffness=50.0))
    path = tmp_path / "page.html"
    page(simulate(graph, 1.0, progress=False), path, plots=[f"{name}.effort" for name in (NAMES[0], *NAMES[2:])])
    window.open(path, width, SIZES[width])
    assert window.run("document.title") == window.run("document.querySelector('h1').textContent") == title
    assert window.run(TITLES)[:3] == [f"{name}.effort (N)" for name in (NAMES[0], *NAMES[2:])]
    assert window.run("bonds.length") == 3 and window.run("document.querySelectorAll('script').length") == 2
    name = f"{NAMES[1]} -> {NAMES[2]}"
    window.click(*window.run(f"{PLACE_OF}({name!r})"))
    assert window.run(TITLES)[0] == f"{name}: force (N)" and name in window.run("$('bond').textContent")
    # At full width, words are legible.
    window.run("$('alone').click()")
    assert window.run("drawing.getScreenCTM().a") > 0.74
    assert window.overflow() == 0 and window.run(BEYOND) == []
    quiet(window, path)


@needs_chromium
def test_nonfinite_values_leave_a_gap_in_curves(window: Browser, tmp_path: Path) -> None:
    whole = made("quarter car")
    assert isinstance(whole, Result)
    x = whole.x.copy()
    x[400:500], x[600] = np.nan, np.inf
    path = tmp_path / "page.html"
    with np.errstate(invalid="ignore"):
        page(replace(whole, x=x), path, plots=["spring.effort"])
    window.open(path)
    told = []
    for row in (450, 600, 900):
        window.run(f"go({float(whole.t[row])!r})")
        told.append(window.run(TOLD)[0][0])
    assert told[:2] == ["–", "–"] and near(told[2], whole["spring.effort"][900], whole["spring.effort"])
    assert window.run("curve(panels[0].plot.curves[0].curve).most") < 1e5
    quiet(window, path)


def test_a_long_run_is_a_small_page_with_all_that_happened() -> None:
    result = simulate(with_restitution(), 3.0, samples=3e-5, progress=False)
    assert len(result.t) > 100_000
    text = page(result)
    data = data_of(text)
    assert len(text.text) < 2e6
    names = {name: k for k, (name, *_) in enumerate(data["quantities"])} | dict(data["also"])
    times, v = times_of(data), curve_of(data, data["quantities"][names["ball.flow"]][2])
    before, after = result.at_events("ball.flow")
    for k, event in enumerate(result.events[:5]):
        here = np.abs(times - event.time) < 3e-3
        assert v[here].min() == pytest.approx(before[k], abs=2e-2) and v[here].max() == pytest.approx(after[k], abs=2e-2)


def test_pages_show_the_ripple_of_fast_switching() -> None:
    """A converter has four events in each of 600 periods; in each period its current has a ripple of V D / (f L)."""
    result = result_of(made("boost converter"))
    made_page = page_of("boost converter")
    data = data_of(made_page)
    assert len(made_page.text) < 1e6 and len(result.events) > 2000 and data["events"] == []
    names = {name: k for k, (name, *_) in enumerate(data["quantities"])} | dict(data["also"])
    times, current = times_of(data), curve_of(data, data["quantities"][names["inductor.flow"]][2])
    late = times > 0.029
    assert np.ptp(current[late]) == pytest.approx(12.0 * 0.5 / (20e3 * 1e-4), rel=0.05)
    # States between two events at one instant are not shown: with the diode still closed the capacitor would be short-circuited.
    power = curve_of(data, next(bond for bond in data["bonds"] if bond["name"] == "branch -> wire")["power"])
    assert np.nanmax(power) < 20.0


@needs_chromium
def test_pages_show_no_minus_zero(window: Browser, tmp_path: Path) -> None:
    """A component that is only rounding error compared with the others also appears as 0."""
    for kind in ("sampled PID", "arm on a table"):
        window.open(written(kind, tmp_path))
        result = result_of(made(kind))
        for name in ("rotor.flow", "angle.y"):
            if name in result:
                window.run(f"choose({name!r})")
                assert window.run("panels[0].outputs[0].textContent") == "0", (kind, name)
        window.run("choose('arm.tip.twist')" if "arm.tip.twist" in result else "1")
        window.run("go(0.5 * END)")
        assert not [text for panel in window.run(TOLD) for text in panel if "e−1" in text and len(panel) > 1]


@needs_chromium
def test_a_page_in_a_frame(window: Browser, tmp_path: Path) -> None:
    path = tmp_path / "notebook.html"
    inside = page_of("eggs")._repr_html_()
    path.write_text(f"<!DOCTYPE html><meta charset='utf-8'><body style='margin: 0'>{inside}</body>", encoding="utf-8")
    window.open(path, 1000, 760)
    frame = "frames[0].eval({!r})"
    assert window.run(frame.format("Boolean(gl) && panels.length > 2 && bonds.length > 5"))
    first = window.run(frame.format(TOLD))
    window.run(frame.format("go(.5 * (START + END))"))
    assert window.run(frame.format(TOLD)) != first
    assert window.run(frame.format("document.documentElement.scrollWidth - document.documentElement.clientWidth")) == 0
    assert window.complaints == [] and set(window.asked) <= {path.resolve().as_uri(), "about:srcdoc", "about:blank"}


@needs_chromium
def test_a_run_that_ended_early_says_so(window: Browser, tmp_path: Path) -> None:
    graph, junction = Graph("runs away"), J1("v", domain="translation")
    graph.connect(Se("push", lambda v: v * v, signals=["mass.flow"]), junction)
    graph.connect(junction, I("mass", mass=1.0, initial=1.0)).connect(junction, R("drag", damping=0.1))
    result: Any = simulate(graph, 10.0, progress=False)
    assert result.failure is not None
    path = tmp_path / "page.html"
    page(result, path)
    window.open(path)
    assert window.run("$('early').textContent") == f"ended early: {result.failure.reason}"
    ground, ink = (window.run(f"getComputedStyle($('early')).{name}") for name in ("backgroundColor", "color"))
    red, green, blue = (int(part) for part in re.findall(r"\d+", ground))
    assert red > green > blue + 30 and ink != window.run("getComputedStyle($('now')).color")
    assert window.run("$('early').checkVisibility() && $('early').getBoundingClientRect().bottom < 60")
    quiet(window, path)


@needs_chromium
def test_diagrams_beside_a_scene_are_legible(window: Browser, tmp_path: Path) -> None:
    scales = {}
    for kind in ("delta", "eggs", "arm on a table"):
        window.open(written(kind, tmp_path))
        scales[kind] = window.run("drawing.getScreenCTM().a")
    assert min(scales.values()) > 0.58
    window.open(written("delta", tmp_path))
    assert "early" not in window.run("document.querySelector('header').textContent")
    few, name = window.run("bonds.length"), "motor 1 -> arm 1.motor"
    window.click(*window.run(f"{PLACE_OF}({name!r})"))
    assert window.run(TITLES)[0].startswith(name)
    window.run("$('alone').click()")
    whole = result_of(made("delta"))
    assert few < window.run("bonds.length") == len(whole.bonds)
    picked = "bonds.filter(b => b.node.classList.contains('picked')).map(b => M.bonds[b.k].name)"
    assert window.run(picked) == [name]
    # A bond selected there is also selected beside the scene, where it is drawn.
    window.run("$('drawing').scrollIntoView(); pick(M.bonds.findIndex(b => b.name === 'motor 2 -> arm 2.motor'))")
    window.run("$('alone').click()")
    assert window.run("bonds.length") == few and window.run(picked) == ["motor 2 -> arm 2.motor"]


@needs_chromium
def test_numbers_keep_their_powers_of_ten(window: Browser, tmp_path: Path) -> None:
    window.open(written("quarter car", tmp_path))
    for value in (1.168e-10, -2.5e-20, 1.5e10, 3e100, 0.25, 120.0, 1e-3, 7.0):
        assert number(window.run(f"written({value!r})")) == pytest.approx(value, rel=1e-3)


@needs_chromium
def test_in_the_dark(window: Browser, tmp_path: Path) -> None:
    path = written("eggs", tmp_path)
    window.prefer(dark=True)
    window.open(path)
    dark = _brightness(window)
    window.prefer()
    window.open(path)
    assert dark < 70.0 < 200.0 < _brightness(window)
    quiet(window, path)


def _brightness(window: Browser) -> float:
    return float(np.mean(np.asarray(Image.open(io.BytesIO(window.picture())).convert("L"))))


@needs_chromium
def test_spans_of_any_length(window: Browser, tmp_path: Path) -> None:
    graph, junction = Graph("charge"), J1("loop", domain="electrical")
    graph.connect(Se("battery", 12.0), junction).connect(junction, R("wire", resistance=3.0))
    compiled = compile_model(graph.connect(junction, C("store", capacitance=2.0)))
    path = tmp_path / "page.html"
    for start, end, samples in ((0.0, 1e-9, None), (0.0, 3e6, 3e3), (1e6, 1e6 + 1.0, None), (0.0, 1.0, [0.0, 1.0])):
        result = compiled.simulate(end, t_start=start, progress=False, **({} if samples is None else {"samples": samples}))
        page(result, path)
        window.open(path)
        window.run("go(START); pick(M.bonds.findIndex(bond => bond.head === 'wire'))")
        assert [text for panel in window.run(TOLD)[:3] for text in panel] == ["12", "4", "48"]
        window.run("go(END)")
        assert window.run("$('time').value") == "1" and window.run("t") == end
        assert near(window.run(TOLD)[0][0], result["wire.effort"][-1], result["wire.effort"])
    quiet(window, path)
