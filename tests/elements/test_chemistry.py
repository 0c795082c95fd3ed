"""Species and reactions obey mass action, stoichiometry and detailed balance, also at zero amounts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from bondgraph import J0, J1, TF, Ce, Graph, ModelError, Parameter, Re, Se, compile_model, equations
from bondgraph.analysis import reciprocity
from bondgraph.export import latex, state_equations, straight_lines
from tests.inner.schedule import kernels

RT = 8.314 * 310.0


def synthesis(rt: float | None = None, start: tuple[float, float, float] = (1.0, 2.0, 3.0)) -> Graph:
    graph, reaction, reactants = Graph("synthesis"), Re("r", RT=rt), J1("A + B")
    a, b, c = (Ce(name, initial=amount, RT=rt) for name, amount in zip("ABC", start, strict=True))
    graph.connect(a, reactants).connect(b, reactants).connect(reactants, reaction.port("1"))
    return graph.connect(reaction.port("2"), c)


@pytest.mark.parametrize("rt", [None, RT])
def test_mass_action_does_not_depend_on_the_unit_of_energy(rt: float | None) -> None:
    compiled = compile_model(synthesis(rt))
    result = compiled.simulate(3.0, samples=[0.0, 3.0], rtol=1e-9)
    found = [result[f"{name}.q"][-1] for name in "ABC"]
    assert found == pytest.approx([1.23607, 2.23607, 2.76393], abs=6e-6)
    assert result.ledger.relative_residual < 1e-9
    assert result.ledger.dissipated[-1] > 0.0
    assert all(found.ok for found in reciprocity(compiled))


def test_state_equations_of_unit_constants_are_polynomials() -> None:
    written = str(state_equations(compile_model(synthesis())))
    assert "C.q' = A.q*B.q - C.q" in written
    assert "= 2577.34" in latex(synthesis(RT))


@pytest.mark.parametrize("rt", [None, RT])
def test_mass_action_is_products_whatever_the_unit_of_energy(rt: float | None) -> None:
    """Rates contain neither exponentials nor logarithms, unless RT is a `Parameter`."""
    graph = feeding(rt)
    steps = {step[0] for name in ("rates", "jacobian") for step in straight_lines(graph)[name].steps}
    assert not steps & {"exp", "log", "power"}
    assert "C.q' = B.constant*B.q*r.rate*A.constant**2*A.q**2 - C.constant*C.q*r.rate" in str(state_equations(graph))
    parameter = feeding(Parameter(RT, "J/mol"))
    assert {"A.RT", "r.RT"} <= set(compile_model(parameter).system.parameters)
    assert "exp" in {step[0] for step in straight_lines(parameter)["rates"].steps}


def feeding(rt: object) -> Graph:
    graph, reaction, reactants, two = Graph("g"), Re("r", 3.0, RT=rt), J1("2 A + B"), TF("two", 2.0, structural=True)
    graph.connect(Ce("A", 2.0, RT=rt, initial=1.0), two.port("2")).connect(two.port("1"), reactants)
    graph.connect(Ce("B", 0.5, RT=rt, initial=1.0), reactants).connect(reactants, reaction.port("1"))
    return graph.connect(reaction.port("2"), Ce("C", 4.0, RT=rt))


def test_products_are_the_exponentials_of_affinities() -> None:
    """The rates at 1000 states, with zero and negative amounts, equal kappa (exp(A_f / RT) - exp(A_r / RT))."""
    rng = np.random.default_rng(1)
    compiled = compile_model(feeding(RT))
    p, (_, m) = compiled.parameters(), compiled.initial()
    for _ in range(1000):
        x = 10.0 ** rng.uniform(-9.0, 3.0, 3) * rng.choice([1.0, 1.0, 1.0, 0.0, -1e-9], 3)
        mu = RT * np.log(np.maximum([2.0, 0.5, 4.0] * x, 1e-300))
        terms = 3.0 * np.exp((2.0 * mu[0] + mu[1]) / RT), 3.0 * np.exp(mu[2] / RT)
        found = compiled.program.rates(0.0, x, p, m)[2]
        assert found == pytest.approx(terms[0] - terms[1], rel=0.0, abs=1e-12 * max(terms))


def test_a_large_network_is_one_tape_where_exponentials_meet_logarithms(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, before = Graph("row"), J0("n0")
    graph.connect(before, Ce("S0", initial=1.0))
    for k in range(1, 31):
        node, reaction = J0(f"n{k}"), Re(f"r{k}", 1.0 + k)
        graph.connect(node, Ce(f"S{k}", 2.0)).connect(before, reaction.port("1")).connect(reaction.port("2"), node)
        before = node
    system = equations(graph.freeze())
    monkeypatch.setattr(kernels, "MAX_STEPS", 100)
    assert not kernels.is_large(system)
    monkeypatch.setattr(kernels, "MAX_MERGED_STEPS", 100)
    assert kernels.is_large(system)


def test_an_enzyme_agrees_with_mass_action_written_out() -> None:
    k1, k2, K = 5.0, 2.0, {"E": 1.5, "S": 2.0, "ES": 0.3, "P": 0.7}
    start = {"E": 0.2, "S": 1.0, "ES": 0.0, "P": 0.0}
    graph, bind, make = Graph("enzyme"), Re("bind", k1, RT=RT), Re("make", k2, RT=RT)
    nodes = {name: J0(f"{name} node") for name in ("E", "ES")}
    left, right = J1("E + S"), J1("E + P")
    species = {name: Ce(name, K[name], RT=RT, initial=start[name]) for name in K}
    graph.connect(nodes["E"], species["E"]).connect(nodes["ES"], species["ES"])
    graph.connect(species["S"], left).connect(nodes["E"], left).connect(left, bind.port("1")).connect(bind.port("2"), nodes["ES"])
    graph.connect(nodes["ES"], make.port("1")).connect(make.port("2"), right).connect(right, species["P"])
    graph.connect(right, nodes["E"])

    def rates(_: float, x: np.ndarray) -> list[float]:
        e, s, es, p = x * np.array([K[name] for name in K])
        v1, v2 = k1 * (e * s - es), k2 * (es - e * p)
        return [v2 - v1, -v1, v1 - v2, v2]

    times = np.linspace(0.0, 5.0, 11)
    reference = solve_ivp(rates, (0.0, 5.0), list(start.values()), method="DOP853", rtol=1e-11, atol=1e-13, t_eval=times).y
    result = compile_model(graph).simulate(5.0, samples=times, rtol=1e-11)
    found = np.array([result[f"{name}.q"] for name in K])
    assert found == pytest.approx(reference, abs=1e-9)
    assert found[0] + found[2] == pytest.approx(0.2, rel=1e-12)
    assert found[1] + found[2] + found[3] == pytest.approx(1.0, rel=1e-12)


def test_a_chain_in_dimensional_constants_settles_where_potentials_are_equal() -> None:
    """X <=> 2 Y <=> Z with K = 2, 3, 5 ends at mu_X = 2 mu_Y = mu_Z, and X + Y/2 + Z is conserved."""
    graph, node, first, second = Graph("chain"), J0("Y node"), Re("r1", 4.0, RT=RT), Re("r2", 0.5, RT=RT)
    one, two = TF("n1", 2.0), TF("n2", 2.0)
    graph.connect(Ce("X", 2.0, RT=RT, initial=1.0), first.port("1")).connect(first.port("2"), one).connect(one, node)
    graph.connect(node, Ce("Y", 3.0, RT=RT, initial=0.0)).connect(two.port("2"), node).connect(second.port("1"), two.port("1"))
    graph.connect(second.port("2"), Ce("Z", 5.0, RT=RT, initial=0.0))
    result = compile_model(graph).simulate(60.0, rtol=1e-9)
    mu = [result[f"{name}.effort"][-1] for name in "XYZ"]
    assert mu[0] == pytest.approx(2.0 * mu[1], rel=1e-6)
    assert mu[0] == pytest.approx(mu[2], rel=1e-6)
    assert result["X.q"] + result["Y.q"] / 2 + result["Z.q"] == pytest.approx(1.0, rel=1e-9)


def test_a_species_held_by_a_source_is_a_chemostat() -> None:
    """A is held at the potential ln 2, that is, at 2 mol, so C' = 2 - C."""
    graph, node, reaction = Graph("chemostat"), J0("A node"), Re("r")
    graph.connect(Se("feed", np.log(2.0)), node).connect(node, Ce("A", initial=1.0)).connect(node, reaction.port("1"))
    graph.connect(reaction.port("2"), Ce("C"))
    compiled = compile_model(graph)
    result = compiled.simulate(1.0, samples=[0.0, 1.0], rtol=1e-9)
    assert result["C.q"][-1] == pytest.approx(2.0 * (1.0 - np.exp(-1.0)), rel=1e-6)
    assert result["A.q"][-1] == pytest.approx(2.0, rel=1e-12)


def test_constants_are_positive_and_other_domains_are_refused() -> None:
    with pytest.raises(ModelError, match="E137"):
        Ce("A", 0.0)
    with pytest.raises(ModelError, match="E137"):
        Re("r", -1.0)
    with pytest.raises(ModelError, match="E105"):
        compile_model(Graph("g").connect(Se("pump", 1.0, domain="hydraulic"), Ce("A", initial=1.0)))
