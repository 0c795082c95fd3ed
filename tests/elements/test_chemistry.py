"""Species and reactions: mass action, stoichiometry, amounts of zero, detailed balance, and free energy."""

from __future__ import annotations

import numpy as np
import pytest

from bondgraph import J0, J1, TF, Ce, Graph, ModelError, Re, Se, compile_model
from bondgraph.analysis import reciprocity
from bondgraph.export import latex, state_equations

RT = 8.314 * 310.0


def synthesis(rt: float | None = None, start: tuple[float, float, float] = (1.0, 2.0, 3.0)) -> Graph:
    """A + B <=> C."""
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
    assert "RT" in latex(synthesis(RT))


def test_a_chain_in_dimensional_constants_settles_where_potentials_are_equal() -> None:
    """X <=> 2 Y <=> Z with K = 2, 3, 5: at rest mu_X = 2 mu_Y = mu_Z, and X + Y/2 + Z is kept."""
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
    """A is fed at the potential ln 2, so it holds 2 mol: C' = 2 - C."""
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
