"""Linearisation agrees with finite differences, names inputs and outputs, and refuses invalid arguments."""

from __future__ import annotations

import numpy as np
import pytest

from bondgraph import J1, Block, C, Graph, I, ModelError, R, Se, StateSpec, compile_model
from bondgraph.analysis import differentiate, linearise, point_of
from campaigns.graphs.drawn import random_graph
from examples import rolling_eggs
from screws.scalars import sin, sqrt
from tests.analysis.models import diode, motor, two_masses
from tests.inner.compile import whole_parameters


def differences(compiled, point, step: float = 1e-6) -> np.ndarray:
    p, columns = whole_parameters(compiled, point), []
    for k in range(len(point.x)):
        ahead, back = point.x.copy(), point.x.copy()
        ahead[k], back[k] = ahead[k] + step, back[k] - step
        rates = [compiled.program.rates(point.t, x, p, point.m) for x in (ahead, back)]
        columns.append((rates[0] - rates[1]) / (2.0 * step))
    return np.array(columns).T.reshape(len(point.x), len(point.x))


@pytest.mark.parametrize("seed", range(0, 150, 5))
def test_a_equals_finite_differences_on_random_graphs(seed: int) -> None:
    try:
        compiled = compile_model(random_graph(np.random.default_rng(seed)), backend="numpy")
    except ModelError:
        return
    if compiled.program.loops:
        return
    point = point_of(compiled)
    system = linearise(compiled)
    wanted = differences(compiled, point)
    np.testing.assert_allclose(system.A, wanted, atol=1e-6 * (1.0 + np.abs(wanted).max(initial=0.0)))
    np.testing.assert_allclose(
        system.rates, compiled.program.rates(0.0, point.x, whole_parameters(compiled, point), point.m), atol=1e-9
    )


def test_eggs_in_contact_and_the_norm_of_the_quaternion() -> None:
    compiled = compile_model(rolling_eggs.build()[0], backend="numpy")
    point = point_of(compiled)
    system = linearise(compiled)
    wanted = differences(compiled, point, 1e-8)
    pose = [k for k, name in enumerate(system.states) if name.startswith("egg 2.pose.H[")][:4]
    gauge = np.zeros(system.order)
    gauge[pose] = point.x[pose]
    # analyses restore the norm of a quaternion at 2/s, the equations at a rate given by the egg's rotation
    np.testing.assert_allclose(system.A + 2.0 * np.outer(gauge, gauge), wanted, atol=2e-6 * np.abs(wanted).max())
    p, away = whole_parameters(compiled, point), 0.3 * gauge
    # a longer quaternion is the same pose: only the rate of its norm changes
    one, other = (compiled.program.rates(0.0, point.x + d, p, point.m) for d in (0.0 * gauge, away))
    unaffected = np.setdiff1d(np.arange(system.order), pose)
    np.testing.assert_allclose(one[unaffected], other[unaffected], rtol=1e-8, atol=1e-8)
    turning = np.abs(point.x[[k for k, name in enumerate(system.states) if name.startswith("egg 2.inertia.p[")][:3]])
    assert turning.any() and gauge @ system.A @ gauge < -2.0
    assert (gauge @ wanted @ gauge) == pytest.approx(gauge @ system.A @ gauge + 2.0, rel=1e-6)


def test_inputs_and_outputs_by_name_and_component() -> None:
    graph = Graph("vector")
    velocity = J1("velocity", dimension=3)
    graph.connect(Se("force", np.array([1.0, 2.0, 3.0])), velocity)
    graph.connect(velocity, I("mass", inertia=np.diag([1.0, 2.0, 4.0]), initial=np.zeros(3)))
    graph.connect(velocity, R("rub", 0.5)).connect(velocity, C("spring", stiffness=8.0, initial=np.zeros(3)))
    compiled = compile_model(graph, backend="numpy")
    system = linearise(compiled, ["force.value[2]", "rub.resistance"], ["velocity.flow", "mass.p[1]", "spring.power"])
    assert system.inputs == ("force.value[2]", "rub.resistance")
    assert system.outputs == ("velocity.flow[0]", "velocity.flow[1]", "velocity.flow[2]", "mass.p[1]", "spring.power")
    assert set(system.states) == {f"{name}[{k}]" for name in ("mass.p", "spring.q") for k in range(3)}
    row = system.states.index("mass.p[2]")
    assert system.B[row, 0] == 1.0 and np.count_nonzero(system.B) == 1
    assert system.C[2, row] == pytest.approx(0.25)
    whole = linearise(compiled, "force.value", "spring.effort")
    assert whole.inputs == ("force.value[0]", "force.value[1]", "force.value[2]") and whole.D.shape == (3, 3)


