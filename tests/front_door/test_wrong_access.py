"""Attributes, assignments, square brackets and calls that an object does not have are refused, and the advice works."""

from __future__ import annotations

import dataclasses
import pickle
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from screwbond.models import parts
from screwbond.models.chains import Chain, mass_matrix
from screwbond.models.cli import main
from screwbond.models.impact import default_striker, simulate_impacts
from screwbond.models.motion import s_curve
from screwbond.models.pictures import Look, scene_of

import screwbond as sb
from bondgraph import DOMAINS, J1, C, Friction, Graph, I, Parameter, Se, signals, sweep
from bondgraph.analysis import operating_point, sensitivities, steady_state
from bondgraph.estimation import Experiment, estimate, run_sensitivities, uncertainty
from bondgraph.export import document, live_page
from bondgraph.sinks import Sink
from bondgraph.sweeps import load_runs, peak
from screws import joints, rotations, sphere
from tests.front_door.wrong import Wrong, arm, cart, is_refused, model, run, simulate

CURVE = signals.curve([0.0, 1.0], [0.0, 2.0])
BALL = sb.rigid_body("ball", mass=1.0, inertia=(1.0, 1.0, 1.0))
DATA = {"mass.p": ([0.1, 0.2], [0.01, 0.04], 1.0)}


def assign(owner: Any, name: str, value: Any) -> None:
    setattr(owner, name, value)


def put(owner: Any, name: str, value: Any) -> None:
    owner[name] = value


def linear() -> Any:
    return model().linearise("gain.y", "spring.q")


def varied() -> Any:
    return run_sensitivities(model(), ["spring.stiffness"], 0.1, samples=5, progress=False)


def flying(*pose: float) -> Any:
    flight = sb.attach_force(Graph("flight"), sb.force("push", (1.0, 0.0, 0.0)), BALL).compile(backend="numpy")
    return flight.simulate(0.1, samples=5, initial={"ball.pose.H": pose}, progress=False)


def drifting(backend: str = "numpy") -> Any:
    graph = Graph("drift")
    graph.series(Se("push", 1.0), I("mass", 1.0))
    return graph.compile(backend=backend)


def upper_arm() -> Chain:
    return Chain("arm", arm().links[:1])


def swept(**keep: Any) -> Any:
    return sweep(model(), {"spring.stiffness": [1.0, 2.0]}, 0.1, samples=5, keep=keep)


