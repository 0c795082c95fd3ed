"""Each number that an element, a block or a part takes has an expected unit, or a reason to have none."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import screwbond.models as parts
from screwbond.models.delta import DeltaParameters
from screwbond.models.hand import HandParameters
from screwbond.models.maze import MazeParameters

import bondgraph
from bondgraph import (
    GY,
    J1,
    TF,
    Block,
    C,
    Ce,
    Constraint,
    Diode,
    Friction,
    Graph,
    HeatTransfer,
    I,
    ModelError,
    Parameter,
    R,
    Re,
    Se,
    Sf,
    Switch,
    signals,
)
from bondgraph import elements as element_room
from screws.joints import prismatic, revolute, universal

WORDS = {
    "name",
    "domain",
    "domains",
    "symbols",
    "symbol",
    "frame",
    "frames",
    "signals",
    "parameters",
    "dimension",
    "dimensions",
    "unit",
    "input",
    "inputs",
    "states",
    "rates",
    "equations",
    "updates",
    "breaks",
    "units",
    "automaton",
    "active",
    "closed",
    "holds",
    "closing",
    "measured",
    "structural",
    "passive",
    "coordinates",
    "output",
    "energy",
    "inverse",
    "charge",
    "flux",
    "heat",
    "kinetic",
    "potential",
    "bias",
    "acceleration",
    "form",
    "scale",
    "matrix",
    "action",
    "ambiguous",
    "error",
    "measurement",
    "kind",
    "outside",
    "distribution",
    "relation",
    "update",
    "port",
}
FREE = {
    "nominal": "a hint of size, in the unit of the state",
    "initial": "of a storage its unit is checked too; else of a block whose input may be anything",
    "k": "from any signal to any other", "kp": "from any signal to any other", "ki": "as kp", "kd": "as kp",
    "num": "from any signal to any other", "den": "as num", "points": "values of any signal",
    **{f"state_space.{letter}": "matrices from any signals to any others" for letter in "ABCD"},
    **{f"measured.{name}": "data, with units in their headers" for name in ("source", "value", "over", "clean")},
    "threshold": "a value of any signal",
    "IC.position": "coordinates of a formula of one's own", "IC.velocity": "as IC.position",
    "IC.inertia": "a formula", "R.effort": "a formula", "R.flow": "a formula", "R.guess": "efforts and flows in SI",
    "Constraint.position": "a formula",
    "lower": "a value of any signal", "upper": "a value of any signal", "seed": "a whole number",
    "curve.values": "a formula of plain numbers", "characteristic_map.values": "as curve.values",
    "pwm.duty": "the path of a signal", "Friction.backward": "a formula",
    "rows": "as curve.values", "columns": "as curve.values",
}  # fmt: skip
"""Arguments whose numbers have no expected unit, with the reason."""

LINEAR = {"electrical": ("capacitance", "elastance", "inertia", "inductance", "resistance", "conductance"),
          "translation": ("compliance", "stiffness", "mass", "damping"), "hydraulic": ("inertance",)}  # fmt: skip


def of_linear(function: Callable[..., Any], word: str) -> Callable[[Any], Any]:
    domain = next(name for name, words in LINEAR.items() if word in words)
    return lambda p: (function("x", **{word: p}), domain)


def of_two_port(function: Callable[..., Any]) -> Callable[[Any], Any]:
    return lambda p: function("x", p, domains=("rotation", "translation"))


SLOTS: dict[str, Callable[[Any], Any]] = {
    **{f"C.{word}": of_linear(C, word) for word in ("capacitance", "compliance", "stiffness", "elastance")},
    **{f"I.{word}": of_linear(I, word) for word in ("inertia", "mass", "inductance", "inertance")},
    **{f"R.{word}": of_linear(R, word) for word in ("resistance", "damping", "conductance")},
    "Se.effort": lambda p: (Se("x", p), "translation"),
    "Sf.flow": lambda p: (Sf("x", p), "rotation"),
    "TF.ratio": of_two_port(TF),
    "GY.ratio": of_two_port(GY),
    **{
        f"Constraint.{key}": lambda p, key=key: (Constraint("x", **{key: p}), "translation")
        for key in ("alpha1", "alpha0", "alpha2", "restitution")
    },
    "Switch.alpha1": lambda p: Switch("x", automaton="a", closed="b", alpha1=p),
    "Diode.alpha1": lambda p: (Diode("x", alpha1=p), "electrical"),
    "Friction.limit": lambda p: (Friction("x", p), "translation"),
    **{
        f"Friction.{key}": lambda p, key=key: (Friction("x", 1.0, **{key: p}), "translation")
        for key in ("stick_limit", "viscous", "alpha1")
    },
    "Ce.constant": lambda p: Ce("x", p),
    "Ce.RT": lambda p: Ce("x", RT=p),
    "Re.rate": lambda p: Re("x", p),
    "Re.RT": lambda p: Re("x", RT=p),
    "HeatTransfer.conductance": lambda p: HeatTransfer("x", p),
    "Block.period": lambda p: Block("x", [], states={"y": 0.0}, updates={"y": "y"}, period=p),
    "Block.offset": lambda p: Block("x", [], states={"y": 0.0}, updates={"y": "y"}, offset=p),
    "limiter.lowest": lambda p: signals.limiter("x", "time", p, 1e9, unit="N"),
    "limiter.highest": lambda p: signals.limiter("x", "time", -1e9, p, unit="N"),
    "dead_zone.lowest": lambda p: signals.dead_zone("x", "time", p, 1e9, unit="N"),
    "dead_zone.highest": lambda p: signals.dead_zone("x", "time", -1e9, p, unit="N"),
    "table.values": lambda p: signals.table("x", "time", [0.0, 1.0], Parameter([1.0, 2.0], p.unit), unit="N"),
    "lowpass.time_constant": lambda p: signals.lowpass("x", "time", p),
    "derivative_filter.time_constant": lambda p: signals.derivative_filter("x", "time", p),
    "pid.filter_time": lambda p: signals.pid("x", "time", 1.0, kd=1.0, filter_time=p),
    **{
        f"sine.{key}": lambda p, key=key: signals.sine("x", unit="N", **{key: p})
        for key in ("amplitude", "omega", "phase", "offset")
    },
    **{
        f"chirp.{key}": lambda p, key=key: signals.chirp(
            "x", unit="N", **{"omega": 1.0, "omega_end": 2.0, "duration": 1.0, key: p}
        )
        for key in ("omega", "omega_end", "duration", "amplitude", "start", "phase", "offset")
    },
    **{
        f"hysteresis.{key}": lambda p, key=key: signals.hysteresis("x", "time", 0.0, 1.0, unit="N", **{key: p})
        for key in ("low", "high")
    },
    **{
        f"rate_limiter.{key}": lambda p, key=key: signals.rate_limiter(
            "x", "time", unit="N", **{"falling": -1.0, "rising": 1.0, key: p}
        )
        for key in ("falling", "rising")
    },
    **{
        f"pwm.{key}": lambda p, key=key: signals.pwm("x", "time", unit="N", **{"period": 1.0, key: p})
        for key in ("period", "low", "high")
    },
    "delay.time": lambda p: signals.delay("x", "time", p, unit="N"),
    "quantiser.step": lambda p: signals.quantiser("x", "time", p, unit="N"),
    **{
        f"noise.{key}": lambda p, key=key: signals.noise("x", seed=1, unit="N", **{"deviation": 1.0, "period": 1.0, key: p})
        for key in ("deviation", "period", "mean", "offset")
    },
    **{
        f"sampled_rate_limiter.{key}": lambda p, key=key: signals.sampled_rate_limiter(
            "x", "time", unit="N", **{"falling": -1.0, "rising": 1.0, "period": 1.0, key: p}
        )
        for key in ("falling", "rising", "period", "offset")
    },
    **{f"step.{key}": lambda p, key=key: signals.step("x", unit="N", **{key: p}) for key in ("start", "before", "after")},
    **{
        f"pulse.{key}": lambda p, key=key: signals.pulse("x", unit="N", **{key: p})
        for key in ("start", "width", "before", "after")
    },
    **{
        f"square.{key}": lambda p, key=key: signals.square("x", unit="N", **{key: p})
        for key in ("period", "start", "duty", "low", "high")
    },
    **{
        f"sawtooth.{key}": lambda p, key=key: signals.sawtooth("x", unit="N", **{key: p})
        for key in ("period", "start", "low", "high")
    },
    **{f"ramp.{key}": lambda p, key=key: signals.ramp("x", unit="N", **{key: p}) for key in ("slope", "start", "end", "offset")},
    **{
        f"smooth_step.{key}": lambda p, key=key: signals.smooth_step("x", unit="N", **{key: p})
        for key in ("start", "duration", "before", "after")
    },
    **{
        f"sampled.{key}": lambda p, key=key: signals.sampled("x", lambda y: y, **{"period": 1.0, key: p})
        for key in ("period", "offset")
    },
    **{f"hold.{key}": lambda p, key=key: signals.hold("x", "time", **{"period": 1.0, key: p}) for key in ("period", "offset")},
    **{
        f"sampled_derivative.{key}": lambda p, key=key: signals.sampled_derivative("x", "time", **{"period": 1.0, key: p})
        for key in ("period", "time_constant", "offset")
    },
    **{
        f"sampled_pid.{key}": lambda p, key=key: signals.sampled_pid("x", "time", 1.0, kd=1.0, **{"period": 0.5, key: p})
        for key in ("period", "time_constant", "filter_period", "offset")
    },
    "pid.limits": lambda p: signals.pid("x", "time", 1.0, ki=1.0, limits=(p, 1e9), tracking_time=1.0, unit="N"),
    "pid.tracking_time": lambda p: signals.pid("x", "time", 1.0, ki=1.0, limits=(-1.0, 1.0), tracking_time=p),
    **{
        f"transfer_function.{key}": lambda p, key=key: signals.transfer_function(
            "x", "time", [1.0], [1.0, 1.0], **{"period": 1.0, key: p}
        )
        for key in ("period", "offset")
    },
    **{
        f"state_space.{key}": lambda p, key=key: signals.state_space(
            "x", "time", [[0.5]], [[1.0]], [[1.0]], **{"period": 1.0, key: p}
        )
        for key in ("period", "offset")
    },
    "sampled_pid.limits": lambda p: signals.sampled_pid("x", "time", 1.0, period=1.0, limits=(p, 1e9), unit="N"),
}
"""Numeric arguments, each with a function that makes the element or block with a given value."""


def arguments_of(function: Callable[..., Any]) -> set[str]:
    free = WORDS | FREE.keys()
    named = {f"{function.__name__}.{name}": name for name in inspect.signature(function).parameters}
    return {full for full, name in named.items() if name not in free and full not in free}


FUNCTIONS = [
    *(getattr(element_room, name) for name in element_room.__all__ if inspect.isfunction(getattr(element_room, name))),
    *(getattr(signals, name) for name in signals.__all__),
]


def test_every_number_of_an_element_or_block_is_listed() -> None:
    assert {full for function in FUNCTIONS for full in arguments_of(function)} == SLOTS.keys()


@pytest.mark.parametrize("slot", SLOTS)
def test_every_number_has_an_expected_unit(slot: str) -> None:
    """A luminous intensity is refused, and the message gives the expected unit; a multiple of that unit is accepted."""

    def model(unit: str) -> bondgraph.Model:
        made = SLOTS[slot](Parameter(0.5, unit))
        element, domain = made if isinstance(made, tuple) else (made, None)
        graph = Graph("g")
        if domain is None and not element.ports:
            graph.add(element)
            return graph.freeze()
        domains = [domain] if domain else [port.domain for port in element.ports]
        for k, (port, of) in enumerate(zip(element.ports or (None,), domains, strict=True)):
            junction = J1(f"j{k}", domain=of)
            graph.connect(junction, element if len(element.ports) < 2 else element.port(port.name))
            graph.connect(junction, R(f"r{k}", 1.0))
        return graph.freeze()

    with pytest.raises(ModelError, match="E175") as error:
        model("cd")
    expected = next(line for line in str(error.value).splitlines() if "expected: " in line).rpartition("expected: ")[2]
    try:
        model(f"m{expected}" if expected.isalpha() and expected != "kg" else expected)
    except ModelError as other:  # a single element is not a whole model
        assert not {"E156", "E175"} & {problem.code for problem in other.problems}


PLAIN = {
    "name",
    "places",
    "surface",
    "shape",
    "visual",
    "body1",
    "body2",
    "constrained",
    "law",
    "transport",
    "pairs",
    "exclude",
    "bodies",
    "graph",
    "max_contacts",
    "drawn",
    "centre",
    "form",
    "joint",
    "closing",
    "ports",
    "joint_ports",
    "limits",
    "tree",
    "nominal",
    "mesh",
    "colour",
    "opacity",
    "scale",
    "quaternion",
    "links",
    "inertia",
    "home",
    "parent",
    "mimic",
    "link",
    "place",
    "base",
    "point",
    "face",
    "start",
}
"""Arguments of parts without a unit, such as a quaternion, a colour or a scale."""
WITHOUT_UNIT = {
    "joint_graph.frame_a": "a pose (4, 4)", "joint_graph.frame_b": "a pose (4, 4)",
    "planar_body.place": "lengths and an angle",
    **{f"Link.{name}": "by the kinds of its joint's freedoms" for name in ("damping", "armature", "stiffness", "rest")},
    "chain_graph.position": "by the kinds of the joints", "chain_graph.velocity": "by the kinds of the joints",
    "chain_graph.stop_stiffness": "by the kinds of the joints", "chain_graph.stop_dissipation": "by the kinds of the joints",
}  # fmt: skip
PARTS = [
    "BodyInertia",
    "Compliant",
    "Impact",
    "Link",
    "Maxwell",
    "Mimic",
    "Rigid",
    "ThreeState",
    "VirtualSpring",
    "Viscoelastic",
    "Visual",
    "ball_inertia",
    "central_gravity",
    "centre_of_stiffness",
    "chain_graph",
    "collisions",
    "contact",
    "cylinder_inertia",
    "ground",
    "joint_graph",
    "line_force",
    "planar_body",
    "planar_contact",
    "point_spring",
    "prescribed_body",
    "rigid_body",
    "spatial_damper",
    "spatial_spring",
    "attach_planar_contact",
]
OTHERS = {
    "Body",
    "Chain",
    "Tree",
    "ContactRun",
    "PlanarBody",
    "Scenario",
    "attach_between",
    "attach_central_gravity",
    "attach_contact",
    "attach_force",
    "attach_joint",
    "contact_trajectory",
    "mark_planar_body",
    "mark_planar_contact",
    "movie",
    "page",
    "plots",
    "poster",
    "read_scenario",
    "run_contact",
    "run_scenario",
    "save_run",
    "show",
    "still",
    "two_body_graph",
    "force",
    "torque",
    "wrench",
}


def units_of(part: Any) -> dict[str, str]:
    return getattr(part.__init__ if inspect.isclass(part) else part, "units", {})


def test_every_number_of_a_part_has_a_unit() -> None:
    assert {*PARTS, *OTHERS} == set(parts.__all__)
    for name in PARTS:
        part = getattr(parts, name)
        for argument in inspect.signature(part).parameters:
            if argument not in PLAIN and f"{name}.{argument}" not in WITHOUT_UNIT:
                assert argument in units_of(part), f"{name}.{argument}"


@pytest.mark.parametrize("name", [name for name in PARTS if units_of(getattr(parts, name))])
def test_parts_refuse_another_dimension(name: str) -> None:
    part = getattr(parts, name)
    signature = inspect.signature(part)
    for argument, unit in units_of(part).items():
        if unit:
            filled = {
                key: "x" if key == "name" else None
                for key, each in signature.parameters.items()
                if each.default is inspect.Parameter.empty
            }
            with pytest.raises(ModelError, match="E175") as error:
                part(**{**filled, argument: Parameter(1.0, "cd")})
            assert f"expected: {unit}" in str(error.value)


def test_parts_convert() -> None:
    one = parts.rigid_body(
        "b", mass=Parameter(500.0, "g"), inertia=Parameter([1.0, 2.0, 2.5], "g cm^2"), gravity=(0.0, 0.0, -9.81)
    )
    two = parts.rigid_body("b", mass=0.5, inertia=np.array([1.0, 2.0, 2.5]) / 1e7, gravity=(0.0, 0.0, -9.81))
    assert str(one.compile(progress=False).parameters) == str(two.compile(progress=False).parameters)
    law = parts.Compliant(normal_stiffness=Parameter(20.0, "N/mm"), friction=Parameter(30.0, "%"))
    assert (law.normal_stiffness, law.friction) == (20000.0, 0.3)
    assert parts.point_spring("s", Parameter(2.0, "lbf/in"), rest_length=Parameter(5.0, "mm"))


def test_limits_and_damping_of_links_follow_their_freedoms() -> None:
    turning = parts.Link(
        "a", revolute([0, 0, 1]), None, limits=Parameter([-170.0, 170.0], "deg"), damping=Parameter(2.0, "mN m s")
    )
    assert np.allclose(turning.limits, np.deg2rad([-170.0, 170.0]), rtol=1e-15) and turning.damping == 2e-3
    assert parts.Link("b", prismatic([0, 0, 1]), None, limits=Parameter([0.0, 300.0], "mm")).limits.tolist() == [0.0, 0.3]
    both = parts.Link("c", universal([1, 0, 0], [0, 1, 0]), None, limits=Parameter([[-90.0, 90.0], [0.0, 45.0]], "deg")).limits
    assert np.allclose(both, np.deg2rad([[-90.0, 90.0], [0.0, 45.0]]), rtol=1e-15)
    grams, lengths = Parameter(200.0, "g"), Parameter(5.0, "mm")
    spring = parts.Link("d", prismatic([0, 0, 1]), None, armature=grams, stiffness=Parameter(2.0, "N/mm"), rest=lengths)
    assert (spring.armature, spring.stiffness, spring.rest) == (0.2, 2000.0, 0.005)
    with pytest.raises(ModelError, match=r"E175.*limits"):
        parts.Link("b", prismatic([0, 0, 1]), None, limits=Parameter([0.0, 90.0], "deg"))


@pytest.mark.parametrize(
    ("record", "field", "given", "si"),
    [
        (DeltaParameters.fit, "L1", Parameter(240.0, "mm"), 0.24),
        (MazeParameters, "radii", Parameter([400.0, 325.0, 250.0, 175.0], "cm"), (4.0, 3.25, 2.5, 1.75)),
        (HandParameters, "grasp_pitch", Parameter(68.0, "deg"), float(np.deg2rad(68.0))),
    ],
)
def test_records_convert_their_fields(record: Any, field: str, given: Parameter, si: Any) -> None:
    values = record()
    changed = replace(values, **{field: given})
    assert getattr(changed, field) == pytest.approx(si, rel=1e-15)
    with pytest.raises(ModelError, match="E175"):
        replace(values, **{field: Parameter(1.0, "cd")})
