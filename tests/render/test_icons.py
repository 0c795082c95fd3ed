"""Graphs with icons are folded and show the names of their ports."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from bondgraph import J0, J1, C, Graph, ModelError, R, Se

ICON = "M0 .5 L.3 .5 Q.5 0 .7 .5 L1 .5 M.3 .8 L.7 .8 Z"


def filter_of(name: str, icon: str = ICON) -> Graph:
    part, out = Graph(name, icon=icon), J0("out")
    inner = part.series(R("r", 1.0))
    part.connect(inner, out).connect(out, C("c", capacitance=1.0))
    return part.expose("in", inner).expose("out", out)


def chain(**more: str) -> Graph:
    graph, first, second = Graph("chain"), filter_of("first", **more), filter_of("second", **more)
    graph.connect(Se("u", 1.0), first.port("in")).connect(first.port("out"), second.port("in"))
    return graph.connect(second.port("out"), replace(R("load", 1.0), icon=ICON))


def shown(svg: str, kind: str) -> list[str]:
    root = ElementTree.fromstring(svg)
    return ["".join(each.itertext()) for each in root.iter() if each.get("class") == kind]


def names(drawing) -> set[str]:
    return set(drawing.positions)


def test_a_graph_with_an_icon_is_folded() -> None:
    drawing = chain().diagram()
    assert names(drawing) == {"u", "first", "second", "load"}
    assert sorted(shown(drawing.svg, "port")) == ["in", "in", "out", "out"]
    assert len(shown(drawing.svg, "icon")) == 3, "of both graphs, and of the load"


def test_it_can_be_unfolded() -> None:
    drawing = chain().diagram(unfolded=["first"])
    assert names(drawing) == {"u", "first.loop of r", "first.r", "first.out", "first.c", "second", "load"}
    assert sorted(shown(drawing.svg, "port")) == ["in", "out"]
    assert "first" not in names(chain().diagram(folded=())) and not shown(chain().diagram(folded=()).svg, "port")


@pytest.mark.parametrize("icon", ["M.5.5", "M01", "M0 .5 L1.5"])
def test_numbers_without_spaces_are_refused(icon: str) -> None:
    with pytest.raises(ModelError, match=r"E183.*cannot be drawn"):
        filter_of("part", icon)


def test_a_graph_without_an_icon_shows_its_elements_and_no_ports() -> None:
    assert "first.r" in names(chain(icon="").diagram())
    assert not shown(chain(icon="").diagram(folded="all").svg, "port")


def test_icons_lie_in_their_boxes() -> None:
    root = ElementTree.fromstring(chain().diagram().svg)
    for group in root.iter("{*}g"):
        if group.get("class") == "folded":
            box, path = group.find("{*}rect"), group.find("{*}path[@class='icon']")
            assert box is not None and path is not None
            numbers = [float(each) for each in re.findall(r"-?[\d.]+", path.attrib["d"])]
            left, top = float(box.attrib["x"]), float(box.attrib["y"])
            assert left < min(numbers[::2]) and max(numbers[::2]) < left + float(box.attrib["width"])
            name = next(float(each.attrib["y"]) for each in group.iter("{*}text"))
            assert top < min(numbers[1::2]) and max(numbers[1::2]) < name


@pytest.mark.parametrize("ending", ["pdf", "png", "tex", "svg"])
def test_every_format_has_them(ending, tmp_path) -> None:
    path = chain().diagram().write(tmp_path / f"chain.{ending}")
    assert path.stat().st_size > 2000
    if ending == "tex":
        assert path.read_text(encoding="utf-8").count(".. controls") >= 3


def test_ports_of_graphs_in_graphs_have_the_outer_name() -> None:
    outer = Graph("outer", icon=ICON)
    inner = filter_of("inner")
    outer.expose("supply", inner.port("in")).expose("load", inner.port("out"))
    graph, source = Graph("g"), J1("source")
    graph.connect(Se("u", 1.0), source).connect(source, outer.port("supply")).connect(outer.port("load"), R("r", 1.0))
    assert sorted(shown(graph.diagram().svg, "port")) == ["load", "supply"]
