"""Tables of a document: parameters, states, computed values and connections, with letters, units and numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from bondgraph.compile.compiled import Compiled
from bondgraph.export.paper.markup.content import Block, InlineCode, Math, TableBlock, Words, join_words
from bondgraph.export.paper.notation.definitions import number
from bondgraph.export.paper.notation.letters import Letters
from bondgraph.model.laws import IdealConstraint, Ratio
from screws.errors import plural

UNKNOWN = "not given"
"""Text for a unit that no domain implies and the user did not give."""
MAX_ENTRIES = 400
"""Maximum number of entries of an array that is listed; for larger arrays, only the size is given."""
_MAX_COLUMNS = 10
Rows = list[tuple[Words, ...]]


def groups(letters: Letters, names: Iterable[str]) -> dict[str, list[str]]:
    groups_of: dict[str, list[str]] = {}
    for name in names:
        groups_of.setdefault(letters.first(name), []).append(name)
    return groups_of


def parameters(compiled: Compiled, letters: Letters, units: Mapping[str, str], digits: int) -> list[Block]:
    system = compiled.system
    rows: Rows = []
    for first, names in groups(letters, (name for name, value in system.parameters.items() if np.size(value))).items():
        value = _several([system.parameters[name] for name in names], digits)
        idle: Words = () if first in letters.used else (" (in no equation)",)
        rows.append((_symbol(letters, first), _name(first, names), _unit(units[first]), (*value, *idle)))
    return _table("Parameters.", ("symbol", "name", "unit", "value"), (0.14, 0.32, 0.16, 0.38), rows)


def states(compiled: Compiled, letters: Letters, units: Mapping[str, str], digits: int) -> list[Block]:
    system, (x, _) = compiled.system, compiled.initial()
    rows: Rows = []
    start = {state.name: x[system.places[state.name].start : system.places[state.name].stop] for state in system.states}
    rates = {state.name: state.rate for state in system.states}
    sized = [state.name for state in system.states if np.size(state.initial) and state.name not in system.guesses]
    for first, names in groups(letters, sized).items():
        shape = system.values[first].shape or ()
        values = [start[name].reshape(shape) if shape else start[name][0] for name in names]
        rate: Words = (Math(_local(letters, first, rates[first])),)
        rows.append((_symbol(letters, first), _name(first, names), _unit(units[first]), rate, _several(values, digits)))
    heads = ("symbol", "name", "unit", "rate", "initial value")
    return _table("States.", heads, (0.13, 0.24, 0.12, 0.12, 0.39), rows)


def values(compiled: Compiled, letters: Letters, units: Mapping[str, str]) -> list[Block]:
    system = compiled.system
    tabled = {state.name for state in system.states} | set(system.parameters) | set(system.modes)
    cells: Rows = []
    for first in sorted((n for n in letters.used if n not in tabled), key=lambda n: (_place(letters, n), n)):
        value = system.values[first]
        law = getattr(compiled.model.elements.get(letters.parts.owner(first).path), "law", None)
        rows_of = (".N", ".r") if isinstance(law, Ratio) else ".J" if isinstance(law, IdealConstraint) else ()
        row = len(value.shape or ()) == 1 and first.endswith(rows_of)
        shape = " x ".join(map(str, (1, *(value.shape or ())) if row else value.shape or ()))
        if first == "time":
            cells.append(((Math("t"),), (InlineCode("time"),), (), ("s",)))
        else:
            cells.append((_symbol(letters, first), _name(first, [first]), (shape,), _unit(units[first])))
    half = (len(cells) + 1) // 2
    empty: tuple[Words, ...] = ((), (), (), ())
    right = [*cells[half:], empty][:half]
    rows = [(*one, *other) for one, other in zip(cells[:half], right, strict=True)]
    heads = ("symbol", "name", "size", "unit") * 2
    return _table("Further symbols.", heads, (0.125, 0.235, 0.05, 0.09) * 2, rows)


def connections(index: str, numbers: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]]) -> list[Block]:
    if not rows:
        return []
    caption: Words = ("Terms that differ among parts ", Math(index), ".")
    if len(numbers) <= max(6, len(rows)) and len(numbers) <= _MAX_COLUMNS:
        heads: tuple[str, ...] = (index, *numbers)
        body = tuple(((Math(left),), *((Math(each),) for each in cells)) for left, cells in rows)
        return [TableBlock(heads, (1 / len(heads),) * len(heads), body, caption)]
    blocks: list[Block] = []
    for k in range(0, len(rows), _MAX_COLUMNS):
        some = rows[k : k + _MAX_COLUMNS]
        cells: list[tuple[Words, ...]] = [
            ((number,), *((Math(each[k]),) for _, each in some)) for k, number in enumerate(numbers)
        ]
        head: tuple[Words, ...] = ((Math(index),), *((Math(left),) for left, _ in some))
        blocks.append(TableBlock(("",) * len(head), (1 / len(head),) * len(head), (head, *cells), caption))
    return blocks


def _table(caption: str, heads: tuple[str, ...], widths: tuple[float, ...], rows: Rows) -> list[Block]:
    return [TableBlock(heads, widths, tuple(rows), (caption,))] if rows else []


def _symbol(letters: Letters, first: str) -> Words:
    return (Math(letters.general(first)),)


def _local(letters: Letters, first: str, name: str) -> str:
    around = {index for index, _ in letters.ranges(first)}
    return letters.general(name) if around and letters.first(name) == name else letters[name]


def _name(first: str, names: Sequence[str]) -> Words:
    return (InlineCode(first),) if len(names) == 1 else (InlineCode(first), " ...")


def _unit(unit: str) -> Words:
    if not unit:
        return (UNKNOWN,)
    return tuple(
        piece
        for k, part in enumerate(re.split(r"\^(-?\d+)", re.sub(r"\bOhm\b", "Ω", unit)))
        if part
        for piece in ((Math(f"^{{{part}}}"),) if k % 2 else (part,))
    )


def _place(letters: Letters, name: str) -> list[int]:
    return [int(k) for k in letters.parts.owner(name).number.split(".") if k]


def _several(values: Sequence[Any], digits: int) -> Words:
    texts = [_number(value, digits) for value in values]
    if len(set(texts)) == 1:
        return (Math(texts[0]),) if texts[0] else (f"{plural(np.size(values[0]), 'number')}",)
    if not all(texts):
        return (f"{plural(np.size(values[0]), 'number')} each",)
    return join_words("; ", ((Math(text),) for text in texts))


def _number(value: Any, digits: int) -> str:
    numbers = np.asarray(value, dtype=float)
    if numbers.ndim == 0:
        return number(float(numbers), digits).latex
    if numbers.size > MAX_ENTRIES:
        return ""
    if numbers.ndim == 1:
        return _row(numbers, digits)
    matrix = numbers.reshape(len(numbers), -1)
    diagonal = np.diagonal(matrix)
    if len(matrix) > 1 and matrix.shape == (len(diagonal),) * 2 and (matrix == np.diag(diagonal)).all():
        return rf"\operatorname{{diag}}{_row(diagonal, digits)}"
    return "[" + r";\ ".join(_row(row, digits)[1:-1] for row in matrix) + "]"


def _row(numbers: Iterable[float], digits: int) -> str:
    return f"({', '.join(number(float(x), digits).latex for x in numbers)})"
