"""Methods of integration: what solvers offer has a tolerance, and each runs; one that is forgotten in a table is named."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from bondgraph import J1, C, Graph, I, simulate
from bondgraph.errors import RunEndedWarning
from bondgraph.run.settings import METHODS, OFFERS
from bondgraph.run.steppers import integrator
from bondgraph.run.steppers.choose import SAFETY, sundials_reason
from campaigns.saved import unequal
from campaigns.small_models import SMALL


def forgotten() -> set[str]:
    """Methods that are offered and have no tolerance, or have one and are not offered."""
    return {method for offered in OFFERS.values() for method in offered if method != "auto"} ^ SAFETY.keys()


def test_every_method_has_a_tolerance() -> None:
    assert forgotten() == set()
    assert set(METHODS) == {"auto", *SAFETY}


@pytest.mark.parametrize("method", SAFETY)
def test_one_that_is_forgotten_is_named(method: str, monkeypatch) -> None:
    with monkeypatch.context() as without:
        without.delitem(SAFETY, method)
        assert forgotten() == {method}
    for solver, offered in OFFERS.items():
        monkeypatch.setitem(OFFERS, solver, tuple(other for other in offered if other != method))
    assert forgotten() == {method}


@pytest.mark.parametrize(("solver", "method"), [(s, m) for s, offered in OFFERS.items() for m in offered])
def test_every_one_follows_an_oscillator(solver: str, method: str) -> None:
    """x = cos t: all solvers and methods come within ten times the tolerance that was asked for."""
    if solver == "sundials" and sundials_reason():
        pytest.skip(sundials_reason())
    graph, v = Graph("oscillator"), J1("v")
    graph.connect(v, I("m", 1.0)).connect(v, C("spring", stiffness=1.0, initial=1.0))
    result = simulate(graph, 3.0, solver=solver, method=method, rtol=1e-7, progress=False)
    np.testing.assert_allclose(result["spring.q"], np.cos(result.t), atol=1e-6)


@pytest.mark.parametrize(("solver", "method"), [(s, m) for s, offered in OFFERS.items() for m in offered])
def test_every_one_ends_after_max_steps(solver: str, method: str) -> None:
    """A run of a million turns is given up after 3,000 steps, and what it has so far is right."""
    if solver == "sundials" and sundials_reason():
        pytest.skip(sundials_reason())
    graph, v = Graph("oscillator"), J1("v")
    graph.connect(v, I("m", 1.0)).connect(v, C("spring", stiffness=1.0, initial=1.0))
    with pytest.warns(RunEndedWarning):
        result = simulate(graph, 6e6, samples=[1.0, 6e6], solver=solver, method=method, max_steps=3000, progress=False)
    assert result.failure is not None and result.failure.kind == "too many steps"
    assert result.statistics.steps == 3001 and result.t[-1] < 6e6
    np.testing.assert_allclose(result["spring.q"][result.t == 1.0], np.cos(1.0), atol=1e-6)


@pytest.mark.parametrize("most", [40, 10**7])
@pytest.mark.parametrize("name", ["drive", "bouncing"])
def test_no_result_depends_on_how_often_a_run_pauses(name: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls of the machine code end by time, so that a bar goes on: on a slow machine after one step, on a fast one after all."""
    compiled = SMALL[name]().compile()
    runs = []
    for budget, patience in ((1, 1e-12), (10**7, 1e9)):
        monkeypatch.setattr(integrator, "_BUDGET", budget)
        monkeypatch.setattr(integrator, "_PATIENCE", patience)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RunEndedWarning)
            runs.append(compiled.simulate(0.3 if name == "drive" else 2.0, max_steps=most, samples=0.01, progress=False))
    assert unequal(*runs) == [] and str(runs[0].failure) == str(runs[1].failure)
    assert runs[0].statistics.steps == runs[1].statistics.steps and runs[0].ok == (most > 40)
