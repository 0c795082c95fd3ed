"""FMPy reproduces the runs of a model from its functional mock-up unit, bit for bit in co-simulation."""

from __future__ import annotations

import concurrent.futures
import itertools
import re
import shutil
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bondgraph import J1, Automaton, Block, C, Graph, I, ModelError, R, Se, Transition, compile_model, signals
from bondgraph.errors import SourceOnlyWarning
from bondgraph.export import fmu
from tests.checks.small_graphs import loop
from tests.export.live_models import resistive
from tests.export.test_run_in_c import cradle, juggler
from tests.inner.export import PLATFORMS, base_unit, build, content_of, fmi_source
from tests.inner.run import dop853, method_of

fmpy = pytest.importorskip("fmpy")
fmi2, fmi3, validation = (pytest.importorskip(f"fmpy.{name}") for name in ("fmi2", "fmi3", "validation"))
pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed: no library can be built")

SPAN, SETTINGS = 3.0, {"rtol": 1e-6, "progress": False}


def oscillator() -> Graph:
    graph, velocity = Graph("Öl & <Gas>"), J1("velocity", domain="translation")
    graph.connect(Se("push", 1.0), velocity).connect(velocity, I("mass", inertia=2.0))
    return graph.connect(velocity, C('"spring" Δ', stiffness=50.0)).connect(velocity, R("m" * 200, resistance=5.0))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("units")


@pytest.fixture(scope="module")
def models():
    return compile_model(juggler()), compile_model(oscillator())


@pytest.fixture(scope="module")
def toy(models, folder):
    return fmu(models[0], folder / "toy.fmu", t_end=SPAN, **SETTINGS)


@pytest.fixture(scope="module")
def swing(models, folder):
    inputs, outputs = ["push.value"], ["mass.flow", "mass.p"]
    return fmu(models[1], folder / "swing.fmu", t_end=5.0, version=2, inputs=inputs, outputs=outputs, name="swing", **SETTINGS)


class Opened:
    """FMU that is unpacked once; `said` lists its messages."""

    def __init__(self, unit):
        self.description = fmpy.read_model_description(str(unit.path), validate=False)
        self.folder, self.unit, self.said = fmpy.extract(str(unit.path)), unit, []
        self.references = {each.name: each.valueReference for each in self.description.modelVariables}

    def instance(self, kind="Slave", begin=True, span=None, start=0.0, **modes):
        words = {"guid": self.description.guid, "unzipDirectory": self.folder, "instanceName": "one"}
        words["modelIdentifier"] = self.unit.identifier
        if self.unit.version == 3:
            one = getattr(fmi3, f"FMU3{'Model' if kind == 'Model' else 'Slave'}")(**words)
            log = fmi3.fmi3LogMessageCallback(lambda environment, status, category, text: self.said.append(text.decode()))
            one.instantiate(logMessage=log, **modes)
        else:
            one = getattr(fmi2, f"FMU2{kind}")(**words)
            one.instantiate()
        if begin:
            if self.unit.version == 2:
                one.setupExperiment(startTime=start, stopTime=span)
                one.enterInitializationMode()
            else:
                one.enterInitializationMode(startTime=start, stopTime=span)
            one.exitInitializationMode()
        return one


@pytest.fixture(scope="module")
def opened(toy):
    return Opened(toy)


@pytest.fixture(scope="module")
def opened_swing(swing):
    return Opened(swing)


def walk(opened, one, name, points):
    values = []
    for begin, end in itertools.pairwise(points):
        one.doStep(begin, end - begin)
        read = one.getFloat64 if opened.unit.version == 3 else one.getReal
        values.append(read([opened.references[name]])[0])
    return np.array(values)


@pytest.mark.parametrize(("which", "count"), [("toy", 97), ("toy", 2000), ("swing", 301)])
def test_co_simulation_takes_the_steps_of_a_run(which, count, request, models):
    unit, compiled = request.getfixturevalue(which), models[which == "swing"]
    span = {"toy": SPAN, "swing": 5.0}[which]
    assert not validation.validate_fmu(str(unit.path))
    run = compiled.simulate(span, samples=span / count, **SETTINGS)
    names = ["ball.p", "floor.h"] if which == "toy" else ["mass.p", "mass.flow"]
    result = fmpy.simulate_fmu(
        str(unit.path), fmi_type="CoSimulation", stop_time=span, output_interval=span / count, output=names
    )
    assert len(result) == count + 1
    apart = np.abs(run.t / 0.05 - np.round(run.t / 0.05)) > 1e-9
    same = (result["time"] == run.t) & (apart | (which != "toy"))
    assert np.mean(same) > 0.4
    for name in names:
        np.testing.assert_array_equal(result[name][same], run[name][same])
        np.testing.assert_allclose(result[name], run[name], rtol=1e-11, atol=1e-12)


