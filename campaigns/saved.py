"""Pytest plugin that repeats each run with the model loaded from its file: `python -m pytest -p campaigns.saved tests/examples`.

Every test then also saves each model that it simulates, loads it, compiles it again and runs it with the same settings; a test
fails unless the two results are equal bit for bit. Tests that count warnings count the warnings of both runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bondgraph import Result, compile_model, dump_model, parse_model
from bondgraph.compile.compiled import Compiled

_first: Callable[..., Result] = Compiled.simulate
_loaded: dict[int, tuple[Compiled, Compiled]] = {}
_inside: list[Compiled] = []


def again(compiled: Compiled) -> Compiled:
    if id(compiled) not in _loaded:
        backend = "auto" if compiled.program.rates.is_machine_code else "numpy"
        model = parse_model(dump_model(compiled))
        _loaded[id(compiled)] = compiled, compile_model(model, backend=backend, progress=False)
    return _loaded[id(compiled)][1]


def unequal(first: Result, second: Result) -> list[str]:
    if first.names() != second.names():
        return ["the names"]
    found = [name for name in first.names() if not np.array_equal(first[name], second[name], equal_nan=True)]
    events = [[(event.time, event.kind) for event in result.events] for result in (first, second)]
    return found + (["the events"] if events[0] != events[1] else [])


def twice(compiled: Compiled, *given: Any, **settings: Any) -> Result:
    """Run a model and compare the result with that of the loaded model, unless start values that the file stores as numbers
    depend on changed values."""
    result = _first(compiled, *given, **settings)
    changed = settings.get("parameters") or settings.get("initial")
    if not _inside and not (compiled.model.starts and changed):
        _inside.append(compiled)
        try:
            found = unequal(result, _first(again(compiled), *given, **settings))
            assert not found, f"{compiled.model.name}: after saving and loading, {', '.join(found[:8])} differ"
        finally:
            _inside.clear()
    return result


def pytest_configure() -> None:
    Compiled.simulate = twice  # type: ignore[method-assign]
