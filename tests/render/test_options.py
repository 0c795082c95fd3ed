"""Diagrams have options for folding, title, legend, values, efforts and flows, colours, and format."""

import inspect
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from screwbond.models import rigid_body

from bondgraph import GY, J0, J1, C, Graph, I, ModelError, R, Se
from tests.inner.render import BLACK, COLOURED, MAX_NODES, diagram, sketch, text_width
from tests.models.pictures.test_any_model import arm
from tests.render.graphs import chain, hoist, touching_bodies
from tests.run.test_accumulation import ball

SVG = "{http://www.w3.org/2000/svg}"


def texts(drawing, kind=None):
    return [text.text for text in ElementTree.fromstring(drawing.svg).iter(f"{SVG}text") if kind in (None, text.get("class"))]


def colours(drawing):
    return set(re.findall(r'(?:fill|stroke)="(#[0-9a-f]{6})"', drawing.svg))


def box(name, springs, inner=()):
    graph, node = Graph(name), J1("node")
    for k in range(springs):
        graph.connect(node, C(f"spring {k}", capacitance=1.0))
    for each in inner:
        graph.connect(node, each.port("port"))
    return graph.expose("port", node)


def machine(arms, fingers, springs):
    graph, rail = Graph("machine"), J0("rail")
    for a in range(arms):
        graph.connect(rail, box(f"arm {a}", springs, [box(f"finger {f}", springs) for f in range(fingers)]).port("port"))
    return graph.freeze()


# --- folding ---


@pytest.mark.usefixtures("rough_layout")
def test_small_models_are_drawn_open():
    model = machine(2, 2, 5)
    assert len(model.elements) < MAX_NODES
    assert set(diagram(model).positions) == set(model.elements)


@pytest.mark.usefixtures("rough_layout")
def test_large_models_are_folded_from_the_inside_until_a_page_can_be_read():
    model = machine(4, 3, 5)
    assert len(model.elements) == 1 + 4 * 6 + 12 * 6 > MAX_NODES
    shown = set(diagram(model).positions)
    fingers = {path for path in model.groups if "." in path}
    assert shown == {name for name in model.elements if "finger" not in name} | fingers
    model = machine(10, 1, 5)
    assert set(diagram(model).positions) == {"rail", *(f"arm {a}" for a in range(10))}, "open arms are 71 nodes"
    assert set(diagram(model, folded=()).positions) == set(model.elements)


def test_models_without_nested_graphs_stay_as_they_are():
    model = chain(20).freeze()
    assert len(model.elements) > MAX_NODES
    assert set(sketch(model, None).nodes) == set(sketch(model).nodes)


@pytest.mark.usefixtures("rough_layout")
def test_unfolded_graphs_open_all_enclosing_graphs():
    model = machine(10, 2, 5)
    shown = set(diagram(model, unfolded=("arm 3.finger 1",)).positions)
    assert {f"arm 3.finger 1.spring {k}" for k in range(5)} | {"arm 3.node", "arm 3.finger 0", "arm 2"} <= shown
    assert not any(name.startswith("arm 2.") for name in shown)
    assert "arm 3.spring 0" in set(diagram(model, folded="all", unfolded="arm 3").positions)


@pytest.mark.parametrize(
    "given, code",
    [
        ({"unfolded": "arm 7"}, "E134"),
        ({"unfolded": ("rail",)}, "E134"),
        ({"folded": ("arm 1",), "unfolded": ("arm 1",)}, "E586"),
        ({"folded": ("arm 1",), "unfolded": ("arm 1.finger 0",)}, "E586"),
        ({"colours": "sepia"}, "E585"),
        ({"colours": {"strokes": "#000000"}}, "E585"),
        ({"colours": {"stroke": "red"}}, "E585"),
        ({"colours": 3}, "E585"),
        ({"labels": "letters"}, "E589"),
        ({"labels": {"rail -> nothing": ("1 N", "2 m/s")}}, "E589"),
        ({"labels": {"arm 1.node -> arm 1.spring 0": "1 N"}}, "E589"),
    ],
)
def test_invalid_options_are_refused(given, code):
    with pytest.raises(ModelError) as error:
        diagram(machine(2, 1, 1), **given)
    assert [problem.code for problem in error.value.problems] == [code]
    assert all(problem.cures for problem in error.value.problems)


