"""Wrong inputs of users are refused with a code and the user's name, and the corrected input works."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from screwbond.models.chains import ball_inertia, chain_graph, inverse_kinematics, jacobian

import screwbond as sb
from bondgraph import J1, C, Graph, I, Parameter, R, Result, Se, signals, sweep
from screws import GeometryError, joints, sphere
from tests.front_door.valid_calls import bare_errors, of_elements, of_graphs, of_parts
from tests.front_door.wrong import (
    Wrong,
    alone,
    arm,
    ball,
    cart,
    connected,
    frozen,
    is_refused,
    model,
    pickled,
    pushed,
    run,
    saved,
    simulate,
    switched,
    table,
    twice,
    written,
)

WRONG = {
    # names
    "a misspelt keyword of an element": Wrong(
        lambda: C("spring", stifness=1.0), ("E317", "stifness", "stiffness="), lambda: C("spring", stiffness=1.0)
    ),
    "a keyword of another block": Wrong(
        lambda: signals.sampled_pid("c", "e.y", 1.0, period=0.1, tracking_time=1.0),
        ("E317", "sampled_pid()", "leave out tracking_time="),
        lambda: signals.sampled_pid("c", "e.y", 1.0, period=0.1),
    ),
    "a keyword of another tool": Wrong(
        lambda: sb.rigid_body("b", mass=1.0, inertia=(1.0, 1.0, 1.0), orientation=(1, 0, 0, 0)),
        ("E317", "orientation", "it takes name, mass", "quaternion"),
        lambda: sb.rigid_body("b", mass=1.0, inertia=(1.0, 1.0, 1.0), quaternion=(1, 0, 0, 0)),
    ),
    "a torque with a point": Wrong(
        lambda: sb.torque("spin", (0, 0, 1), at=(0, 0, 1)),
        ("E317", "torque()", "leave out at="),
        lambda: sb.torque("spin", (0, 0, 1)),
    ),
    "a missing argument": Wrong(
        lambda: signals.gain("g", "e.y"), ("E317", "gain()", "`k`"), lambda: signals.gain("g", "e.y", 1.0)
    ),
    "an argument without its keyword": Wrong(
        lambda: sb.force("push", (1, 0, 0), (0, 0, 1)),
        ("E317", "force()", "at=..."),
        lambda: sb.force("push", (1, 0, 0), at=(0, 0, 1)),
    ),
    "an argument twice": Wrong(lambda: I("m", 1.0, inertia=1.0), ("E317", "I()", "`inertia`"), lambda: I("m", 1.0)),
    "two words of one coefficient": Wrong(lambda: I("m", 1.0, mass=1.0), ("E110", '"m"'), lambda: I("m", mass=1.0)),
    "a misspelt domain": Wrong(
        lambda: J1("v", domain="translational"), ("E127", '"v"', "translation"), lambda: J1("v", domain="translation")
    ),
    "a misspelt signal": Wrong(
        lambda: alone(signals.gain("g", "sprng.q", 1.0)),
        ("E106", "sprng.q", "spring.q"),
        lambda: alone(signals.gain("g", "spring.q", 1.0)),
    ),
    "a misspelt quantity": Wrong(lambda: run()["mass.flw"], ("E318", "mass.flow"), lambda: run()["mass.flow"]),
    "a component that is not there": Wrong(lambda: run()["mass.flow[0]"], ("E318", "mass.flow"), lambda: run()["mass.flow"]),
    "a misspelt part": Wrong(lambda: cart()["sprng"], ("E318", "spring"), lambda: cart()["spring"]),
    "a plot of an unknown name": Wrong(
        lambda: run().plot("mass.velocity"), ("E318", "mass.flow"), lambda: run().plot("mass.flow")
    ),
    "a page of an unknown name": Wrong(
        lambda: sb.page(run(), plots=["mass.v"]), ("E581", "mass.v"), lambda: sb.page(run(), plots=["mass.flow"])
    ),
    "an unknown parameter": Wrong(
        lambda: simulate(1.0, parameters={"spring.k": 1.0}),
        ("E121", "spring.k", "spring.stiffness"),
        lambda: simulate(1.0, parameters={"spring.stiffness": 1.0}),
    ),
    "an unknown start": Wrong(
        lambda: simulate(1.0, initial={"spring.x": 1.0}),
        ("E122", "spring.x", "spring.q"),
        lambda: simulate(1.0, initial={"spring.q": 1.0}),
    ),
    "a sweep over an unknown parameter": Wrong(
        lambda: sweep(model(), {"spring.k": [1.0]}, 0.1, keep={"q": "spring.q"}, progress=False),
        ("E361", "spring.k", "spring.stiffness"),
        lambda: sweep(model(), {"spring.stiffness": [1.0]}, 0.1, keep={"q": "spring.q"}, progress=False),
    ),
    "an unknown input of a linear system": Wrong(
        lambda: model().linearise("gian.y"), ("E250", "gain.y"), lambda: model().linearise("gain.y")
    ),
    "an unknown output of a linear system": Wrong(
        lambda: model().linearise("gain.y", "spring.x"), ("E251", "spring.q"), lambda: model().linearise("gain.y", "spring.q")
    ),
    "a transfer function without inputs": Wrong(
        lambda: model().linearise(outputs="spring.q").transfer_function(),
        ("E255", "inputs="),
        lambda: model().linearise(inputs="gain.y", outputs="spring.q").transfer_function(),
    ),
    "an unknown method": Wrong(lambda: simulate(1.0, method="ode45"), ("E304", "ode45"), lambda: simulate(1.0, method="dop853")),
    "an unknown setting": Wrong(lambda: simulate(1.0, tol=1e-6), ("E322", "tol", "rtol"), lambda: simulate(1.0, rtol=1e-6)),
    "an unknown link": Wrong(lambda: jacobian(arm(), "hand", [0, 0]), ("E454", "hand"), lambda: jacobian(arm(), "lower", [0, 0])),
    # values
    "text for a number": Wrong(
        lambda: frozen(I("m", mass="2 kg")), ("E113", '"m"'), lambda: frozen(I("m", mass=Parameter(2.0, "kg")))
    ),
    "nan": Wrong(lambda: frozen(I("m", mass=np.nan)), ("E113", '"m"'), lambda: frozen(I("m", mass=2.0))),
    "infinity": Wrong(lambda: frozen(R("r", damping=np.inf)), ("E113", '"r"'), lambda: frozen(R("r", damping=1e9))),
    "True": Wrong(lambda: frozen(I("m", mass=True)), ("E113", '"m"'), lambda: frozen(I("m", mass=1.0))),
    "None": Wrong(lambda: I("m", mass=None), ("E110", '"m"', "inertia="), lambda: I("m", inertia=1.0)),
    "a negative mass": Wrong(lambda: frozen(I("m", mass=-2.0)), ("E119", '"m"', "positive"), lambda: frozen(I("m", mass=2.0))),
    "a negative mass of a body": Wrong(
        lambda: sb.rigid_body("ball", mass=-1.0, inertia=(1, 1, 1)),
        ("G111", '"ball"'),
        lambda: sb.rigid_body("ball", mass=1.0, inertia=(1, 1, 1)),
    ),
    "an inertia of the wrong shape": Wrong(
        lambda: sb.rigid_body("ball", mass=1.0, inertia=(1, 1)),
        ("G114", '"ball"'),
        lambda: sb.rigid_body("ball", mass=1.0, inertia=(1, 1, 1)),
    ),
    "angles for a quaternion": Wrong(
        lambda: sb.rigid_body("ball", mass=1.0, inertia=(1, 1, 1), quaternion=(90, 0, 0)),
        ("E424", '"ball"', "cos(a / 2)"),
        lambda: sb.rigid_body("ball", mass=1.0, inertia=(1, 1, 1), quaternion=(np.cos(0.5), *(np.sin(0.5) * np.eye(3)[2]))),
    ),
    "a unit of another dimension": Wrong(
        lambda: frozen(C("c", stiffness=Parameter(1.0, "Nm"))),
        ("E175", '"c"', "N/m"),
        lambda: frozen(C("c", stiffness=Parameter(1.0, "N/m"))),
    ),
    "a word of another domain": Wrong(
        lambda: I("coil", mass=1.0, domain="electrical"),
        ("E563", '"coil"', "inductance="),
        lambda: I("coil", inductance=1.0, domain="electrical"),
    ),
    "stiffness or compliance": Wrong(lambda: C("c", 50.0), ("E562", "stiffness=50.0"), lambda: C("c", stiffness=50.0)),
    "the name last": Wrong(lambda: I(1.0, "m"), ("E150", "I 1.0", "name first"), lambda: I("m", 1.0)),
    "a name that is a path": Wrong(lambda: frozen(I("m.1", 1.0)), ("E102", "m.1"), lambda: frozen(I("m1", 1.0))),
    "a force of two components": Wrong(lambda: sb.force("push", (1, 0)), ("E337", '"push"'), lambda: sb.force("push", (1, 0, 0))),
    "unknown axes": Wrong(
        lambda: sb.force("push", (1, 0, 0), axes="local"),
        ("E337", '"push"', 'axes="body"'),
        lambda: sb.force("push", (1, 0, 0), axes="body"),
    ),
    "a radius that is negative": Wrong(lambda: sphere(-1.0), ("G1", "-1"), lambda: sphere(1.0)),
    # graphs
    "an element twice": Wrong(
        lambda: frozen(C("spring", stiffness=1.0)), ("E101", '"spring"'), lambda: frozen(C("spring 2", stiffness=1.0))
    ),
    "an element and itself": Wrong(
        lambda: connected(v := J1("v"), v).freeze(),
        ("E126", '"v"'),
        lambda: connected(J1("v"), I("m", 1.0)).connect(Se("f", 1.0), J1("w")),
    ),
    "one end": Wrong(lambda: connected(J1("v")), ("E100", "v"), lambda: connected(J1("v"), I("m", 1.0))),
    "a list of parts": Wrong(
        lambda: connected([J1("v"), I("m", 1.0)]), ("E100", "connect"), lambda: connected(J1("v"), I("m", 1.0))
    ),
    "the name of a part": Wrong(
        lambda: cart().connect("v", I("m", 1.0)),
        ("E100", "'v'", 'graph["v"]'),
        lambda: (g := cart()).connect(g["v"], I("m", 1.0)),
    ),
    "a signal for a bond": Wrong(
        lambda: cart(signals.gain("g", "spring.q", 1.0)).freeze(),
        ("E112", '"g"', "Se("),
        lambda: cart(Se("s", lambda y: y, signals=["g.y"])).add(signals.gain("g", "spring.q", 1.0)).freeze(),
    ),
    "an element for a signal": Wrong(
        lambda: signals.gain("g", C("c", stiffness=1.0), 1.0), ("E150", '"c"', "c.flow"), lambda: signals.gain("g", "c.flow", 1.0)
    ),
    "a third bond at a resistor": Wrong(
        lambda: (g := cart()).connect(J1("w"), g["damper"]).freeze(),
        ("E112", '"damper"', "junction"),
        lambda: (g := cart()).connect(g["v"], R("other", 1.0)).freeze(),
    ),
    "an open port": Wrong(lambda: cart().add(R("r", 1.0)).freeze(), ("E104", '"r"'), lambda: cart(R("r", 1.0)).freeze()),
    "a bond of two domains": Wrong(
        lambda: frozen(R("r", 1.0, domain="electrical")), ("E105", '"r"'), lambda: frozen(R("r", 1.0, domain="translation"))
    ),
    "a part to remove that is not there": Wrong(
        lambda: cart().remove("sprng"), ("E138", "sprng", "spring"), lambda: cart().remove("spring")
    ),
    "a force attached twice": Wrong(
        twice, ("E488", '"push"'), lambda: pushed(sb.force("push", (1, 0, 0)), sb.force("push 2", (1, 0, 0)))
    ),
    "a force on a name": Wrong(
        lambda: sb.attach_force(Graph("flight"), sb.force("push", (1, 0, 0)), "ball"),
        ("E336", '"push"', "rigid_body"),
        lambda: pushed(sb.force("push", (1, 0, 0))),
    ),
    "a name in the place of the graph": Wrong(
        lambda: sb.attach_force("flight", sb.force("push", (1, 0, 0)), ball()),
        ("E150", "`graph` cannot be 'flight'", "a Graph"),
        lambda: pushed(sb.force("push", (1, 0, 0))),
    ),
    "a part attached to a name": Wrong(
        lambda: sb.attach_joint(Graph("arm"), sb.joint_graph("hinge", joints.revolute((0, 0, 1))), ball(), "floor"),
        ("E458", "'floor'", "ground(...)"),
        lambda: sb.attach_joint(
            Graph("arm"), sb.joint_graph("hinge", joints.revolute((0, 0, 1))), ball(), sb.ground("floor")
        ).freeze(),
    ),
    "a signal that is no text": Wrong(
        lambda: cart().export("out", 3.0), ("E150", "path", "3.0"), lambda: cart().export("out", "spring.q").freeze()
    ),
    "an input that a part lacks": Wrong(
        lambda: cart().wire("spring.q", Graph("inner"), "u").freeze(),
        ("E107", '"inner"', 'declare_input("u")'),
        lambda: cart().wire("spring.q", Graph("inner").declare_input("u"), "u").freeze(),
    ),
    "an unknown state of an automaton": Wrong(lambda: switched("opn"), ("E", "door", "open"), lambda: switched("open")),
    # runs
    "a run of no time": Wrong(lambda: simulate(0.0), ("E301", "t_end"), lambda: simulate(0.1)),
    "a run backwards": Wrong(lambda: simulate(-1.0), ("E301", "t_end"), lambda: simulate(1.0)),
    "text for the end": Wrong(lambda: simulate("10"), ("E301", "t_end"), lambda: simulate(0.1)),
    "no samples": Wrong(lambda: simulate(1.0, samples=0), ("E303", "[1.0]"), lambda: simulate(1.0, samples=[1.0])),
    "samples of -1": Wrong(lambda: simulate(1.0, samples=-1), ("E303", "from 2"), lambda: simulate(1.0, samples=2)),
    "a sample step beyond the run": Wrong(
        lambda: simulate(1.0, samples=2.5), ("E303", "samples=2,"), lambda: simulate(1.0, samples=2)
    ),
    "text for the samples": Wrong(lambda: simulate(1.0, samples="100"), ("E303", "100"), lambda: simulate(1.0, samples=100)),
    "a tolerance of zero": Wrong(lambda: simulate(1.0, rtol=0.0), ("E302", "rtol"), lambda: simulate(1.0, rtol=1e-8)),
    "a list of parameters": Wrong(
        lambda: simulate(1.0, parameters=["spring.stiffness", 1.0]),
        ("E321", "parameters"),
        lambda: simulate(1.0, parameters={"spring.stiffness": 1.0}),
    ),
    "a start of the wrong shape": Wrong(
        lambda: simulate(1.0, initial={"spring.q": [1.0, 2.0]}),
        ("E124", "spring.q"),
        lambda: simulate(1.0, initial={"spring.q": 1.0}),
    ),
    "no model": Wrong(lambda: sb.simulate("cart", 1.0), ("E100", "simulate"), lambda: sb.simulate(model(), 0.1)),
    "a page of nothing": Wrong(lambda: sb.page(None), ("E580", "simulate"), lambda: sb.page(run())),
    "a page of the graph": Wrong(lambda: sb.page(cart()), ("E580", "simulate"), lambda: sb.page(run())),
    "a diagram of a pickled result": Wrong(lambda: pickled().diagram(0.5), ("E100", "cart", "pickl"), lambda: run().diagram(0.5)),
    # signals
    "a transfer function that is not proper": Wrong(
        lambda: signals.transfer_function("h", "spring.q", [1.0, 0.0], [1.0]),
        ("E144", '"h"'),
        lambda: signals.transfer_function("h", "spring.q", [1.0, 0.0], [0.01, 1.0]),
    ),
    "limits the wrong way round": Wrong(
        lambda: signals.limiter("l", "e.y", 1.0, -1.0), ("E148", '"l"', "swap"), lambda: signals.limiter("l", "e.y", -1.0, 1.0)
    ),
    "one limit": Wrong(
        lambda: signals.pid("c", "e.y", 1.0, limits=5.0),
        ("E148", '"c"', "lowest, highest"),
        lambda: signals.pid("c", "e.y", 1.0, limits=(-5.0, 5.0)),
    ),
    "a file with gaps": Wrong(
        lambda: table("t,h\n0,0\n1,\n2,1\n"), ("E446", '"road"', "clean=True"), lambda: table("t,h\n0,0\n1,\n2,1\n", clean=True)
    ),
    "repeated times": Wrong(
        lambda: table("t,h\n0,0\n0,1\n2,1\n"), ("E446", '"road"', "clean=True"), lambda: table("t,h\n0,0\n0,1\n2,1\n", clean=True)
    ),
    "descending times": Wrong(
        lambda: table("t,h\n0,0\n2,1\n1,1\n"), ("E446", "line 4", "clean=True"), lambda: table("t,h\n0,0\n2,1\n1,1\n", clean=True)
    ),
    "nan in a file": Wrong(
        lambda: table("t,h\n0,0\n1,nan\n2,1\n"),
        ("E446", "line 3", "clean=True"),
        lambda: table("t,h\n0,0\n1,nan\n2,1\n", clean=True),
    ),
    "a unit of another dimension in a header": Wrong(
        lambda: table("t (s),h (kg)\n0,0\n1,1\n", unit="m"), ("E445", "kg"), lambda: table("t (s),h (mm)\n0,0\n1,1\n", unit="m")
    ),
    "dates as on a letter": Wrong(
        lambda: table("t,h\n31.01.2026,0\n01.02.2026,1\n"),
        ("E444", "line 2", "2026-01-31 12:00:00"),
        lambda: table("t,h\n2026-01-31,0\n2026-02-01,1\n"),
    ),
    "a path that is a folder": Wrong(lambda: signals.measured("road", "."), ("E444", '"road"'), lambda: table("t,h\n0,0\n1,1\n")),
    "a file that is not ours": Wrong(lambda: sb.load_model(written("{}")), ("E352", "cart.json", "save_model"), saved),
    "a model of a folder": Wrong(lambda: sb.load_model("."), ("E357", "path of a file"), saved),
    "a time constant of zero": Wrong(
        lambda: signals.lowpass("l", "e.y", 0.0), ("E142", '"l"', "above zero"), lambda: signals.lowpass("l", "e.y", 0.1)
    ),
    "a period of zero": Wrong(
        lambda: signals.hold("h", "e.y", 0.0), ("E142", '"h"', "above zero"), lambda: signals.hold("h", "e.y", 0.1)
    ),
    "a delay backwards": Wrong(
        lambda: signals.delay("d", "e.y", -0.1), ("E142", '"d"', "above zero"), lambda: signals.delay("d", "e.y", 0.1)
    ),
    "a dimension of zero": Wrong(
        lambda: signals.integrator("i", "e.y", dimension=0),
        ("E150", "dimension"),
        lambda: signals.integrator("i", "e.y", dimension=3),
    ),
    "a table of two lengths": Wrong(
        lambda: signals.table("t", "e.y", [0, 1], [0, 1, 2]),
        ("E147", '"t"'),
        lambda: signals.table("t", "e.y", [0, 1, 2], [0, 1, 2]),
    ),
    "a state space that does not fit": Wrong(
        lambda: signals.state_space("p", "e.y", np.eye(2), [1.0], [1.0, 0.0]),
        ("E443", '"p"', "B"),
        lambda: signals.state_space("p", "e.y", np.eye(2), [1.0, 0.0], [1.0, 0.0]),
    ),
    # robots
    "a pose out of reach": Wrong(
        lambda: inverse_kinematics(arm(), "lower", (5.0, 0.0, 0.0)),
        ("E340", "nearest=True"),
        lambda: inverse_kinematics(arm(), "lower", (5.0, 0.0, 0.0), nearest=True),
    ),
    "a start beyond the limits": Wrong(
        lambda: inverse_kinematics(arm(), "lower", (1.0, 1.0, 0.0), start=(3.0, 0.0)),
        ("E339", "upper"),
        lambda: inverse_kinematics(arm(), "lower", (1.0, 1.0, 0.0), start=(1.0, 0.0)),
    ),
    "a start in degrees": Wrong(
        lambda: inverse_kinematics(arm(), "lower", (1.0, 1.0, 0.0), start=(90.0, 0.0)),
        ("E339", "upper", "rad"),
        lambda: inverse_kinematics(arm(), "lower", (1.0, 1.0, 0.0), start=np.clip((90.0, 0.0), *arm().limits.T)),
    ),
    "coordinates of the wrong number": Wrong(
        lambda: jacobian(arm(), "lower", [0.0]), ("E338", "arm", "2 finite"), lambda: jacobian(arm(), "lower", [0.0, 0.0])
    ),
    "an axis of no length": Wrong(lambda: joints.revolute((0, 0, 0)), ("G132", "revolute"), lambda: joints.revolute((0, 0, 1))),
    "a port of no link": Wrong(
        lambda: chain_graph(arm(), ports=["hand"]), ("E454", "hand", "lower"), lambda: chain_graph(arm(), ports=["lower"])
    ),
    "a point of two numbers": Wrong(
        lambda: ball_inertia(1.0, 0.1, (0, 1)), ("E150", "centre", "three"), lambda: ball_inertia(1.0, 0.1, (0, 0, 1))
    ),
    # analyses and pictures
    "a state of the wrong length": Wrong(
        lambda: model().linearise("gain.y", initial=[1.0]),
        ("E252", "2 finite"),
        lambda: model().linearise("gain.y", initial=[1.0, 0.0]),
    ),
    "a value that is no component": Wrong(
        lambda: model().linearise("gain.y[0]"), ("E250", "gain.y[0]"), lambda: model().linearise("gain.y")
    ),
    "an unknown backend": Wrong(
        lambda: cart().compile(backend="gpu"), ("E123", "gpu", "numpy"), lambda: cart().compile(backend="numpy")
    ),
    "a peak of no quantity": Wrong(lambda: run().peak("mass.flw"), ("E318", "mass.flow"), lambda: run().peak("mass.flow")),
    "an unknown ending": Wrong(
        lambda: cart().diagram().write("cart.docx"), ("E415", "docx", ".svg"), lambda: cart().diagram().write("cart.svg")
    ),
    "a position of no element": Wrong(
        lambda: cart().diagram(positions={"sprng": (0, 0)}),
        ("E131", "sprng"),
        lambda: cart().diagram(positions={"spring": (0, 0)}),
    ),
    "labels of no kind": Wrong(lambda: cart().diagram(labels="all"), ("E589", "'all'"), lambda: cart().diagram(labels="numbers")),
    "a diagram after the end": Wrong(lambda: run().diagram(2.0), ("E582", "2"), lambda: run().diagram(1.0)),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_input_is_refused_and_its_advice_works(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    is_refused(WRONG[name])


@pytest.mark.parametrize("calls", [of_elements, of_parts, of_graphs])
def test_no_wrong_argument_ends_in_an_error_without_a_code(calls: Callable[[], Any]) -> None:
    errors = [error for function, arguments in calls().values() for error in bare_errors(function, arguments, ("1", None, []))]
    assert not errors


def test_a_call_that_fails_in_a_formula_of_the_user_keeps_its_error() -> None:
    def rule(result: Result) -> float:
        raise TypeError("rule of the user")

    with pytest.raises(GeometryError, match=r"G107 .* fails: TypeError: rule of the user"):
        sb.closed_surface(lambda u: rule(run()))
