"""A user defines a law that the package lacks as a record and a function that writes its statements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from bondgraph import J0, J1, C, Graph, I, ModelError, Op, Se, compile_model, simulate
from tests.inner.assembly import (
    ASSEMBLE,
    Assembly,
    account_power,
    declare_state,
    effort,
    flow,
    into,
    law_arguments,
    name_port,
    signed,
)
from tests.inner.model import PORT, CausalityPreference, CausalityRequest, Element, Law, StateSpec, one_port


@dataclass(frozen=True)
class Memristor(Law):
    """Resistor e = M(q) f with q' = f, which remembers the charge (Chua 1971)."""

    resistance: Op
    start: StateSpec

    def states(self) -> Mapping[str, StateSpec]:
        return {"q": self.start}

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        return (*PORT, "q")

    def demand(self, port: int) -> CausalityRequest:
        return CausalityRequest(False, CausalityPreference.MUST)


def write(draft: Assembly, path: str, element: Element) -> None:
    law = element.law
    assert isinstance(law, Memristor)
    bond = draft.model.bonds_at(path)[0]
    sign, inward = into(bond, path), signed(draft, path, flow(bond), into(bond, path))
    rate = draft.declare(f"{path}.q'", ())
    declare_state(draft, path, "q", law.start, (), rate)
    draft.same(path, rate, inward)
    draft.write(path, law.resistance, effort(bond), f"{path}.q", flow(bond), *law_arguments(path, element))
    name_port(draft, path, element, bond, path)
    account_power(draft, path, bond, sign, "dissipated")


def memristor(name: str, initial: float = 0.0, **parameters: Any) -> Element:
    def effort_of(q: Any, f: Any, a: Any, b: Any) -> Any:
        return (a + b * q * q) * f

    return one_port("MR", name, Memristor(Op("M", effort_of), StateSpec(initial)), parameters, dimension=1)


@pytest.fixture
def known() -> Iterator[None]:
    ASSEMBLE[Memristor] = write
    yield
    del ASSEMBLE[Memristor]


def circuit(turned: bool) -> Graph:
    graph, loop, part = Graph("memory"), J1("loop"), memristor("mr", initial=0.5, a=0.2, b=0.7)
    graph.connect(Se("u", lambda t: 1.0 - t, signals="time"), loop).connect(loop, I("l", 0.5)).connect(
        loop, C("c", capacitance=2.0)
    )
    return graph.connect(part, loop) if turned else graph.connect(loop, part)


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
@pytest.mark.usefixtures("known")
def test_a_law_of_ones_own_runs(backend: str) -> None:
    def rates(t: float, x: np.ndarray) -> list[float]:
        p, q, stored = x
        return [1.0 - t - stored / 2.0 - (0.2 + 0.7 * q * q) * p / 0.5, p / 0.5, p / 0.5]

    wanted = solve_ivp(rates, (0.0, 2.0), [0.0, 0.5, 0.0], rtol=1e-11, atol=1e-12).y[:, -1]
    result = compile_model(circuit(False), backend=backend).simulate(2.0, rtol=1e-10, progress=False)
    assert result.ok
    assert [result[name][-1] for name in ("l.p", "mr.q", "c.q")] == pytest.approx(wanted, rel=1e-8)


@pytest.mark.usefixtures("known")
def test_an_outward_arrow_reverses_the_flow() -> None:
    one, other = (simulate(circuit(turned), 2.0, rtol=1e-9, progress=False) for turned in (False, True))
    assert other["mr.q"][-1] - 0.5 == pytest.approx(-(other["c.q"][-1]), rel=1e-6)
    assert one["mr.q"][-1] - 0.5 == pytest.approx(one["c.q"][-1], rel=1e-6)


def test_a_law_without_statements_is_named() -> None:
    with pytest.raises(ModelError, match="E172") as refused:
        compile_model(circuit(False))
    assert "Memristor" in str(refused.value) and "ASSEMBLE" in str(refused.value)


@pytest.mark.usefixtures("known")
def test_a_conflict_with_a_law_of_ones_own_is_one_of_causality() -> None:
    graph, node = Graph("clash"), J0("node")
    graph.connect(Se("u", 1.0), node).connect(node, memristor("mr", a=1.0, b=1.0))
    with pytest.raises(ModelError, match="E203") as refused:
        compile_model(graph)
    assert 'MR "mr"' in str(refused.value) and "ring" not in str(refused.value)


def test_a_value_that_no_statement_gives_is_named() -> None:
    def forgetful(draft: Assembly, path: str, element: Element) -> None:
        bond = draft.model.bonds_at(path)[0]
        rate = draft.declare(f"{path}.q'", ())
        declare_state(draft, path, "q", StateSpec(0.0), (), rate)
        draft.same(path, rate, flow(bond))

    ASSEMBLE[Memristor] = forgetful
    try:
        with pytest.raises(ModelError, match="E173") as refused:
            compile_model(circuit(False))
    finally:
        del ASSEMBLE[Memristor]
    assert "effort" in str(refused.value) and "Memristor" in str(refused.value)
