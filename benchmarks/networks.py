"""Networks of random reactions from text, stiff and in detailed balance: CPU time to read the text, to compile, and to simulate
1e4 s.

`python -m benchmarks.networks [--quick] [--json FILE]`
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from screwbond.models.parts.chemical import network, stoichiometry

from benchmarks.command import run_command
from benchmarks.timing import processor, table, without_cache
from bondgraph import compile_model

SIZES = ((10, 20), (30, 60), (100, 200))


def random_network(species: int = 100, reactions: int = 200, seed: int = 0) -> tuple[str, dict[str, float]]:
    """Return, as text, reactions from two species to two others, with rates over seven decades in detailed balance; and the
    initial amounts."""
    rng, seen, lines = np.random.default_rng(seed), set[frozenset[frozenset[int]]](), list[str]()
    K = np.exp(2 * rng.normal(size=species))
    while len(lines) < reactions:
        a, b, d, e = map(int, rng.choice(species, 4, replace=False))
        if (sides := frozenset([frozenset((a, b)), frozenset((d, e))])) not in seen:
            seen.add(sides)
            rate = 10.0 ** rng.uniform(-4, 3)
            forward, reverse = float(rate * K[a] * K[b]), float(rate * K[d] * K[e])
            lines.append(f"S{a} + S{b} <-> S{d} + S{e} : {forward!r} {reverse!r}")
    return "\n".join(lines), {f"S{k}": float(q) for k, q in enumerate(rng.uniform(0.1, 2.0, species))}


def measured(species: int, reactions: int) -> dict[str, float]:
    text, amounts = random_network(species, reactions)
    begin = time.process_time()
    graph = network("network", text, amounts)
    read = time.process_time()
    compiled = compile_model(graph, progress=False)
    made = time.process_time()
    compiled.simulate(1e4, progress=False)
    cold = time.process_time()
    run = compiled.simulate(1e4, progress=False)
    warm = time.process_time()
    drift = 0.0
    for moiety in stoichiometry(text).moieties:
        total = sum(n * run[f"amounts.{each}"] for each, n in moiety.items())
        drift = max(drift, float(np.ptp(total)) / max(abs(n) * amounts[each] for each, n in moiety.items()))
    times = {"text": read - begin, "compile": made - read, "first run": cold - made, "next run": warm - cold}
    return {**times, "moieties": drift, "account": run.ledger.relative_residual}


def main(arguments: Sequence[str] | None = None) -> dict[str, Any] | None:
    return run_command(__doc__, arguments, _run)


def _run(quick: bool) -> dict[str, Any]:
    measured(6, 4)  # modules and solvers that are loaded only once
    with without_cache():
        figures = {f"{a} x {b}": measured(a, b) for a, b in (SIZES[:1] if quick else SIZES)}
    rows = [
        (
            name,
            *(f"{1e3 * each[key]:.0f}" for key in ("text", "compile", "first run", "next run")),
            *(f"{each[key]:.0e}" for key in ("moieties", "account")),
        )
        for name, each in figures.items()
    ]
    head = ("species x reactions", "text ms", "compile ms", "first run ms", "next run ms", "moieties", "account")
    print(table(f"random networks from text for 1e4 s ({processor()})", head, rows))
    return {"processor": processor(), "networks": figures}


if __name__ == "__main__":
    main()