def test_a_model_without_states_runs(folder):
    compiled = compile_model(resistive())
    unit = fmu(compiled, folder / "resistive.fmu", t_end=1.0, kinds=["co-simulation"], outputs=["r.flow"], **SETTINGS)
    result = fmpy.simulate_fmu(str(unit.path), stop_time=1.0, output_interval=0.125)
    np.testing.assert_array_equal(result["r.flow"], compiled.simulate(1.0, samples=0.125, **SETTINGS)["r.flow"])


def test_ticks_and_events_at_a_point_belong_to_it(opened, models):
    one, h = opened.instance(span=SPAN), 0.05
    for k in range(4):
        one.doStep(k * h, h)
        held, momentum = one.getFloat64([opened.references["held.y"], opened.references["ball.p"]])
        assert held == momentum
    one.terminate()
    one.freeInstance()


def test_model_exchange_agrees_with_the_run(toy, models):
    run = models[0].simulate(SPAN, samples=SPAN / 97, rtol=1e-10, progress=False)
    given = {"stop_time": SPAN, "output_interval": SPAN / 97, "relative_tolerance": 1e-10, "record_events": False}
    result = fmpy.simulate_fmu(str(toy.path), fmi_type="ModelExchange", output=["ball.p", "contact"], **given)
    assert np.abs(result["ball.p"] - run["ball.p"]).max() < 1e-6 * np.abs(run["ball.p"]).max()
    assert result["contact"][[0, -1]].tolist() == run["contact.mode"][[0, -1]].tolist()


def test_an_fmu_states_the_sizes_of_its_states(swing, models):
    """States are about 0.1 m and 0.1 N s, so an absolute tolerance for states of size 1 would be too coarse."""
    run = models[1].simulate(5.0, samples=0.05, rtol=1e-12, progress=False)
    given = {"stop_time": 5.0, "output_interval": 0.05, "relative_tolerance": 1e-9, "record_events": False}
    result = fmpy.simulate_fmu(str(swing.path), fmi_type="ModelExchange", output=["mass.p"], **given)
    assert np.abs(result["mass.p"] - run["mass.p"]).max() < 1e-7 * np.abs(run["mass.p"]).max()


def test_in_event_mode_the_importer_handles_each_event(opened, models):
    """The FMU returns early at all events and ticks except those at the start."""
    assert opened.description.coSimulation.hasEventMode and opened.description.modelExchange.needsCompletedIntegratorStep
    run = models[0].simulate(SPAN, samples=SPAN / 97, **SETTINGS)
    one = opened.instance(begin=False, eventModeUsed=True, earlyReturnAllowed=True)
    one.enterInitializationMode(startTime=0.0, stopTime=SPAN)
    one.exitInitializationMode()
    named, times, heights, t = opened.references, [], [run["floor.h"][0]], 0.0
    *_, has_next, following = one.updateDiscreteStates()
    assert (has_next, following) == (True, 0.05)
    one.enterStepMode()
    for goal in run.t[1:]:
        while t < goal:
            waits, _, early, t = one.doStep(t, goal - t)
            before = one.getFloat64([named["floor.h"]])[0]
            if waits:
                times.append(t)
                one.enterEventMode()
                one.updateDiscreteStates()
                one.enterStepMode()
            assert waits or not early
        heights.append(before)
    np.testing.assert_array_equal(heights, run["floor.h"])
    instants = {event.time for event in run.events} | set(np.arange(1, 60) * 0.05)
    np.testing.assert_allclose(times, sorted(instants - {0.0}), rtol=1e-14)
    one.freeInstance()
    refused(opened, "not created for this mode", opened.instance(span=SPAN).enterEventMode)


