"""Exponential diodes in series, whose first guess overflows, start by source stepping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from bondgraph import J1, C, Element, Graph, ModelError, R, Se, compile_model
from screws.scalars import exp

THERMAL = 0.02585


def diode(name: str, saturation: float) -> Element:
    return R(name, flow=lambda e: saturation * (exp(e / THERMAL) - 1.0), domain="electrical")


def series(source: Element, saturations: Sequence[float], *others: Element) -> Graph:
    graph, loop = Graph("series"), J1("loop", domain="electrical")
    for part in (*(diode(f"d{k}", each) for k, each in enumerate(saturations)), *others):
        graph.connect(loop, part)
    return graph.connect(source, loop)


def flow_at_start(graph: Graph, parameters: Mapping[str, float] | None = None) -> float:
    result = compile_model(graph, progress=False).simulate(1e-9, progress=False, parameters=parameters)
    assert result.ok
    return float(result["loop.flow"][0])


def conducting(voltage: float, saturations: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(saturations)) + voltage / THERMAL / len(saturations)))


@pytest.mark.parametrize(
    ("voltage", "saturations"),
    [(24.0, 2 * [1e-12]), (24.0, 5 * [1e-12]), (24.0, [1e-14, 1e-9, 1e-12, 1e-10, 1e-13]), (100.0, 10 * [1e-12])],
)
def test_diodes_in_series_start(voltage: float, saturations: list[float]) -> None:
    flow = flow_at_start(series(Se("u", voltage), saturations))
    assert flow == pytest.approx(conducting(voltage, saturations), rel=1e-10)


def test_a_charged_storage_is_a_source_too() -> None:
    charged = C("c", capacitance=1e100, initial=24e100, domain="electrical")
    assert flow_at_start(series(charged, 5 * [1e-12])) == pytest.approx(conducting(24.0, 5 * [1e-12]), rel=1e-10)


def test_changed_sources_are_followed() -> None:
    graph = series(Se("u", 1.0), 5 * [1e-12])
    assert flow_at_start(graph, parameters={"u.value": 24.0}) == pytest.approx(conducting(24.0, 5 * [1e-12]), rel=1e-10)


def test_overflowing_flows_are_refused_with_a_cure() -> None:
    """Five diodes reach the largest float at 91.7 V."""
    largest = 5 * THERMAL * np.log(np.finfo(float).max)
    with pytest.raises(ModelError) as refused:
        compile_model(series(Se("u", 100.0), 5 * [1e-12]), progress=False)
    assert [problem.code for problem in refused.value.problems] == ["E206"]
    text = str(refused.value)
    assert f"up to {largest / 100.0:.3g} of" in text and "smaller sources" in text and "an R (a resistance) in the loop" in text
    assert flow_at_start(series(Se("u", 0.9 * largest), 5 * [1e-12])) > 1e200
    assert flow_at_start(series(Se("u", 100.0), 5 * [1e-12], R("r", 1.0))) == pytest.approx(95.839, rel=1e-4)
