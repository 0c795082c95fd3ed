"""A benchmark as a command: its arguments in, its figures out, printed and written to a file where asked."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.hand_written import Disagreement


def run_command(
    description: str | None,
    arguments: Sequence[str] | None,
    run: Callable[[bool], dict[str, Any]],
    quick: str = "few repetitions: to see that it works",
) -> dict[str, Any] | None:
    """Measure and print with `run`(quick?), and write its figures to a JSON file where asked; None where MuJoCo is missing.

    Raises `SystemExit` where hand-written code disagrees with what was compiled, or its compiler is missing.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    parser.add_argument("--quick", action="store_true", help=quick)
    given = parser.parse_args(arguments)
    try:
        found = run(given.quick)
    except (Disagreement, FileNotFoundError) as reason:
        raise SystemExit(f"benchmarks: {reason}") from reason
    except ModuleNotFoundError as missing:
        if missing.name != "mujoco":
            raise
        print("MuJoCo is not installed: pip install 'screwbond[bench]'; this comparison is left out")
        return None
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return found