def test_starts_and_parameters_that_are_set_before_a_run_are_those_of_simulate(opened_swing, models):
    start, parameters = {"mass.p": 0.5, '"spring" Δ.q': 0.1}, {'"spring" Δ.stiffness': 75.0}
    run = models[1].simulate(5.0, samples=0.25, initial=start, parameters=parameters, **SETTINGS)
    one, given = opened_swing.instance(begin=False), {**start, **parameters}
    one.setupExperiment(startTime=0.0, stopTime=5.0)
    one.enterInitializationMode()
    one.setReal([opened_swing.references[name] for name in given], list(given.values()))
    one.exitInitializationMode()
    np.testing.assert_array_equal(walk(opened_swing, one, "mass.p", run.t), run["mass.p"][1:])
    one.freeInstance()


def test_a_parameter_that_cannot_be_set_says_why(toy, opened):
    assert "held.period" in toy.constants
    (period,) = [each for each in opened.description.modelVariables if each.name == "held.period"]
    words = ("constant", "constant, because it determines the times of clocks or time events")
    assert (period.variability, period.description) == words
    one = opened.instance(begin=False)
    why = f"held.period is a {words[1]}"
    refused(opened, why, lambda: one.setFloat64([period.valueReference], [0.1]))
    one.freeInstance()


def test_a_state_is_saved_rewound_and_moved_into_another_instance(opened):
    one, points = opened.instance(span=SPAN), np.linspace(0.0, SPAN, 98)
    whole = walk(opened, one, "floor.h", points)
    one.freeInstance()
    one = opened.instance(span=SPAN)
    first = walk(opened, one, "floor.h", points[:40])
    state = one.getFMUState()
    kept = one.serializeFMUState(state)
    second = walk(opened, one, "floor.h", points[39:])
    np.testing.assert_array_equal([*first, *second], whole)
    one.setFMUState(state)
    np.testing.assert_array_equal(walk(opened, one, "floor.h", points[39:]), second)
    other = opened.instance(begin=False)
    moved = other.deserializeFMUState(kept)
    other.setFMUState(moved)
    np.testing.assert_array_equal(walk(opened, other, "floor.h", points[39:]), second)
    for instance, saved in ((one, state), (other, moved)):
        instance.freeFMUState(saved)
        instance.freeInstance()
    with pytest.raises(fmpy.fmi1.FMICallException):
        opened.instance().deserializeFMUState(bytes(len(kept)))
    assert "these bytes are not a state of this model" in opened.said[-1]