@pytest.mark.usefixtures("rough_layout")
def test_the_graph_method_has_the_options_of_the_function():
    function, method = (inspect.signature(each).parameters for each in (diagram, Graph.diagram))
    assert [str(each) for each in list(method.values())[1:]] == [str(each) for each in list(function.values())[1:]]
    given = {"folded": ("body 1",), "title": "Two", "legend": False, "values": True, "labels": True, "colours": "black"}
    assert touching_bodies().diagram(**given).svg == diagram(touching_bodies(), **given).svg
    assert (
        touching_bodies().diagram(folded="all", unfolded="contact").svg
        == diagram(touching_bodies(), folded=("body 1", "body 2")).svg
    )


# --- title, legend, colours ---


@pytest.mark.usefixtures("rough_layout")
def test_title_and_legend_are_there_unless_one_says_otherwise():
    usual = diagram(hoist())
    assert texts(usual, "title") == ["hoist"] and 'class="legend"' in usual.svg and "causal stroke" in usual.svg
    named = diagram(hoist(), title="A <hoist>")
    assert texts(named, "title") == ["A <hoist>"] and "<title>A &lt;hoist&gt;</title>" in named.svg
    bare = diagram(hoist(), title="", legend=False)
    assert texts(bare, "title") == [] and "causal stroke" not in bare.svg and "<title>hoist</title>" in bare.svg
    assert bare.height < usual.height and bare.positions == usual.positions


@pytest.mark.usefixtures("rough_layout")
def test_every_colour_is_of_the_palette():
    def used(palette):
        return {getattr(palette, role) for role in palette.__dataclass_fields__}

    for graph, folded in ((hoist(), None), (touching_bodies(), ("body 1",))):
        assert colours(diagram(graph, folded=folded)) <= used(COLOURED)
        black = diagram(graph, folded=folded, colours="black")
        assert colours(black) <= used(BLACK) == {"#000000", "#ffffff", "#808080"}
        assert re.sub("#[0-9a-f]{6}", "", black.svg) == re.sub("#[0-9a-f]{6}", "", diagram(graph, folded=folded).svg)
    blue = diagram(hoist(), colours={"stroke": "#0000ff"})
    assert "#0000ff" in colours(blue) and COLOURED.stroke not in colours(blue)


# --- values and labels ---


def units():
    graph, loop, shaft = Graph("units"), J1("loop", domain="electrical"), J1("shaft", domain="rotation")
    motor = GY("motor", 0.25)
    graph.connect(Se("supply", 12.0), loop).connect(loop, R("wire", 2.0)).connect(loop, motor.port("1"))
    graph.connect(motor.port("2"), shaft).connect(shaft, I("wheel", 0.015)).connect(shaft, R("drag", effort=lambda w: w * w * w))
    push = Se("push", np.array([1.0, 0.5]))
    plane = J1("plane", dimension=2)
    return graph.connect(push, plane).connect(plane, C("sheet", stiffness=np.eye(2)))


@pytest.mark.usefixtures("rough_layout")
def test_values_have_their_units():
    found = texts(diagram(units(), values=True), "value")
    assert set(found) == {
        "value = 12 V",
        "resistance = 2 Ohm",
        "ratio = 0.25 V s/rad",
        "inertia = 0.015 kg m^2",
        "value = (1, 0.5)",
        "stiffness = [2 \N{MULTIPLICATION SIGN} 2]",
    }
    assert texts(diagram(units()), "value") == []


