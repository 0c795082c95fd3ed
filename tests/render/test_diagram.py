"""A drawn bond graph is complete, without overlaps, and with signs on the correct side."""

import itertools
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bondgraph import J0, J1, X0, Automaton, Block, C, Graph, I, Model, ModelError, R, Se, assign_causality, compile_model
from tests.inner.render import COLOURED, SIGNS, automatic_centres, diagram, flow_side, frame, legend_lines, sketch, text_width
from tests.render.graphs import chain, hoist, touching_bodies

GRAPHS = {"hoist": hoist, "chain": lambda: chain(5), "sixty nodes": lambda: chain(9), "bodies": touching_bodies}
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module", params=GRAPHS)
def drawn(request):
    model = GRAPHS[request.param]().freeze()
    causality = assign_causality(model)
    drawing = diagram(model)
    return model, causality, drawing, ElementTree.fromstring(drawing.svg)


def groups(root, *kinds):
    found = [node for node in root.iter(f"{SVG}g") if node.get("class") in kinds]
    named = {node.get("data-bond", node.get("data-name")): node for node in found}
    assert len(named) == len(found)
    return named


def lines_of(group):
    """Return the points of a bond's lines without its stroke, with the barb last."""
    return [points(path) for path in group.iter(f"{SVG}path") if path.get("class") != "stroke"]


def points(path):
    numbers = path.get("d").translate(str.maketrans("MLQ", "   ")).split()
    return np.array([[float(value) for value in pair.split(",")] for pair in numbers])


def rectangles(root):
    for text in root.find(f"{SVG}g").iter(f"{SVG}text"):
        size = float(text.get("font-size"))
        x, y, width = float(text.get("x")), float(text.get("y")), 0.9 * text_width(text.text, size)
        left = x - {"start": 0.0, "middle": 0.5, "end": 1.0}[text.get("text-anchor")] * width
        yield text.text, left, y - 0.7 * size, left + width, y


def test_every_element_bond_and_box_is_drawn_once(drawn):
    model, _, drawing, root = drawn
    names = groups(root, "element", "junction", "switch", "block")
    assert set(names) == set(model.elements) == set(drawing.positions)
    assert set(groups(root, "bond")) == {bond.name for bond in model.bonds}
    assert set(groups(root, "box")) == set(model.groups)


def test_vector_bonds_are_double_and_say_their_dimension(drawn):
    model, _, _, root = drawn
    drawn_bonds = groups(root, "bond")
    for bond in model.bonds:
        texts = [text.text for text in drawn_bonds[bond.name].iter(f"{SVG}text")]
        assert len(lines_of(drawn_bonds[bond.name])) == (3 if bond.dimension > 1 else 2), "line or lines, and the barb"
        assert texts == ([str(bond.dimension)] if bond.dimension > 1 else [])


def test_strokes_stand_where_the_effort_is_imposed(drawn):
    model, causality, _, root = drawn
    drawn_bonds = groups(root, "bond")
    for bond in model.bonds:
        group = drawn_bonds[bond.name]
        (stroke,) = [points(path) for path in group.iter(f"{SVG}path") if path.get("class") == "stroke"]
        tail, *_, head = lines_of(group)[0]
        middle = stroke.mean(axis=0)
        at_head = bool(np.linalg.norm(middle - head) < np.linalg.norm(middle - tail))
        assert at_head == causality.effort_into_head[bond.name]


def test_barbs_end_at_the_head_on_the_flow_side(drawn):
    model, _, drawing, root = drawn
    drawn_bonds = groups(root, "bond")
    for bond in model.bonds:
        line, *_, (tip, out) = lines_of(drawn_bonds[bond.name])
        tail, *_, head = line
        assert np.allclose(tip, head, atol=0.11)
        along = np.subtract(*(drawing.positions[end.element] for end in reversed(bond.ends)))
        assert (head - tail) @ along > 0
        assert (out - tip) @ flow_side(head - tail) > 0


@given(st.floats(0.0, 2 * np.pi))
def test_flow_side_does_not_depend_on_the_direction_of_power(angle):
    along = np.array([np.cos(angle), np.sin(angle)])
    assert flow_side(along) @ along == pytest.approx(0.0, abs=1e-11)
    if abs(along @ np.array([1.0, -0.45])) > 1e-6:
        assert np.allclose(flow_side(along), flow_side(-along))


def test_flow_is_beneath_level_bonds_and_right_of_plumb_ones():
    assert np.allclose(flow_side(np.array([1.0, 0.0])), [0.0, 1.0])
    assert np.allclose(flow_side(np.array([0.0, 1.0])), [1.0, 0.0])