def test_threads_run_at_the_same_time(opened):
    points = np.linspace(0.0, SPAN, 98)
    instances = [opened.instance(span=SPAN) for _ in range(8)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        runs = list(pool.map(lambda one: walk(opened, one, "floor.h", points), instances))
    assert all(np.array_equal(run, runs[0]) for run in runs)


def test_an_input_that_jumps_at_a_point_is_the_model_with_that_step(opened_swing):
    graph = oscillator()
    graph.replace("push", Se("push", lambda u: u, signals=["s.y"])).add(signals.step("s", start=2.0, before=1.0, after=3.0))
    run = compile_model(graph).simulate(5.0, samples=0.1, rtol=1e-11, progress=False)
    one, values = opened_swing.instance(span=5.0), [0.0]
    for k in range(50):
        one.setReal([opened_swing.references["push.value"]], [1.0 if k < 20 else 3.0])
        one.doStep(k * 0.1, 0.1)
        values += one.getReal([opened_swing.references["mass.p"]])
    assert np.abs(np.array(values) - run["mass.p"]).max() < 2e-6 * np.abs(run["mass.p"]).max()
    one.freeInstance()


def test_partial_derivatives_are_those_of_the_equations(opened_swing, opened):
    """The oscillator obeys p' = u - q / C - R p / m, and the ball's height has the rate p / m."""
    one, named = opened_swing.instance("Model"), opened_swing.references
    unknowns = [named[name] for name in ("der(mass.p)", 'der("spring" Δ.q)', "mass.flow", "mass.p")]
    expected = np.array([[-2.5, -50.0, 1.0], [0.5, 0.0, 0.0], [0.5, 0.0, 0.0], [1.0, 0.0, 0.0]])
    for k, known in enumerate(("mass.p", '"spring" Δ.q', "push.value")):
        assert one.getDirectionalDerivative(unknowns, [named[known]], [1.0]) == expected[:, k].tolist()
    ball, named = opened.instance("Model"), opened.references
    knowns, rate = [named["floor.h"], named["ball.p"]], [named["der(floor.h)"]]
    assert ball.getAdjointDerivative(rate, knowns, [3.0], nSensitivity=2) == [0.0, 3.0]
    refused(opened, "no derivatives with respect to value", lambda: ball.getDirectionalDerivative(rate, rate, [1.0]))


def test_many_tiny_steps_reach_the_end(opened_swing, models):
    """The importer's sum of many steps exceeds the end time by 4e-13 s, which the FMU tolerates."""
    one, t, h = opened_swing.instance(span=5.0), 0.0, 5.0 / 20000
    for _ in range(20000):
        one.doStep(t, h)
        t += h
    assert t > 5.0
    (momentum,) = one.getReal([opened_swing.references["mass.p"]])
    assert momentum == models[1].simulate(5.0, **SETTINGS)["mass.p"][-1]


def test_a_start_that_is_consistent_only_at_its_time(folder):
    supply = Se("supply", lambda t: 1.0 + t, signals="time")
    late = {"t_end": 3.0, "t_start": 2.0, "initial": {"c.q": -3.0}, "page": False, "progress": False}
    unit = fmu(loop(supply, C("c", capacitance=1.0)), folder / "late.fmu", **late)
    assert not unit.constants


def test_the_start_and_the_end_may_be_others(opened_swing, models):
    run = models[1].simulate(10.0, samples=0.5, **SETTINGS)
    one = opened_swing.instance(span=13.0, start=3.0)
    values = walk(opened_swing, one, "mass.p", 3.0 + run.t)
    np.testing.assert_allclose(values, run["mass.p"][1:], rtol=1e-12, atol=1e-14)


def refused(opened, text, call):
    opened.said.clear()
    with pytest.raises(fmpy.fmi1.FMICallException):
        call()
    assert text in opened.said[-1]


def test_bad_calls_fail_and_say_why(opened):
    one, number = opened.instance(begin=False), opened.references
    refused(opened, "fmi3DoStep cannot be called before initialization", lambda: one.doStep(0.0, 0.1))
    refused(opened, "not after the start", lambda: one.enterInitializationMode(startTime=1.0, stopTime=0.0))
    refused(opened, "is not finite", lambda: one.setFloat64([number["ball.inertia"]], [np.nan]))
    refused(opened, "no mode with the value reference 4026531840", lambda: one.getInt64([15 << 28]))
    one.enterInitializationMode(startTime=0.0, stopTime=1.0)
    refused(opened, "fmi3Terminate cannot be called in initialization mode", one.terminate)
    one.exitInitializationMode()
    refused(opened, "start values cannot be set", lambda: one.setFloat64([number["ball.p"]], [1.0]))
    for length in (0.0, -0.1, np.nan, np.inf):
        refused(opened, "not forward in time", lambda length=length: one.doStep(0.0, length))
    refused(opened, "but the instance is at a different time", lambda: one.doStep(0.5, 0.1))
    refused(opened, "beyond the stop time", lambda: one.doStep(0.0, 2.0))
    one.doStep(0.0, 0.5)
    one.setFloat64([number["ball.inertia"]], [2.0])
    one.doStep(0.5, 0.5)
    one.terminate()
    refused(opened, "fmi3DoStep cannot be called after the end", lambda: one.doStep(1.0, 0.1))
    one.reset()
    one.enterInitializationMode(startTime=0.0, stopTime=1.0)
    one.exitInitializationMode()
    before = walk(opened, one, "floor.h", [0.0, 0.5, 1.0])
    one.freeInstance()
    np.testing.assert_array_equal(before, walk(opened, opened.instance(span=1.0), "floor.h", [0.0, 0.5, 1.0]))


def test_names_survive_and_units_have_exponents(swing):
    description = fmpy.read_model_description(str(swing.path))
    names = {each.name: each for each in description.modelVariables}
    assert description.modelName == "Öl & <Gas>"
    assert {'"spring" Δ.q', f"{'m' * 200}.resistance", "mass.flow", "push.value"} <= names.keys()
    assert (names["push.value"].causality, names["mass.flow"].causality) == ("input", "output")
    (unit,) = [each for each in description.unitDefinitions if each.name == "N s/m"]
    assert (unit.baseUnit.kg, unit.baseUnit.m, unit.baseUnit.s) == (1, 0, -1)
    assert base_unit("kN/mm") == {"kg": "1", "s": "-2", "factor": "1000000.0"}
    assert base_unit("rad/s") == {"s": "-1", "rad": "1"}
    assert base_unit("°C") == {"K": "1", "offset": "273.15"}
    assert base_unit("m^0.5") is base_unit("rad, m") is None


def test_empty_arrays_are_omitted_from_an_fmu(folder):
    """An empty array would have the value reference of the next variable."""
    graph = oscillator()
    graph.add(Block("none", [("y", lambda p: np.zeros(0), ["u"]), ("z", lambda p: 2.0 * p, ["u"])], inputs={"u": "mass.p"}))
    unit = fmu(graph, folder / "empty.fmu", t_end=1.0, platforms=(), **SETTINGS)
    described = fmpy.read_model_description(str(unit.path))
    assert compile_model(graph).program.layout["none.y"].shape == (0,)
    assert {"none.y", "none.z"} & {each.name for each in described.modelVariables} == {"none.z"}
    with pytest.raises(ModelError, match=r'E601 the output "none\.y" is not a quantity'):
        fmu(graph, folder / "empty.fmu", t_end=1.0, outputs=["none.y"], platforms=(), **SETTINGS)


def test_an_archive_is_a_function_of_its_model(swing, models, folder):
    options = {"inputs": ["push.value"], "outputs": ["mass.flow", "mass.p"], "name": "swing", "t_end": 5.0, "version": 2}
    again = fmu(models[1], folder / "again.fmu", **options, **SETTINGS)
    assert again.path.read_bytes() == swing.path.read_bytes()
    assert {"modelDescription.xml", "documentation/index.html"} <= set(zipfile.ZipFile(again.path).namelist())


def test_the_text_of_own_solvers_is_kept(monkeypatch):
    """Two different tableaus can have the same name, so each has its own stored text."""
    printed, kept, write = list[str](), dict[str, bytes](), fmi_source.solver_source.__wrapped__
    monkeypatch.setattr(fmi_source, "library_text", lambda method, prefix: printed.append(method.name) or f"text {len(printed)}")
    monkeypatch.setattr(fmi_source.cache, "sources", lambda: "as they are")
    monkeypatch.setattr(fmi_source.cache, "load", kept.get)
    monkeypatch.setattr(fmi_source.cache, "store", kept.__setitem__)
    own, other = method_of(dop853.TABLEAU), method_of(replace(dop853.TABLEAU, boundary=1.0))
    assert write(own) == write(own)
    assert len({write(own), write(other), write(other)}) == 3
    monkeypatch.setattr(fmi_source.cache, "sources", lambda: "as they are now")
    assert write(own).endswith("text 4")


def test_without_a_compiler_the_unit_has_sources(models, folder, monkeypatch):
    monkeypatch.setenv("CC", "/nowhere/cc")
    with pytest.warns(SourceOnlyWarning, match="E606 no C compiler was found"):
        unit = fmu(models[1], folder / "sources.fmu", t_end=5.0, **SETTINGS)
    assert unit.platforms == ()
    names = zipfile.ZipFile(unit.path).namelist()
    assert {"sources/model.c", "sources/library.c", "sources/buildDescription.xml"} <= set(names)
    assert not validation.validate_fmu(str(unit.path))
    monkeypatch.setattr(build, "this_platform", lambda: None)
    with pytest.warns(SourceOnlyWarning, match=r"E606 this platform is not supported[^C]*platforms=\("):
        fmu(models[1], folder / "sources.fmu", t_end=5.0, **SETTINGS)


def test_choices_that_a_unit_cannot_have_are_refused(models, folder, monkeypatch):
    def export(model=models[0], name="none.fmu", **options):
        return fmu(model, folder / name, **{"t_end": SPAN, **options}, **SETTINGS)

    for text, options in (
        (r'E600 the input "ball\.inerta" is not a parameter[\s\S]*"ball\.inertia"', {"inputs": ["ball.inerta"]}),
        (r'E601 the output "ball\.flw" is not a quantity[\s\S]*"ball\.flow"', {"outputs": ["ball.flw"]}),
        ('E601 the outputs "ball.flow" and "velocity.flow" are the same value', {"outputs": ["ball.flow", "velocity.flow"]}),
        ('E602 the input "held.period" determines the times of clocks', {"inputs": ["held.period"]}),
        ("E603 version: 4 is unknown", {"version": 4}),
        ("E603 kinds: 'scheduled' is unknown", {"kinds": ["scheduled"]}),
        ("E603 platforms: 'mars' is unknown", {"platforms": ["mars"]}),
        ("E281", {"model": compile_model(cradle(1.0))}),
    ):
        with pytest.raises(ModelError, match=text):
            export(**options)
    monkeypatch.setattr(build, "cross_compiler", lambda target: ())
    with pytest.raises(ModelError, match=r"E604[\s\S]*ziglang[\s\S]*screwbond\[cross\]"):
        export(platforms=["aarch64-darwin"])
    monkeypatch.setenv("CC", "gcc -no-such-option")
    with pytest.raises(ModelError, match='E605 the compiler "gcc" cannot build'):
        export()
    assert not list(folder.glob("none*"))


def test_platforms_have_names_in_both_versions():
    assert {name: (each.name_of_2, each.ending) for name, each in PLATFORMS.items() if "x86" in name} == {
        "x86_64-linux": ("linux64", "so"),
        "x86_64-windows": ("win64", "dll"),
        "x86_64-darwin": ("darwin64", "dylib"),
    }
    assert all(re.fullmatch(r"(x86_64|aarch64)-(linux|windows|darwin)", name) for name in PLATFORMS)


def limited() -> Graph:
    graph, velocity = Graph("limited"), J1("velocity", domain="translation")
    graph.connect(Se("push", 1.0), velocity).connect(velocity, I("mass", inertia=2.0)).connect(
        velocity, C("spring", stiffness=1.0)
    )
    limit = Transition("free", "over", lambda q: q - 0.5, ("spring.q",), kind="limit", error="the spring has reached its limit")
    return graph.add_automaton(Automaton("end", ("free", "over"), "free", (limit,)))


@pytest.mark.thorough
def test_a_transition_that_ends_the_run_asks_for_the_end(tmp_path):
    """The limit is reached at t = sqrt(2) pi / 3, where 1 - cos(t / sqrt(2)) is 0.5."""
    compiled = compile_model(limited())
    end = np.sqrt(2.0) * np.pi / 3.0
    opened = Opened(fmu(compiled, tmp_path / "three.fmu", t_end=5.0, **SETTINGS))
    one = opened.instance(span=5.0)
    _, terminate, _, last = one.doStep(0.0, 2.0)
    assert terminate and abs(last - end) < 1e-5
    assert "a transition ends the run" in opened.said[-1]
    refused(opened, "the run has ended", lambda: one.doStep(last, 0.1))
    one = Opened(fmu(compiled, tmp_path / "two.fmu", t_end=5.0, version=2, **SETTINGS)).instance(span=5.0)
    with pytest.raises(fmpy.fmi1.FMICallException, match="discard"):
        one.doStep(0.0, 2.0)
    assert one.getBooleanStatus(fmi2.fmi2Terminated)


@pytest.mark.thorough
def test_calls_leave_foreign_memory_unchanged(models, tmp_path):
    """Sanitizers end the program at the first invalid memory access or undefined behaviour."""
    calls = Path(__file__).with_name("fmu_calls.c")
    checks = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
    command = ["gcc", "-std=c99", "-O0", "-g1", "-ffp-contract=off", "-w", *checks]
    parameter = next(each.start for each in content_of(models[0], None, "test").p if each.name == "ball.inertia")
    for version in (2, 3):
        unit = fmu(models[0], tmp_path / "toy.fmu", t_end=SPAN, version=version, platforms=(), **SETTINGS)
        with zipfile.ZipFile(unit.path) as packed:
            for name in ("model.c", "library.c"):
                (tmp_path / name).write_bytes(packed.read(f"sources/{name}"))
        if version == 2:
            subprocess.run([*command, "-g0", "-c", "library.c"], cwd=tmp_path, check=True)
        subprocess.run([*command, f"-I{tmp_path}", str(calls), "library.o", "-lm", "-o", "calls"], cwd=tmp_path, check=True)
        done = subprocess.run([tmp_path / "calls", str(parameter), "200000"], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, "0 wrong\n", "")
