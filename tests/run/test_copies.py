"""Results can be pickled, graphs can be copied, and objects with formulas cannot be pickled."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from bondgraph import J1, C, Constraint, Diode, Graph, I, ModelError, Problem, R, RunError, Se, compile_model, signals
from bondgraph.errors import ExtraError, FileError
from screws.scalars import sin
from tests.inner.emit import KernelError
from tests.inner.emit import machine_CompileError as CompileError


@pytest.fixture(scope="module")
def parts():
    graph, loop = Graph("rectifier"), J1("loop")
    graph.connect(Se("u", lambda t: sin(6.0 * t), signals=["time"]), loop).connect(loop, Diode("d"))
    graph.connect(loop, R("r", 1.0)).connect(loop, C("c", capacitance=1.0))
    compiled = compile_model(graph, backend="numpy")
    result = compiled.simulate(2.0, progress=False, samples=0.04)
    assert result.ok and len(result.events) > 2
    return graph, compiled, result


def sent(thing):
    return pickle.loads(pickle.dumps(thing))  # noqa: S301 - our own


@pytest.mark.parametrize("through", [sent, copy.deepcopy, copy.copy])
def test_a_result_takes_all_its_values_along(parts, through) -> None:
    _, _, result = parts
    other = through(result)
    assert other.names() == result.names() and repr(other) == repr(result) and other.ok
    for name in result.names():
        np.testing.assert_array_equal(other[name], result[name])
        for mine, theirs in zip(result.at_events(name), other.at_events(name), strict=True):
            np.testing.assert_array_equal(theirs, mine)
    np.testing.assert_array_equal(other.at_event(1, "r.effort")[1], result.at_event(1, "r.effort")[1])
    np.testing.assert_array_equal(other.at_event(other.events[1], "r.effort")[1], result.at_event(1, "r.effort")[1])
    assert other.ledger.summary() == result.ledger.summary()
    assert other.peak("c.q") == result.peak("c.q")
    again = sent(other)
    np.testing.assert_array_equal(again["d.flow"], result["d.flow"])


def test_code_that_stayed_behind_is_not_run(parts) -> None:
    _, compiled, result = parts
    other = sent(result)
    x, m = compiled.initial()
    with pytest.raises(RunError, match="E158"):
        other.program.rates(0.0, x, result.p, m)


@pytest.mark.parametrize("which", ["graph", "model", "compiled", "element", "formula"])
def test_objects_with_formulas_cannot_be_pickled(parts, which: str) -> None:
    graph, compiled, _ = parts
    element = graph.parts["u"]
    thing = {"graph": graph, "model": compiled.model, "compiled": compiled, "element": element, "formula": element.law.value}[
        which
    ]
    with pytest.raises(ModelError, match="E157") as caught:
        pickle.dumps(thing)
    assert caught.value.problems[0].cures


def test_a_copied_graph_is_a_graph_of_its_own(parts) -> None:
    _, compiled, _ = parts
    assert copy.deepcopy(compiled) is compiled and copy.copy(compiled.model) is compiled.model
    inner = Graph("inner")
    v = J1("v")
    inner.connect(v, I("m", 2.0)).connect(v, R("r", 1.0)).expose("v", v)
    outer = Graph("outer").connect(Se("u", 1.0), inner.port("v"))
    for other in (copy.deepcopy(outer), copy.copy(outer)):
        other.add(Graph("more"))
        assert "more" not in outer.parts
    deep = copy.deepcopy(outer)
    deep.parts["inner"].replace("r", R("r", 3.0))
    assert outer.parts["inner"].parts["r"].parameters["resistance"].value == 1.0
    a, b = (compile_model(g, backend="numpy").simulate(1.0, progress=False) for g in (outer, deep))
    assert a["inner.m.p"][-1] == pytest.approx(2.0 * (1 - np.exp(-0.5)), rel=1e-6)
    assert b["inner.m.p"][-1] == pytest.approx(2.0 / 3.0 * (1 - np.exp(-1.5)), rel=1e-6)


def test_errors_come_back_from_a_process_whole() -> None:
    with pytest.raises(ModelError) as caught:
        compile_model(Graph("empty"))
    again = sent(caught.value)
    assert str(again) == str(caught.value) and again.problems == caught.value.problems


@pytest.mark.parametrize("kind", [RunError, FileError, ExtraError, CompileError, KernelError])
def test_an_error_of_one_problem_arrives_as_it_was(kind) -> None:
    error = kind(Problem("E414", "cannot write", ("no space left",), (), ("another disk",)))
    other = sent(error)
    assert type(other) is kind and str(other) == str(error) and other.problem == error.problem


def test_results_with_constraints_and_time_events_can_be_pickled():
    graph, v = Graph("held"), J1("v")
    graph.connect(v, I("m", 1.0)).connect(Se("F", lambda u: u, signals=["step.y"]), v).connect(v, Constraint("k"))
    graph.add(signals.step("step", start=0.5))
    run = compile_model(graph).simulate(1.0, progress=False)
    again = pickle.loads(pickle.dumps(run))  # noqa: S301
    assert again.ok and np.array_equal(again["k.effort"], run["k.effort"]) and again["k.effort"][-1] == pytest.approx(1.0)
