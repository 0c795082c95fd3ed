"""Wrong values for every argument of public functions: each call must succeed, or be refused with a code.

`python -m campaigns.wrong_arguments` replaces the arguments of the valid calls in `tests.front_door.valid_calls`, one at a time.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Sequence

from tests.front_door.valid_calls import bare_errors, of_elements, of_graphs, of_parts, of_runs


def main(arguments: Sequence[str] | None = None) -> int:
    wanted, errors = sys.argv[1:] if arguments is None else arguments, list[str]()
    every = {**of_elements(), **of_parts(), **of_graphs(), **of_runs()}
    calls = {name: call for name, call in every.items() if not wanted or name in wanted}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for function, valid in calls.values():
            errors += bare_errors(function, valid)
    print("\n".join([*errors, f"{len(errors)} errors without a code in {len(calls)} functions"]))
    return int(bool(errors))


if __name__ == "__main__":
    sys.exit(main())
