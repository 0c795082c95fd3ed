"""Laws of invariance: a graph written in another way has the same physics, or is refused for the same reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
import pytest

from bondgraph import ModelError, compile_model
from campaigns.graphs.descriptions import TRANSFORMATIONS, Description, built, drawn

PARTS, SAMPLE = 3, 6
"""Graphs in the suite, each under every law; a campaign takes more: `campaign(2000)`."""
AGREES = 1e-8
"""Relative difference of energies and powers: what rounding makes of graphs whose matrices are well conditioned."""


def physics(d: Description) -> tuple[str, dict[str, np.ndarray]]:
    """Energy of and power into what every part of the original has become; or the codes of a refusal."""
    try:
        compiled = compile_model(built(d), backend="numpy")
    except ModelError as error:
        return " ".join(sorted({problem.code for problem in error.problems})), {}
    values = compiled.evaluate()
    group = {j.name: j.group for j in d.joints}
    found: dict[str, np.ndarray] = {}
    for part in d.parts:
        path = f"{group[part.at]}.{part.name}" if group[part.at] else part.name
        power = float(values[compiled.system.resolve(f"{path}.power")])
        energy = float(values[compiled.system.resolve(f"{path}.energy")]) if part.kind.upper() in "CI" else 0.0
        found[part.owner] = found.get(part.owner, 0.0) + np.array([energy, power])
    return "runs", found


def difference(mine: dict[str, np.ndarray], theirs: dict[str, np.ndarray]) -> str:
    """How the physics of two graphs differ; "" if they do not."""
    size = max((float(np.abs(v).max()) for v in mine.values()), default=0.0)
    gap = max((float(np.abs(mine[k] - theirs[k]).max()) for k in mine), default=0.0)
    return "" if gap <= AGREES * (size + 1.0) else f"off by {gap:.3g} of {size:.3g}"


def campaign(
    count: int, laws: Iterable[str] = TRANSFORMATIONS, first: int = 0
) -> tuple[Counter, list[tuple[str, int, str]]]:
    """Many graphs under some laws: what they are, and (law, seed, how) of those that differ; from a seed on."""
    kinds: Counter = Counter()
    wrong = []
    for seed in range(first, first + count):
        d = drawn(np.random.default_rng(seed))
        one, mine = physics(d)
        kinds[one] += 1
        for law in laws:
            other, theirs = physics(TRANSFORMATIONS[law](d, np.random.default_rng(seed)))
            how = f"{one} is now {other}" if one != other else difference(mine, theirs)
            wrong += [(law, seed, how)] if how else []
    return kinds, wrong


@pytest.mark.parametrize("part", range(PARTS))
def test_a_graph_written_in_another_way_is_the_same(part: int) -> None:
    kinds, wrong = campaign(SAMPLE, first=SAMPLE * part)
    assert not wrong, wrong
    assert kinds["runs"] > SAMPLE // 3, kinds
