"""Run all campaigns in turn, with their default counts, except `mutants` (it runs the test suite): `python -m campaigns`."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest


def main() -> int:
    found = 0
    for path in sorted(Path(__file__).parent.glob("[!_]*.py")):
        if path.stem == "mutants":
            continue
        run = getattr(import_module(f"campaigns.{path.stem}"), "main", None)
        if run is not None:
            print(f"== {path.stem}", flush=True)
            try:
                found |= run()
            except pytest.skip.Exception as reason:  # a program is not installed
                print(reason)
    return found


if __name__ == "__main__":
    sys.exit(main())
