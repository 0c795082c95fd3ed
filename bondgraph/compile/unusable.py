"""Parameters that a model cannot use: a quantity derived from them is not finite -> a problem in the user's names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bondgraph.assembly.system import System
from bondgraph.errors import Problem
from bondgraph.model.model import Model
from bondgraph.tracing.on_tape.values import flat


def unusable_parameters(
    model: Model, system: System, numbers: Mapping[str, Any], prepare: Callable[..., np.ndarray], values: Mapping[str, Any]
) -> list[Problem]:
    """E309 where something that `prepare` makes of parameters alone is not finite, with the parameters that are to blame: those
    with whose former value (or another one, where none was changed) it is finite.

    Parameters
    ----------
    numbers : all parameters by name. values : every value of the model by name, computed from them.
    """
    if np.isfinite(prepare(flat(numbers.values()))).all():
        return []
    before = system.parameters
    others = {n: before[n] for n in numbers if not np.array_equal(numbers[n], before[n])}
    others = others or {n: 1.1 * np.asarray(value, dtype=float) + 0.1 for n, value in numbers.items()}
    cured = [n for n in others if np.isfinite(prepare(flat({**numbers, n: others[n]}.values()))).all()]
    guilty = cured or (list(others) if len(others) < len(numbers) else [])
    named = " and ".join(f"{name} = {_text(numbers[name])}" for name in guilty)
    title = f"{named or 'this set of parameters'} cannot be used"
    owners = list(dict.fromkeys(name.rpartition(".")[0] for name in guilty))
    places = tuple(model.elements[path].place for path in owners if path in model.elements)
    cures = tuple(f"another {name}: {_text(others[name])} can be used" for name in cured)
    return [Problem("E309", title, _derived(system, values), places, cures)]


def _derived(system: System, values: Mapping[str, Any]) -> tuple[str, ...]:
    """The first quantity that is not finite, and what it is made of."""
    for statement in system.statements:
        bad = [out for out in statement.outs if not _finite(values[out])]
        if bad and all(_finite(values[argument]) for argument in statement.args):
            made = ", ".join(f"{argument} = {_text(values[argument])}" for argument in statement.args)
            return (f'"{bad[0]}" is then {_text(values[bad[0]])}: {statement.op.name} of {made}',)
    return ("what is derived from it is not finite",)


def _finite(value: Any) -> bool:
    return bool(np.isfinite(np.asarray(value, dtype=float)).all())


def _text(value: Any) -> str:
    return np.array2string(np.asarray(value, dtype=float), precision=6, threshold=12)
