"""Laws of invariance on random graphs: `python -m campaigns.laws --count 2000 --seed 0`.

A graph that is written in another way, or in other units, must have the same physics, or be refused for the same reason.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from bondgraph import ModelError, compile_model
from campaigns.graphs.descriptions import TRANSFORMATIONS, Description, built, drawn
from campaigns.processes import Progress, each

AGREES = 1e-8
"""Largest relative difference of energies and powers: rounding error in graphs whose matrices are well conditioned."""


@dataclass(frozen=True)
class Trial:
    """Result of a random graph, "runs" or the codes of its refusal, and the laws that it violates, with the differences."""

    seed: int
    kind: str
    differs: tuple[tuple[str, str], ...]


def physics(d: Description) -> tuple[str, dict[str, np.ndarray]]:
    """Return "runs" with the energy of, and the power into, the counterpart of every original part, or the codes of a refusal."""
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
    size = max((float(np.abs(v).max()) for v in mine.values()), default=0.0)
    gap = max((float(np.abs(mine[k] - theirs[k]).max()) for k in mine), default=0.0)
    return "" if gap <= AGREES * (size + 1.0) else f"off by {gap:.3g} of {size:.3g}"


def under_laws(seed: int, laws: Iterable[str] = TRANSFORMATIONS) -> Trial:
    d = drawn(np.random.default_rng(seed))
    one, mine = physics(d)
    differs = []
    for law in laws:
        try:
            other, theirs = physics(TRANSFORMATIONS[law](d, np.random.default_rng(seed)))
        except Exception as error:
            other, theirs = f"{type(error).__name__}: {error}", {}
        how = f"{one} is now {other}" if one != other else difference(mine, theirs)
        differs += [(law, how)] if how else []
    return Trial(seed, one, tuple(differs))


def campaign(count: int, first: int = 0, *, processes: int = 0, progress: bool = False) -> list[Trial]:
    found: list[Trial] = []
    watched = Progress(count, "graphs", shown=progress)
    for one in each(under_laws, range(first, first + count), processes):
        found.append(one)
        watched.add("\n".join(_differences(one)))
    return sorted(found, key=lambda one: one.seed)


def _differences(one: Trial) -> Iterator[str]:
    return (f"seed {one.seed}, {law}: {how}" for law, how in one.differs)


def lines(found: list[Trial]) -> Iterator[str]:
    for kind, number in Counter(one.kind for one in found).most_common():
        yield f"{number:6d}  {kind}"
    for law in TRANSFORMATIONS:
        yield f"{sum(law in dict(one.differs) for one in found):6d}  differ when {law.replace('_', ' ')}"
    for one in found:
        yield from _differences(one)
    yield f"{sum(bool(one.differs) for one in found)} of {len(found)} graphs differ"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=2_000, help="graphs, each under every law (default %(default)d)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first graph (default %(default)d)")
    parser.add_argument("--processes", type=int, default=min(2, os.cpu_count() or 1), help="default %(default)d")
    given, _ = parser.parse_known_args()
    found = campaign(given.count, given.seed, processes=given.processes, progress=True)
    print("\n" + "\n".join(lines(found)))
    return int(any(one.differs for one in found))


if __name__ == "__main__":
    sys.exit(main())
