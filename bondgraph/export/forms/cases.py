"""Modes: those that equations depend on -> their combinations, side by side, in words and as `Piecewise`; or as symbols."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from bondgraph.assembly.system import System
from bondgraph.export.forms.closed_form import Case
from bondgraph.export.symbolic import symbol_of

CASES = 16
"""Most combinations of modes that are written side by side."""

Modes = tuple[tuple[str, int], ...]
"""Mode signals, and the index of the state that each is in."""


def combinations(system: System, needed: Collection[int], held: Mapping[str, str], apart: bool) -> list[Modes]:
    """All combinations of the modes that matter, if they are told `apart`; else what is held, and the others stay symbols."""
    read = {arg for index in needed for arg in system.statements[index].args}
    choices = []
    for mode, (states, _) in system.modes.items():
        if mode in read:
            fixed = held.get(mode.removesuffix(".mode"))
            if apart or fixed is not None or len(states) == 1:
                choices.append([(mode, k) for k, state in enumerate(states) if fixed in (None, state)])
    return list(itertools.product(*choices)) if apart else [tuple(choice[0] for choice in choices)]


def count_of(system: System, needed: Collection[int], held: Mapping[str, str]) -> int:
    """How many combinations of the modes that matter there are."""
    read = {arg for index in needed for arg in system.statements[index].args}
    return math.prod(
        len(states) for mode, (states, _) in system.modes.items() if mode in read and mode.removesuffix(".mode") not in held
    )


def grouped(found: Sequence[tuple[Modes, Any]]) -> list[tuple[list[Modes], Any]]:
    """Combinations of modes by their expression, the largest group last."""
    groups: dict[Any, list[Modes]] = {}
    for combination, expression in found:
        groups.setdefault(expression, []).append(combination)
    return sorted(((when, e) for e, when in groups.items()), key=lambda group: len(group[0]))


def piecewise(system: System, groups: Sequence[tuple[list[Modes], Any]]) -> Any:
    """One expression for all combinations."""
    import sympy

    def holds(combination: Modes) -> Any:
        return sympy.And(*(sympy.Eq(symbol_of(system, mode), k) for mode, k in combination))

    *pieces, (_, otherwise) = groups
    if not pieces:
        return otherwise
    return sympy.Piecewise(*((e, sympy.Or(*map(holds, when))) for when, e in pieces), (otherwise, True))


def in_words(system: System, groups: Sequence[tuple[list[Modes], Any]]) -> tuple[Case, ...]:
    """The same with words for the modes."""

    def words(combination: Modes) -> str:
        return ", ".join(f"{mode.removesuffix('.mode')}: {system.modes[mode][0][k]}" for mode, k in combination)

    out = [("; ".join(map(words, when)), expression) for when, expression in groups]
    if len(groups) > 1 and len(groups[-1][0]) > 2:
        out[-1] = ("otherwise", groups[-1][1])
    return tuple(out)
