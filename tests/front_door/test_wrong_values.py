"""Wrong values as users type them: shapes, text, swapped bodies, words of other programs; the corrected input works."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy
from scipy.stats import norm
from screwbond.models.chains import BodyInertia, ball_inertia, body_jacobian, chain_graph, cylinder_inertia, mass_matrix
from screwbond.models.control import limited_drive
from screwbond.models.motion import quintic, sequence
from screwbond.models.robots import read_urdf

import screwbond as sb
from bondgraph import J1, Block, C, Graph, I, R, Se, Transition, signals, sweep
from bondgraph.analysis import differentiate, operating_point
from bondgraph.estimation import Experiment, estimate, run_sensitivities, uncertainty
from bondgraph.export import explain
from screws import plane, sphere
from tests.front_door.wrong import Wrong, arm, ball, cart, is_refused, model, robot_file, run, simulate

TIMES, VALUES = [0.1, 0.2], [0.0, 0.001]


def fitted(data: Any) -> Any:
    return estimate(model(), {"spring.stiffness": (50.0, 200.0)}, data)


def damped(effort: Any) -> Any:
    graph = cart()
    graph.replace("damper", R("damper", effort=effort))
    return graph.compile(backend="numpy")


def touching(swapped: bool) -> Any:
    egg, floor = sb.rigid_body("egg", mass=1.0, inertia=(1, 1, 1), surface=sphere(0.1)), sb.ground("floor", surface=plane())
    touch = sb.contact("touch", floor, egg, normal_stiffness=1e4, constrained="v_z")
    return sb.attach_contact(Graph("g"), touch, *((egg, floor) if swapped else (floor, egg)))


def resetting(state: str) -> Any:
    hit = Transition("a", "a", lambda q: q - 1.0, "spring.q", resets=[(state, lambda p: -p, "mass.p")])
    return cart().add_automaton(sb.Automaton("flight", ("a",), "a", hit)).freeze()


def body(**keywords: Any) -> Any:
    return sb.rigid_body("b", mass=1.0, inertia=(1, 1, 1), **keywords)


def in_a_plane(push: Any) -> Any:
    graph, v = Graph("g"), J1("v")
    return graph.connect(Se("push", push), v).connect(v, R("r", [1.0, 2.0])).compile(backend="numpy")


def rest(**arguments: Any) -> Any:
    graph, v = Graph("rest"), J1("v")
    graph.connect(Se("push", 1.0), v).connect(v, C("spring", stiffness=2.0)).connect(v, R("damper", 1.0))
    return operating_point(graph.compile(backend="numpy"), **arguments)


def ran(swapped: bool) -> Any:
    prepared = model().prepare_run(0.1, progress=False)
    x, p, m = prepared.start_values()
    return prepared.run(x, p, m) if swapped else prepared.run(p, x, m)


def on_a_line(point: Any) -> Any:
    disc = sb.planar_body("disc", mass=1.0, inertia=1.0)
    return sb.attach_planar_contact(Graph("g").add(disc), "touch", (disc, point), (None, (0.0, 1.0), 0.0))


def driven_by(force: Any) -> Any:
    graph, v = Graph("g"), J1("v")
    graph.connect(Se("push", force, signals=["time"]), v).connect(v, R("damper", 1.0)).connect(v, I("mass", 1.0))
    return graph.compile(backend="numpy")


def spread(values: Any) -> Any:
    return sweep(model(), {"spring.stiffness": values}, 0.1, keep={"q": "spring.q"}, runs=2, progress=False)


def varied() -> Any:
    return run_sensitivities(model(), ["mass.mass"], 0.1)


def many(name: str) -> Any:
    graph, v = Graph("many"), J1("v")
    for k in range(30):
        graph.connect(v, R(name.format(k), -1.0))
    return graph.connect(v, C("c", capacitance=1.0)).freeze()


WRONG = {
    # names
    "another word for the quaternion": Wrong(
        lambda: body(orientation=(1, 0, 0, 0)), ("E317", "'orientation'", "quaternion="), lambda: body(quaternion=(1, 0, 0, 0))
    ),
    "another word for the centre of mass": Wrong(
        lambda: body(com=(0, 0, 1)), ("E317", "'com'", "centre_of_mass="), lambda: body(centre_of_mass=(0, 0, 1))
    ),
    "a rotation matrix for a quaternion": Wrong(
        lambda: body(quaternion=np.eye(3)),
        ("E424", '"b"', "screws.quaternion(R)"),
        lambda: body(quaternion=sb.quaternion(np.eye(3))),
    ),
    "the own port of a graph": Wrong(
        lambda: (g := cart()).connect(g.port("v"), R("r", 1.0)),
        ("E114", 'own port "v"', 'graph["v"]'),
        lambda: (g := cart()).connect(g["v"], R("r", 1.0)),
    ),
    "an export of nothing": Wrong(
        lambda: cart().export("x", "spring.x").freeze(),
        ("E106", 'the export "x" reads', "spring.q", "created at"),
        lambda: cart().export("x", "spring.q").freeze(),
    ),
    "a reset of nothing": Wrong(lambda: resetting("mass.q"), ("E106", '"flight (reset)"', "mass.p"), lambda: resetting("mass.p")),
    "a name to keep without constraints": Wrong(
        lambda: model().consistent(keep={"spring.x": 1.0}),
        ("E122", '"spring.x"', "no constraint is active", "spring.q"),
        lambda: model().consistent(keep={"spring.q": 1.0})["spring.q"] / 1.0,
    ),
    "a new value of a part without constraints": Wrong(
        lambda: model().consistent(keep={"spring": 1.0}),
        ("E122", '"spring" is not a state', "spring.q"),
        lambda: model().consistent(keep={"spring.q": 1.0})["spring.q"] / 1.0,
    ),
    "ports that are a number": Wrong(
        lambda: chain_graph(arm(), ports=3), ("E150", "`ports`", "a list of names"), lambda: chain_graph(arm(), ports=["lower"])
    ),
    "free parameters by value": Wrong(
        lambda: rest(free={"push.value": 1.0}), ("E150", "`free`"), lambda: rest(free=["push.value"], targets={"spring.q": 0.0})
    ),
    "a value by mode of no automaton": Wrong(
        lambda: cart(R("brake", sb.by_mode("relay", {"on": 1.0}))).freeze(),
        ("E106", 'follows the automaton "relay"', "add_automaton"),
        lambda: (
            cart(R("brake", sb.by_mode("relay", {"on": 1.0}))).add_automaton(sb.Automaton("relay", ("on",), "on", [])).freeze()
        ),
    ),
    "text for True": Wrong(
        lambda: R("r", 1.0, heat="no"), ("E150", "`heat` cannot be 'no'", "heat=False"), lambda: R("r", 1.0, heat=False)
    ),
    "a sequence of numbers": Wrong(
        lambda: sequence(1, 2), ("E150", "cannot be 1", "a Motion"), lambda: sequence(quintic(0.0, 1.0, 0.0, 1.0))
    ),
    "a robot for its tree": Wrong(
        lambda: chain_graph(read_urdf(robot_file())), ("E450", "robot.tree"), lambda: chain_graph(read_urdf(robot_file()).tree)
    ),
    "the names of bodies in a contact": Wrong(
        lambda: sb.contact("touch", "floor", "ball", normal_stiffness=1e4),
        ("E458", "'floor'", "rigid_body"),
        lambda: touching(swapped=False),
    ),
    "a point in space of a body in a plane": Wrong(
        lambda: on_a_line((0.0, 0.0, 0.0)), ("E503", '"touch"', "two finite numbers"), lambda: on_a_line((0.0, 0.0))
    ),
    "a linear system in a graph": Wrong(
        lambda: cart().add(model().linearise("gain.y", "spring.q")),
        ("E100", "signals.state_space("),
        lambda: cart().add(signals.state_space("plant", "gain.y", model().linearise("gain.y", "spring.q"))),
    ),
    # signals
    "an unknown kind of a table": Wrong(
        lambda: signals.table("t", "time", [0, 1], [1, 2], kind="cubic"),
        ("E110", 'table "t"', 'kind="linear"'),
        lambda: signals.table("t", "time", [0, 1], [1, 2], kind="linear"),
    ),
    "a list of one input": Wrong(
        lambda: signals.gain("k", ["time"], 2.0), ("E150", 'an input of "k"', '"time"'), lambda: signals.gain("k", "time", 2.0)
    ),
    "inputs of a block without names": Wrong(
        lambda: Block("b", [], inputs=["time"]),
        ("E150", "`inputs`", 'inputs={"u": "spring.q"}'),
        lambda: Block("b", [], inputs={"u": "spring.q"}),
    ),
    "a hold without period": Wrong(
        lambda: signals.hold("h", "time", None), ("E142", '"h"', "given: None"), lambda: signals.hold("h", "time", 0.1)
    ),
    "a negative deviation": Wrong(
        lambda: signals.noise("n", -1.0, period=0.1, seed=1),
        ("E151", '"n"', "given: -1.0"),
        lambda: signals.noise("n", 1.0, period=0.1, seed=1),
    ),
    "a history without a time": Wrong(
        lambda: signals.delay("d", "time", 0.1, initial=lambda: 1.0),
        ("E150", '`initial` of "d"', "lambda t: 0.0"),
        lambda: signals.delay("d", "time", 0.1, initial=lambda t: 0.0),
    ),
    "columns of a table as matrices": Wrong(
        lambda: signals.measured("m", (np.array([[0], [1]]), np.array([[1], [2]]))),
        ("E444", '"m"', "not a list of numbers", "np.ravel"),
        lambda: signals.measured("m", (np.ravel([[0], [1]]), np.ravel([[1], [2]]))),
    ),
    "a word among measured numbers": Wrong(
        lambda: signals.measured("m", ([0, 1], [1, "lost"])),
        ("E444", '"values"', "['lost']", "nan"),
        lambda: signals.measured("m", ([0, 1, 2], [1, np.nan, 2]), clean=True),
    ),
    "a function of SymPy in a formula": Wrong(
        lambda: damped(lambda f: sympy.sin(f)), ("E129", '"damper"', "SymPy", "screws.scalars"), lambda: damped(lambda f: 2.0 * f)
    ),
    "a formula that divides by the time": Wrong(
        lambda: driven_by(lambda t: 1.0 / t), ("E125", "time = 0", "maximum(t, 1e-3)"), lambda: driven_by(lambda t: 1.0 + t)
    ),
    "a formula that uses up a list": Wrong(
        lambda: driven_by(lambda t, values=[1.0]: values.pop()),
        ("E129", '"push"', "pop from empty"),
        lambda: driven_by(lambda t: t),
    ),
    "a formula that returns a dictionary": Wrong(
        lambda: driven_by(lambda t: {"u": t}), ("E129", '"push"', "not a number"), lambda: driven_by(lambda t: t)
    ),
    "a parameter changed in place": Wrong(
        lambda: cart()["damper"].parameters.update(damping=3.0),
        ("E684", "graph.replace"),
        lambda: cart().replace("damper", R("damper", damping=3.0)).freeze(),
    ),
    "a source of another dimension": Wrong(
        lambda: in_a_plane(1.0), ("E128", '"push"', "2 components: r", "shape (2,)"), lambda: in_a_plane([1.0, 1.0])
    ),
    # bodies and chains
    "the bodies of a contact in another order": Wrong(
        lambda: touching(swapped=True), ("E566", '"touch"', '"floor"', "same order"), lambda: touching(swapped=False)
    ),
    "a contact that is a force": Wrong(
        lambda: sb.attach_contact(Graph("g"), sb.force("f", (1, 0, 0)), ball("a"), ball("b")),
        ("E566", "not a contact"),
        lambda: touching(swapped=False),
    ),
    "a spring between names": Wrong(
        lambda: sb.attach_between(Graph("g"), sb.point_spring("s", 50.0), "a", "b"),
        ("E458", '"s"', "'a'", "rigid_body"),
        lambda: sb.attach_between(Graph("g"), sb.point_spring("s", 50.0), ball("a"), ball("b")).freeze(),
    ),
    "a negative radius": Wrong(
        lambda: cylinder_inertia(1.0, -0.1, (0, 0, 0), (1, 0, 0)), ("E150", "`radius`", "-0.1"), lambda: ball_inertia(1.0, 0.1)
    ),
    "a mass of a link as text": Wrong(
        lambda: BodyInertia("1", np.ones(3)), ("G111", "'1'"), lambda: BodyInertia(1.0, np.ones(3))
    ),
    "an angle as text": Wrong(lambda: mass_matrix(arm(), [0, "1"]), ("E338", '"arm"'), lambda: mass_matrix(arm(), [0, 1])),
    "a missing angle": Wrong(lambda: mass_matrix(arm(), [0, None]), ("E338", '"arm"'), lambda: mass_matrix(arm(), [0, 1])),
    "angles in rows of different lengths": Wrong(
        lambda: mass_matrix(arm(), [[0, 1], [2]]), ("E338", '"arm"'), lambda: mass_matrix(arm(), [[0, 1], [2, 3]])
    ),
    "positions by name": Wrong(
        lambda: chain_graph(arm(), position={"upper": 1.0}),
        ("E454", "not a list of numbers", "upper, lower"),
        lambda: chain_graph(arm(), position=[1.0, 0.0]),
    ),
    "an unknown link of a body Jacobian": Wrong(
        lambda: body_jacobian(arm(), "hand", [0, 0]), ("E454", "'hand'"), lambda: body_jacobian(arm(), "lower", [0, 0])
    ),
    "a command that is a number": Wrong(
        lambda: limited_drive("d", 3, "arm.v", effort=1.0),
        ("E150", "`command`", '"control.y"'),
        lambda: limited_drive("d", "control.y", "arm.v", effort=1.0),
    ),
    # runs and analysis
    "a setting that is neither True nor False": Wrong(
        lambda: simulate(1.0, strict="no"), ("E306", "'no'", "strict=True"), lambda: simulate(1.0, strict=True)
    ),
    "an unknown choice of linear algebra": Wrong(
        lambda: simulate(1.0, linear="gmres"), ("E304", 'linear="auto"'), lambda: simulate(1.0, linear="auto")
    ),
    "a sink of one argument": Wrong(
        lambda: simulate(1.0, keep="spring.q", sink=lambda t: None),
        ("E348", "times and values", "lambda t, values"),
        lambda: simulate(1.0, keep="spring.q", sink=lambda t, values: None),
    ),
    "a panel that is a number": Wrong(
        lambda: run().plot(3), ("E150", "cannot show 3"), lambda: run().plot("spring.q", ("mass.flow", "damper.flow"))
    ),
    "axes that are a number": Wrong(
        lambda: run().plot("spring.q", axes=3), ("E560", "plotted on 3"), lambda: run().plot("spring.q")
    ),
    "a state that is too short": Wrong(
        lambda: model().ode().rates(0.0, [1.0]), ("E305", "[1.0]", "spring.q"), lambda: model().ode().rates(0.0, [1.0, 0.0])
    ),
    "a target as text": Wrong(
        lambda: rest(free=["push.value"], targets={"spring.q": "1"}),
        ("E261", '"spring.q"', "'1'"),
        lambda: rest(free=["push.value"], targets={"spring.q": 1.0}),
    ),
    "derivatives at a number": Wrong(
        lambda: differentiate(model(), ["gain.y"], ["spring.q"])(3),
        ("E150", "`point`", "a Point"),
        lambda: differentiate(model(), ["gain.y"], ["spring.q"]),
    ),
    "a prepared run of numbers": Wrong(
        lambda: model().prepare_run(0.1).run(1, 2, 3), ("E305", "must be 2, not 1"), lambda: ran(swapped=False)
    ),
    "a state for the parameters": Wrong(
        lambda: ran(swapped=True), ("E305", "start values must be 2", "start_values()"), lambda: ran(swapped=False)
    ),
    "a time without its result": Wrong(
        lambda: explain(model(), "spring.q", at=0.5),
        ("E150", "(a Result, a number)"),
        lambda: explain(model(), "spring.q", at=(run(), 0.5)),
    ),
    "frequencies in a matrix": Wrong(
        lambda: model().linearise("gain.y", "spring.q").frequency_response([[1.0, 2.0]]),
        ("E150", "`omega`", "one list"),
        lambda: model().linearise("gain.y", "spring.q").frequency_response([0.1, 1.0, 10.0]),
    ),
    "negative frequencies of a plot": Wrong(
        lambda: model().linearise("gain.y", "spring.q").bode(omega=[-1.0, 1.0]),
        ("E150", "`omega`", "positive"),
        lambda: model().linearise("gain.y", "spring.q").frequency_response([-1.0, 1.0]),
    ),
    "a complex frequency as text": Wrong(
        lambda: model().linearise("gain.y", "spring.q").at("x"),
        ("E150", "`s`", "1j"),
        lambda: model().linearise("gain.y", "spring.q").at([1j, 10j]),
    ),
    "a family of distributions": Wrong(
        lambda: spread(norm), ("E361", '"spring.stiffness"', "scipy.stats.norm(50.0, 2.0)"), lambda: spread(norm(50.0, 2.0))
    ),
    # estimation
    "data without values": Wrong(
        lambda: fitted({"spring.q": TIMES}), ("E376", '"spring.q" have shape ()'), lambda: fitted({"spring.q": (TIMES, VALUES)})
    ),
    "data that begin too early": Wrong(
        lambda: fitted({"spring.q": ([-0.1, 0.1], VALUES)}),
        ("E376", "-0.1 s", "t_start=-0.1"),
        lambda: fitted(Experiment({"spring.q": ([-0.1, 0.1], VALUES)}, t_start=-0.1)),
    ),
    "an experiment that is a number": Wrong(
        lambda: fitted([3]), ("E376", "3 is not an experiment"), lambda: fitted([Experiment({"spring.q": (TIMES, VALUES)})])
    ),
    "the uncertainty of a plain run": Wrong(
        lambda: uncertainty(run(), {"mass.mass": 1.0}),
        ("E150", "`run`", "RunSensitivities"),
        lambda: uncertainty(varied(), {"mass.mass": 0.1}),
    ),
    "a deviation as text": Wrong(
        lambda: uncertainty(varied(), {"mass.mass": "1"}),
        ("E379", "'1'", "0.1"),
        lambda: uncertainty(varied(), {"mass.mass": 0.1}),
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_value_is_refused_and_its_advice_works(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    is_refused(WRONG[name])


def test_names_of_a_result_that_do_not_exist() -> None:
    for wrong in (lambda: run().at_event(0, "spring.q"), lambda: run().events[0], lambda: run().events[-1]):
        with pytest.raises(IndexError, match=r"E318 there is no event .* among 0 events"):
            wrong()
    with pytest.raises(KeyError, match=r"E318 .*mass\.p"):
        run().final["mass.v"]


def test_equal_problems_are_told_once_and_many_are_counted() -> None:
    with pytest.raises(sb.ModelError) as same:
        many("r")
    assert len(same.value.problems) == 30 and str(same.value).count("E101") == 1
    with pytest.raises(sb.ModelError) as other:
        many("r{}")
    assert str(other.value).count("E119") == 20 and "... 10 more, in `error.problems`" in str(other.value)


def test_a_small_limit_of_steps_is_the_cure_of_its_own_failure() -> None:
    with pytest.warns(sb.RunEndedWarning):
        ended = simulate(1.0, max_steps=5)
    (cure,) = (each for each in ended.failure.cures if each.startswith("max_steps="))  # type: ignore[union-attr]
    assert "discontinuous" not in str(ended.failure) and simulate(1.0, max_steps=float(cure.partition("=")[2])).ok
