"""Parameters and start values are inputs of the compiled code, and are refused if inconsistent with the model."""

from __future__ import annotations

import numpy as np
import pytest

from bondgraph import J1, C, Compiled, I, ModelError, R, Se, compile_model
from tests.elements.small_models import RNG, compiled, rates, spd, star


def circuit() -> Compiled:
    return compiled(star(J1("loop"), Se("u", 1.0), C("c", capacitance=0.5, initial=3.0), R("r", 2.0)))


def test_parameters_stay_inputs_of_the_compiled_code() -> None:
    model = circuit()
    before = model.program.rates
    assert rates(model)["c.q"] == pytest.approx((1.0 - 6.0) / 2.0)
    assert rates(model, parameters={"r.resistance": 5.0, "u.value": 2.0, "c.capacitance": 1.0})["c.q"] == pytest.approx(-0.2)
    assert rates(model, **{"c.q": 0.0})["c.q"] == pytest.approx(0.5)
    assert model.program.rates is before


@pytest.mark.parametrize(
    ("code", "use"),
    [
        ("E121", lambda m: m.parameters({"c.q": 1.0})),
        ("E122", lambda m: m.initial({"r.resistance": 1.0})),
        ("E124", lambda m: m.parameters({"r.resistance": [1.0, 2.0]})),
        ("E124", lambda m: m.parameters({"r.resistance": float("nan")})),
        ("E124", lambda m: m.initial({"c.q": [1.0]})),
        ("E123", lambda m: compile_model(m.model, backend="fortran")),
    ],
)
def test_wrong_run_time_inputs_are_refused(code: str, use) -> None:
    with pytest.raises(ModelError) as caught:
        use(circuit())
    assert [p.code for p in caught.value.problems] == [code]


def test_start_values_that_follow_from_others() -> None:
    graph = star(J1("v"), C("k", stiffness=2.0), I("m", 3.0, initial=1.0))
    graph.start(lambda stiffness, p: (10.0 * stiffness + p,), ["k.stiffness", "m.p"], ["k.q"])
    model = compiled(graph)
    assert model.initial()[0].tolist() == [21.0, 1.0] or model.initial()[0].tolist() == [1.0, 21.0]
    assert rates(model, **{"m.p": 4.0})["m.p"] == pytest.approx(-48.0)
    assert rates(model, **{"k.q": 0.5})["m.p"] == pytest.approx(-1.0)  # a given value is not recomputed


def test_backends_agree() -> None:
    graph = star(
        J1("v"), C("k", stiffness=spd(3), initial=RNG.normal(size=3)), I("m", spd(3), initial=RNG.normal(size=3)), R("d", spd(3))
    )
    numbers = [compile_model(graph, backend=backend) for backend in ("numpy", "llvm")]
    one, two = (m.program.rates(0.0, m.initial()[0], m.parameters(), m.initial()[1]) for m in numbers)
    np.testing.assert_allclose(one, two, rtol=1e-13)