def test_no_text_lies_on_another(drawn):
    *_, root = drawn
    for a, b in itertools.combinations(rectangles(root), 2):
        overlap = min(a[3], b[3]) - max(a[1], b[1]) > 0.5 and min(a[4], b[4]) - max(a[2], b[2]) > 0.5
        assert not overlap, f"{a[0]!r} and {b[0]!r}"


def test_texts_are_inside_the_picture(drawn):
    _, _, drawing, root = drawn
    shift = [float(v) for v in root.find(f"{SVG}g").get("transform").removeprefix("translate(")[:-1].split()]
    for text, left, top, right, bottom in rectangles(root):
        assert left + shift[0] > 0 and top + shift[1] > 0, text
        assert right + shift[0] < drawing.width and bottom + shift[1] < drawing.height, text


def test_bonds_pass_no_other_element(drawn):
    model, _, drawing, root = drawn
    shapes = {node.name: node for node in sketch(model).nodes}
    drawn_bonds = groups(root, "bond")
    for bond in model.bonds:
        first, *_, last = lines_of(drawn_bonds[bond.name])[0]
        along = first + np.linspace(0, 1, 50)[:, None] * (last - first)
        for name, centre in drawing.positions.items():
            if name not in [end.element for end in bond.ends]:
                half = np.array([shapes[name].half_width, shapes[name].half_height])
                assert not np.any(np.all(np.abs(along - centre) < half, axis=1)), f"{bond.name} passes {name}"


def test_bonds_pass_around_boxes_of_other_elements():
    from examples.rolling_eggs import build

    model = build()[0].freeze()
    root = ElementTree.fromstring(diagram(model).svg)
    lines = {name: np.concatenate(lines_of(group)[:1]) for name, group in groups(root, "bond").items()}
    for path, group in groups(root, "box").items():
        left, top, width, height = (float(group.find(f"{SVG}rect").get(key)) for key in ("x", "y", "width", "height"))
        for bond in model.bonds:
            if not any(end.element.startswith(f"{path}.") for end in bond.ends):
                at = [a + s * (b - a) for a, b in itertools.pairwise(lines[bond.name]) for s in np.linspace(0.0, 1.0, 20)]
                inside = (np.abs(np.array(at) - (left + width / 2, top + height / 2)) < (width / 2, height / 2)).all(axis=1)
                assert not inside.any(), f"{bond.name} passes through {path}"


def test_boxes_hold_their_own_elements_only():
    drawn = sketch(touching_bodies().freeze())
    where = automatic_centres(drawn)
    frames = [frame(drawn, box, where) for box in drawn.boxes]
    for box, (left, top, right, bottom) in zip(drawn.boxes, frames, strict=True):
        for i, (x, y) in enumerate(where):
            assert (left < x < right and top < y < bottom) == (i in box.members)
    for a, b in itertools.combinations(frames, 2):
        assert a[2] < b[0] or b[2] < a[0] or a[3] < b[1] or b[3] < a[1]


def test_trees_are_drawn_without_crossings():
    model = chain(9).freeze()
    where = diagram(model).positions
    lines = [[np.array(where[end.element]) for end in bond.ends] for bond in model.bonds]
    for (p, q), (r, s) in itertools.combinations(lines, 2):
        sides = np.linalg.det([q - p, r - p]) * np.linalg.det([q - p, s - p])
        others = np.linalg.det([s - r, p - r]) * np.linalg.det([s - r, q - r])
        assert not (sides < -1e-6 and others < -1e-6)


def test_switch_and_signals():
    root = ElementTree.fromstring(diagram(touching_bodies().freeze()).svg)
    switch = groups(root, "switch")["contact.XO"]
    assert switch.find(f"{SVG}rect").get("stroke-dasharray")
    assert [text.text for text in switch.iter(f"{SVG}text") if text.get("class") == "automaton"] == ["touch"]
    inside = {("inertia", "Euler"), ("twist", "pose"), ("pose", "gravity"), ("pose", "to world")}
    expected = {f"body {i}.{a} -> body {i}.{b}" for i in (1, 2) for a, b in inside}
    expected |= {"contact.contact twist -> contact.gap", "contact.gap -> contact.XO"}
    assert set(groups(root, "signal")) == expected


def test_a_causal_conflict_is_drawn_without_strokes():
    graph, node = Graph("shorted"), J0("node")
    drawing = diagram(graph.connect(Se("a", 1.0), node).connect(Se("b", 2.0), node))
    assert len(groups(ElementTree.fromstring(drawing.svg), "bond")) == 2
    assert 'class="stroke"' not in drawing.svg
    assert "causal stroke" not in drawing.svg


def test_graph_model_and_compiled_model_are_one_picture():
    graph = hoist()
    drawing = diagram(graph)
    assert 'class="stroke"' in drawing.svg
    assert drawing.svg == diagram(graph.freeze()).svg == diagram(compile_model(graph, backend="numpy")).svg


