"""Models that cannot be saved and invalid files are refused with a code, the part and the user's line."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from screwbond.models import ground, rigid_body
from screwbond.models.joints import attach_joint, joint_graph

from bondgraph import J1, Block, Graph, I, ModelError, R, Se, compile_model, dump_model, load_model, parse_model, save_model
from campaigns.small_models import SMALL
from examples import parallel_gripper, pushing
from screws import joints
from tests.inner.model import Law, partials


@dataclass(frozen=True)
class Memristor(Law): ...


def alone(element: Any) -> Graph:
    graph, v = Graph("alone"), J1("v")
    return graph.connect(Se("push", 1.0), v).connect(v, I("mass", 2.0)).connect(v, element)


def file_of(name: str = "drive") -> dict[str, Any]:
    return json.loads(dump_model(SMALL[name]()))  # type: ignore[no-any-return]


def refused(text: str) -> ModelError:
    with pytest.raises(ModelError) as caught:
        compile_model(parse_model(text, "m.json"), backend="numpy", progress=False)
    return caught.value


def test_a_law_of_the_users_own_is_refused_by_its_name_and_line() -> None:
    compiled = compile_model(alone(R("r", 1.0)), backend="numpy")
    model = compiled.model.elements["r"]
    object.__setattr__(model, "law", Memristor())
    with pytest.raises(ModelError, match=r'E350 R "r" cannot be saved') as caught:
        dump_model(compiled)
    assert "contains a Memristor" in str(caught.value) and "test_refusals.py" in str(caught.value)


def test_an_unrecordable_formula_is_refused_by_name_and_line() -> None:
    graph = alone(R("r", effort=lambda f: f if f > 0.0 else 2.0 * f))
    with pytest.raises(ModelError, match=r'E350 R "r" cannot be saved') as caught:
        dump_model(graph)
    assert "branches on a value" in str(caught.value) and "test_refusals.py" in str(caught.value)


def block(op: Callable[[Any], Any], given: Any = 1.0) -> Graph:
    graph = Graph("block")
    graph.add(Block("b", [("y", op, ["a"])], parameters={"a": given}))
    graph.add(Block("i", [("r", lambda u: u, ["u"])], inputs={"u": "b.y"}, states={"x": 0.0}, rates={"x": "r"}))
    return graph


def nested(depth: int) -> Callable[[Any], Any]:
    if not depth:
        return lambda x: x * x
    return lambda x: partials(lambda at: [nested(depth - 1)(at)], x)[0, 0]


def wide(count: int) -> Graph:
    v, ones = J1("v", dimension=count), np.ones(count)
    return Graph("wide").connect(Se("push", ones), v).connect(v, R("a", ones)).connect(v, R("b", ones))


UNREADABLE: list[tuple[Graph, str]] = [
    (block(lambda a: a[0], np.zeros(200_000)), r"shape \[200000\] has more than 100000 entries"),
    (block(lambda a: a[0, 0, 0, 0], np.zeros((2, 2, 2, 2))), "is not the shape of an array"),
    (block(lambda a: a * 2**70), "1180591620717411303424 is not a number"),
    (block(nested(5), 1.0), "more than 4 differentiations"),
    (wide(1001), 'bond "push -> v" has dimension 1001'),
    (alone(I("m", 1.0, symbols={"p": "\ud800"})), "an unpaired surrogate"),
]


@pytest.mark.parametrize(("graph", "why"), UNREADABLE, ids=[str(k) for k in range(len(UNREADABLE))])
def test_unreadable_models_are_not_written(graph: Graph, why: str) -> None:
    with pytest.raises(ModelError, match=f"(?s)E350.*{why}"):
        dump_model(graph)


def test_an_omitted_formula_is_reported_when_needed() -> None:
    """An edit that reverses the causality needs the direction that was not recorded."""
    graph = alone(R("r", effort=lambda f: 3.0 * f, flow=lambda e: e / 3.0 if e > 0.0 else 0.0 * e))
    content = json.loads(dump_model(graph))
    assert [entry["why"] for entry in content["operations"] if entry["formula"] is None]
    model = parse_model(json.dumps(content))
    compile_model(model, backend="numpy", progress=False)
    assert dump_model(model) == dump_model(parse_model(dump_model(model))) == dump_model(graph)
    missing = model.elements["r"].law.flow  # type: ignore[attr-defined]
    with pytest.raises(ModelError, match="E356"):
        missing(1.0)


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("", "E351", "not JSON"),
        ("[]", "E351", "not an object"),
        ('{"a": 1, "a": 2}', "E351", "appears twice"),
        ('{"a": NaN}', "E351", "no number NaN"),
        ('{"a": ' + "9" * 50 + "}", "E351", "too long"),
        ("[" * 100_000, "E351", "deep"),
        (r'{"a": "\ud800"}', "E351", "an unpaired surrogate"),
        ('{"\ud800": 1}', "E351", "an unpaired surrogate"),
        (r'{"a": "\ud83d\ude00"}', "E352", "not a model"),
        ('{"a": ' + "[" * 40 + "]" * 40 + "}", "E351", "deep"),
        ("{}", "E352", "not a model"),
        ('{"format": "screwbond-model", "version": 2}', "E352", "reads version 1"),
        ('{"format": "screwbond-model", "version": true}', "E352", "reads version 1"),
        ('{"format": "screwbond-model", "version": 1}', "E352", 'no "formulas"'),
    ],
)
def test_files_of_other_formats_are_refused(text: str, code: str, said: str) -> None:
    error = refused(text)
    assert error.problems[0].code == code and said in str(error) and "m.json" in str(error)


HEAVY: list[Any] = [
    "slopes",
    [0] * 400,
    [],
    [["slopes", [0] * 400, [], [["slopes", [0] * 400, [], [["sin", 0]], [0]]], [0]]],
    [0],
]

CHANGES: list[tuple[str, str, Callable[[dict[str, Any]], Any]]] = [
    ("E352", "unknown", lambda f: f.update(more=1)),
    ("E353", "a kind of record", lambda f: f["model"]["elements"]["coil"]["law"].update({"$is": "Memristor"})),
    ("E353", "a kind of record", lambda f: f["model"]["elements"]["coil"]["law"].update({"$is": "Port"})),
    ("E353", "a field of Element", lambda f: f["model"]["elements"]["coil"].update(op=1)),
    ("E353", 'needs "law"', lambda f: f["model"]["elements"]["coil"].pop("law")),
    ("E353", "a record", lambda f: f["model"]["elements"]["coil"]["law"].update(spec=3)),
    ("E353", "a string", lambda f: f["model"].update(name=3)),
    ("E353", "a list", lambda f: f["model"].update(bonds={})),
    ("E353", "'effort' or 'flow'", lambda f: f["model"]["elements"]["coil"]["law"].update(gives="power")),
    ("E353", "operations", lambda f: f["model"]["elements"]["coil"]["law"].update(output=1000)),
    (
        "E353",
        "a named operation",
        lambda f: (
            f["operations"].append({"formula": next(iter(f["formulas"]))})
            or f["model"]["elements"]["coil"]["law"].update(output=len(f["operations"]) - 1)
        ),
    ),
    ("E353", "no known domain", lambda f: f["model"]["bonds"][0].update(domain="magic")),
    ("E353", "not a number", lambda f: f["model"]["elements"]["coil"]["parameters"]["inertia"].update(value=True)),
    ("E354", "not a step", lambda f: next(iter(f["formulas"].values())).update(steps=[["exec", 0]])),
    ("E354", "operations, including all differentiations", lambda f: next(iter(f["formulas"].values()))["steps"].append(HEAVY)),
    ("E354", "no formula", lambda f: f["operations"][0].update(formula="none")),
    ("E354", "of a constant", lambda f: f["operations"][0].update({"$is": "Constant"})),
    ("E354", "not a list", lambda f: f.update(operations={})),
    ("E355", "not an element", lambda f: f["model"]["bonds"][0].update(tail=["nothing", "1"])),
    ("E355", "which does not exist", lambda f: f["model"]["bonds"][0].update(tail=["supply", "7"])),
    ("E355", "dimension", lambda f: f["model"]["bonds"][0].update(dimension=10**9)),
    ("E355", "does not exist", lambda f: f["model"]["elements"]["supply"].update(signals=["nothing.y"])),
    ("E355", "arguments", lambda f: f["model"]["elements"]["supply"].update(parameters={})),
    ("E355", "is called", lambda f: f["model"]["elements"]["coil"].update(name="oil")),
    ("E355", "heat port that is not", lambda f: f["model"]["elements"]["winding"].update(heat=True)),
    ("E113", "coil", lambda f: f["model"]["elements"]["coil"]["parameters"]["inertia"].update(value="inf")),
    ("E119", "coil", lambda f: f["model"]["elements"]["coil"]["parameters"]["inertia"].update(value=-1.0)),
]


@pytest.mark.parametrize(("code", "said", "change"), CHANGES)
def test_models_too_large_for_a_file_are_refused(code: str, said: str, change: Callable[[dict[str, Any]], Any]) -> None:
    content = file_of()
    change(content)
    error = refused(json.dumps(content))
    assert error.problems[0].code == code and said in str(error)


FOUND: list[tuple[str, str, Callable[[dict[str, Any]], Any]]] = [
    ("lever", "E355", lambda e: e["m1"].update(parameters={"free": {"value": 2.0}})),
    ("rod", "E125", lambda e: e["mass"]["parameters"]["inertia"]["value"].update(entries=[1.0, 1e-320])),
    ("rectifier", "E355", lambda e: e["button"]["law"].pop("automaton")),
    ("kettle", "E355", lambda e: e["heater.heat"].update(signals=[])),
    ("rod", "E170", lambda e: e["rod"]["law"].update(coordinates=0)),
]


@pytest.mark.parametrize(("name", "code", "change"), FOUND)
def test_campaign_findings_are_refused(name: str, code: str, change: Callable[[dict[str, Any]], Any]) -> None:
    content = file_of(name)
    change(content["model"]["elements"])
    assert refused(json.dumps(content)).problems[0].code == code


def test_a_joint_that_starts_at_a_zero_pose_is_refused() -> None:
    """The constraint matrices contain NaN, so their eigenvalues must not be computed."""
    door = rigid_body("door", mass=20.0, inertia=(7.0, 1.4, 8.4))
    house = attach_joint(Graph("house"), joint_graph("hinges", joints.revolute(axis=(0, 0, 1))), ground("frame"), door)
    content = json.loads(dump_model(house))
    content["model"]["elements"]["door.pose"]["law"]["spec"]["initial"]["entries"] = [0.0] * 7
    assert refused(json.dumps(content)).problems[0].code == "E125"


MARKS: list[tuple[str, Callable[[], Graph], Callable[[dict[str, Any]], Any]]] = [
    ("several contacts are called 'floor'", parallel_gripper.gripper, lambda m: m["contacts"][0].update(path="floor")),
    ("reads '', which does not exist", parallel_gripper.gripper, lambda m: m["contacts"][0].update(friction="")),
    ("reads 'nothing', which does not exist", parallel_gripper.gripper, lambda m: m["contacts"][0].update(gap="nothing")),
    ('"finger" has no shape', pushing.in_space, lambda m: m["collisions"][0]["shapes"].pop()),
    ("body number 9, which does not exist", pushing.in_space, lambda m: m["collisions"][0]["only"][0].__setitem__(0, 9)),
    ("body number 1 with itself", pushing.in_space, lambda m: m["collisions"][0]["only"][0].__setitem__(0, 1)),
    ("have rolling friction -1", pushing.in_space, lambda m: m["collisions"][0].update(rolling_friction=-1.0)),
    ("restitution 2.0", pushing.in_space, lambda m: m["collisions"][0].update(restitution=2.0)),
]


@pytest.mark.parametrize(("said", "build", "change"), MARKS)
def test_contacts_that_do_not_fit(said: str, build: Callable[[], Graph], change: Callable[[dict[str, Any]], Any]) -> None:
    content = json.loads(dump_model(build()))
    change(content["model"])
    error = refused(json.dumps(content))
    assert error.problems[0].code == "E355" and said in str(error)


def test_keys_and_names_that_look_like_those_of_the_format_are_only_names() -> None:
    named = {"$is": 1.0, "op": 2.0, "is": 3.0}
    whole = Graph("whole")
    whole.add(Block("$is", [("y", lambda a, b, c: a + b * c, list(named))], parameters=named))
    whole.add(Block("integral", [("rate", lambda u: u, ["u"])], inputs={"u": "$is.y"}, states={"x": 0.0}, rates={"x": "rate"}))
    text = dump_model(whole)
    loaded = compile_model(parse_model(text), backend="numpy", progress=False)
    assert loaded.parameters["$is.op"].value == 2.0
    assert loaded.simulate(1.0, progress=False)["integral.x"][-1] == pytest.approx(7.0, rel=1e-9)


def test_numbers_are_exact_and_those_that_json_has_not_are_words() -> None:
    rough = np.array([0.1 + 0.2, 1e-320, -0.0, 1e308])
    graph = Graph("numbers")
    graph.add(Block("b", [("y", lambda a: a, ["a"])], parameters={"a": rough}))
    graph.add(Block("c", [("y", lambda: np.array([np.inf, -np.inf, 1.0 / 3.0]), [])]))
    graph.add(Block("i", [("r", lambda u: u[0], ["u"])], inputs={"u": "b.y"}, states={"x": 0.0}, rates={"x": "r"}))
    model = parse_model(dump_model(graph))
    assert model.elements["b"].parameters["a"].value.tobytes() == rough.tobytes()
    found = model.elements["c"].law.equations[0].op()  # type: ignore[attr-defined]
    assert found.tolist() == [np.inf, -np.inf, 1.0 / 3.0]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="E357"):
        load_model(tmp_path / "nothing.json")
    with pytest.raises(ModelError, match="E357"):
        load_model(tmp_path)
    odd = tmp_path / "odd.json"
    odd.write_bytes(b"\xff\xfe{}")
    with pytest.raises(ModelError, match="E351"):
        load_model(odd)


def test_a_file_is_as_large_as_its_reader_allows(tmp_path: Path) -> None:
    path = save_model(SMALL["drive"](), tmp_path / "drive.json")
    text, size = path.read_text(encoding="utf-8"), path.stat().st_size
    assert dump_model(load_model(path, largest=size)) == dump_model(parse_model(text, largest=len(text))) == text
    with pytest.raises(ModelError, match=rf"E351 .*{size} bytes; the limit is {size - 1}"):
        load_model(path, largest=size - 1)
    with pytest.raises(ModelError, match=f"{len(text)} characters; the limit is 100(.|\n)*largest={len(text)}, if you trust"):
        parse_model(text, largest=100)
    with pytest.raises(ModelError, match=r"E695(.|\n)*try: no libraries"):
        parse_model(text, libraries={"pid": "pid.fmu"})


def test_only_models_are_saved() -> None:
    with pytest.raises(ModelError, match="E100"):
        dump_model("drive")  # type: ignore[arg-type]


def test_an_unknown_kind_and_commands_of_files_are_refused_with_their_place() -> None:
    content = file_of()
    name = next(iter(content["model"]["elements"]))
    content["model"]["elements"][name]["kind"] = "Sx"
    assert f"elements.{name}.kind: 'Sx' is not 'C' or" in str(refused(json.dumps(content)))
    content = file_of()
    number = next(k for k, each in enumerate(content["operations"]) if "name" in each)
    content["operations"][number]["latex"] = r"\input{secret}"
    assert f"E354 operations[{number}]" in str(said := refused(json.dumps(content))) and r"\input" in str(said)
