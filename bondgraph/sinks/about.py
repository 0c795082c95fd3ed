"""About a file of samples: what is kept in; the words that stand in its metadata out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bondgraph.output.components import component_names
from bondgraph.run_arguments import KeptQuantity

KEY = "screwbond"
"""Where they stand, in formats that have keys for that."""


def about(model: str, kept: Sequence[KeptQuantity]) -> dict[str, Any]:
    """Of a file that begins: the model, and the unit of each quantity."""
    return {"model": model, "units": {"t": "s", **{one.name: one.unit for one in kept}}}


def ending(wrong: str, valid: int) -> dict[str, Any]:
    """Of a run that ended: nothing where it is well, else why not, and how many of the samples hold."""
    return {"not ok": wrong, "valid samples": valid} if wrong else {}


def told(words: Mapping[str, Any]) -> str:
    """In one line of JSON."""
    return json.dumps(words, ensure_ascii=False)


def columns_of(kept: Sequence[KeptQuantity]) -> list[tuple[str, str]]:
    """Names and units of the columns of a table, "t" first; an array has one for each component."""
    found = [("t", "s")]
    for one in kept:
        found += [(name, one.unit if not one.shape else "") for name in component_names(one.name, one.shape)]
    return found


def table_of(t: np.ndarray, values: Mapping[str, np.ndarray], kept: Sequence[KeptQuantity]) -> np.ndarray:
    """Numbers of these columns (k, columns)."""
    return np.hstack([t[:, None], *(values[one.name].reshape(len(t), -1) for one in kept)])