def test_same_model_same_picture_in_another_process():
    script = (
        "import sys; from bondgraph.render.diagram import diagram; from tests.render.graphs import touching_bodies\n"
        "sys.stdout.write(diagram(touching_bodies().freeze()).svg)"
    )
    settings = {
        "cwd": Path(__file__).parents[2],
        "env": os.environ | {"PYTHONHASHSEED": "7"},
        "capture_output": True,
        "text": True,
        "encoding": "utf-8",
        "check": True,
    }
    done = subprocess.run([sys.executable, "-c", script], **settings)
    assert done.stdout == diagram(touching_bodies().freeze()).svg


def test_positions_are_kept():
    model = hoist().freeze()
    first = diagram(model)
    assert diagram(model, positions=first.positions).positions == first.positions
    moved = {**first.positions, "mass": (400.0, -300.0)}
    assert diagram(model, positions=moved).positions == moved


def test_some_positions_are_kept_and_the_rest_gives_way():
    model = hoist().freeze()
    drawing = diagram(model, positions={"shaft": (0.0, 0.0), "bearing": (90.0, 0.0)})
    assert drawing.positions["shaft"] == (0.0, 0.0)
    assert drawing.positions["bearing"] == (90.0, 0.0)
    assert set(drawing.positions) == set(model.elements)
    apart = [np.linalg.norm(np.subtract(a, b)) for a, b in itertools.combinations(drawing.positions.values(), 2)]
    assert min(apart) > 25.0


@pytest.mark.parametrize(
    "positions, code",
    [({"shafd": (0, 0)}, "E131"), ({"shaft": (0, np.nan)}, "E132"), ({"shaft": 3}, "E132"), ({"shaft": "ab"}, "E132")],
)
def test_wrong_positions_are_refused(positions, code):
    with pytest.raises(ModelError) as error:
        diagram(hoist().freeze(), positions=positions)
    assert [problem.code for problem in error.value.problems] == [code]


def test_names_are_text_and_never_markup():
    elements = {"a < b & c": J1("loop"), '<"q">': C("store", capacitance=1.0), "r'>": R("leak", 2.0)}
    root = ElementTree.fromstring(diagram(Model('<script>"x"', elements, (), {}, (), {})).svg)
    assert root.find(f"{SVG}title").text == '<script>"x"'
    assert set(groups(root, "junction", "element")) == set(elements)


def test_elements_along_a_line_are_drawn():
    graph, v = Graph("line"), J1("v")
    graph.connect(v, I("m", 1.0)).connect(v, C("k", stiffness=10.0))
    graph.add(Block("twice", [("y", lambda u: 2.0 * u, "u")], inputs={"u": "m.p"}))
    inside = Graph("around")
    inside.add(graph)
    assert np.isfinite(automatic_centres(sketch(inside.freeze()))).all()


def test_empty_model():
    root = ElementTree.fromstring(diagram(Model("nothing", {}, (), {}, (), {})).svg)
    assert root.find(f"{SVG}title").text == "nothing"


def test_write_and_notebook(tmp_path):
    drawing = diagram(hoist().freeze())
    assert drawing.write(tmp_path / "hoist.svg").read_text(encoding="utf-8") == drawing.svg == drawing._repr_svg_()


# --- folded graphs ---------------------------------------------------------------------------------------------------

BODIES = ("body 1", "body 2", "contact")


def outer_bonds(model, folded):
    def home(end):
        return next((path for path in folded if end.element.startswith(f"{path}.")), end.element)

    return {bond.name: tuple(map(home, bond.ends)) for bond in model.bonds if len(set(map(home, bond.ends))) == 2}


@pytest.mark.parametrize("folded", [BODIES[:1], BODIES[2:], BODIES[:2], "all"])
def test_folded_graphs_are_one_box_each(folded):
    model = touching_bodies().freeze()
    causality = assign_causality(model)
    drawing = diagram(model, folded=folded)
    root = ElementTree.fromstring(drawing.svg)
    paths = BODIES if folded == "all" else folded
    boxes = groups(root, "folded")
    assert set(boxes) == set(paths)
    for path, box in boxes.items():
        count = sum(name.startswith(f"{path}.") for name in model.elements)
        assert [text.text for text in box.iter(f"{SVG}text")] == [path, f"{count} elements"]
    shown = {name for name in model.elements if not name.startswith(tuple(f"{path}." for path in paths))}
    assert set(groups(root, "element", "junction", "switch", "block")) == shown
    assert set(drawing.positions) == shown | set(paths)
    assert set(groups(root, "box")) == set(model.groups) - set(paths)
    bonds, ends = groups(root, "bond"), outer_bonds(model, paths)
    assert set(bonds) == set(ends)
    for name, (tail, head) in ends.items():
        line = lines_of(bonds[name])[0]
        along = np.subtract(drawing.positions[head], drawing.positions[tail])
        assert (line[-1] - line[0]) @ along > 0
        stroke = next(path for path in bonds[name].iter(f"{SVG}path") if path.get("class") == "stroke")
        to_head, to_tail = (np.linalg.norm(points(stroke).mean(axis=0) - line[k]) for k in (-1, 0))
        assert bool(to_head < to_tail) == causality.effort_into_head[name]
    for a, b in itertools.combinations(rectangles(root), 2):
        assert not (min(a[3], b[3]) - max(a[1], b[1]) > 0.5 and min(a[4], b[4]) - max(a[2], b[2]) > 0.5)
    assert "nested graph, folded" in drawing.svg
    assert "nested graph, folded" not in diagram(model).svg


