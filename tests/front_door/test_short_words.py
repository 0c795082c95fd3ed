"""The repr of every record reachable from models, runs and analyses is short, and the same in every process."""

from __future__ import annotations

import collections
import dataclasses
import re
import types
import warnings
from dataclasses import replace

import numpy as np
import pytest
from screwbond.models.delta import DeltaParameters, DeltaRobot, delta_graph
from screwbond.models.hand import Hand
from screwbond.models.impact import study_impact

from bondgraph import GY, IC, J1, C, Graph, I, Parameter, Se, compile_model
from bondgraph.analysis import differentiate, linearise, operating_point, passivity, sensitivities
from bondgraph.export import (
    c_source,
    explain,
    hamilton_equations,
    lagrange_equations,
    linear_equations,
    matlab_source,
    mechanical_equations,
    numpy_source,
    port_hamiltonian,
    state_equations,
    straight_lines,
    sympy_model,
)
from examples import arm_impact, ball_on_turntable, bouncing_ball, pushing, rolling_eggs, urdf_robot
from tests.sweeps.oscillators import oscillator

MOST = 500
PACKAGES = ("screws", "bondgraph", "screwbond")
LEAVES = (str, bytes, int, float, complex, np.ndarray, type, types.FunctionType, types.MethodType, types.ModuleType, type(None))


def small():
    compiled = compile_model(oscillator())
    linear = linearise(compiled, ["push.value"], ["spring.q"])
    yield from (linear, linear.transfer_function(), operating_point(compiled), differentiate(compiled, [], []))
    yield passivity(linearise(compiled, ["push.value"], ["mass.flow"]))
    yield sensitivities(compiled, ["spring.q"], ["spring.stiffness"])
    for form in (state_equations, port_hamiltonian, linear_equations, mechanical_equations, sympy_model, straight_lines):
        yield form(compiled)
    yield explain(compiled, "spring.q")
    arm = IC("arm", inertia=lambda q: 2.0, potential=lambda q: -20.0 * q, position=0.3)
    swinging = Graph("swinging").connect(Se("motor", 1.0), arm)
    yield from (lagrange_equations(swinging), hamilton_equations(swinging))


def eggs():
    graph, *others = rolling_eggs.build()
    compiled = compile_model(graph)
    run = compiled.simulate(0.05)
    sources = [source(compiled) for source in (c_source, numpy_source, matlab_source)]
    return [graph, *others, compiled, run, run.ledger, run.final, compiled.states, compiled.parameters, *sources]


def hand():
    compiled = compile_model(Hand().graph())
    return [Hand(), Hand().graph(), compiled, compiled.simulate(0.01), linearise(compiled)]


def delta():
    robot = DeltaRobot(DeltaParameters.fit())
    return [robot, delta_graph(robot.parameters), robot.linearise((0.0, 0.0, 0.0))]


ROOTS = {
    "small": small,
    "eggs": eggs,
    "hand": hand,
    "delta": delta,
    "arm": lambda: study_impact(replace(arm_impact.MEASURED, poses=3)),
    "ball": bouncing_ball.runs,
    "turntable": ball_on_turntable.simulate,
    "steps": pushing.runs,
    "urdf": lambda: [urdf_robot.read(), urdf_robot.run(0.05)],
}


def reachable(roots):
    seen, found, left = {}, [], list(roots)
    while left:
        thing = left.pop()
        if id(thing) in seen or isinstance(thing, LEAVES):
            continue
        seen[id(thing)] = thing
        if type(thing).__module__.partition(".")[0] in PACKAGES:
            found.append(thing)
            if dataclasses.is_dataclass(thing):
                left += [getattr(thing, field.name) for field in dataclasses.fields(thing)]
            else:
                left += vars(thing).values() if hasattr(thing, "__dict__") else ()
                left += thing.values() if isinstance(thing, dict) else ()
        elif isinstance(thing, collections.abc.Mapping):
            left += thing.values()
        elif isinstance(thing, (list, tuple, set, frozenset, types.GeneratorType)):
            left += thing
    return found


@pytest.mark.parametrize("name", ROOTS)
def test_repr_is_short_and_has_no_address(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = reachable([ROOTS[name]()])
    long = collections.Counter(type(thing).__qualname__ for thing in found if len(repr(thing)) >= MOST)
    placed = collections.Counter(type(thing).__qualname__ for thing in found if re.search(r"0x[0-9a-f]{6}", repr(thing)))
    assert len(found) > 20
    assert not long | placed


def test_a_printed_graph_shows_numbers_with_units_and_domains():
    graph, v = Graph("cart"), J1("v", domain="translation")
    graph.connect(v, C("spring", stiffness=100.0)).connect(v, I("mass", Parameter(2000.0, "g")))
    graph.connect(Se("push", lambda y: y, signals=["k.y"]), v)
    assert repr(C("spring", stiffness=100.0)) == 'C "spring": stiffness = 100'
    assert repr(graph["spring"]) == 'C "spring": stiffness = 100 N/m, translation'
    whole = Graph("whole").add(graph)
    assert repr(whole["cart.mass"]) == 'I "cart.mass": inertia = 2000 g, translation'
    assert str(graph).splitlines() == [
        'Graph("cart", 4 parts)',
        '1-junction "v": translation',
        'C "spring": stiffness = 100 N/m, translation',
        'I "mass": inertia = 2000 g, translation',
        'Se "push": reads k.y, translation',
    ]
    motor = GY("motor", 0.05)
    graph.connect(J1("coil", domain="electrical"), motor.port("1")).connect(motor.port("2"), v)
    nested = Graph("outer").add(graph)
    assert 'GY "cart.motor": ratio = 0.05 V s/m, electrical to translation' in str(nested)
    for k in range(60):
        graph.add(J1(f"more {k}"))
    assert str(graph).splitlines()[-1] == "... 26 more"