WRONG = {
    # attributes
    "a parameter as an attribute": Wrong(
        lambda: cart()["spring"].stiffness,
        ("E684", 'try: .parameters["stiffness"]'),
        lambda: cart()["spring"].parameters["stiffness"],
    ),
    "the times of a result": Wrong(lambda: run().time, ("E684", "try: .t"), lambda: run().t),
    "the times by name": Wrong(lambda: run()["time"], ("E318", "result.t"), lambda: run().t),
    "the keys of a result": Wrong(lambda: run().keys(), ("E684", ".names()"), lambda: run().names()),
    "a run of a graph": Wrong(lambda: cart().run(1.0), ("E684", ".simulate(t_end)"), lambda: cart().simulate(0.1)),
    "a part by assignment": Wrong(
        lambda: assign(cart(), "stop", C("stop", stiffness=1.0)),
        ("E684", "'stop'", "graph.connect(stop, other)"),
        lambda: (g := cart()).connect(g["v"], C("stop", stiffness=1.0)),
    ),
    "an unknown attribute of an element": Wrong(
        lambda: cart()["spring"].domian, ("E684", "Element", "domain"), lambda: cart()["spring"].domain
    ),
    "a part as an attribute of a result": Wrong(lambda: run().spring, ("E684", '["spring.q"]'), lambda: run()["spring.q"]),
    "a quantity of a compiled model": Wrong(
        lambda: model()["spring.q"], ("E684", '.simulate(t_end)["spring.q"]'), lambda: simulate(1.0)["spring.q"]
    ),
    "a column as an attribute": Wrong(
        lambda: swept(top=peak("spring.q")).top, ("E684", '["top"]'), lambda: swept(top=peak("spring.q"))["top"]
    ),
    "a method of another class": Wrong(lambda: sphere(1.0).normal, ("E684", "one of", "geometry"), lambda: sphere(1.0).geometry),
    "a part of another shelf": Wrong(lambda: parts.motor, ("E684", "machines.dc_motor"), lambda: parts.machines.dc_motor("m")),
    "an unknown part": Wrong(lambda: parts.machines.motor, ("E684", "dc_motor"), lambda: parts.machines.dc_motor("m")),
    "an unknown joint": Wrong(lambda: joints.hinge, ("E684", "revolute"), lambda: joints.revolute((0, 0, 1))),
    # square brackets
    "a statistic in brackets": Wrong(lambda: run().statistics["steps"], ("E684", "try: .steps"), lambda: run().statistics.steps),
    "an account in brackets": Wrong(
        lambda: run().ledger["spring"], ("E684", '.elements["spring"]'), lambda: run().ledger.elements["spring"]
    ),
    "a link in brackets": Wrong(lambda: arm()["lower"], ("E684", "try: .links[1]"), lambda: arm().links[1]),
    "an unknown account": Wrong(
        lambda: run().ledger.elements["sprong"], ("E318", '"spring"'), lambda: run().ledger.elements["spring"]
    ),
    "an unknown domain": Wrong(
        lambda: run().ledger.domains["Translation"], ("E318", '"translation"'), lambda: run().ledger.domains["translation"]
    ),
    "an unknown entry of the summary": Wrong(
        lambda: run().ledger.summary()["suplied"], ("E318", '"supplied"'), lambda: run().ledger.summary()["supplied"]
    ),
    "an unknown element of a frozen graph": Wrong(
        lambda: cart().freeze().elements["sprong"], ("E318", '"spring"'), lambda: cart().freeze().elements["spring"]
    ),
    "an unknown position": Wrong(
        lambda: cart().diagram().positions["sprong"], ("E318", '"spring"'), lambda: cart().diagram().positions["spring"]
    ),
    "an unknown law of impact": Wrong(
        lambda: simulate_impacts(default_striker(), 0.2, 0.01, 0.5)["maxwel"],
        ("E318", '"Maxwell"'),
        lambda: simulate_impacts(default_striker(), 0.2, 0.01, 0.5)["Maxwell"],
    ),
    # assignments
    "another stiffness": Wrong(
        lambda: assign(cart()["spring"], "stiffness", 3.0),
        ("E684", 'parameters={"spring.stiffness": value}', 'graph.replace("spring"'),
        lambda: [simulate(1.0, parameters={"spring.stiffness": 3.0}), cart().replace("spring", C("spring", stiffness=3.0))],
    ),
    "another name": Wrong(
        lambda: assign(cart()["spring"], "name", "coil"),
        ("E684", 'graph.replace("spring"'),
        lambda: cart().replace("spring", C("spring", stiffness=2.0)),
    ),
    "another parameter of a model": Wrong(
        lambda: put(model().parameters, "spring.stiffness", 3.0),
        ("E684", 'parameters={"spring.stiffness": value}'),
        lambda: simulate(1.0, parameters={"spring.stiffness": 3.0}),
    ),
    "another start": Wrong(
        lambda: put(run().final, "spring.q", 0.0),
        ("E684", 'initial={**start_values, "spring.q": value}'),
        lambda: simulate(1.0, initial={**run().final, "spring.q": 0.0}),
    ),
    "another damping of a link": Wrong(
        lambda: assign(arm().links[0], "damping", 3.0),
        ("E684", "dataclasses.replace(link, damping=...)"),
        lambda: dataclasses.replace(arm().links[0], damping=3.0),
    ),
    "a misspelt attribute of a link": Wrong(
        lambda: assign(arm().links[0], "dampng", 3.0), ("E684", "dampng", "damping"), lambda: arm().links[0].damping
    ),
    "another radius": Wrong(lambda: assign(sphere(1.0), "radius", 2.0), ("E684", "a new Surface"), lambda: sphere(2.0)),
    # names that are not text
    "two quantities at once": Wrong(
        lambda: run()[["spring.q", "mass.p"]], ("E318", "one quantity"), lambda: (run()["spring.q"], run()["mass.p"])
    ),
    "the number of a part": Wrong(lambda: cart()[0], ("E318", "one part"), lambda: cart()["spring"]),
    "an event by name": Wrong(
        lambda: run().events["hit"], ("E318", "'hit'", "event.kind"), lambda: [e for e in run().events if e.kind == "hit"]
    ),
    "events by name": Wrong(lambda: run().events.select("hit"), ("E318", "'hit'", "event.kind"), lambda: run().events.select([])),
    "the number of a quantity": Wrong(
        lambda: varied()[0], ("E150", "pair", '"spring.stiffness"'), lambda: varied()["mass.flow", "spring.stiffness"]
    ),
    # calls
    "text for a curve": Wrong(lambda: CURVE("x"), ("E150", "Curve()", "`u`"), lambda: CURVE(0.5)),
    "no number for a curve": Wrong(lambda: CURVE(None), ("E150", "Curve()", "`u`"), lambda: CURVE(0.5)),
    "too few numbers for a map": Wrong(
        lambda: signals.characteristic_map([0, 1], [0, 1], [[0, 1], [0, 1]])(1.0),
        ("E317", "`v`"),
        lambda: signals.characteristic_map([0, 1], [0, 1], [[0, 1], [0, 1]])(1.0, 0.5),
    ),
    "text for a frequency": Wrong(
        lambda: linear().transfer_function()("s"), ("E150", "`s`"), lambda: linear().transfer_function()(1j)
    ),
    "text for coordinates": Wrong(lambda: sphere(1.0).point("x"), ("E150", "`q`"), lambda: sphere(1.0).point((0.1, 0.2))),
    "text for a time": Wrong(
        lambda: s_curve(0.0, 1.0, jerk=1.0).position("now"), ("E150", "`t`"), lambda: s_curve(0.0, 1.0, jerk=1.0).position(0.1)
    ),
    "a graph without a name": Wrong(lambda: Graph(), ("E317", "Graph() lacks `name`"), lambda: Graph("g")),  # type: ignore[call-arg]
    "a motor without a name": Wrong(
        lambda: parts.machines.dc_motor(), ("E317", "dc_motor() lacks `name`"), lambda: parts.machines.dc_motor("m")
    ),
    "the abbreviation of a keyword": Wrong(lambda: sphere(r=1.0), ("E317", "radius="), lambda: sphere(radius=1.0)),  # type: ignore[call-arg]
    "a keyword that only looks alike": Wrong(
        lambda: document(model(), title="cart"),
        ("E317", "leave out title="),
        lambda: document(model()),  # type: ignore[call-arg]
    ),
    "twice a parameter": Wrong(
        lambda: Parameter(2.0, "kg") * 2, ("E150", "Parameter(2.0 * value, 'kg')"), lambda: Parameter(2 * 2.0, "kg")
    ),
    # runs
    "a generator of times": Wrong(
        lambda: simulate(1.0, samples=(t for t in (0.0, 1.0))), ("E303", "samples=["), lambda: simulate(1.0, samples=[0.0, 1.0])
    ),
    "a number of steps in words": Wrong(
        lambda: simulate(1.0, max_steps="many"), ("E306", "max_steps=10_000_000"), lambda: simulate(1.0, max_steps=10_000_000)
    ),
    "a misspelt choice": Wrong(
        lambda: simulate(1.0, linear="sparce"), ("E304", 'linear="sparse"'), lambda: simulate(1.0, linear="sparse")
    ),
    "start values of another program": Wrong(
        lambda: simulate(1.0, y0=[0.0, 0.0]), ("E322", "initial={"), lambda: simulate(1.0, initial={"spring.q": 0.0})
    ),
    "a result as start values": Wrong(
        lambda: simulate(1.0, initial=run()), ("E321", "result.final"), lambda: simulate(1.0, initial=run().final)
    ),
    "a zero quaternion": Wrong(
        lambda: flying(0, 0, 0, 0, 0, 0, 0), ("E125", "G117", "unit quaternion"), lambda: flying(1, 0, 0, 0, 0, 0, 0)
    ),
    "one quantity of a page": Wrong(
        lambda: live_page(drifting("auto"), t_end=0.1, samples=5, show="mass.x"),
        ("E318", '"mass.x"'),
        lambda: live_page(drifting("auto"), t_end=0.1, samples=5, show="mass.p"),
    ),
    "a state of friction": Wrong(
        lambda: cart(Friction("rubs", 0.4, initial="slide")).freeze(),
        ("E117", 'initial="stick"'),
        lambda: cart(Friction("rubs", 0.4, initial="stick")).freeze(),
    ),
    "a dimension in text": Wrong(
        lambda: Graph("g").connect(J1("v", dimension="3"), I("m", 1.0)).freeze(),  # type: ignore[arg-type]
        ("E103", "'3'"),
        lambda: Graph("g").connect(I("m", 1.0, dimension=3), Se("push", (1.0, 0.0, 0.0))).freeze(),
    ),
    "one value for a start function": Wrong(
        lambda: cart().start(lambda: 1.0, [], "spring.q").compile(backend="numpy"),  # type: ignore[arg-type, return-value]
        ("E129", "a start function returns 1.0", "(1.0,)"),
        lambda: cart().start(lambda: (1.0,), [], "spring.q").compile(backend="numpy"),
    ),
    "a field that no scene has": Wrong(
        lambda: scene_of(run(), titel="cart"), ("E317", "scene_of()", "title="), lambda: scene_of(run(), title="cart")
    ),
    "a look by name": Wrong(lambda: Look("glass"), ("E110", "Look.GLASS"), lambda: Look.GLASS),
    "an unknown part of a graph": Wrong(lambda: cart().parts["sprong"], ("E318", '"spring"'), lambda: cart().parts["spring"]),
    "an unknown domain by name": Wrong(lambda: DOMAINS["elektrical"], ("E318", '"electrical"'), lambda: DOMAINS["electrical"]),
    # analyses
    "a source as a parameter": Wrong(
        lambda: sensitivities(drifting(), ["mass.p"], ["push"], operating_point(drifting(), moving=["mass.p"])),
        ("E250", '"push.value"'),
        lambda: sensitivities(model(), ["spring.q"], ["spring.stiffness"]),
    ),
    "a state that nothing restrains": Wrong(
        lambda: steady_state(drifting()),
        ("E254", "operating_point(model, moving=[...])"),
        lambda: operating_point(drifting(), moving=["mass.p"]),
    ),
    "a negative period": Wrong(lambda: linear().c2d(-0.1), ("E142", "c2d(0.01)"), lambda: linear().c2d(0.01)),
    "an unknown sampling": Wrong(lambda: linear().c2d(0.1, "zho"), ("E110", 'method="zoh"'), lambda: linear().c2d(0.1, "zoh")),
    "frequencies for a channel": Wrong(
        lambda: linear().bode([0.1, 1.0]), ("E150", "omega="), lambda: linear().bode(omega=[0.1, 1.0])
    ),
    "one uncertainty": Wrong(
        lambda: uncertainty(varied(), 0.1),  # type: ignore[arg-type]
        ("E379", '{"spring.stiffness": 0.1}'),
        lambda: uncertainty(varied(), {"spring.stiffness": 0.1}),
    ),
    "numbers of another name": Wrong(
        lambda: estimate(model(), {"spring.stiffness": (10.0, 200.0)}, DATA).in_confidence_region({"k": 1.0}),
        ("E379", "spring.stiffness"),
        lambda: estimate(model(), {"spring.stiffness": (10.0, 200.0)}, DATA).in_confidence_region({"spring.stiffness": 1.0}),
    ),
    "an experiment with an unknown parameter": Wrong(
        lambda: estimate(model(), {"spring.stiffness": (10.0, 200.0)}, [Experiment(DATA, parameters={"damper.damp": 1.0})]),
        ("E121", '"damper.damping"'),
        lambda: estimate(model(), {"spring.stiffness": (10.0, 200.0)}, [Experiment(DATA, parameters={"damper.damping": 1.0})]),
    ),
    "a measure without a quantity": Wrong(lambda: swept(top=peak), ("E365", 'peak("'), lambda: swept(top=peak("spring.q"))),
    "a folder of runs": Wrong(lambda: load_runs("."), ("E364", "it is a folder"), lambda: Path("runs.db")),
    "coordinates without a list": Wrong(
        lambda: mass_matrix(upper_arm(), 0.0), ("E338", "1 finite number in each row"), lambda: mass_matrix(upper_arm(), [0.0])
    ),
    "text to save": Wrong(
        lambda: sb.save_model("cart", "cart.json"),  # type: ignore[arg-type]
        ("E100", "save_model(graph"),
        lambda: sb.save_model(drifting(), "drift.json"),
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_access_is_refused_and_its_advice_works(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    is_refused(WRONG[name])


def test_objects_without_square_brackets_are_no_sequences_and_survive_pickle() -> None:
    ledger = run().ledger
    for looked in (lambda: list(ledger), lambda: "spring" in ledger):
        with pytest.raises(TypeError):
            looked()
    assert not hasattr(ledger, "no such name")
    assert [*pickle.loads(pickle.dumps(run())).ledger.elements] == [*ledger.elements]  # noqa: S301 its own


def test_a_protocol_leaves_the_construction_to_other_bases() -> None:
    class Base:
        def __init__(self) -> None:
            self.taken: list[Any] = []

    class Mine(Sink, Base):
        """Sink with the constructor of another base."""

    assert Mine().taken == []


def test_one_name_is_a_list_of_one_name() -> None:
    assert isinstance(run().to_dataframe("spring.q"), pd.DataFrame)
    assert run().to_dataframe("spring.q").columns.tolist() == ["spring.q"]
    assert rotations.series(2.0, []) == 0.0


def test_a_misspelt_parameter_of_a_command_is_compared_with_parameters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    sb.save_model(drifting(), "drift.json")
    assert main(["run", "drift.json", "--out", "out", "--t-end", "1", "--no-render", "--set", "push.valeu=3"])
    assert "E121" in (said := capsys.readouterr().err) and '"push.value"' in said


def test_a_bond_to_a_misspelt_element_with_another_fault_names_this_element(tmp_path: Path) -> None:
    file = tmp_path / "cart.yaml"
    file.write_text("graph: cart\nelements:\n  mass: {kind: I, mass: two}\n  v: J1\nbonds:\n  - v -> mas\n", encoding="utf-8")
    with pytest.raises(sb.ModelError, match=r"E635 a bond joins \"mas\"[^E]*try: mass"):
        sb.read_graph(file)
