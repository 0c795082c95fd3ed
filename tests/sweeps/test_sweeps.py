"""Each run of a sweep equals `simulate`."""

from __future__ import annotations

import numpy as np
import pytest

from bondgraph import J1, Automaton, C, Graph, I, ModelError, R, Transition
from bondgraph.sweeps import events, integral, last, mean, peak, sweep
from tests.sweeps.drawn import DRAWN, KEPT
from tests.sweeps.oscillators import extremes


def test_a_swept_run_equals_simulate(compiled, reference):
    failed = {fault.run: fault for fault in reference.failures}
    assert 0 < len(failed) < 10 and reference.complete and len(reference) == 40
    for run in reference:
        if run.run in failed:
            assert run.failure == failed[run.run] and run.failure.time is None
            assert all(np.isnan(value).all() for value in run.values.values()), run
            with pytest.raises(ModelError, match="E119"):
                compiled.simulate(1.0, parameters=run.parameters, initial=run.initial)
            continue
        result = compiled.simulate(1.0, parameters=run.parameters, initial=run.initial, samples=0.25, progress=False)
        assert run.values["q"] == result["spring.q"][-1] and run.values["top"] == result.peak("spring.q")[1]
        np.testing.assert_array_equal(run.values["ends"], extremes(result))
        np.testing.assert_array_equal(run.values["course"], result["spring.q"])


def test_runs_in_one_call_of_machine_code_are_runs_alone(compiled):
    measures = {"q": last("spring.q"), "top": peak("spring.q"), "mean": mean("mass.flow"), "way": integral("mass.flow")}
    measures |= {"course": "damper.effort", "count": events(), "speed": last("mass.flow")}
    asked = {"runs": 30, "seed": 2, "samples": 0.02, "progress": False}
    together = sweep(compiled, DRAWN, 1.0, keep=measures, **asked)
    alone = sweep(compiled, DRAWN, 1.0, keep={**measures, "own": extremes}, **asked)
    assert together.failures == alone.failures != ()
    for name in measures:
        assert together[name].tobytes() == alone[name].tobytes(), name


def test_a_run_that_fails_keeps_its_reason(reference):
    fault = reference.failures[0]
    assert fault.kind == "E119" and 'R "damper": resistance must be positive' in fault.reason
    assert reference["damper.resistance"][fault.run] < 0.0
    table = reference.to_dataframe()
    assert table["failure"][fault.run].startswith("E119: R") and (table["failure"] == "").sum() == 40 - len(reference.failures)


def ended() -> Graph:
    graph, v = Graph("rope"), J1("v", domain="translation")
    graph.connect(v, I("mass", 1.0)).connect(v, C("rope", stiffness=1e-3)).connect(v, R("air", 0.1))
    broken = Transition("whole", "whole", lambda q: q - 1.0, ("rope.q",), kind="breaks", error="the rope broke")
    return graph.add_automaton(Automaton("rope state", ("whole",), "whole", (broken,)))


def test_failures_and_doubts_of_runs_are_kept_without_a_warning(recwarn):
    runs = sweep(ended(), {"mass.p": [0.1, 3.0]}, 2.0, keep={"q": last("rope.q")}, progress=False)
    (fault,) = runs.failures
    assert (fault.run, fault.kind) == (1, "ended") and "the rope broke" in fault.reason and 0.3 < fault.time < 0.4
    assert np.isfinite(runs["q"]).tolist() == [True, False]
    graph, v = Graph("free"), J1("v", domain="translation")
    graph.connect(v, I("mass", 1.0)).connect(v, C("spring", stiffness=4.0))
    loose = {"atol": 1e-2, "rtol": 1e-9, "progress": False}
    doubtful = sweep(graph, {"spring.q": [1.0]}, 50.0, keep={"q": last("spring.q")}, **loose)
    (doubt,) = doubtful.warnings
    assert doubt.run == 0 and "energy account" in doubt.reason and doubt.suspect in ("mass", "spring")
    assert np.isfinite(doubtful["q"]).all() and "1 in doubt" in repr(doubtful)
    assert not recwarn.list, [str(w.message) for w in recwarn.list]


def test_columns_tables_and_data_sets(compiled):
    given = {"spring.stiffness": [20.0, 50.0, 80.0], "damper.resistance": [1.0, 5.0], "mass.inertia": 2.0}
    runs = sweep(compiled, given, 1.0, keep=KEPT, samples=0.5, progress=False)
    assert repr(runs) == 'Runs("oscillator", 6 runs: q, top, ends, course)' and runs.names() == (*given, *KEPT)
    data = runs.to_xarray()
    assert data["q"].dims == ("spring.stiffness", "damper.resistance") and data["q"].attrs == {"units": "m"}
    assert data["course"].dims == ("spring.stiffness", "damper.resistance", "t") and data["t"].values.tolist() == [0.0, 0.5, 1.0]
    at = data.sel({"spring.stiffness": 50.0, "damper.resistance": 5.0})
    assert float(at["q"]) == runs["q"][3]
    np.testing.assert_array_equal(at["course"], runs["course"][3])
    table = runs.to_dataframe()
    assert list(table.columns[:4]) == [*given, "q"] and "course[2]" in table and table.index.name == "run"
    np.testing.assert_array_equal(table["ends[1]"], runs["ends"][:, 1])
    assert "spring.stiffness" in runs._repr_html_() and "failures" not in runs._repr_html_()
    with pytest.raises(KeyError, match='did you mean "top"'):
        runs["topp"]
    assert "q" in runs and "run" in runs and "p" not in runs


def test_the_cell_of_a_notebook_lists_failures(reference):
    text = reference._repr_html_()
    assert f"failures ({len(reference.failures)})" in text and "resistance must be positive" in text and "5" in text


def test_names_that_differ_by_the_size_of_letters_are_columns_of_their_own():
    graph, v = Graph("g"), J1("v")
    graph.connect(v, I("m", 1.0)).connect(v, R("M", 1.0)).connect(v, C("c", stiffness=1.0, initial=1.0))
    runs = sweep(graph, [{"m.inertia": 2.0}], 1.0, keep={"x": last("c.q"), "X": peak("c.q")}, progress=False)
    assert runs["X"] == 1.0 and runs["x"] < 1.0
