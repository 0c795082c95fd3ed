"""Wrong inputs of tables, robots and control blocks, and names that other packages and programs use, are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.signal import lti
from screwbond.models.chains import chain_graph, inverse_kinematics, mass_matrix
from screwbond.models.robots import read_urdf

import screwbond as sb
from bondgraph import Graph, compile_model, signals
from screws import joints, pose
from tests.front_door.wrong import (
    Wrong,
    alone,
    arm,
    ball,
    cart,
    driven,
    is_refused,
    joined,
    model,
    robot_file,
    run,
    simulate,
    table,
)

WRONG = {
    "a name of another package": Wrong(
        lambda: vars(sb).get("read_urdf") or sb.read_urdf, ("E684", "from screwbond.models.robots import read_urdf"), robot_file
    ),
    "a method of another object": Wrong(
        lambda: cart().linearise(), ("E684", "Graph", "from bondgraph.analysis import linearise"), lambda: model().linearise()
    ),
    "a setting of another program": Wrong(
        lambda: simulate(1.0, t_eval=[0.0, 1.0]), ("E322", "t_eval", "samples="), lambda: simulate(1.0, samples=[0.0, 1.0])
    ),
    "a list of inputs to add": Wrong(
        lambda: signals.summation("sum", ["a.y", "b.y"]), ("E150", "`inputs`"), lambda: signals.summation("sum", {"a.y": 1})
    ),
    "no input": Wrong(lambda: signals.gain("g", None, 1.0), ("E150", '"g"', "an input"), lambda: signals.gain("g", "a.y", 1.0)),
    "a matrix for a number": Wrong(
        lambda: cart().add(signals.gain("g", "time", np.eye(3))).compile(backend="numpy"),
        ("E128", '"g"', "g.k (3, 3)"),
        lambda: alone(signals.gain("g", "time", 2.0)),
    ),
    "nan for a parameter": Wrong(
        lambda: simulate(1.0, parameters={"spring.stiffness": np.nan}),
        ("E124", "spring.stiffness", "not finite"),
        lambda: simulate(1.0, parameters={"spring.stiffness": 2.0}),
    ),
    "times for the end": Wrong(lambda: simulate([0.0, 0.5]), ("E301", "samples="), lambda: simulate(0.5, samples=[0.0, 0.5])),
    "a tolerance in text": Wrong(lambda: simulate(1.0, rtol="1e-6"), ("E302", "rtol=1e-6"), lambda: simulate(1.0, rtol=1e-6)),
    "a fit for a system": Wrong(
        lambda: signals.state_space("p", "e.y", lti([1.0], [1.0, 1.0])),
        ("E443", "to_ss()"),
        lambda: signals.state_space("p", "e.y", lti([1.0], [1.0, 1.0]).to_ss()),
    ),
    "a compiled model to compile": Wrong(
        lambda: compile_model(model()), ("E100", "compile_model(graph)"), lambda: compile_model(cart(), backend="numpy")
    ),
    "an ambiguous time of day": Wrong(
        lambda: table("t,h\n23:59:58,0\n00:00:01,1\n23:59:59,2\n", clean=True),
        ("E446", "line 4", "dates"),
        lambda: table("t,h\n2026-01-31 23:59:58,0\n2026-02-01 00:00:01,1\n2026-01-31 23:59:59,2\n", clean=True),
    ),
    "two units of a column": Wrong(
        lambda: table("t (s),h (mm)\ns,m\n0,0\n1,1\n"), ("E445", "h (mm)", '"m"'), lambda: table("t (s),h (mm)\n0,0\n1,1\n")
    ),
    "times in metres": Wrong(
        lambda: table("t (m),h (m)\n0,0\n1,1\n"),
        ("E445", "t (m)", 'input="car.q"'),
        lambda: table("t (m),h (m)\n0,0\n1,1\n", input="spring.q"),
    ),
    "a table of Excel": Wrong(
        lambda: [Path("road.xlsx").write_bytes(b"PK\3\4\0"), signals.measured("road", "road.xlsx")],
        ("E444", "road.xlsx", "read_excel"),
        lambda: table("t,h\n0,0\n1,1\n"),
    ),
    "rows in an array": Wrong(
        lambda: signals.measured("road", np.eye(2, 3).T),
        ("E444", '"road"', "(a[:, 0], a[:, 1])"),
        lambda: signals.measured("road", ([0.0, 1.0], [0.0, 1.0])),
    ),
    "a name that a series lacks": Wrong(
        lambda: signals.measured("road", pd.Series([0.0, 1.0], name="h"), "x"),
        ("E444", '"x"', 'value="h"'),
        lambda: signals.measured("road", pd.Series([0.0, 1.0], name="h"), "h"),
    ),
    "texts in a table": Wrong(
        lambda: signals.measured("road", {"t": pd.Series(["12:00", "12:01"]), "h": [0.0, 1.0]}),
        ("E444", '"t"', "to_datetime"),
        lambda: signals.measured("road", {"t": pd.to_datetime(pd.Series(["12:00", "12:01"]), format="%H:%M"), "h": [0.0, 1.0]}),
    ),
    "a robot for its tree": Wrong(
        lambda: inverse_kinematics("arm", "lower", (1.0, 1.0, 0.0)),
        ("E338", "robot.tree"),
        lambda: inverse_kinematics(arm(), "lower", (1.0, 1.0, 0.0)),
    ),
    "nan among coordinates": Wrong(
        lambda: mass_matrix(arm(), [0.0, np.nan]), ("E338", "arm", "finite"), lambda: mass_matrix(arm(), [0.0, 0.0])
    ),
    "a joint that starts beyond its limits": Wrong(
        lambda: chain_graph(arm(), position=(90.0, 0.0)),
        ("E339", "upper (-2 to 2 rad)", 'limits="ignore"'),
        lambda: chain_graph(arm(), position=(90.0, 0.0), limits="ignore"),
    ),
    "a run that starts beyond limits that end it": Wrong(
        lambda: chain_graph(arm(), limits="end").compile(backend="numpy").initial({"mechanism.q": (3.0, 0.0)}),
        ("E339", "upper"),
        lambda: chain_graph(arm(), limits="end").compile(backend="numpy").initial({"mechanism.q": (1.0, 0.0)}),
    ),
    "a body joined to itself": Wrong(
        lambda: joined(b := ball(), b), ("E591", '"hinge"', '"ball"'), lambda: joined(ball(), sb.ground("wall"))
    ),
    "a joint without its graph": Wrong(
        lambda: sb.attach_joint(Graph("arm"), joints.revolute((0, 0, 1)), ball(), sb.ground("wall")),
        ("E458", "joint_graph"),
        lambda: joined(ball(), sb.ground("wall")),
    ),
    "a joint before its name": Wrong(
        lambda: sb.joint_graph(joints.revolute((0, 0, 1)), "hinge"),
        ("E150", "name first"),
        lambda: sb.joint_graph("hinge", joints.revolute((0, 0, 1))),
    ),
    "a twist of three numbers": Wrong(
        lambda: sb.prescribed_body("table", twist=(0, 0, 1)),
        ("E424", '"table"', "6 finite", "(wx, wy, wz, vx, vy, vz)"),
        lambda: sb.prescribed_body("table", twist=lambda t: (0, 0, t, 0, 0, 0)),
    ),
    "a twist of time and place": Wrong(
        lambda: sb.prescribed_body("table", twist=lambda t, x: (0, 0, t, 0, 0, 0)),
        ("E424", '"table"', "(t, x)"),
        lambda: sb.prescribed_body("table", twist=lambda t: (0, 0, t, 0, 0, 0)),
    ),
    "text in a twist": Wrong(
        lambda: driven(lambda t: (0, 0, "1", 0, 0, 0)), ("E129", '"table.drive"'), lambda: driven(lambda t: (0, 0, t, 0, 0, 0))
    ),
    "a robot in text": Wrong(
        lambda: read_urdf("<robot/>"), ("E520", "write_text", "robot.urdf"), lambda: read_urdf(robot_file())
    ),
    "a plane for a space": Wrong(lambda: pose(np.eye(2), (0, 0)), ("E150", "`R`", "(3, 3)"), lambda: pose(np.eye(3), (0, 0, 0))),
    "frequencies in text": Wrong(
        lambda: model().linearise("gain.y", "spring.q").frequency_response("all"),
        ("E150", "`omega`"),
        lambda: model().linearise("gain.y", "spring.q").frequency_response([1.0, 2.0]),
    ),
    "labels for 1,000 nodes": Wrong(
        lambda: cart().diagram(labels=[f"node {k}" for k in range(1000)]),
        ("E589", "node 0", "mapping"),
        lambda: cart().diagram(labels={"v -> spring": ("F", "v")}),
    ),
    "a label of an element": Wrong(
        lambda: cart().diagram(labels={"spring": ("F", "v")}),
        ("E589", '"spring"', '"v -> spring"'),
        lambda: cart().diagram(labels={"v -> spring": ("F", "v")}),
    ),
    "one plot that is not there": Wrong(
        lambda: sb.page(run(), plots="spring.x"), ("E581", '"spring.x"'), lambda: sb.page(run(), plots="spring.q")
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_input_is_refused_and_its_advice_works(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    is_refused(WRONG[name])
