"""FMUs with a library, as blocks, agree with the same laws in the graph."""

from __future__ import annotations

import ctypes
import gc
import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from screwbond.models.fmu import fmu_block

from bondgraph import Block, ModelError, RunError, compile_model, load_model, measures, save_model, signals, sweep
from bondgraph.analysis import differentiate, linearise, linearise_sampled, steady_state
from bondgraph.estimation import run_sensitivities
from bondgraph.export import c_run, c_source, document, fmu, latex, live_page, modelica_source, sympy_statements
from bondgraph.interchange import dump_model
from screws.scalars import sqrt
from tests.models.fmu.units import CAN_BUILD, archive, block, built, pid_unit, plant, still, twin

pytestmark = pytest.mark.skipif(not CAN_BUILD, reason="no C compiler for the FMUs")


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    return built(tmp_path_factory.mktemp("libraries"))


@pytest.fixture(scope="module")
def paths(libraries, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fmus")
    return {version: archive(folder, libraries[version], version) for version in (2, 3)}


@pytest.fixture(scope="module")
def compiled(paths):
    return {
        version: compile_model(plant(block(path, parameters={"gain": 0.4, "limit": 10.0}))) for version, path in paths.items()
    }


def living(model) -> int:
    (clock,) = (clock for clock in model.program.clocks if clock.library)
    return ctypes.c_int.in_dll(ctypes.CDLL(str(clock.library.unit.archive.library)), "living").value


@pytest.mark.parametrize("version", [2, 3])
def test_a_controller_in_a_library_is_the_one_in_the_graph(version, compiled):
    own = compile_model(plant(twin(1e-3, 0.4), "pid.y"))
    gc.disable()
    try:
        for gain in (0.4, 0.4, 0.7):
            expected = own.simulate(0.2, parameters={"pid.gain": gain}, samples=0.01)
            run = compiled[version].simulate(0.2, parameters={"pid.gain": gain}, samples=0.01)
            assert run.ok and living(compiled[version]) == 0
            assert run.statistics.steps == expected.statistics.steps
            for name, other in (("rotor.p", "rotor.p"), ("spring.q", "spring.q"), ("pid.effort.y", "pid.y")):
                np.testing.assert_array_equal(run[name], expected[other])
            assert run["pid.steps"][-1] == 199.0 and run["pid.steps taken"][-1] == 200.0
            assert run["pid.on"][-1] == float(run["pid.effort.y"][-1] > 0.0)
    finally:
        gc.enable()


@pytest.mark.parametrize("version", [2, 3])
def test_outputs_belong_to_their_tick(version, paths):
    graph, tick = still("through"), 2e-3
    graph.add(Block("ramp", [("y", lambda t: 100.0 * t + 0.3, ["t"])], inputs={"t": "time"}))
    graph.add(signals.step("flag", start=0.0151, after=1.0))
    inputs = {"error": "ramp.y", "whole": "ramp.y", "small": "ramp.y", "flag": "flag.y"}
    outputs = ["effort.y", "whole.out", "small.out", "flag.out", "stair", "late"]
    graph.add(fmu_block(paths[version], inputs=inputs, outputs=outputs, period=tick, offset=1e-3, name="unit"))
    run = compile_model(graph).simulate(0.05, samples=np.arange(25) * tick + 1.5e-3)
    t = np.arange(25) * tick + 1e-3
    u, *outputs = (run[f"unit.{name}"][1:] for name in ("sampled error", *outputs))
    np.testing.assert_allclose(u, 100.0 * t + 0.3, rtol=1e-12)
    np.testing.assert_allclose(outputs[0], u + tick * np.concatenate([[0.0], np.cumsum(u)[:-1]]), rtol=1e-12)
    np.testing.assert_array_equal(outputs[1], np.rint(u))
    np.testing.assert_array_equal(outputs[2], u.astype(np.float32) if version == 3 else u)
    np.testing.assert_array_equal(outputs[3], t > 0.0151)
    np.testing.assert_array_equal(outputs[4], 1 + np.floor(t / 0.01 + 1e-9))
    np.testing.assert_array_equal(outputs[5], [0.0, *u[:-1]])


@pytest.mark.parametrize(
    ("value", "version", "text"),
    [(lambda t: 5e4 * t, 3, '150 for "whole", of type Int8'), (lambda t: sqrt(0.0025 - t), 2, "nan")],
)
def test_a_value_that_a_type_does_not_have_is_refused(value, version, text, paths):
    graph = still("unfit")
    graph.add(Block("u", [("y", value, ["t"])], inputs={"t": "time"}))
    graph.add(fmu_block(paths[version], inputs={"whole": "u.y"}, outputs=["whole.out"], period=1e-3, name="unit"))
    with pytest.raises(RunError, match=f'E692 the FMU of "unit" cannot take {text}'):
        compile_model(graph).simulate(0.01)


def test_two_blocks_have_a_library_each(paths):
    graph = still("two")
    graph.add(Block("u", [("y", lambda t: 1.0 + t, ["t"])], inputs={"t": "time"}))
    for name, path in (("a", paths[3]), ("b", paths[3]), ("c2", paths[2])):
        graph.add(
            fmu_block(path, inputs={"error": "u.y"}, outputs=["effort.y"], period=1e-3, name=name, parameters={"gain": 2.0})
        )
    run = compile_model(graph).simulate(0.01, parameters={"b.gain": 3.0}, samples=[0.0095])
    u, total = run["a.sampled error"][0], run["a.effort.y"][0] - 2.0 * run["a.sampled error"][0]
    assert [run[f"{name}.effort.y"][0] for name in ("b", "c2")] == pytest.approx([3.0 * u + total, 2.0 * u + total], rel=1e-15)


def test_each_thread_has_an_instance_of_its_own(compiled):
    gains = np.linspace(0.1, 0.9, 8)
    alone = [compiled[3].simulate(0.1, parameters={"pid.gain": gain})["rotor.p"] for gain in gains]
    with ThreadPoolExecutor(4) as pool:
        runs = list(
            pool.map(lambda gain: compiled[3].simulate(0.1, parameters={"pid.gain": gain}, progress=False)["rotor.p"], gains)
        )
    np.testing.assert_array_equal(runs, alone)
    assert living(compiled[3]) == 0


def test_runs_in_threads_do_not_wait_for_each_other(compiled, paths):
    """Each step waits for a step of the other run, so both must run simultaneously."""
    model = compile_model(plant(block(paths[3], parameters={"meet": 1.0})))
    with ThreadPoolExecutor(2) as pool:
        assert all(run.ok for run in pool.map(lambda _: model.simulate(0.01, progress=False), range(2)))


def test_a_library_may_allow_one_instance_at_a_time(libraries, tmp_path):
    ways = '<CoSimulation modelIdentifier="unit" canBeInstantiatedOnlyOncePerProcess="true"/>'
    model = compile_model(plant(block(archive(tmp_path, libraries[3], ways=ways))))
    assert model.simulate(0.01).ok and model.simulate(0.01).ok
    (clock,) = (clock for clock in model.program.clocks if clock.library)
    instance = clock.library.unit.begin("other", 0.0, [0.4, 1e-3, 0.0])
    with pytest.raises(RunError, match=r'E692 the FMU of "pid" allows only one instance per process'):
        model.simulate(0.01)
    instance.free()
    assert model.simulate(0.01).ok


@pytest.mark.parametrize(("version", "words"), [(2, "too much 1"), (3, "too much")])
def test_an_fmu_that_fails_ends_the_run_with_its_words(version, words, compiled):
    text = rf'E692 the FMU of "pid" fails in fmi{version}DoStep with status 3 at t = 0\.05 s\n  {words}\n'
    with pytest.raises(RunError, match=text):
        compiled[version].simulate(0.2, parameters={"pid.limit": 1.0})
    assert living(compiled[version]) == 0
    assert compiled[version].simulate(0.2).ok


REFUSING = {
    "linearise": linearise,
    "linearise_sampled": linearise_sampled,
    "steady_state": steady_state,
    "differentiate": differentiate,
    "run_sensitivities": lambda model: run_sensitivities(model, ["spring.stiffness"], 1.0),
    "latex": latex,
    "document": document,
    "sympy_statements": sympy_statements,
    "c_source": c_source,
    "c_run": lambda model: c_run(model, 1.0),
    "fmu": lambda model: fmu(model, "out.fmu", t_end=1.0),
    "live_page": lambda model: live_page(model, "out.html", t_end=1.0, show=["rotor.flow"]),
    "modelica_source": modelica_source,
}


@pytest.mark.parametrize("what", REFUSING)
def test_functions_that_need_formulas_refuse_it(what, compiled):
    with pytest.raises(ModelError, match=r'E693 [\s\S]*does not support "pid"'):
        REFUSING[what](compiled[3])


def test_ticks_have_no_function_of_a_time_and_a_state(compiled):
    with pytest.raises(RunError, match=r'E349 [\s\S]*"pid" has ticks'):
        compiled[3].ode()


def test_a_sweep_runs_it(compiled):
    found = sweep(compiled[3], {"pid.gain": [0.2, 0.6]}, 0.1, keep={"speed": measures.last("rotor.flow")}, progress=False)
    alone = [compiled[3].simulate(0.1, parameters={"pid.gain": gain})["rotor.flow"][-1] for gain in (0.2, 0.6)]
    np.testing.assert_array_equal(found["speed"], alone)


def test_a_model_file_names_a_library_and_never_opens_it(paths, compiled, tmp_path):
    text = dump_model(plant(block(paths[3], parameters={"gain": 0.4, "limit": 10.0})))
    file = tmp_path / "plant.json"
    file.write_text(text)
    with pytest.raises(
        ModelError, match=r'E694 the block "pid" needs the library "pid3\.fmu"[\s\S]*libraries={"pid": "pid3\.fmu"}'
    ):
        load_model(file)
    with pytest.raises(ModelError, match='E695 libraries: there is no block "pd" with a library'):
        load_model(file, libraries={"pd": paths[3]})
    with pytest.raises(ModelError, match=r'E696 "pid2\.fmu" is not the library that "pid" was saved with'):
        load_model(file, libraries={"pid": paths[2]})
    with pytest.raises(ModelError, match=r'E690 "none\.fmu" cannot be used'):
        load_model(file, libraries={"pid": "none.fmu"})
    again = load_model(file, libraries={"pid": paths[3]})
    expected = compiled[3].simulate(0.1)
    np.testing.assert_array_equal(compile_model(again).simulate(0.1).x, expected.x)
    assert save_model(again, tmp_path / "again.json").read_text() == text
    content = json.loads(text)
    content["model"]["elements"]["pid"]["law"]["library"]["outputs"][0] = "effort"
    file.write_text(json.dumps(content))
    with pytest.raises(ModelError, match="E355"):
        load_model(file, libraries={"pid": paths[3]})


@pytest.mark.parametrize(
    ("version", "period", "offset"),
    [(3, 1e-3, 5e-4), *(pytest.param(*each, marks=pytest.mark.thorough) for each in ((2, 1e-3, 0.0), (2, 7e-4, 1e-4)))],
)
def test_a_plant_with_its_controller_as_an_exported_fmu_equals_the_whole_graph(version, period, offset, tmp_path):
    """The run equals the run of the whole graph, even at 1 kHz, where the reference steps at the instant of a tick."""
    start = offset + 50 * period
    own = signals.sampled_pid("pid", "error.y", kp=0.4, ki=2.0, kd=1e-3, period=period, offset=offset)
    expected = compile_model(plant(own, "pid.y", start)).simulate(0.2, samples=0.01)
    unit = pid_unit(tmp_path / "unit.fmu", version, period, offset)
    part = fmu_block(unit, inputs={"u.value": "error.y"}, outputs=["pid.y"], period=period, offset=offset, name="unit")
    run = compile_model(plant(part, "unit.pid.y", start)).simulate(0.2, samples=0.01)
    assert run.statistics.steps == expected.statistics.steps
    for name, other in (("rotor.p", "rotor.p"), ("spring.q", "spring.q"), ("unit.pid.y", "pid.y")):
        np.testing.assert_array_equal(run[name], expected[other])
