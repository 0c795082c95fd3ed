"""Every acceptance model has the same physics in other orders, names, nesting, arrows and units."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from screwbond.models import read_scenario, two_body_graph
from screwbond.models.delta import DeltaParameters, DeltaRobot
from screwbond.models.hand import Hand

from bondgraph import Compiled, Graph, ModelError, compile_model
from campaigns.graphs.equivalents import dual, split, with_units
from campaigns.graphs.rewritten import Rewritten, boxed, renamed, reordered, rescaled, turned
from tests.acceptance import entries
from tests.acceptance.suite import SUITE
from tests.inner.run import Result

LAWS = {law.__name__: law for law in (reordered, renamed, boxed, turned, rescaled, split, with_units, dual)}


class Seen(Exception): ...


@dataclass(frozen=True)
class Shown:
    graph: Graph
    t_end: float = 0.0
    settings: Any = None


@cache
def shown_by(name: str) -> tuple[Shown, ...]:
    found: list[Shown] = []
    graphs: dict[int, Graph] = {}
    compile_it = entries.compile_model

    def compiling(graph: Graph, **options: Any) -> Compiled:
        found.append(Shown(graph))
        compiled = compile_it(graph, backend="numpy")
        graphs[id(compiled)] = graph
        return compiled

    def running(self: Compiled, t_end: float, **settings: Any) -> Any:
        found.append(Shown(graphs[id(self)], t_end, settings))
        raise Seen

    with pytest.MonkeyPatch.context() as patched, contextlib.suppress(Seen, ModelError):
        patched.setattr(entries, "compile_model", compiling)
        patched.setattr(Compiled, "simulate", running)
        SUITE[name]()
    return tuple(found)


@cache
def physics_of(name: str) -> list[tuple[Graph, dict[str, Any]]]:
    return [(one.graph, physics(one.graph)) for one in {id(one.graph): one for one in shown_by(name)}.values()]


def physics(graph: Graph) -> dict[str, Any]:
    """Return the energies of storages and the powers of other elements at the start, or the codes of a refusal."""
    try:
        compiled = compile_model(graph, backend="numpy")
    except ModelError as error:
        return {"refused": sorted({problem.code for problem in error.problems})}
    values, system = compiled.evaluate(), compiled.system
    found = {f"{path} energy": float(values[system.resolve(value)]) for path, value in system.energies}
    found |= {f"{power.element} power": float(values[system.resolve(power.value)]) for power in system.powers}
    return found


def same(one: dict[str, Any], other: dict[str, Any], how: Rewritten, close: float) -> None:
    if "refused" in one:
        assert one == other
        return
    moved = {
        f"{how.paths.get(path, path)} {what}": value for key, value in one.items() for path, _, what in [key.rpartition(" ")]
    }
    for path, shared in how.shares.items():
        if f"{path} power" in other:  # a run has only energies
            other[f"{shared} power"] += other.pop(f"{path} power")
    assert moved.keys() == other.keys()
    size = max([1e-300, *map(abs, one.values())])
    for key, value in moved.items():
        assert other[key] == pytest.approx(value, abs=close * size, rel=close), key


def rewritten(graph: Graph, law: str, *seed: int) -> Rewritten:
    try:
        found = LAWS[law](graph, np.random.default_rng(seed))
    except ModelError:
        with pytest.raises(ModelError):
            graph.freeze()
        pytest.skip("the graph is refused before it has bonds")
    if found is None:
        pytest.skip("an element without a dual")
    return found


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", SUITE)
def test_start(name: str, law: str) -> None:
    assert physics_of(name)
    for number, (graph, mine) in enumerate(physics_of(name)):
        other = rewritten(graph, law, number)
        same(mine, physics(other.graph), other, 1e-9)


def test_half_of_the_entries_have_a_dual() -> None:
    """The other cases contain constraints, switches, ICs or matrices with a direction, which have no dual."""
    found = []
    for name in SUITE:
        with contextlib.suppress(ModelError):  # cases that demonstrate a refusal
            found.append(dual(shown_by(name)[0].graph, np.random.default_rng(0)))
    assert sum(one is not None for one in found) > len(found) / 2


PARTS = {
    "eggs": lambda: two_body_graph(read_scenario(Path(__file__).parents[1] / "models" / "data" / "S1a.json")),
    "hand": lambda: Hand().graph(),
    "delta robot": lambda: DeltaRobot(DeltaParameters.fit()).graph(),
}


@pytest.mark.parametrize("name", PARTS)
def test_a_model_of_a_paper_may_be_a_part_of_another(name: str) -> None:
    graph = PARTS[name]()
    inside = boxed(graph, np.random.default_rng(0))
    same(physics(graph), physics(inside.graph), inside, 0.0)


RUN = (
    "clutch",
    "bullet and wood",
    "stick-slip",
    "C = 10, R = 100, L = 10 with Sf",
    "A + B <=> C",
    "Duffing oscillator",
    "ideal rectifier",
    "two-port storage and moving-plate capacitor",
)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", RUN)
def test_run(name: str, law: str) -> None:
    for one, mine, before in runs_of(name):
        other = rewritten(one.graph, law, 1)
        theirs, after = ended(other.graph, one.t_end)
        assert instants(theirs) == pytest.approx(instants(mine), rel=1e-7)
        same(before, after, other, 1e-6)


@cache
def runs_of(name: str) -> list[tuple[Shown, Result, dict[str, float]]]:
    runs = [one for one in shown_by(name) if one.t_end] or [Shown(shown_by(name)[0].graph, 2.0)]
    return [(one, *ended(one.graph, one.t_end)) for one in runs]


def ended(graph: Graph, t_end: float) -> tuple[Result, dict[str, float]]:
    compiled = compile_model(graph)
    result = compiled.simulate(t_end, rtol=1e-9, samples=[0.0, t_end], progress=False)
    assert result.ok, result.failure
    return result, {f"{path} energy": float(result[f"{path}.energy"][-1]) for path, _ in compiled.system.energies}


def instants(result: Result) -> list[float]:
    times = [event.time for event in result.events]
    return [time for k, time in enumerate(times) if not k or time - times[k - 1] > 1e-9 * result.t[-1]]
