"""Results report doubts about energy, values that are not finite, and hopeless runs."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from bondgraph import (
    J0,
    J1,
    C,
    Graph,
    I,
    ModelError,
    R,
    RunEndedWarning,
    RunError,
    Se,
    UnreliableRunWarning,
    compile_model,
    signals,
    simulate,
)
from bondgraph.sweeps import sweep
from screws import scalars as s
from tests.inner.run import validity_concerns

METHODS = [{}, {"method": "rodas5p"}]


def loop(*parts, name="g"):
    graph, v = Graph(name), J1("v")
    for part in parts:
        graph.connect(v, part)
    return graph


@pytest.fixture(scope="module")
def oscillator():
    return compile_model(loop(I("m", 1.0), C("k", stiffness=4.0, initial=1.0)))


def exponential(name, m):
    return C(
        name,
        output=lambda q, m: m * (s.exp(q) - 1.0),
        energy=lambda q, m: m * (s.exp(q) - q - 1.0),
        inverse=lambda e, m: s.log(e / m + 1.0),
        parameters={"m": m},
    )


# --- doubts ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def leaking(oscillator):
    return lambda **given: oscillator.simulate(50.0, **{"atol": 1e-2, "rtol": 1e-9, **given})


def test_an_account_that_does_not_close_is_a_doubt_with_its_element(leaking):
    with pytest.warns(UnreliableRunWarning, match=r'(?s)"g".*cannot be trusted.*off by.*suspect: "[mk]"'):
        run = leaking()
    assert run.failure is None and not run.ok and len(run.t) == 1001
    (doubt,) = run.warnings
    assert doubt.suspect in ("m", "k") and 0.0 < doubt.time <= 50.0
    assert doubt.residual == run.ledger.relative_residual > 1e-6 and doubt.expected == 1e-9
    assert "in doubt" in repr(run)


def test_strict_raises(leaking, oscillator):
    with pytest.raises(RunError, match=r"(?s)E323.*not ok.*cannot be trusted"):
        leaking(strict=True)
    assert oscillator.simulate(1.0, strict=True).ok
    with pytest.raises(RunError, match=r"(?s)E323.*ended at t = "):
        loop_of_poles().simulate(2.0, strict=True)


def test_rounding_errors_raise_no_concern(leaking):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert leaking(rtol=1e-4).ok


@pytest.mark.parametrize("rtol", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("options", METHODS, ids=str)
def test_correct_runs_have_no_doubts(oscillator, options, rtol):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for start in (1.0, 1e-9, 0.0):
            run = oscillator.simulate(50.0, initial={"k.q": start}, rtol=rtol, atol=1e-6 * rtol * (start or 1.0), **options)
            assert run.ok and run.warnings == ()


def test_the_doubt_of_a_source_is_where_it_happens():
    run = simulate(loop(Se("u", lambda t: s.where(t > 3.0, 1.0, 0.0), signals=["time"]), I("m", 1.0), R("r", 1.0)), 5.0)
    assert run.ok
    account = run.account()
    off = account.residual + np.where(run.t > 3.0, 0.1, 0.0)
    wrong = type(account)(**{**vars(account), "residual": off})
    (doubt,) = validity_concerns(run, wrong, 1e-9)
    assert doubt.time == pytest.approx(3.0, abs=0.01) and doubt.suspect in ("u", "m", "r")


# --- values that are not finite ----------------------------------------------------------------------------------------


def test_a_dependent_storage_beyond_its_inverse_ends_the_run():
    graph, n = Graph("g"), J0("n")
    graph.connect(n, exponential("a", 2.0)).connect(n, exponential("b", 0.5)).connect(n, R("r", 1.0))
    compiled = compile_model(graph)
    (dependent,) = compiled.causality.derivative
    free = "a" if dependent == "b" else "b"
    with pytest.warns(RunEndedWarning, match=dependent):
        run = compiled.simulate(1.0, initial={f"{free}.q": -1.0})
    assert not run.ok and run.failure.kind == "not finite" and run.failure.suspect == dependent


def loop_of_poles():
    graph, j, k = Graph("pole"), J1("j"), J0("k")
    graph.connect(Se("u", 1.0), j).connect(j, R("r1", 1.0)).connect(j, k).connect(j, I("m", 1.0))
    graph.connect(k, R("r2", effort=lambda f, t: -f * t, signals=["time"])).connect(k, R("r3", 1.0))
    return compile_model(graph)


@pytest.mark.filterwarnings("ignore::bondgraph.RunEndedWarning")
def test_a_pole_in_a_loop_ends_the_run():
    run = loop_of_poles().simulate(2.0, samples=0.5)
    assert not run.ok and run.failure.time <= 1.0 and run.failure.suspect
    assert all(np.isfinite(run[name]).all() for name in run.names() if run.program.layout[name].block != "p")


@pytest.mark.filterwarnings("ignore::bondgraph.RunEndedWarning")
@pytest.mark.parametrize("options", METHODS[:2], ids=str)
def test_overflow_has_a_suspect(options):
    run = simulate(loop(I("m", 1.0, initial=1.0), R("negative", effort=lambda f: -f)), 2000.0, **options)
    assert run.failure.kind == "not finite" and run.failure.suspect == "negative"
    assert np.isfinite(run["m.p"]).all() and np.isfinite(run.integrals).all()


# --- settings ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "given"),
    [
        ('E322.*"rtoll".*rtol=', {"rtoll": 1e-3}),
        ('E322.*"methods".*method=', {"methods": "rodas5p"}),
        ("E322", {"zzz": 1}),
        ("E321.*parameters.*list", {"parameters": [1]}),
        ("E321.*initial.*str", {"initial": "k.q"}),
        ("E124.*m.inertia.*'heavy'", {"parameters": {"m.inertia": "heavy"}}),
        ('E124.*try: Parameter\\(50, "g"\\)', {"parameters": {"m.inertia": "50 g"}}),
        ("E124.*'1.0'", {"parameters": {"m.inertia": "1.0"}}),
        ("E124.*1j", {"parameters": {"m.inertia": 1j}}),
        ("E124.*not a number", {"parameters": {"m.inertia": np.array(1j)}}),
        ("E124.*not a number", {"parameters": {"m.inertia": [1.0, [2.0]]}}),
        ("E124.*'a'", {"initial": {"k.q": "a"}}),
        ("E124", {"initial": {"k.q": int}}),
        ("E302", {"rtol": [1e-3, 1e-3]}),
        ("E302", {"rtol": "1e-3"}),
        ("E306", {"max_steps": [10]}),
        ("E301", {"t_start": "0"}),
    ],
    ids=str,
)
def test_arguments_that_mean_nothing_are_refused(oscillator, code, given):
    with pytest.raises((ModelError, RunError), match="(?s)" + code):
        oscillator.simulate(1.0, **given)


@pytest.mark.parametrize("changed", ["initial", "parameters"])
def test_one_number_by_two_names_is_refused(changed):
    graph, strut, v = Graph("car"), Graph("strut"), J1("v")
    strut.connect(v, C("spring", stiffness=2.0)).connect(v, I("mass", 1.0))
    strut.expose("foot", v).export("travel", "spring.q").export("rate", "spring.stiffness")
    compiled = graph.connect(Se("road", 1.0), strut).compile()
    names = {"initial": ("strut.spring.q", "strut.travel"), "parameters": ("strut.spring.stiffness", "strut.rate")}[changed]
    run = compiled.prepare_run(1.0)
    for given in (names, names[::-1]):
        values, two = dict.fromkeys(given, 1.0), rf'E124 "{given[0]}" and "{given[1]}" are two names for the same number'
        with pytest.raises(ModelError, match=two):
            compiled.simulate(1.0, **{changed: values})
        with pytest.raises(ModelError, match=two):
            run.start_values_many(**{changed: {name: [1.0, 2.0] for name in given}})
        with pytest.raises(ModelError, match=two.replace("E124", "E361")):
            sweep(compiled, values, 1.0, keep={"q": "strut.spring.q"}, progress=False)
    assert compiled.simulate(1.0, **{changed: {names[1]: 1.5}}).ok


def test_any_count_may_be_infinite(oscillator):
    assert oscillator.simulate(1.0, max_steps=np.inf, max_events=np.inf, samples=[1.0]).ok


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"r.resistance": 0.0}, r'E309 r\.resistance = 0\. .*"r\.flow" is then -?inf: divide of .*r\.resistance = 0'),
        ({"f.b": 3.0}, r'E309 f\.b = 3\. .*"f\.flow" is then nan.*f\.a = 2\., f\.b = 3\.'),
        ({"f.b": -1.0, "f.a": 5.0, "c.capacitance": 2.0}, r"E309 f\.b = -1\. cannot be used"),
    ],
)
def test_unusable_parameters_are_named_with_their_effect(changed, named):
    graph, n = Graph("a"), J0("n")
    law = R("f", flow=lambda e, a, b: e * s.sqrt(a - b) * s.log(b), parameters={"a": 2.0, "b": 1.0})
    graph.connect(n, C("c", capacitance=1.0, initial=1.0)).connect(n, R("r", resistance=1.0)).connect(n, law)
    compiled = compile_model(graph)
    names = {name: value for name, value in changed.items() if name in compiled.system.parameters}
    with pytest.raises(ModelError, match="(?s)" + named):
        compiled.simulate(1.0, parameters=names)


# --- hopeless runs -------------------------------------------------------------------------------------------------------


def test_hopeless_runs_are_given_up_early(oscillator):
    with pytest.warns(RunEndedWarning, match=r"have covered .* of the run"):
        run = oscillator.simulate(1e100)
    assert run.failure.kind == "too many steps" and run.statistics.steps < 5_000_000


def test_clocks_that_would_take_too_many_steps_are_refused():
    graph = loop(I("m", 1.0), R("r", 1.0))
    graph.add(signals.sampled("h", lambda y: y + 1.0, period=1e-9))
    compiled = compile_model(graph)
    with pytest.raises(RunError, match=r'(?s)E330.*"h".*1e\+09 ticks'):
        compiled.simulate(1.0)
    assert compiled.simulate(1e-6, samples=[1e-6]).ok
