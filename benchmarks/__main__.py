"""All benchmarks: `python -m benchmarks [--quick] [--json FILE] [--write]`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from benchmarks import (
    bondgraphtools,
    chain,
    coupled_models,
    delta,
    events,
    exports,
    first_second,
    front_end,
    gpu,
    hand,
    hand_mujoco,
    mujoco_ellipsoids,
    networks,
    outputs,
    piles,
    prepared,
    reactions,
    smooth,
    stiff,
    sweeps,
    tree,
    two_eggs,
)
from benchmarks.command import run_command

MAINS = {
    "two eggs": two_eggs.main,
    "chain": chain.main,
    "front end": front_end.main,
    "outputs": outputs.main,
    "tree": tree.main,
    "coupled models": coupled_models.main,
    "reactions": reactions.main,
    "networks": networks.main,
    "delta": delta.main,
    "hand": hand.main,
    "hand in MuJoCo": hand_mujoco.main,
    "ellipsoids": mujoco_ellipsoids.main,
    "piles": piles.main,
    "sweeps": sweeps.main,
    "prepared": prepared.main,
    "gpu": gpu.main,
    "stiff": stiff.main,
    "smooth": smooth.main,
    "events": events.main,
    "exports": exports.main,
    "first second": first_second.main,
    "BondGraphTools": bondgraphtools.main,
}


def main(arguments: Sequence[str] | None = None) -> dict[str, Any] | None:
    flags = list(sys.argv[1:] if arguments is None else arguments)
    write = ["--write"] if "--write" in flags else []

    def run(quick: bool) -> dict[str, Any]:
        return _all([*(["--quick"] if quick else []), *write])

    return run_command(__doc__, flags, run)


def _all(flags: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, run in MAINS.items():
        if found:
            print()
        found[name] = run(flags) or {}
    return found


if __name__ == "__main__":
    main()