@pytest.mark.usefixtures("rough_layout")
def test_many_values_are_counted():
    from screwbond.models.delta import DeltaParameters, delta_graph

    found = texts(diagram(delta_graph(DeltaParameters.fit()), values=True, folded=("arm 2", "arm 3")), "value")
    assert "and 7 more" in found and "L1 = 0.24 m" in found


def test_labels_are_those_of_the_domain_with_the_number_of_the_bond_on_their_sides():
    model = units().freeze()
    drawing = diagram(model, labels=True)
    letters = {"electrical": "ui", "rotation": "\u03c4\u03c9", "generic": "ef"}
    groups = {g.get("data-bond"): g for g in ElementTree.fromstring(drawing.svg).iter(f"{SVG}g") if g.get("class") == "bond"}
    for number, bond in enumerate(model.bonds, start=1):
        group = groups[bond.name]
        found = {text.get("class"): text for text in group.iter(f"{SVG}text")}
        assert [found[kind].text for kind in ("effort", "flow")] == [
            letter + "".join(chr(0x2080 + int(digit)) for digit in str(number)) for letter in letters[bond.domain.name]
        ]
        line = [path for path in group.iter(f"{SVG}path") if path.get("class") != "stroke"]
        barb = np.array(re.findall(r"-?[\d.]+", line[-1].get("d")), dtype=float).reshape(-1, 2)
        (ax, ay), (bx, by) = np.array(re.findall(r"-?[\d.]+", line[0].get("d")), dtype=float).reshape(-1, 2)[[0, -1]]

        def side(x, y, a=(ax, ay), b=(bx, by)):
            return np.sign((b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0]))

        places = {kind: (float(text.get("x")), float(text.get("y")) - 0.35 * 10.5) for kind, text in found.items()}
        assert side(*places["flow"]) == side(*barb[1]) == -side(*places["effort"])
    assert "effort, and flow" in drawing.svg


def test_numbers_alone_and_values_of_a_run_at_bonds():
    """1 V on 2 Ohm and 1 F gives 0.5 A at first, and half of that after (2 s) ln 2."""
    line = J1("line")
    circuit = Graph("rc").connect(Se("source", 1.0), line).connect(line, R("r", 2.0)).connect(line, C("c", capacitance=1.0))
    numbers = {text.text for text in ElementTree.fromstring(diagram(circuit, labels="numbers").svg).iter(f"{SVG}text")}
    assert {"1", "2", "3"} <= numbers
    result = circuit.compile().simulate(2.0, rtol=1e-9, samples=0.04, progress=False)
    at_half = result.diagram(at=2.0 * np.log(2.0), title="half")
    found = [
        text.text for text in ElementTree.fromstring(at_half.svg).iter(f"{SVG}text") if text.get("class") in ("effort", "flow")
    ]
    assert sorted(found) == ["0.25"] * 3 + ["0.5"] * 2 + ["1"]
    falling = Graph("fall")
    falling.add(rigid_body("ball", mass=2.0, inertia=(1e-2,) * 3, gravity=(0.0, 0.0, -10.0)))
    drawn = falling.compile().simulate(1.0, progress=False).diagram(at=0.5, folded=())
    assert "|0| rad/s, |5| m/s" in drawn.svg and "|0| N m, |20| N" in drawn.svg
    with pytest.raises(ModelError, match="no values at 3 s"):
        result.diagram(at=3.0)


def test_values_at_bonds_about_an_event():
    result = ball().compile().simulate(0.6, samples=0.1, progress=False)
    fall = result.events[0].time
    for at, speed in ((fall - 1e-9, "−4.43"), (fall, "3.54"), (fall + 1e-9, "3.54")):
        assert f">{speed}<" in result.diagram(at=at).svg, at


LONG = ("−1.23e−06 N", "−1.23e−06 m/s"), ("|1.23| N m, |4.56| N", "|1.23| rad/s, |4.56| m/s")


