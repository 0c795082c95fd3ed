"""Pages are legible on a desktop and on a phone, with letters of at least 9 px and no overlapping labels."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import Delaunay
from screwbond.models.pictures import ContactDrawing, Force, Frame, Look, Scene, Solid, page

from bondgraph import J0, J1, C, Graph, I, R, Se, compile_model, simulate
from bondgraph.export import live_page
from screws.surfaces import plane, sphere
from tests.browser import Browser, browser, needs_chromium
from tests.inner.models_pictures import Curve, Panel, cuboid, shown_unit, turned_poses, unrotated_poses, without_rounding
from tests.inner.output import FLAT
from tests.inner.render import diagram
from tests.models.pictures.test_pages import curve_of, data_of

SIZES = {1300: 850, 390: 844}
LETTERS = """(() => { const scale = drawing.getScreenCTM().a;
    return Math.min(...[...drawing.querySelectorAll('text')].map(n => scale * parseFloat(getComputedStyle(n).fontSize)))})()"""
OVERLAPS = """(() => { const boxes = [...drawing.querySelectorAll('text')].filter(n => n.textContent.trim())
    .map(n => [n.textContent, n.getBoundingClientRect()]), found = [];
  boxes.forEach(([a, p], i) => boxes.slice(i + 1).forEach(([b, q]) => {
    const x = Math.min(p.right, q.right) - Math.max(p.left, q.left), y = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
    if (x > 2 && y > .35 * Math.min(p.height, q.height)) found.push([a, b]); }));
  return found})()"""
SHARE = """(() => { const pane = drawing.getBoundingClientRect(), seen = b => b.right > pane.left && b.left < pane.right
    && b.bottom > pane.top && b.top < pane.bottom;
  const boxes = [...drawing.querySelectorAll('text, path.line')].map(n => n.getBoundingClientRect()).filter(seen);
  const span = (low, high, from, to) => (Math.min(to, Math.max(...high)) - Math.max(from, Math.min(...low))) / (to - from);
  return Math.max(span(boxes.map(b => b.left), boxes.map(b => b.right), pane.left, pane.right),
    span(boxes.map(b => b.top), boxes.map(b => b.bottom), pane.top, pane.bottom))})()"""
"""Fraction of the pane's width or height that the drawing fills, whichever fraction is larger."""


def ladder(sections: int) -> Graph:
    graph, before = Graph(f"ladder of {sections}"), Se("source", 10.0)
    for k in range(sections):
        line, node = J1(f"line {k}"), J0(f"node {k}")
        graph.connect(before, line).connect(line, R(f"r{k}", 10.0)).connect(line, node)
        before = graph.connect(node, C(f"c{k}", capacitance=1e-4)) and node
    return graph


@pytest.fixture(scope="module")
def window() -> Iterator[Browser]:
    with browser() as found:
        yield found


@pytest.mark.thorough
@needs_chromium
@pytest.mark.parametrize("sections", [1, 8, 15, 37])
def test_a_flat_graph_opens_legible(sections: int, window: Browser, tmp_path: Path) -> None:
    path = page(simulate(ladder(sections), 0.1, progress=False)).write(tmp_path / "page.html")
    for width, height in SIZES.items():
        window.open(path, width, height)
        assert window.run(LETTERS) > 8.99, width
        assert window.run(OVERLAPS) == [], width
        assert window.run(SHARE) > 0.7, width
        assert window.run(WHOLE_WORDS)
        assert width < 600 or window.run("$('plots').scrollHeight <= $('plots').clientHeight"), "plots are cut"
        # It is cut at the foot of its pane only where the window has no more space.
        cut, high = window.run("[see[3] < .98 * home[3], $('graph').clientHeight]")
        assert not cut or high > (0.7 if width < 600 else 0.45) * height, (width, high)
        window.run("zoom(0)")
        assert not window.run("isPart()")
    assert window.complaints == []


