"""A constraint violated at the start is refused in all units, while small offsets decay."""

from __future__ import annotations

import numpy as np
import pytest

from bondgraph import J1, C, Constraint, Graph, I, ModelError, Se
from tests.checks.small_graphs import rod


def codes(graph: Graph, **settings) -> list[str]:
    try:
        graph.simulate(0.5, **settings)
    except ModelError as error:
        return [problem.code for problem in error.problems]
    return []


@pytest.mark.parametrize("x", [2.0, 1.5, 1.1, 0.9, -3.0])
def test_a_rod_of_another_length_is_refused(x: float) -> None:
    assert codes(rod(x)) == ["E218"]


@pytest.mark.parametrize("x", [1.0, -1.0, 1.005, 0.995])
def test_a_consistent_or_nearly_consistent_start_runs(x: float) -> None:
    assert codes(rod(x)) == []


def test_the_advice_works() -> None:
    assert codes(rod(2.0), initial={"px.q": 1.0}) == []
    assert codes(rod(1.0), initial={"px.q": 2.0}) == ["E218"]
    assert codes(rod(2.0, closing="smooth")) == []


def test_a_consistent_start_compiles_no_output_code() -> None:
    compiled = rod(1.0).compile()
    assert compiled.simulate(0.5).ok and not compiled.program.outputs.is_made


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("misfit", [0.2, 0.01])
def test_units_of_length_and_of_the_position_do_not_matter(scale: float, misfit: float) -> None:
    for factor in (1e-9, 1e9):
        graph, v = Graph("stop"), J1("v", domain="translation")
        graph.connect(v, I("m", mass=1.0)).connect(Se("push", 0.0), v)
        graph.connect(v, C("place", stiffness=0.0, initial=scale * (1.0 + misfit)))
        held = Constraint(
            "stop", position=lambda q, length, k=factor: k * (q - length), coordinates=["place.q"], parameters={"length": scale}
        )
        graph.connect(v, held.port("1"))
        assert codes(graph) == (["E218"] if misfit > 0.1 else [])


def test_a_run_that_starts_on_the_constraint_has_the_energy_that_it_had() -> None:
    result = rod(1.0).simulate(1.0)
    speed = np.hypot(result["vx.flow"], result["vy.flow"])
    np.testing.assert_allclose(0.5 * speed**2 + 9.81 * result["py.q"], 0.0, atol=1e-6)
