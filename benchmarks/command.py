"""Command line of a benchmark: parse the arguments, print the results, and write them to a file or to the README if requested."""

from __future__ import annotations

import argparse
import inspect
import io
import json
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from benchmarks.hand_written import Disagreement, Missing

README = Path(__file__).with_name("README.md")
PACKAGES = {
    "mujoco": "MuJoCo is not installed: pip install 'screwbond[bench]'",
    "heyoka": "heyoka is not installed: pip install 'screwbond[bench]'",
    "BondGraphTools": "BondGraphTools is not installed: pip install BondGraphTools==0.4.6",
}
LEFT_OUT = "this comparison is omitted"


class _Both(io.StringIO):
    def __init__(self) -> None:
        super().__init__()
        self._shown = sys.stdout

    def write(self, text: str) -> int:
        self._shown.write(text)
        return super().write(text)


def run_command(
    description: str | None,
    arguments: Sequence[str] | None,
    run: Callable[[bool], dict[str, Any]],
    quick: str = "few repetitions, as a trial",
) -> dict[str, Any] | None:
    """Measure and print with `run`(quick), and write its figures to a JSON file and its tables into the README, if requested.

    Return the figures, or None, with a message, if a program that the benchmark needs is missing.

    Raises `SystemExit` if results that must agree do not.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument("--write", action="store_true", help=f"put the tables into {README.name}")
    given, own = parser.parse_args(arguments), _Both()
    try:
        with redirect_stdout(own):
            found = run(given.quick)
    except Disagreement as reason:
        raise SystemExit(f"benchmarks: {reason}") from reason
    except Missing as reason:
        print(f"{reason}; {LEFT_OUT}")
        return None
    except ModuleNotFoundError as missing:
        if missing.name not in PACKAGES:
            raise
        print(f"{PACKAGES[missing.name]}; {LEFT_OUT}")
        return None
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    module = Path(inspect.getsourcefile(run) or "").stem
    if given.write and module != "__main__":  # `__main__` runs all benchmarks, each of which writes its own tables
        README.write_text(with_tables(README.read_text(encoding="utf-8"), module, own.getvalue()), encoding="utf-8")
    return found


def with_tables(page: str, name: str, tables: str) -> str:
    head, _, rest = page.partition("\n## Results\n")
    introduction, *blocks = re.split(r"^### ", rest, flags=re.MULTILINE)
    kept = {block.partition("\n")[0]: block for block in blocks}
    kept[name] = f"{name}\n\n```text\n{tables.strip()}\n```\n\n"
    return f"{head}\n## Results\n{introduction}" + "".join(f"### {kept[key]}" for key in sorted(kept)).rstrip("\n") + "\n"
