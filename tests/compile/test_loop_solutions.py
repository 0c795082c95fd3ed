"""A nonlinear algebraic loop with several solutions is refused, unless a guess selects one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bondgraph import J0, J1, C, Graph, I, ModelError, Parameter, R, Se, compile_model, load_model, measures, save_model
from screws.scalars import exp

HIGH, LOW = 50.0 + np.sqrt(500.0), 50.0 - np.sqrt(500.0)
"""Solutions of u^2 - 100 u + 2000 = 0, where 100 V in series with 2 Ohm feed 1000 W."""


def feeder(source: Any = 100.0, **load: Any) -> Graph:
    node = J1("node", domain="electrical")
    drive = Se("source", source, **({"signals": ["time"]} if callable(source) else {}))
    graph = Graph("feeder").connect(drive, node).connect(node, R("line", 2.0))
    return graph.connect(node, R("load", flow=lambda e, p: p / e, parameters={"p": 1000.0}, **load))


def refused(make: Any) -> Any:
    with pytest.raises(ModelError) as error:
        make()
    return error.value.problems[0]


def test_both_solutions_are_reported_and_the_advice_works() -> None:
    problem = refused(feeder().compile)
    assert problem.code == "E215"
    assert problem.details[:2] == (
        "load.effort = 27.6393 V, load.flow = 36.1803 A",
        "load.effort = 72.3607 V, load.flow = 13.8197 A",
    )
    assert 'guess={"load.effort": 72.3607}' in problem.cures[0]
    assert feeder().compile(guess={"load.effort": 72.3607}).simulate(1.0)["load.effort"][-1] == pytest.approx(HIGH, rel=1e-12)


@pytest.mark.parametrize(("guess", "answer"), [(72.0, HIGH), (1e6, HIGH), (28.0, LOW), (-1.0, LOW)])
def test_every_way_to_guess_picks_the_nearest(guess: float, answer: float) -> None:
    runs = (
        compile_model(feeder(), guess={"load.effort": guess}).simulate(1.0),
        feeder(guess={"effort": guess}).simulate(1.0),
        feeder(guess={"effort": 100.0 - guess}).simulate(1.0, initial={"load.effort": guess}),
        feeder().compile(guess={"line.effort": 100.0 - guess}).simulate(1.0),
    )
    for run in runs:
        np.testing.assert_allclose(run["load.effort"], answer, rtol=1e-12)


def test_a_guess_may_have_a_unit(tmp_path: Any) -> None:
    low = Parameter(0.03, "kV")
    models = (compile_model(feeder(), guess={"load.effort": low}), compile_model(feeder(guess={"effort": low})))
    for compiled in models:
        save_model(compiled, tmp_path / "feeder.json")
        assert compile_model(load_model(tmp_path / "feeder.json")).initial()[0] == pytest.approx(compiled.initial()[0])
        run = compiled.simulate(1.0, initial={"load.effort": Parameter(7e4, "mV")})
        assert compiled.simulate(1.0)["load.effort"][-1] == pytest.approx(LOW) and run["load.effort"][-1] == pytest.approx(HIGH)
    for wrong in (
        lambda: models[0].initial({"load.effort": Parameter(1.0, "A")}),
        lambda: feeder().compile(guess={"load.effort": Parameter(1.0, "A")}),
    ):
        assert refused(wrong).code == "E175"
    assert refused(lambda: feeder().compile(guess={"load.effort": "72"})).code == "E216"
    assert refused(lambda: feeder().compile(guess=72.0)).code == "E321"  # type: ignore[arg-type]


def test_a_guess_is_saved(tmp_path: Any) -> None:
    for graph, guess in ((feeder(guess={"effort": 30.0}), None), (feeder(), {"load.effort": 30.0})):
        save_model(compile_model(graph, guess=guess), tmp_path / "feeder.json")
        again = compile_model(load_model(tmp_path / "feeder.json"))
        assert again.simulate(1.0)["load.effort"][-1] == pytest.approx(LOW)


def test_a_run_follows_a_branch_of_solutions_and_ends_with_it() -> None:
    """The equation u^2 - s u + 2000 = 0 has no solution once the source s is below sqrt(8000) V."""
    run = feeder(lambda t: 100.0 - t, guess={"effort": 72.0})
    with pytest.warns(UserWarning, match="the run ended"):
        result = run.simulate(20.0, samples=np.linspace(0.0, 20.0, 201))
    source = 100.0 - result.t
    exact = (source + np.sqrt(np.maximum(source**2 - 8000.0, 0.0))) / 2.0
    early = result.t < 10.0
    np.testing.assert_allclose(result["load.effort"][early], exact[early], rtol=1e-6)
    assert result.failure is not None and abs(result.failure.time - (100.0 - np.sqrt(8000.0))) < 0.2


def test_changes_of_parameters_are_looked_at_in_single_runs_and_in_batches() -> None:
    compiled = feeder(guess={"effort": 72.0}).compile()
    powers = np.array([400.0, 1000.0, 1200.0])
    expected = 50.0 + np.sqrt(2500.0 - 2.0 * powers)
    runs = [compiled.simulate(1.0, parameters={"load.p": p})["load.effort"][-1] for p in powers]
    np.testing.assert_allclose(runs, expected, rtol=1e-12)
    prepared = compiled.prepare_run(1.0)
    batch = prepared.run_many(*prepared.start_values_many({"load.p": powers}), keep={"u": measures.last("load.effort")})
    np.testing.assert_array_equal(batch.kept["u"], runs)
    unguessed = feeder().compile
    assert refused(unguessed).code == "E215"
    single = compile_model(feeder(), guess={"load.effort": 72.0})
    assert refused(lambda: single.initial({"no.effort": 1.0})).code == "E122"


@pytest.mark.parametrize("guess", [{"nobody.effort": 1.0}, {"load.effort": np.nan}, {"load.effort": [1.0, 2.0]}])
def test_a_guess_that_does_not_fit_is_refused(guess: dict[str, Any]) -> None:
    assert refused(lambda: feeder().compile(guess=guess)).code == "E216"


def test_rounding_errors_do_not_create_a_second_solution() -> None:
    """A diode in series with 1e6 ohm at 0 V has the single solution zero; nearby voltages satisfy the equation within rounding
    error."""
    node = J1("node")
    graph = Graph("diode").connect(Se("s", 0.0), node).connect(node, R("r", 1e6))
    graph.connect(node, R("d", flow=lambda u: 1e-12 * (exp(u / 0.025) - 1.0)))
    assert abs(graph.compile().simulate(1.0)["d.effort"][-1]) < 1e-12


RISING = {
    "diode": lambda e, i, u: i * (exp(e / u) - 1.0),
    "two diodes": lambda e, i, u: i * (exp(e / u) - exp(-e / u)),
    "cube": lambda e, i, u: i * (e / u) ** 3,
}


def passive_network(seed: int) -> Graph:
    rng = np.random.default_rng(seed)
    count, law = int(rng.integers(2, 5)), RISING[rng.choice(list(RISING))]
    i, u = 10 ** rng.uniform(-14, 0), 10 ** rng.uniform(-3, 1)
    graph, line, nodes = Graph("network"), J1("line"), [J0(f"n{k}") for k in range(count)]
    graph.connect(Se("source", rng.choice([0.0, 1e-6, 1.0]) * u), line).connect(line, R("r", 10 ** rng.uniform(-2, 3)))
    graph.connect(line, nodes[0])
    for k, node in enumerate(nodes):
        graph.connect(node, R(f"to ground {k}", 10 ** rng.uniform(0, 6)))
        for j in range(k + 1, count):
            arm, ends = J1(f"arm {k} {j}"), rng.permutation([k, j])
            graph.connect(nodes[ends[0]], arm).connect(arm, R(f"d {k} {j}", flow=lambda e, law=law: law(e, i, u)))
            graph.connect(arm, nodes[ends[1]])
    return graph


@pytest.mark.parametrize("seed", [119, 206, 308, 434, *range(16)])
def test_a_passive_network_has_one_solution(seed: int) -> None:
    passive_network(seed).compile()


@pytest.mark.parametrize(("volts", "amperes"), [(1.0, 1.0), (1e-6, 1e3), (1e-3, 1.0)])
def test_a_bridge_at_rest_has_one_solution(volts: float, amperes: float) -> None:
    """In floating point, numbers u near zero satisfy exp(u) - 1 = 0, in each of the four diodes."""
    for leak in (0.0, 1e-6):
        line, (a, b, plus, minus) = J1("line"), (J0(name) for name in ("a", "b", "plus", "minus"))
        graph = Graph("bridge").connect(Se("source", 0.0), line).connect(line, R("r", volts / amperes))
        graph.connect(b, line).connect(line, a).connect(minus, R("ground", 1e6 * volts / amperes))

        def law(e: Any, leak: float = leak) -> Any:
            return amperes * (1e-12 * (exp(e / (0.02585 * volts)) - 1.0) + leak * e / volts)

        for k, (tail, head) in enumerate(((a, plus), (b, plus), (minus, a), (minus, b))):
            arm = J1(f"arm {k}")
            graph.connect(tail, arm).connect(arm, R(f"d{k}", flow=law)).connect(arm, head)
        load = J1("load")
        graph.connect(plus, load).connect(load, R("load r", 100.0 * volts / amperes)).connect(load, minus)
        assert abs(graph.compile().simulate(1.0)["load.flow"][-1]) < 1e-12 * amperes


def test_a_start_of_a_storage_still_decides() -> None:
    node = J1("node", domain="electrical")
    graph = Graph("held").connect(Se("source", 100.0), node).connect(node, R("line", 2.0))
    graph.connect(node, C("c", capacitance=1.0, initial=3.0))
    assert graph.compile().initial()[0][0] == 3.0


def test_the_flow_of_an_inertia_is_its_start_and_no_guess_although_a_loop_is_nonlinear() -> None:
    node, v = J1("node", domain="electrical"), J1("v", domain="translation")
    graph = Graph("both").connect(Se("source", 100.0), node).connect(node, R("line", 2.0))
    graph.connect(node, R("load", flow=lambda e: 1000.0 / e, guess={"effort": 72.0}))
    graph.connect(v, I("m", mass=2.0)).connect(v, R("drag", damping=1.0))
    x, _ = graph.compile().initial({"v.flow": 3.0, "load.effort": 28.0})
    compiled = graph.compile()
    result = compiled.simulate(0.1, initial={"v.flow": 3.0, "load.effort": 28.0})
    assert result["m.p"][0] == 6.0 and result["load.effort"][0] == pytest.approx(LOW)
    assert 6.0 in x
