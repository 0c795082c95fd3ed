"""PDF and PNG of a diagram show the same picture as the SVG."""

import re
import zlib
from xml.etree import ElementTree

import numpy as np
import pytest

from bondgraph import J1, C, Graph, Model, R, compile_model
from bondgraph.errors import ExtraError
from tests.inner.render import diagram
from tests.render.graphs import hoist, touching_bodies

pytest.importorskip("matplotlib")
SVG = "{http://www.w3.org/2000/svg}"
GRAPHS = {"hoist": hoist, "bodies": touching_bodies}


@pytest.fixture(scope="module", params=GRAPHS)
def files(request, tmp_path_factory):
    folder, drawing = tmp_path_factory.mktemp("files"), diagram(GRAPHS[request.param](), folded=())
    for ending in ("svg", "pdf", "PNG"):
        assert drawing.write(folder / f"x.{ending}") == folder / f"x.{ending}"
    return drawing, folder


def colour(text):
    return tuple(int(text[k : k + 2], 16) for k in (1, 3, 5))


def test_the_ending_says_the_format(files):
    _, folder = files
    starts = {path.name: path.read_bytes()[:8] for path in folder.iterdir()}
    assert starts["x.svg"][:4] == b"<svg" and starts["x.pdf"][:5] == b"%PDF-" and starts["x.PNG"] == b"\x89PNG\r\n\x1a\n"
    assert len(starts) == 3


def test_the_png_has_two_pixels_for_each_of_the_svg(files):
    from matplotlib.image import imread

    drawing, folder = files
    image = imread(folder / "x.PNG")
    assert abs(image.shape[1] - 2 * round(drawing.width)) <= 1 and abs(image.shape[0] - 2 * round(drawing.height)) <= 1
    assert np.all(image[0] == 1.0) and np.all(image[-1] == 1.0) and np.all(image[:, :5] == 1.0)


def test_everything_has_its_colour_where_the_svg_has_it(files):
    from matplotlib.image import imread

    drawing, folder = files
    image = np.round(255 * imread(folder / "x.PNG")[..., :3]).astype(int)
    root = ElementTree.fromstring(drawing.svg)
    group = root.find(f"{SVG}g")
    shift = np.array([float(v) for v in re.findall(r"-?[\d.]+", group.get("transform"))])
    seen = 0
    for path in group.iter(f"{SVG}path"):
        numbers = re.findall(r"-?[\d.]+", path.get("d"))
        points = np.array(numbers, dtype=float).reshape(-1, 2) + shift
        if len(points) == 2 and "stroke-dasharray" not in path.attrib:
            x, y = np.round(2 * points.mean(axis=0)).astype(int)
            near = image[y - 2 : y + 3, x - 2 : x + 3].reshape(-1, 3)
            assert np.abs(near - colour(path.get("stroke"))).max(axis=1).min() < 60, path.get("d")
            seen += 1
    for text in root.iter(f"{SVG}text"):
        moved = shift if text in list(group.iter()) else np.zeros(2)
        x, y = float(text.get("x")) + moved[0], float(text.get("y")) + moved[1]
        size = float(text.get("font-size"))
        width = 0.6 * size * (len(text.text) + 1)
        before = {"start": 0.0, "middle": 0.5, "end": 1.0}[text.get("text-anchor")] * width
        left, right = max(0, int(2 * (x - before))), int(2 * (x - before + width))
        box = image[int(2 * (y - size)) : int(2 * y) + 2, left:right].reshape(-1, 3)
        assert np.abs(box - colour(text.get("fill"))).max(axis=1).min() < 90, text.text
        seen += 1
    assert seen > 40


def test_the_pdf_holds_every_name_as_text(files):
    drawing, folder = files
    content = (folder / "x.pdf").read_bytes()
    streams = [part.split(b"\nendstream")[0] for part in content.split(b"stream\n")[1:]]
    pages = b"".join(zlib.decompress(s) for s in streams if s[:1] == b"x")
    shown = len(re.findall(rb"^BT$", pages, flags=re.MULTILINE))
    assert shown >= len(list(ElementTree.fromstring(drawing.svg).iter(f"{SVG}text")))


def test_the_same_picture_gives_the_same_files(tmp_path):
    drawing = diagram(hoist())
    for name in ("a", "b"):
        for ending in ("pdf", "png"):
            drawing.write(tmp_path / f"{name}.{ending}")
    for ending in ("pdf", "png"):
        assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes()


def test_names_are_not_typeset_and_invalid_characters_are_marked(tmp_path):
    elements = {"$x^2$ \\frac": J1("loop"), "\x01\x1f": C("store", capacitance=1.0), "µ <&>": R("leak", 2.0)}
    drawing = diagram(Model("$a$\x02", elements, (), {}, (), {}))
    assert ElementTree.fromstring(drawing.svg).find(f"{SVG}title").text == "$a$\ufffd"
    for ending in ("svg", "pdf", "png"):
        assert drawing.write(tmp_path / f"x.{ending}").stat().st_size > 1000


def test_a_picture_of_nothing(tmp_path):
    assert diagram(Model("nothing", {}, (), {}, (), {})).write(tmp_path / "x.pdf").read_bytes().startswith(b"%PDF-")


def test_without_matplotlib_only_svg_is_written(tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    graph, loop = Graph("rc"), J1("loop")
    drawing = diagram(compile_model(graph.connect(loop, C("c", capacitance=1.0)).connect(loop, R("r", 1.0))))
    drawing.write(tmp_path / "x.svg")
    for ending in ("pdf", "png"):
        with pytest.raises(ExtraError, match=r'E416 .*pip install "screwbond\[viz\]"'):
            drawing.write(tmp_path / f"x.{ending}")
    assert [path.name for path in tmp_path.iterdir()] == ["x.svg"]
