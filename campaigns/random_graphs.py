"""Compare random graphs with dense algebra: `python -m campaigns.random_graphs --count 20000 --seed 1`.

Every graph is compiled and compared with its own relations, solved simultaneously, in several modes at random states; graphs with
simultaneous events or sampled blocks are also run. Refusals are checked against the rank of the pencil. No graph may be wrong,
end without a code, or take more than 20 s; graphs that are refused although they have one solution are listed.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bondgraph import Graph
from campaigns.graphs.smallest import smallest, written
from campaigns.graphs.verdicts import Verdict, verdict_on
from campaigns.graphs.widened import FEATURES, Drawn, widened
from campaigns.processes import Progress, each

KINDS = ("right", "undecided", "rightly refused", "regular refused", "wrong", "uncoded", "slow")


@dataclass(frozen=True)
class Trial:
    """Number of a graph, the family and features from which it was drawn, the verdict, and, for a failure, the smallest graph
    that shows it."""

    number: int
    drawn_from: tuple[str, ...]
    verdict: Verdict
    smallest: str = ""


def drawn(seed: int, number: int) -> Drawn:
    return widened(np.random.default_rng([seed, number]))


def trial(job: tuple[int, int]) -> Trial:
    seed, number = job
    graph = drawn(seed, number)

    def verdict_of(given: Graph) -> Verdict:
        numbers = np.random.default_rng([seed, number, 1])
        return verdict_on(Drawn(given, graph.base, graph.features, graph.linear), numbers)

    verdict = verdict_of(graph.graph)
    shown = ""
    if verdict.kind in ("wrong", "uncoded"):

        def shows(less: Graph) -> bool:
            found = verdict_of(less)
            return (found.kind, found.reason) == (verdict.kind, verdict.reason)

        shown = written(smallest(graph.graph, shows))
    return Trial(number, (graph.base, *graph.features), verdict, shown)


def campaign(count: int, seed: int, *, first: int = 0, processes: int = 0, progress: bool = False) -> list[Trial]:
    """Check `count` graphs from number `first`, in this process if `processes` is 0; an interrupt returns the trials so far."""
    jobs = [(seed, number) for number in range(first, first + count)]
    trials: list[Trial] = []
    watched = Progress(count, "graphs", shown=progress)
    with contextlib.suppress(KeyboardInterrupt):
        for found in each(trial, jobs, processes):
            trials.append(found)
            watched.add("\n".join(_failure(seed, found)) if found.verdict.failed else "")
    return sorted(trials, key=lambda t: t.number)


def _failure(seed: int, found: Trial) -> Iterator[str]:
    verdict = found.verdict
    yield f"seed {seed} number {found.number} ({', '.join(found.drawn_from)}): {verdict.kind}, {verdict.reason}"
    yield f"  {verdict.detail}"
    if found.smallest:
        yield f"  smallest: {found.smallest}"


def lines(trials: list[Trial], seed: int) -> Iterator[str]:
    rows = ("all", "any", "rigid", "switched", "curved", *FEATURES)
    yield f"{'':10}" + "".join(f"{kind:>17}" for kind in KINDS)
    for row in rows:
        kinds = Counter(t.verdict.kind for t in trials if row == "all" or row in t.drawn_from)
        yield f"{row:10}" + "".join(f"{kinds[kind]:17d}" for kind in KINDS)
    for kind in ("rightly refused", "regular refused", "undecided"):
        reasons = Counter(t.verdict.reason for t in trials if t.verdict.kind == kind)
        for reason, number in reasons.most_common():
            some = [str(t.number) for t in trials if (t.verdict.kind, t.verdict.reason) == (kind, reason)][:5]
            yield f"{number:6d} {100 * number / len(trials):5.2f} %  {kind}: {reason} (numbers {', '.join(some)} ...)"
    for found in trials:
        if found.verdict.failed:
            yield from _failure(seed, found)
    yield f"{sum(t.verdict.failed for t in trials)} of {len(trials)} graphs failed"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=20_000, help="graphs (default %(default)d)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random numbers (default %(default)d)")
    parser.add_argument("--first", type=int, default=0, help="number of the first graph (default %(default)d)")
    parser.add_argument("--processes", type=int, default=min(2, os.cpu_count() or 1), help="default %(default)d")
    given, _ = parser.parse_known_args()
    trials = campaign(given.count, given.seed, first=given.first, processes=given.processes, progress=True)
    print("\n" + "\n".join(lines(trials, given.seed)))
    return int(any(t.verdict.failed for t in trials))


if __name__ == "__main__":
    sys.exit(main())
