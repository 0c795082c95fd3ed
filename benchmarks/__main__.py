"""All benchmarks: `python -m benchmarks [--quick] [--json FILE]`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmarks import chain, delta, hand, mujoco_ellipsoids, two_eggs


def main() -> None:
    """Run all, print their tables, and write all figures where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    parser.add_argument("--quick", action="store_true", help="few repetitions: to see that it works")
    given = parser.parse_args()
    settings = ["--quick"] if given.quick else []
    found = {"two eggs": two_eggs.main(settings)}
    print()
    found["chain"] = chain.main(settings)
    print()
    found["delta"] = delta.main(settings)
    print()
    found["hand"] = hand.main(settings)
    print()
    found["ellipsoids"] = mujoco_ellipsoids.main(settings) or {}
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
