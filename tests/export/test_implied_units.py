"""Gains, signals and laws without a declared unit have the only unit that the equations permit, or none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bondgraph import GY, J0, J1, Automaton, Block, C, Graph, I, Op, Parameter, R, Se, Transition, compile_model, signals
from bondgraph.export import document
from bondgraph.units import entry_units
from screws.scalars import absolute, atan2, exp, floor, less, log, maximum, minimum, searchsorted, sin, sqrt, take, where
from tests.export.documented import MODELS, compiled
from tests.export.test_units_of_models import dimension
from tests.inner.assembly import units_of

DECLARED = [name for name in MODELS if name.startswith(("two arms", "delta", "rolling eggs", "bouncing"))]


def drive(*blocks: Any, voltage: str) -> Graph:
    graph, winding, shaft = Graph("drive"), J1("winding", domain="electrical"), J1("shaft", domain="rotation")
    graph.connect(winding, I("coil", 1e-3)).connect(winding, R("copper", 0.5)).connect(winding, motor := GY("motor", 0.1))
    graph.connect(motor, shaft).connect(shaft, I("rotor", 0.1)).connect(shaft, C("angle", stiffness=2.0))
    graph.add(*blocks)
    return graph.connect(Se("amplifier", lambda u: u, signals=[voltage]), winding)


def implied(graph: Graph) -> dict[str, str]:
    system = compile_model(graph, backend="numpy").system
    return {name: unit for name, unit in units_of(system).items() if not system.values[name].unit}


def of_formula(formula: Any, *signals_read: str, parameters: dict[str, Any] | None = None, out: str = "y") -> dict[str, str]:
    names = [*signals_read, *(parameters or {})]
    arguments = {f"s{k}": name for k, name in enumerate(signals_read)}
    block = Block(
        "own", [(out, Op("own", formula), [*arguments, *names[len(arguments) :]])], inputs=arguments, parameters=parameters
    )
    push = Block("push", [("y", Op("zero", lambda t: 0.0 * t), ["t"])], inputs={"t": "time"})
    return implied(drive(block, push, voltage="push.y"))


def test_gains_and_signals_of_a_controller() -> None:
    error = Block("error", [("y", Op("error", lambda r, q: r - q), ["r", "q"])], inputs={"r": "goal.y", "q": "angle.q"})
    controller = signals.pid("pid", "error.y", 3.0, 1.0, 0.1, filter_time=0.01)
    found = implied(drive(signals.step("goal", 1.0), error, controller, voltage="pid.y"))
    assert {name: found[f"pid.{name}"] for name in ("kp", "ki", "kd", "y")} == {
        "kp": "V/rad",
        "ki": "V/(rad s)",
        "kd": "V s/rad",
        "y": "V",
    }
    assert (found["goal.y"], found["error.y"], found["pid.integral"]) == ("rad", "rad", "rad s")


@pytest.mark.parametrize(
    ("formula", "signals_read", "parameters", "unit", "of_parameters"),
    [
        (lambda w, a: w * a, ("shaft.flow",), {"a": 2.0}, "", {"a": ""}),
        (lambda w, u, a: w * a + u, ("shaft.flow", "winding.flow"), {"a": 2.0}, "A", {"a": "A s/rad"}),
        (lambda u, i: u / i, ("coil.effort", "winding.flow"), None, "Ohm", {}),
        (lambda u, i: u * i, ("coil.effort", "winding.flow"), None, "W", {}),
        (lambda u, t: u * t, ("coil.effort", "time"), None, "V s", {}),
        (lambda p, i: p / i, ("coil.p", "winding.flow"), None, "H", {}),
        (lambda t, k: sin(k * t), ("time",), {"k": 2.0}, "1", {"k": "rad/s"}),
        (lambda i, k: exp(-i * k), ("winding.flow",), {"k": 2.0}, "1", {"k": "1/A"}),
        (lambda i: sqrt(i * i), ("winding.flow",), None, "A", {}),
        (lambda i: absolute(i) ** 0.4, ("winding.flow",), None, "A^(2/5)", {}),
        (lambda i: i**3, ("winding.flow",), None, "A^3", {}),
        (lambda i, t: atan2(i, t), ("winding.flow", "winding.flow"), None, "rad", {}),
        (lambda i, a: maximum(i, a), ("winding.flow",), {"a": 1.0}, "A", {"a": "A"}),
        (lambda i, a, b: where(less(i, a), b, i), ("winding.flow",), {"a": 1.0, "b": 2.0}, "A", {"a": "A", "b": "A"}),
        (lambda i: absolute(i) ** 1.852, ("winding.flow",), None, "", {}),
        (lambda i, n: absolute(i) ** n, ("winding.flow",), {"n": 2.0}, "", {"n": "1"}),
        (lambda i, n: floor(i) + n, ("winding.flow",), {"n": 2.0}, "A", {"n": "A"}),
        (lambda i, k: floor(i / k), ("winding.flow",), {"k": 2.0}, "1", {"k": "A"}),
        (lambda e, f: e * f, ("rotor.effort", "shaft.flow"), None, "W", {}),
        (
            lambda e, f, u, i, k: e * f - k * u * i,
            ("rotor.effort", "shaft.flow", "coil.effort", "coil.flow"),
            {"k": 0.9},
            "W",
            {"k": "1"},
        ),
        (lambda i: 3.0 * i, ("winding.flow",), None, "", {}),
        (lambda i: 1.0 * i, ("winding.flow",), None, "", {}),
        (lambda i: -1.0 * i, ("winding.flow",), None, "A", {}),
        (lambda i: i + 3.0, ("winding.flow",), None, "A", {}),
        (lambda i: i + 273.15, ("winding.flow",), None, "", {}),
        (lambda i, k: log(i) + k, ("winding.flow",), {"k": 2.0}, "1", {"k": "1"}),
        (lambda i, row: searchsorted(row, i), ("winding.flow",), {"row": np.arange(60.0)}, "1", {"row": "A"}),
        (lambda i, row: take(row, i) + i, ("winding.flow",), {"row": np.arange(60.0)}, "A", {"row": "A"}),
    ],
)
def test_each_operation(formula: Any, signals_read: Any, parameters: Any, unit: str, of_parameters: Any) -> None:
    found = of_formula(formula, *signals_read, parameters=parameters)
    assert found["own.y"] == unit
    assert {name: found[f"own.{name}"] for name in of_parameters} == of_parameters


def test_a_contradiction_gives_no_unit() -> None:
    """A current plus an angle has no unit, and neither has anything derived from the sum."""
    block = Block(
        "own",
        [
            ("sum", Op("sum", lambda i, q: i + q), ["i", "q"]),
            ("size", Op("size", lambda s: absolute(s), ""), ["sum"]),
            ("sound", Op("sound", lambda i: absolute(i), ""), ["i"]),
        ],
        inputs={"i": "winding.flow", "q": "angle.q"},
    )
    push = Block("push", [("y", Op("zero", lambda t: 0.0 * t), ["t"])], inputs={"t": "time"})
    found = implied(drive(block, push, voltage="push.y"))
    assert (found["own.sum"], found["own.size"], found["own.sound"], found["push.y"]) == ("", "", "A", "V")


def test_a_guard_may_join_conditions_of_different_units() -> None:
    """A thyristor fires if its gate signal, a plain number, is above 1/2 and its voltage is positive."""
    gate = Block("gate", [("y", Op("gate", lambda t: 0.0 * t), ["t"])], inputs={"t": "time"})
    limit = Block("limit", [("y", Op("limit", lambda t: 0.0 * t), ["t"])], inputs={"t": "time"})
    push = Block("push", [("y", Op("zero", lambda t: 0.0 * t), ["t"])], inputs={"t": "time"})
    graph = drive(gate, limit, push, voltage="push.y")
    fires = Transition("off", "on", lambda u, g: minimum(u, g - 0.5), ("coil.effort", "gate.y"))
    stops = Transition("on", "off", lambda i, most: i - most, ("winding.flow", "limit.y"))
    found = implied(graph.add_automaton(Automaton("valve", ("off", "on"), "off", (fires, stops))))
    assert (found["gate.y"], found["limit.y"]) == ("", "A")


def test_a_temperature_in_degrees_says_nothing_about_kelvins() -> None:
    graph, body = Graph("oven"), J0("body", domain="heat")
    graph.connect(body, C("wall", capacitance=10.0, initial=3000.0)).connect(body, R("loss", resistance=2.0))
    celsius = [("y", Op("celsius", lambda T: T - 273.15), ["T"])]
    graph.add(Block("shown", celsius, inputs={"T": "body.effort"}), signals.gain("k", "shown.y", 2.0))
    graph.add(Block("declared", celsius, inputs={"T": "before.y"}, units={"y": "degC"}))
    graph.add(Block("before", [("y", Op("size", absolute), ["d"])], inputs={"d": "sensor.y"}))
    graph.add(Block("sensor", [("y", Op("zero", lambda t: 0.0 * t + 300.0), ["t"])], inputs={"t": "time"}))
    graph.add(signals.summation("error", {"declared.y": 1, "goal.y": -1}), signals.step("goal", 1.0))
    found = implied(graph)
    assert not any(found[name] for name in ("shown.y", "before.y", "error.y", "goal.y"))


def test_a_contradiction_removes_units_of_the_whole_chain() -> None:
    """If a voltage equals an angle through several blocks, none of the blocks has a unit."""
    chain = [
        signals.limiter(each, f"{source}.{key}", -1.0, 1.0)
        for each, source, key in zip("abc", ["angle", *"ab"], "qyy", strict=True)
    ]
    found = implied(drive(*chain, voltage="c.y"))
    assert not any(found[f"{each}.{key}"] for each in "abc" for key in ("y", "lowest"))


def test_the_order_of_parts_changes_no_unit() -> None:
    angle = Block("angle held", [("y", Op("size", absolute), ["q"])], inputs={"q": "angle.q"})
    ratio = Block(
        "ratio",
        [("y", Op("ratio", lambda i, limit: i / limit), ["i", "limit"])],
        inputs={"i": "coil.flow"},
        parameters={"limit": Parameter(2.0, "A")},
    )
    rest = [signals.summation("difference", {"angle held.y": 1, "ratio.y": -1}), signals.gain("k", "difference.y", 2.0)]
    system = compile_model(drive(angle, ratio, *rest, voltage="k.y"), backend="numpy").system
    found = units_of(system)
    assert (found["angle held.y"], found["ratio.y"]) == ("rad", "1")
    assert found == units_of(replace(system, statements=system.statements[::-1]))


def test_a_converted_parameter_says_nothing_about_signals() -> None:
    """Formulas read 30 mV as 0.03 V, so the signal of this parameter is not in mV."""
    goal = signals.step("goal", after=Parameter(30.0, "mV"))
    found = implied(drive(goal, voltage="goal.y"))
    assert (found["goal.y"], found["goal.before"]) == ("V", "V")


def test_units_of_different_size_contradict_each_other() -> None:
    in_millimetres = signals.gain("sensor", "angle.q", 1000.0, unit="mrad")
    error = signals.summation("error", {"sensor.y": 1, "angle.q": -1})
    assert implied(drive(in_millimetres, error, signals.gain("k", "error.y", 2.0), voltage="k.y"))["error.y"] == ""


def test_a_signal_named_flow_is_not_a_port() -> None:
    assert of_formula(absolute, "winding.flow", out="flow")["own.flow"] == "A"


def test_entries_of_matrices_have_the_units_of_rows_and_columns() -> None:
    equations = [
        ("turned", Op("turned", lambda H: H[:3, :3].sum()), ["H"]),
        ("moved", Op("moved", lambda H: H[:3, 3].sum()), ["H"]),
        ("coupling", Op("coupling", lambda K: K[0, 5] + K[3, 0]), ["K"]),
    ]
    units = {"H": "1, m", "K": "N m/rad, N; N/rad, N/m"}
    values = {name: Parameter(np.eye(size), unit) for (name, unit), size in zip(units.items(), (4, 6), strict=True)}
    push = Block("push", [("y", Op("zero", lambda t: 0.0 * t), ["t"])], inputs={"t": "time"})
    found = implied(drive(Block("own", equations, parameters=values), push, voltage="push.y"))
    assert (found["own.turned"], found["own.moved"], found["own.coupling"]) == ("1", "m", "N")


def test_the_generic_domain_has_no_units() -> None:
    """A generic effort that equals the time in value need not be a time."""
    graph, v = Graph("plain"), J1("v")
    graph.connect(v, I("mass", 2.0)).connect(v, C("spring", stiffness=1.0)).connect(Se("push", lambda t: t, signals=["time"]), v)
    found = implied(graph)
    assert not any(found[name] for name in ("push.effort", "v.flow", "mass.p", "mass.inertia", "spring.q"))


@pytest.mark.parametrize("name", DECLARED)
def test_implied_units_are_the_declared_ones(name: str) -> None:
    """Only the units of efforts and flows are declared here."""
    system = compiled(name).system
    bare = {
        path: value if path.endswith((".effort", ".flow")) else replace(value, unit="") for path, value in system.values.items()
    }
    found, agreeing = units_of(replace(system, values=bare)), 0
    for path, value in system.values.items():
        if bare[path].unit or not value.unit or not found[path]:
            continue
        declared, implied = (entry_units(unit, value.shape or ()) for unit in (value.unit, found[path]))
        pairs = [] if declared is None or implied is None else [*zip(declared.flat, implied.flat, strict=True)]
        assert all(dimension(one) == dimension(other) for one, other in pairs if one and other), (path, value.unit, found[path])
        agreeing += 1
    assert agreeing >= 10


def test_a_document_has_the_implied_units() -> None:
    controller = signals.pid("pid", "angle.q", -3.0, -1.0)
    page = document(compile_model(drive(controller, voltage="pid.y"), backend="numpy"), style="markdown")
    assert "not given" not in page and r"| `pid.kp` | V/rad | $-3$ |" in page
