"""The same chain in BondGraphTools 0.4.6: the time to derive the equations, compared with our time to compile a right-hand side.

`python -m benchmarks.bondgraphtools [--quick] [--json FILE]`; needs `pip install BondGraphTools==0.4.6`. The simulator of
BondGraphTools is not used, because it needs packages that do not support current Python.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from benchmarks.chain import construction
from benchmarks.command import run_command
from benchmarks.timing import processor, table, without_cache


def their_chain(sections: int) -> Any:
    import BondGraphTools as peer

    graph, before = peer.new(name="chain"), peer.new("Sf", value=0, name="wall")
    peer.add(graph, before)
    for i in range(sections):
        mass, node, joint = peer.new("1"), peer.new("0"), peer.new("1")
        inertia = peer.new("I", value=1.0 + 0.01 * (i % 7), name=f"m{i}")
        spring = peer.new("C", value=1.0 / (100.0 * (1.0 + 0.01 * (i % 11))), name=f"k{i}")
        damper = peer.new("R", value=0.5 * (1.0 + 0.01 * (i % 13)), name=f"c{i}")
        peer.add(graph, mass, node, joint, inertia, spring, damper)
        for tail, head in ((before, node), (node, mass), (node, joint), (mass, inertia), (joint, spring), (joint, damper)):
            peer.connect(tail, head)
        before = mass
    return graph


def compare(sections: int) -> dict[str, float]:
    """Return the seconds to derive the equations (theirs), and to compile a right-hand side and call it once (ours)."""
    _, ours = construction(sections)
    begin = time.perf_counter()
    relations = their_chain(sections).constitutive_relations
    theirs = time.perf_counter() - begin
    if len(relations) != 2 * sections:
        raise ValueError(f"BondGraphTools gives {len(relations)} equations for {2 * sections} states")
    return {"sections": sections, "ours": ours["total"], "BondGraphTools": theirs, "ratio": theirs / ours["total"]}


SIZES = (5, 10, 40)
"""Numbers of sections; BondGraphTools needs minutes to derive the equations of 40 sections."""


def main(arguments: Sequence[str] | None = None) -> dict[str, Any] | None:
    return run_command(__doc__, arguments, _run, "the smallest size")


def _run(quick: bool) -> dict[str, Any]:
    with without_cache():
        construction(2)  # modules that are loaded only once
        rows = [compare(sections) for sections in (SIZES[:1] if quick else SIZES)]
    shown = [[str(int(r["sections"])), *(f"{r[k]:.3g}" for k in ("ours", "BondGraphTools", "ratio"))] for r in rows]
    head = ["sections", "ours, s", "BondGraphTools, s", "ratio"]
    print(table(f"a chain, graph to equations, on {processor()}", head, shown))
    return {"bondgraphtools": rows}


if __name__ == "__main__":
    main()