@pytest.mark.thorough
@needs_chromium
def test_a_wide_graph_opens_above_the_plots_and_a_nested_one_folded(window: Browser, tmp_path: Path) -> None:
    row, pack = ladder(5), Graph("pack")
    bus, ends = J0("bus", domain="electrical"), (Se("charger", 12.0), R("cable", 0.1))
    pack.between(None, bus, *ends)
    for k in range(2):
        rail, module = J0("rail"), Graph(f"module {k}")
        for cell in range(4):
            current, ohm, charge = J1(f"current {cell}"), R(f"ohm {cell}", 0.1), C(f"charge {cell}", capacitance=10.0)
            module.connect(rail, current).connect(current, ohm).connect(current, charge)
        pack.connect(bus, module.expose("poles", rail).port("poles"))
    wide, nested = (page(simulate(graph, 0.1, progress=False)).write(tmp_path / f"{graph.name}.html") for graph in (row, pack))
    window.open(wide, 1300, 850)
    assert window.run("!isPart() && boxOf('plots')[1] >= boxOf('graph')[3] && scaleOf() > 1") and window.run(LETTERS) > 8.99
    edges = "(nodes => nodes.map(node => (b => [b.left, b.top, b.right, b.bottom])(node.getBoundingClientRect())))"
    (left, _, right, bottom), *boxes = window.run(f"{edges}([$('panels'), ...panels.map(panel => panel.node)])")
    assert min(box[0] for box in boxes) < left + 2 and max(box[2] for box in boxes) > right - 2
    assert max(box[3] for box in boxes) > bottom - 2
    for width, height in SIZES.items():
        window.open(nested, width, height)
        few = window.run("bonds.length")
        assert window.run("!isPart()") and window.run(LETTERS) > 8.99
        window.click(*window.run("(b => [b.left + 9, b.top + 9])(drawing.querySelector('.folded').getBoundingClientRect())"))
        assert window.run("bonds.length") > few + 16
    assert window.complaints == []


WHOLE_WORDS = "$('bond').scrollHeight <= $('bond').clientHeight + 1"
TEXTS = """(() => { const found = [], canvases = CanvasRenderingContext2D.prototype, write = canvases.fillText;
  canvases.fillText = function (text, x, y) {
    const size = parseFloat(this.font.match(/[\\d.]+px/)[0]);
    if (text && this.canvas.id === "labels") found.push([text, x, y, this.measureText(text).width, size]);
    write.apply(this, arguments); };
  render(); canvases.fillText = write; return found; })()"""
BODIES = """(() => { const now = at(t), pixel = projector(look(), canvas.clientWidth, canvas.clientHeight);
  const points = name => Array.from({ length: A[name].length / 3 }, (_, i) => A[name].slice(3 * i, 3 * i + 3));
  return M.solids.map((o, k) => points(o.mesh).map(p => pixel(move(now.solids[k], p)))); })()"""
SMALL_PRINT = """Math.min(...['legend', 'help', 'now', 'bond'].map($).filter(node => node.checkVisibility())
  .map(node => parseFloat(getComputedStyle(node).fontSize)))"""


def crowd(count: int) -> Scene:
    draw, t = np.random.default_rng(count), np.linspace(0.0, 1.0, 21)
    solids, frames = [], []
    for k in range(count):
        start, way = draw.uniform(-1.0, 1.0, (2, 3)) * (1.0, 0.3, 0.5)
        poses = turned_poses(start + np.outer(t, way), 2.0 * t)
        solids.append(Solid(f"body {k}", poses, cuboid((0.2, 0.1, 0.1)), look=Look.OPAQUE))
        frames.append(Frame(poses, 0.65, 0.55, label=(f"body {k}", "")))
    around = (("floor", 9.0, False), ("hall", 40.0, True))
    solids += [
        Solid(name, unrotated_poses(np.tile([0.0, 0.0, -9.0], (21, 1))), cuboid((e, e, 0.1)), framed=f) for name, e, f in around
    ]
    return Scene(f"{count} bodies", t, tuple(solids), frames=tuple(frames), size=0.2)