@pytest.mark.parametrize("are_long", [False, True])
@pytest.mark.parametrize("make", [hoist, units, touching_bodies, lambda: chain(5), lambda: arm()[1]])
def test_values_and_labels_lie_on_nothing(make, are_long):
    model = make()
    labels = {bond.name: LONG[bond.dimension > 1] for bond in model.freeze().bonds} if are_long else True
    root = ElementTree.fromstring(diagram(model, values=not are_long, labels=labels).svg)
    found = []
    for text in root.find(f"{SVG}g").iter(f"{SVG}text"):
        size, x, y = (float(text.get(key)) for key in ("font-size", "x", "y"))
        width = 0.9 * text_width(text.text, size)
        left = x - {"start": 0.0, "middle": 0.5, "end": 1.0}[text.get("text-anchor")] * width
        found.append((text.text, left, y - 0.7 * size, left + width, y))
    for k, a in enumerate(found):
        for b in found[:k]:
            assert not (min(a[3], b[3]) - max(a[1], b[1]) > 0.5 and min(a[4], b[4]) - max(a[2], b[2]) > 0.5), (a[0], b[0])


# --- TikZ ---


def test_tikz_has_every_line_and_word(tmp_path):
    drawing = diagram(touching_bodies(), labels=True)
    written = drawing.write(tmp_path / "x.tex").read_text(encoding="utf-8")
    root = ElementTree.fromstring(drawing.svg)
    assert written.count(r"\node[") == len(list(root.iter(f"{SVG}text")))
    shapes = len(list(root.iter(f"{SVG}path"))) + len(list(root.iter(f"{SVG}rect"))) - 1
    assert written.count(r"\path[") == shapes + 1, "all but the ground, and the size"
    assert f"rectangle ({drawing.width:.0f},{drawing.height:.0f})" in written
    drawing.write(tmp_path / "y.tex")
    assert (tmp_path / "y.tex").read_text(encoding="utf-8") == written


def _tex_has(name):
    return shutil.which("kpsewhich") is not None and subprocess.run(["kpsewhich", name], capture_output=True).returncode == 0


@pytest.mark.skipif(not (_tex_has("standalone.cls") and _tex_has("tikz.sty")), reason="no LaTeX with standalone and TikZ here")
@pytest.mark.parametrize("given", [{}, {"values": True, "labels": True}, {"folded": "all", "colours": "black"}])
def test_pdflatex_takes_the_tikz(given, tmp_path):
    graph = touching_bodies()
    graph.connect(graph.parts["body 1"].port("port"), R("50 % & #1_a^b {x} \\y ~ \u00e9 \u03b1 <", 1.0))
    drawing = diagram(graph, **given)
    drawing.write(tmp_path / "x.tex")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", r"\pdfobjcompresslevel=0 \input{x}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", timeout=600)
    assert done.returncode == 0, done.stdout[-1500:]
    page = next(tmp_path.glob("*.pdf")).read_bytes()
    box = re.search(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", page)
    assert box is not None, "one page of the size of the picture"
    assert float(box[1]) == pytest.approx(0.75 * drawing.width, abs=1.0)
    assert float(box[2]) == pytest.approx(0.75 * drawing.height, abs=1.0)


def test_names_are_drawn_instead_of_the_names_of_elements_and_groups():
    model = machine(2, 1, 2)
    names = {"rail": "supply rail", "arm 0": "left arm", "arm 0.finger 0.spring 1": "a spring with a long name"}
    drawn = diagram(model, folded=(), names=names)
    shown = set(texts(drawn))
    assert {*names.values()} <= shown
    assert not {"rail", "arm 0"} & shown
    assert set(drawn.positions) == set(diagram(model, folded=()).positions)
    with pytest.raises(ModelError, match='E131 a name is given for "arm 9", which is not in'):
        diagram(model, names={"arm 9": "missing"})
