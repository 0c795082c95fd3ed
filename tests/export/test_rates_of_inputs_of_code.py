"""Generated code has no time derivatives of inputs: an FMU refuses an input whose derivative acts, and source code names it."""

from __future__ import annotations

import ctypes
import functools
import re
import shutil

import numpy as np
import pytest

from bondgraph import J0, J1, TF, Block, C, Diode, Graph, I, R, Se, Sf, compile_model, signals
from bondgraph.analysis import linearise
from bondgraph.errors import ModelError
from bondgraph.export import c_source, fmu, matlab_source, numpy_source
from tests.export.test_fmu import Opened
from tests.inner.tracing import dependents_of_rates

fmpy = pytest.importorskip("fmpy")
SETTINGS = {"t_end": 2.0, "page": False, "progress": False}


def driven(source, *blocks):
    """Return a mass that a velocity source drives rigidly, with a spring and a second mass behind it."""
    graph, v, node, w = Graph("driven"), J1("v", domain="translation"), J0("node"), J1("w")
    for block in blocks:
        graph.add(block)
    graph.connect(source, v).connect(v, I("mass", 2.0)).connect(v, node).connect(node, C("k", stiffness=5.0))
    return graph.connect(node, w).connect(w, I("m", 1.0)).connect(w, R("d", 0.5))


def geared():
    graph, v, w = Graph("geared"), J1("v", domain="rotation"), J1("w", domain="rotation")
    graph.connect(Se("push", 1.0), v).connect(v, I("fast", 1.0)).connect(v, gear := TF("gear", 2.0)).connect(gear, w)
    return graph.connect(w, I("slow", 3.0)).connect(w, R("d", 0.5))


def peak():
    graph, v, node = Graph("peak"), J1("line", domain="electrical"), J0("node")
    graph.connect(Se("u", 1.0), v).connect(v, Diode("diode")).connect(v, node)
    return graph.connect(node, C("c", capacitance=1.0)).connect(node, R("load", 1.0))


def wanted(rate=0.0):
    return Block("wanted", [("y", lambda a, t: a + rate * t, ["a", "t"])], inputs={"t": "time"}, parameters={"a": 0.0})


def limited():
    return Graph("limited").add(wanted()).add(signals.rate_limiter("s", "wanted.y", -1.0, 1.0))


def held(block, rate):
    return driven(Sf("u", lambda y: y, signals=["s.y"]), wanted(rate), block)


def prescribed(rate):
    return driven(Sf("u", lambda value, t: value + rate * t, signals=["time"], parameters={"value": 0.0}))