@pytest.mark.usefixtures("rough_layout")
def test_outer_signals_attach_to_the_box():
    from examples.rolling_eggs import build

    model = build()[0].freeze()
    everything = ElementTree.fromstring(diagram(model, folded="all").svg)
    assert set(groups(everything, "signal")) == {"egg 1 -> contact", "egg 2 -> contact", "egg 1 -> gravity", "egg 2 -> gravity"}
    assert set(groups(everything, "bond")) == set(outer_bonds(model, model.groups))
    others = [path for path in model.groups if path != "contact"]
    opened = set(groups(ElementTree.fromstring(diagram(model, folded=others).svg), "signal"))
    assert "egg 2 -> contact.kinematics" in opened and "contact.kinematics -> contact.X0" in opened


@pytest.mark.usefixtures("rough_layout")
def test_graphs_inside_a_folded_one_go_with_it():
    outer = Graph("outer")
    outer.connect(nest("arm", nest("hand")).port("port"), J1("world"))
    outer.connect(outer.parts["world"], R("drag", 1.0))
    model = outer.freeze()
    assert set(model.groups) == {"arm", "arm.hand"}
    root = ElementTree.fromstring(diagram(model, folded=["arm.hand", "arm"]).svg)
    assert set(groups(root, "folded")) == {"arm"} and not groups(root, "box")
    root = ElementTree.fromstring(diagram(model, folded="arm.hand").svg)
    assert set(groups(root, "folded")) == {"arm.hand"} and set(groups(root, "box")) == {"arm"}


def nest(name, inner=None):
    graph, port = Graph(name), J1("port")
    graph.connect(port, C("store", capacitance=1.0)).expose("port", port)
    return graph.connect(inner.port("port"), port) if inner else graph


def test_a_switch_inside_a_folded_graph_shows_its_signal():
    part, outer = Graph("part"), Graph("outer")
    part.connect(X0("second", automaton="relay", active=["on"]), C("c", capacitance=1.0)).expose("port", part.parts["second"])
    outer.add_automaton(Automaton("relay", ("off", "on"), "on", ()))
    first = X0("first", automaton="relay", active=["on"])
    outer.connect(v := J1("v"), first).connect(first, C("d", capacitance=1.0)).connect(v, I("m", 1.0)).connect(
        v, part.port("port")
    )
    root = ElementTree.fromstring(diagram(outer.freeze(), folded="all").svg)
    assert set(groups(root, "folded")) == {"part"}
    assert set(groups(root, "signal")) == {"first -> part"}


def test_positions_of_folded_graphs():
    model = touching_bodies().freeze()
    first = diagram(model, folded="all")
    assert diagram(model, positions=first.positions, folded="all").positions == first.positions
    whole = diagram(model).positions
    folded = diagram(model, positions=whole, folded=["body 1"]).positions
    inside = np.array([at for name, at in whole.items() if name.startswith("body 1.")])
    assert folded["body 1"] == pytest.approx((inside.min(axis=0) + inside.max(axis=0)) / 2)
    assert folded["contact.gap"] == whole["contact.gap"]


@pytest.mark.parametrize("folded", ["body 3", ("body 1", "body 3"), ("contact.gap",)])
def test_only_nested_graphs_are_folded(folded):
    with pytest.raises(ModelError, match="body 1, "):
        diagram(touching_bodies().freeze(), folded=folded)
    with pytest.raises(ModelError) as error:
        diagram(touching_bodies().freeze(), folded=folded)
    assert [problem.code for problem in error.value.problems] == ["E134"]


@pytest.mark.parametrize("sign", SIGNS)
def test_a_sign_without_an_entry_in_the_legend_is_named(sign, monkeypatch):
    assert SIGNS[sign].words in legend_lines({sign}, 0.0, 0.0, 900.0, COLOURED)[0]
    monkeypatch.delitem(SIGNS, sign)
    with pytest.raises(ValueError, match=sign):
        legend_lines({sign}, 0.0, 0.0, 900.0, COLOURED)
