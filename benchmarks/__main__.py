"""All benchmarks: `python -m benchmarks [--quick] [--json FILE] [--write]`."""

from __future__ import annotations

import sys
from typing import Any

from benchmarks import (
    chain,
    delta,
    events,
    front_end,
    hand,
    mujoco_ellipsoids,
    outputs,
    piles,
    prepared,
    reactions,
    stiff,
    sweeps,
    tree,
    two_eggs,
    walls,
)
from benchmarks.command import run_command

MAINS = {
    "two eggs": two_eggs.main,
    "chain": chain.main,
    "front end": front_end.main,
    "outputs": outputs.main,
    "tree": tree.main,
    "walls": walls.main,
    "reactions": reactions.main,
    "delta": delta.main,
    "hand": hand.main,
    "ellipsoids": mujoco_ellipsoids.main,
    "piles": piles.main,
    "sweeps": sweeps.main,
    "prepared": prepared.main,
    "stiff": stiff.main,
    "events": events.main,
}


def main() -> None:
    """Run all, print their tables, and write all figures where asked."""
    run_command(__doc__, None, _run)


def _run(quick: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    flags = [*(["--quick"] if quick else []), *(["--write"] if "--write" in sys.argv[1:] else [])]
    for name, run in MAINS.items():
        if found:
            print()
        found[name] = run(flags) or {}
    return found


if __name__ == "__main__":
    main()