@pytest.mark.thorough
@needs_chromium
@pytest.mark.parametrize("count", [1, 3, 40])
def test_a_scene_opens_legible(count: int, window: Browser, tmp_path: Path) -> None:
    path = page(crowd(count)).write(tmp_path / "page.html")
    for width, height in SIZES.items():
        window.open(path, width, height)
        pane = np.array(window.run("[canvas.clientWidth, canvas.clientHeight]"))
        assert pane[1] > 0.6 * height
        swept = []
        for time in (0.0, 0.5, 1.0):
            window.run(f"go({time})")
            bodies = [np.array(points) for points in window.run(BODIES)[:count]]
            swept += bodies
            texts = window.run(TEXTS)
            names = [text for text, *_ in texts]
            assert len(set(names)) == len(names) >= min(count, 10), (width, time)
            boxes = [(x, y - 0.5 * size, x + wide, y + 0.5 * size) for _, x, y, wide, size in texts]
            assert min([size for *_, size in texts]) >= 9.0 and window.run(SMALL_PRINT) >= 9.0
            hulls = {f"body {i}": Delaunay(points) for i, points in enumerate(bodies)}
            for k, (name, box) in enumerate(zip(names, boxes, strict=True)):
                assert not any(crossing(box, other) for other in boxes[:k]), (width, time, name)
                grid = np.stack(np.meshgrid(np.linspace(box[0], box[2], 9), np.linspace(box[1], box[3], 5)), axis=-1)
                on = [
                    body for body, hull in hulls.items() if body != name and np.any(hull.find_simplex(grid.reshape(-1, 2)) >= 0)
                ]
                assert not on, (width, time, name, on)
        told_where_the_pointer_is(window, few=count < 40 or width > 600)
        low, high = np.vstack(swept).min(axis=0), np.vstack(swept).max(axis=0)
        assert np.all(low >= 0.0) and np.all(high <= pane)
        assert np.max((high - low) / pane) > 0.7, (width, high - low, pane)
    assert window.complaints == []


def told_where_the_pointer_is(window: Browser, few: bool) -> None:
    left = window.run("pointed.left.map(label => [label.text, ...label.at])")
    assert left or few
    for name, x, y in left[:6]:
        place = f"{{ clientX: b.left + {x}, clientY: b.top + {y} }}"
        window.run(
            f"{{ const b = canvas.getBoundingClientRect(); canvas.dispatchEvent(new PointerEvent('pointermove', {place})) }}"
        )
        assert name in window.run("$('pointed').textContent").split(", ")
        assert window.overflow() == 0 and window.run("boxOf('pointed')[0]") >= 0.0


def rolling(way: float) -> Scene:
    t = np.linspace(0.0, 1.0, 21)
    place = np.outer(t, [way, 0.0, 0.0])
    below, above = unrotated_poses(place), unrotated_poses(place)
    above[:, :3, :3] = np.diag([1.0, -1.0, -1.0])
    normal = np.where(t > 0.0, 2.0, 90.0)
    force = np.outer(normal, [0.0, 0.0, 1.0])
    touch = ContactDrawing("touch", (0, 1), (below, above), np.full(21, -1e-6), normal, force, ((0.0, 1.0),))
    table = Solid("table", unrotated_poses(np.zeros((21, 3))), plane())
    ball = Solid("ball", unrotated_poses(place + np.array([0.0, 0.0, 0.05])), sphere(0.05), look=Look.OPAQUE)
    block = Solid("block", unrotated_poses(place), cuboid((0.09, 0.09, 0.09)), look=Look.OPAQUE)
    return Scene("rolling", t, (table, ball, block), (touch,))


LENS = "$('lens').style.visibility !== 'hidden' && boxOf('lens')"
SEEN = """(() => { const { width, height } = $('lens'), data = $('lens').getContext('2d').getImageData(0, 0, width, height).data;
  let seen = 0; for (let i = 3; i < data.length; i += 4) seen += data[i] > 60; return seen / (width * height); })()"""
