"""Models of the gallery, each compiled once."""

from __future__ import annotations

from functools import cache

from bondgraph import Compiled, compile_model
from examples.gallery import ENTRIES


@cache
def compiled_entry(name: str) -> Compiled:
    return compile_model(ENTRIES[name].make(), progress=False)
