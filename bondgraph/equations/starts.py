"""Start values of dependent storages: they follow from others, so what a user gives for them must agree."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bondgraph.causality import Causality
from bondgraph.equations.system import System
from bondgraph.errors import Problem
from bondgraph.graph.laws import Storage
from bondgraph.graph.model import Model
from bondgraph.passes.rings import elements_at, named

AGREES = 1e-6
"""Relative difference up to which a start value agrees with what follows."""


def contradicting_starts(
    model: Model, causality: Causality, system: System, evaluate: Callable[[], Mapping[str, Any]]
) -> list[Problem]:
    """Storages in derivative causality that are given a start (other than zero) which is not what follows (E213).

    `evaluate` gives all values at the start; it is asked only where such a start is given.
    """
    given = {}
    for path in causality.derivative:
        element, law = model.elements[path], model.elements[path].law
        if element.kind not in ("C", "I"):
            continue  # a species always has some amount to start with
        if isinstance(law, Storage) and np.any(np.asarray(law.spec.initial, dtype=float)):
            given[path] = (law.state, np.asarray(law.spec.initial, dtype=float))
    if not given:
        return []
    values, problems = evaluate(), []
    for path, (state, start) in given.items():
        follows = np.asarray(values[system.resolve(f"{path}.{state}")], dtype=float)
        size = float(np.max(np.abs(start)) + np.max(np.abs(follows)))
        if not np.all(np.isfinite(follows)) or np.max(np.abs(follows - start)) <= AGREES * size:
            continue
        others = elements_at(model, causality.forced_by.get(path, ()))
        element = model.elements[path]
        what = "its effort" if element.kind == "C" else "its flow"
        problems.append(
            Problem(
                "E213",
                f'{element.kind} "{path}" cannot start with {state} = {_number(start)}: it follows from others',
                (
                    f"{what} is set by {named(others) or 'the rest of the graph'}; from there follows {_number(follows)}",
                ),
                (element.place, *(e.place for e in others)),
                (
                    f"leave its start out, or give {_number(follows)}",
                    "start values of the storages that it follows",
                    "a C, R or I between them, if it is to start apart",
                ),
            )
        )
    return problems


def _number(value: np.ndarray) -> str:
    return np.array2string(value, precision=6).replace("\n", "")