RED_IN_LENS = SEEN.replace("data[i] > 60", "data[i - 3] > 150 && data[i - 2] < 90 && data[i - 1] < 90")


@pytest.mark.thorough
@needs_chromium
def test_a_small_contact_has_a_lens_and_a_lasting_force_an_arrow(window: Browser, tmp_path: Path) -> None:
    far, near = (page(rolling(way)).write(tmp_path / f"{way}.html") for way in (4.0, 0.02))
    for width, height in SIZES.items():
        window.open(far, width, height)
        window.run("go(.5)")
        lens, ball = window.run(LENS), np.array(window.run(BODIES)[1])
        assert lens and window.run(SEEN) > 0.5
        assert ball[:, 0].max() < lens[0] or ball[:, 1].min() > lens[3], "the lens lies on the ball"
        arrow = "(n => arrowsOf(n.row).map(a => [a.length * look().scale, a.cut]))(at(t))"
        ((lasting, cut),) = window.run(arrow)
        window.run("go(0)")
        ((knock, more),) = window.run(arrow)
        assert lasting > 15.0 and not cut and more and knock == pytest.approx(2.0 * lasting, rel=1e-3)
        red = [window.run(f"$('frames').checked = {on}, render(), {RED_IN_LENS}") for on in ("false", "true")]
        assert red[1] > red[0] + 0.005, "bodies hide the axes in the lens"
        window.open(near, width, height)
        assert not window.run(LENS)
    # The legend leaves the middle of the pane to what moves and touches.
    window.open(near, 1300, 850)
    pane, legend = window.run("[canvas.clientWidth, canvas.clientHeight]"), window.run("boxOf('legend')")
    pixels = "points('outline').map(projector(look(), canvas.clientWidth, canvas.clientHeight))"
    left, top, right, foot = window.run(f"boxAbout({pixels})")
    assert abs(0.5 * (left + right) - 0.5 * pane[0]) < 0.05 * pane[0] and foot < legend[1]
    assert max((right - left) / pane[0], (foot - top) / pane[1]) > 0.7
    assert window.complaints == []


PURPLE = """(() => { render(); const [w, h] = [canvas.width, canvas.height], data = new Uint8Array(4 * w * h);
    gl.readPixels(0, 0, w, h, gl.RGBA, gl.UNSIGNED_BYTE, data); let n = 0;
    for (let i = 0; i < data.length; i += 4) n += data[i] > data[i + 1] + 50 && data[i + 2] > data[i + 1] + 50; return n; })()"""
"""Number of pixels in the colour of forces."""


@pytest.mark.thorough
@needs_chromium
def test_forces_on_a_small_body_are_visible(window: Browser, tmp_path: Path) -> None:
    t, lift = np.linspace(0.0, 1.0, 11), np.tile([0.0, 0.0, 2.0], (11, 1))
    way = np.outer(t, [1.0, 0.5, 2.0])
    forces = tuple(Force(way + at, lift) for at in ([0.1, 0, 0.05], [-0.1, 0, 0.05], [0, 0.1, 0.05], [0, -0.1, 0.05]))
    body = Solid("body", unrotated_poses(way), cuboid((0.2, 0.2, 0.1)), look=Look.OPAQUE)
    window.open(page(Scene("rotors", t, (body,), forces=forces, size=0.02)).write(tmp_path / "rotors.html"))
    shown = []
    for follows in (False, True):
        window.run(f"$('follow').checked = {str(follows).lower()}, $('follow').onchange(), go(0.6)")
        arrows = window.run(
            "arrowsOf(at(t).row).map(a => [a.start, a.tip].map(projector(look(), canvas.clientWidth, canvas.clientHeight)))"
        )
        inside = np.clip(arrows, 0.0, window.run("[canvas.clientWidth, canvas.clientHeight]"))
        assert np.array_equal(inside, arrows)
        length = np.linalg.norm(np.diff(arrows, axis=1), axis=2).sum()
        assert window.run(PURPLE) > 0.8 * length > 40.0
        shown.append(window.run("$('legend').textContent"))
    assert shown[0] != shown[1] and all(text.startswith("forces: ") for text in shown)