def test_point_by_names_and_by_arrays() -> None:
    graph = Graph("pendulum")
    swing = J1("swing")
    graph.connect(swing, I("body", 1.0))
    spring = C(
        "weight", output=lambda q, k: k * sin(q), energy=lambda q, k: -k * (1.0 - sin(q) * sin(q)) ** 0.5, parameters={"k": 4.0}
    )
    graph.connect(swing, spring)
    compiled = compile_model(graph, backend="numpy")
    at_rest = linearise(compiled)
    np.testing.assert_allclose(at_rest.poles(), [-2j, 2j], atol=1e-12)
    above = linearise(compiled, initial={"weight.q": np.pi}, parameters={"weight.k": 9.0})
    np.testing.assert_allclose(above.poles(), [-3.0, 3.0], atol=1e-9)
    same = linearise(compiled, initial=above.point.x, parameters={"weight.k": 9.0})
    np.testing.assert_array_equal(same.A, above.A)
    once = differentiate(compiled, ["weight.k"], ["weight.effort"])
    assert once(point_of(compiled, initial={"weight.q": 1.0})).D[0, 0] == pytest.approx(np.sin(1.0))


def test_a_nonlinear_loop_adds_no_poles() -> None:
    """A capacitor behind a resistor and a diode of differential resistance r_d has the time constant C (R + r_d)."""
    compiled = compile_model(diode(), backend="numpy")
    system = linearise(compiled, ["supply.value"], ["series.flow"])
    assert system.states == ("capacitor.q",)
    current = system.values[0]
    assert current == pytest.approx(4.266602e-3, rel=1e-6)
    slope = 0.0258563 / (current + 1e-12)
    np.testing.assert_allclose(system.poles(), [-1.0 / (1e-6 * (100.0 + slope))], rtol=1e-9)
    assert system.D[0, 0] == pytest.approx(1.0 / (100.0 + slope), rel=1e-9)


@pytest.mark.parametrize(
    "code, inputs, outputs, changes",
    [
        ("E250", ["supply.valeu"], [], {}),
        ("E250", ["rotor.flow"], [], {}),
        ("E250", ["supply.value[0]"], [], {}),
        ("E250", ["supply.value", "supply.value"], [], {}),
        ("E150", [3], [], {}),
        ("E150", [], 3, {}),
        ("E251", [], ["rotor.flwo"], {}),
        ("E251", [], ["rotor.flow[1]"], {}),
        ("E252", [], [], {"initial": np.zeros(3)}),
        ("E252", [], [], {"initial": np.array([np.nan, 0.0])}),
        ("E122", [], [], {"initial": {"rotor.speed": 1.0}}),
        ("E121", [], [], {"parameters": {"coil.p": 1.0}}),
    ],
)
def test_invalid_arguments_are_refused(code: str, inputs, outputs, changes) -> None:
    with pytest.raises(ModelError) as caught:
        linearise(compile_model(motor(), backend="numpy"), inputs, outputs, **changes)
    assert [problem.code for problem in caught.value.problems] == [code], str(caught.value)


def test_no_derivative_on_the_edge_of_a_formula() -> None:
    graph = Graph("tank")
    graph.add(Block("b", [("rate", lambda h: 1.0 - sqrt(h), ["h"])], states={"h": StateSpec(1.0)}, rates={"h": "rate"}))
    compiled = compile_model(graph, backend="numpy")
    np.testing.assert_allclose(linearise(compiled).poles(), [-0.5])
    with pytest.raises(ModelError, match="E260"):
        linearise(compiled, initial={"b.h": 0.0})


def test_a_loop_without_a_solution() -> None:
    compiled = compile_model(diode(), backend="numpy")
    with pytest.raises(ModelError, match="E262"):
        linearise(compiled, parameters={"supply.value": float("1e308")})


def test_a_misspelt_name_comes_with_similar_ones() -> None:
    with pytest.raises(ModelError, match=r"force\.value"):
        linearise(compile_model(two_masses(), backend="numpy"), ["forc.value"])