REFUSED = {
    "reaction": (functools.partial(prescribed, 0.0), "u.value", "u.effort"),
    "ratio": (geared, "gear.ratio", "fast.flow"),
    "diode": (peak, "u.value", "load.flow"),
    "rate limiter": (limited, "wanted.a", "s.y"),
}
CURED = {
    "another output": (prescribed, "u.value", "k.effort"),
    "integrator": (functools.partial(held, signals.integrator("s", "wanted.y")), "wanted.a", "u.effort"),
    "lowpass": (functools.partial(held, signals.lowpass("s", "wanted.y", 0.1)), "wanted.a", "u.effort"),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("version", [2, 3])
def test_an_fmu_refuses_the_rate_of_an_input(case, version, tmp_path):
    make, input, output = REFUSED[case]
    graph = make()
    with pytest.raises(ModelError, match=rf'E593 [^\n]* depends on the time derivative of the input "{input}"'):
        fmu(graph, tmp_path / "unit.fmu", version=version, inputs=[input], outputs=[output], platforms=(), **SETTINGS)
    fmu(graph, tmp_path / "unit.fmu", version=version, outputs=[output], platforms=(), **SETTINGS)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed: no library can be built")
@pytest.mark.parametrize("case", CURED)
def test_a_cured_fmu_follows_a_ramp(case, tmp_path):
    """The unit with the ramp 0.3 t as its input agrees with the model that contains this ramp."""
    make, input, output = CURED[case]
    run = compile_model(make(0.3)).simulate(2.0, samples=0.1, rtol=1e-10, progress=False)
    unit = fmu(make(0.0), tmp_path / "unit.fmu", inputs=[input], outputs=[output], **SETTINGS)
    found = integrated(Opened(unit), input, output, np.linspace(0.0, 2.0, 21))
    assert np.abs(found - run[output]).max() < 1e-7 * np.abs(run[output]).max()


def integrated(opened, input, output, times, slope_of_input=0.3, steps=20):
    """Return an output at `times` by the classical Runge-Kutta method, with a ramp as the input at every stage."""
    one, named = opened.instance("Model", span=2.0), opened.references
    count = opened.description.numberOfContinuousStates
    x, slope = np.zeros(count), np.zeros(count)
    place = {id(array): array.ctypes.data_as(ctypes.POINTER(ctypes.c_double)) for array in (x, slope)}

    def enter(t, state):
        one.setTime(t)
        x[:] = state
        one.setContinuousStates(place[id(x)], count)
        one.setFloat64([named[input]], [slope_of_input * t])

    def rates(t, state):
        enter(t, state)
        one.getContinuousStateDerivatives(place[id(slope)], count)
        return slope.copy()

    one.updateDiscreteStates()
    one.enterContinuousTimeMode()
    one.getContinuousStates(place[id(x)], count)
    state, values, h = x.copy(), list[float](), (times[1] - times[0]) / steps
    for time in times:
        enter(time, state)
        values += one.getFloat64([named[output]])
        for k in range(steps):
            t = time + k * h
            first = rates(t, state)
            second = rates(t + h / 2, state + h / 2 * first)
            third = rates(t + h / 2, state + h / 2 * second)
            state = state + h / 6 * (first + 2 * second + 2 * third + rates(t + h, state + h * third))
    one.freeInstance()
    return np.array(values)


def bent(rate):
    """Return a capacitor behind two nonlinear resistors in series, whose current is the unknown of a loop."""
    graph, line = Graph("bent"), J1("line", domain="electrical")
    supply = Se("u", lambda value, t: value + rate * t, signals=["time"], parameters={"value": 0.0})
    graph.connect(supply, line).connect(line, C("c", capacitance=1.0)).connect(line, R("one", effort=lambda f: f + f**3))
    return graph.connect(line, R("two", effort=lambda f: 2.0 * f + f**5))


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed: no library can be built")
def test_a_nonlinear_loop_follows_an_input(tmp_path):
    """The importer's solver cannot track the solution, as the rates of its guesses lack the rate of the input."""
    run = compile_model(bent(30.0)).simulate(2.0, samples=0.1, rtol=1e-10, progress=False)
    opened = Opened(fmu(bent(0.0), tmp_path / "unit.fmu", inputs=["u.value"], outputs=["c.flow"], **SETTINGS))
    found = integrated(opened, "u.value", "c.flow", np.linspace(0.0, 2.0, 21), slope_of_input=30.0)
    assert np.abs(found - run["c.flow"]).max() < 1e-7 * np.abs(run["c.flow"]).max()


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed: no library can be built")
@pytest.mark.parametrize("kind", ["Slave", "Model"])
def test_a_nonlinear_loop_is_solved_wherever_an_input_changes(kind, tmp_path):
    """Before and after a run begins, at a time that is not that of the export."""
    opened, start = Opened(fmu(bent(2.0), tmp_path / "unit.fmu", inputs=["u.value"], outputs=["c.flow"], **SETTINGS)), 0.5
    one, named = opened.instance(kind, begin=False), opened.references

    def check(u, t):
        one.setFloat64([named["u.value"]], [u])
        f, q = one.getFloat64([named["c.flow"], named["c.q"]])
        assert abs(3.0 * f + f**3 + f**5 + q - u - 2.0 * t) < 1e-9 * u

    one.enterInitializationMode(startTime=start, stopTime=start + 2.0)
    check(1000.0, start)
    one.setFloat64([named["c.q"]], [3.0])
    check(10.0, start)
    one.exitInitializationMode()
    check(5000.0, start)
    if kind == "Slave":
        one.doStep(start, 0.1)
        check(20.0, start + 0.1)
    else:
        one.updateDiscreteStates()
        one.enterContinuousTimeMode()
        one.setTime(start + 0.1)
        check(20.0, start + 0.1)
    one.freeInstance()


def test_an_fmu_omits_values_that_it_cannot_know(tmp_path):
    unit = fmu(prescribed(0.0), tmp_path / "unit.fmu", inputs=["u.value"], platforms=(), **SETTINGS)
    names = {each.name for each in fmpy.read_model_description(str(unit.path)).modelVariables}
    assert names & {"mass.effort", "u.effort", "mass.p", "k.effort"} == {"mass.p", "k.effort"}
    unit = fmu(prescribed(0.0), tmp_path / "unit.fmu", platforms=(), **SETTINGS)
    assert "mass.effort" in {each.name for each in fmpy.read_model_description(str(unit.path)).modelVariables}


def test_the_dependents_are_those_of_the_model_with_a_ramp():
    """At the start of a ramp, all values are the same, except those that depend on its slope."""
    models = [compile_model(prescribed(rate)) for rate in (0.0, 0.3)]
    still, moving = (each.simulate(0.1, samples=[0.0, 0.1], parameters={"u.value": 0.2}, progress=False) for each in models)
    _, values = dependents_of_rates(models[0].system, ["u.value"])
    names = models[0].program.layout.units.keys() - {"time"}
    apart = {name for name in names if np.ravel(still[name])[0] != np.ravel(moving[name])[0]}
    assert {models[0].system.resolve(name) for name in apart} == values.keys()


@pytest.mark.parametrize("write", [c_source, numpy_source, matlab_source])
def test_source_code_names_the_inputs_whose_rates_it_lacks(write):
    written = [write(make(), name="unit") for make in (functools.partial(prescribed, 0.0), limited)]
    texts = ["".join([*map(str, vars(each).values()), *getattr(each, "files", {}).values()]) for each in written]
    found = ["time derivative: u.value (" in re.sub(r"[\s*%]+", " ", text) for text in texts]
    assert found == [True, False]


def test_parameters_of_linear_systems_obey_the_same_rule():
    """The gear's ratio acts by its rate on a moving mass, not on one at rest."""
    compiled = compile_model(geared())
    linearise(compiled, ["gear.ratio"], ["fast.flow"])
    with pytest.raises(ModelError, match=r"E592 fast\.p' depends on the time derivative of the input \"gear\.ratio\""):
        linearise(compiled, ["gear.ratio"], ["fast.flow"], initial={"fast.p": 1.0})
    linearise(compiled, ["push.value", "d.resistance"], ["fast.flow"], initial={"fast.p": 1.0})