def flung(way: float) -> Scene:
    t = np.linspace(0.0, 1.0, 41)
    ball = Solid("ball", unrotated_poses(np.outer(t, [0.6 * way, 0.0, -0.8 * way])), sphere(0.05), look=Look.OPAQUE)
    return Scene("flung", t, (ball,))


@pytest.mark.thorough
@needs_chromium
def test_the_camera_follows_distant_motion(window: Browser, tmp_path: Path) -> None:
    far, near = (page(flung(way)).write(tmp_path / f"{way}.html") for way in (40.0, 0.4))
    size = "(points => { const [a, b, c, d] = boxAbout(points); return [.5 * (a + c), .5 * (b + d), c - a]; })"
    place = f"{size}({BODIES}[0])"
    for width, height in SIZES.items():
        window.open(far, width, height)
        pane = np.array(window.run("[canvas.clientWidth, canvas.clientHeight]"))
        for time in (0.0, 0.8):
            window.run(f"go({time})")
            *middle, wide = window.run(place)
            assert np.all(np.abs(middle - 0.5 * pane) < 0.15 * pane) and wide > 0.2 * pane.min(), (width, time)
        window.run("$('follow').click()")
        ends = [window.run(f"go({time})") or window.run(place) for time in (0.0, 1.0)]
        assert np.linalg.norm(np.subtract(*ends)[:2]) > 0.5 * pane.min() and window.run("boxAbout(" + BODIES + "[0])[0]") > 0.0
    # What stays in view is not; and bodies without plots have all the width.
    window.open(near, 1300, 850)
    assert not window.run("$('following').checkVisibility()") and window.run("canvas.clientWidth") == 1300
    assert window.complaints == []


