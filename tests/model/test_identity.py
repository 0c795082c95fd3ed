"""Names do not define identity: a formula, an element or a surface is the same under any name."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bondgraph import DOMAINS, J0, J1, Ce, Domain, Graph, I, Op, R, Se, compile_model, simulate
from screws.surfaces import closed_surface, plane
from tests.inner.assembly import ASSEMBLE
from tests.inner.model import Law, Storing, domains
from tests.inner.models_joints import KINDS
from tests.inner.models_pictures import body_points


def pushed(source: object) -> Graph:
    graph, v = Graph("pushed"), J1("v")
    return graph.connect(source, v).connect(v, I("m", 1.0))


@pytest.mark.parametrize("name", ["zero", "value", "constant", "identity", "choose", "sum", "gate"])
def test_a_source_may_have_a_formula_of_any_name(name: str) -> None:
    result = simulate(pushed(Se("push", Op(name, lambda: 5.0))), 1.0, progress=False)
    assert result["m.p"][-1] == pytest.approx(5.0)
    assert result.ledger.supplied[-1] == pytest.approx(12.5)


def test_a_source_without_a_value_gives_nothing() -> None:
    result = simulate(pushed(Se("push")), 1.0, progress=False)
    assert result["m.p"][-1] == 0.0


@pytest.mark.parametrize("name", ["law", "multiply", "divide"])
def test_a_relation_of_any_name_may_give_power(name: str) -> None:
    """Only declared linear coefficients must be positive."""
    graph = pushed(Se("push", 1.0))
    graph.connect(graph.parts["v"], R("r", effort=Op(name, lambda f, r: r * f), parameters={"resistance": -2.0}))
    result = simulate(graph, 1.0, progress=False)
    assert result["m.p"][-1] == pytest.approx((math.exp(2.0) - 1.0) / 2.0, rel=1e-6)


def test_the_report_names_the_element_that_sets_the_effort_of_a_dependent_storage() -> None:
    """Two species are on one 0-junction, so one sets the effort of the other."""
    graph, pool = Graph("pool"), J0("pool")
    graph.connect(pool, Ce("A", constant=1.0, initial=1.0)).connect(pool, Ce("B", constant=1.0, initial=1.0))
    report = compile_model(graph, backend="numpy").report()
    assert "its effort is set by Ce" in report and "its flow" not in report


def test_a_pebble_called_plane_has_its_size() -> None:
    pebble = closed_surface(lambda n: tuple(0.02 * x for x in n), name="plane")
    assert not pebble.unbounded and plane().unbounded
    points = body_points(pebble, np.array([[0.0, 0.0, 0.02]]), 1.0)
    assert np.ptp(points.reshape(-1, 3), axis=0) == pytest.approx([0.04] * 3, rel=1e-2)


def concrete(base: type) -> set[type]:
    own = [kind for kind in base.__subclasses__() if kind.__module__.startswith("bondgraph.")]
    return {kind for below in own for kind in concrete(below)} or {base}


@pytest.mark.parametrize("law", sorted(concrete(Law), key=lambda law: law.__name__))
def test_every_law_describes_itself(law: type[Law]) -> None:
    assert law in ASSEMBLE
    assert law.signals is not Law.signals
    if issubclass(law, Storing):
        assert (
            law.follows is not Storing.follows
            and law.dependence_order is not Storing.dependence_order
            and "gives" in law.__annotations__
        )


def test_the_table_of_statements_knows_nothing_else() -> None:
    assert set(ASSEMBLE) == concrete(Law)


def test_the_table_of_domains_has_all_of_them_by_their_names() -> None:
    own = {domain.name: domain for domain in vars(domains).values() if isinstance(domain, Domain)}
    assert own == DOMAINS


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_joint_is_whole(kind: str) -> None:
    own = KINDS[kind]
    numbers = () if own.number is None else (0.7,)
    H = np.eye(4)
    assert np.size(own.violation(H, *numbers)) + len(np.atleast_2d(own.free(H, *numbers))) == 6
    assert len(np.ravel(own.coordinates(H, *numbers))) == len(np.atleast_2d(own.free(H, *numbers)))
    assert 0 <= own.angles <= np.size(own.violation(H, *numbers))