def crossing(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def test_sections_of_a_ladder_are_drawn_alike() -> None:
    drawn = diagram(ladder(15))
    at = {name: np.array(place) for name, place in drawn.positions.items()}
    assert 1.0 < drawn.width / drawn.height < 3.0
    rows = {round(at[f"line {k}"][1]) for k in range(15)}
    assert len(rows) == 3
    above = [at[f"line {k}"] - at[f"r{k}"] for k in range(15) if at[f"line {k}"][0] == at[f"r{k}"][0]]
    assert len(above) >= 13 and np.ptp(above, axis=0).max() < 1e-9 and above[0][1] > 0.0
    assert at["source"][0] < at["line 0"][0]


def test_small_values_are_drawn_as_they_are() -> None:
    graph = Graph("motor and sensor")
    for name, voltage, resistance in (("motor", 1e3, 1.0), ("sensor", 1e-6, 1e3)):
        loop = J1(f"{name} loop")
        graph.connect(Se(f"{name} source", voltage, domain="electrical"), loop).connect(loop, R(name, resistance))
        graph.connect(loop, I(f"{name} coil", inductance=1e-3))
    data = data_of(page(simulate(graph, 1.0, progress=False)))
    first = next(first for name, _, first, *_ in data["quantities"] if name == "sensor.flow")
    assert curve_of(data, first)[-1] == pytest.approx(1e-9, rel=1e-3)


def test_the_residual_of_the_account_is_drawn_on_demand() -> None:
    data = data_of(page(simulate(ladder(1), 0.1, progress=False)))
    assert [(plot["title"], plot["on_demand"]) for plot in data["plots"]] == [
        ("energy (mJ)", False),
        ("energy ledger residual (J)", True),
    ]


@pytest.mark.thorough
@needs_chromium
def test_a_drift_within_the_tolerance_is_drawn_flat(window: Browser, tmp_path: Path) -> None:
    t = np.linspace(0.0, 1.0, 11)
    panels = [Panel(f"drift {k}", "W", (Curve("", 82.0 * (1.0 + k * FLAT * t), "#000000"),)) for k in (0.1, 10.0)]
    window.open(page(Scene("drifts", t, panels=tuple(panels))).write(tmp_path / "drifts.html"), 1300, 850)
    heights = window.run(
        "panels.map(panel => (panel.Y(panel.own[0].least) - panel.Y(panel.own[0].most)) / panel.canvas.clientHeight)"
    )
    assert heights[0] < 1e-5 and heights[1] > 0.5
    assert window.complaints == []


def test_a_gap_that_is_rounding_is_drawn_as_zero() -> None:
    t = np.linspace(0.0, 1.0, 3)
    still = unrotated_poses(np.zeros((3, 3)))
    ball, table = Solid("ball", still, sphere(0.05)), Solid("table", still, plane())
    assert np.all(without_rounding(np.array([1e-13, -1e-13, 0.0]), (table, ball)) == 0.0)
    assert np.all(without_rounding(1e-9 * t, (table, ball)) == 1e-9 * t)
    assert shown_unit(Panel("gap", "m", (Curve("", 0.0 * t, "#000000"),))) == (1.0, "m")


def test_pages_play_in_real_time_where_that_can_be_watched() -> None:
    seconds = [data_of(page(simulate(ladder(1), end, progress=False)))["seconds"] for end in (0.1, 1.0, 30.0, 100.0)]
    assert seconds == [10.0, 1.0, 30.0, 10.0]


TICKS = """(() => { const found = new Map(), canvases = CanvasRenderingContext2D.prototype, write = canvases.fillText;
  canvases.fillText = function (text, x, y, most = Infinity) {
    const wide = this.measureText(text).width, left = x - wide * { right: 1, center: .5 }[this.textAlign];
    const row = this.textAlign === "right" ? "values" : `times at ${y}`, rows = found.get(this.canvas) ?? {};
    found.set(this.canvas, { ...rows, [row]: [...(rows[row] ?? []), [text, left, left + wide, y, wide <= most]] });
    write.apply(this, arguments); };
  REDRAW; canvases.fillText = write; const width = panels[0].canvas.clientWidth;
  return [...found.values()].flatMap(Object.values).map(row => [width, row]); })()"""


@pytest.mark.thorough
@needs_chromium
@pytest.mark.parametrize(("start", "end"), [(-1.5, 1.0), (-2e-4, -1e-4), (1e6, 1e6 + 1.0), (0.0, 3e6)])
def test_labels_of_axes_differ_and_fit(start: float, end: float, window: Browser, tmp_path: Path) -> None:
    graph, loop = Graph("charge"), J1("loop", domain="electrical")
    graph.connect(Se("battery", 12.0), loop).connect(loop, R("wire", resistance=3.0))
    compiled = compile_model(graph.connect(loop, C("store", capacitance=0.1 * (end - start), initial=1e5)))
    run = {"t_end": end, "t_start": start, "progress": False}
    page(compiled.simulate(**run), tmp_path / "page.html")
    live_page(compiled, tmp_path / "live.html", **run)
    for width, height in SIZES.items():
        for kind, redraw in (("page", "panels.forEach(panel => panel.key = ''), render()"), ("live", "draw()")):
            window.open(tmp_path / f"{kind}.html", width, height)
            while not window.run("Boolean(Array.isArray(panels) && now)"):
                window.rest()
            rows = window.run(TICKS.replace("REDRAW", redraw))
            assert len(rows) >= 4
            for canvas, row in rows:
                texts = [text for text, *_ in row]
                assert len(set(texts)) == len(texts) and all("-" not in text for text in texts), (kind, texts)
                assert all(left >= 0.0 and right <= canvas and fits for _, left, right, _, fits in row), (kind, width, row)
                assert row[0][3] != row[-1][3] or all(a[2] + 3.0 < b[1] for a, b in itertools.pairwise(row)), (kind, width, row)
            assert "-" not in window.run("document.querySelector('header').textContent")
    assert window.complaints == []
