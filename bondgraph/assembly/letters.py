"""Letters of quantities, which elements give by name: each quantity exists, and each letter is LaTeX (E110)."""

from __future__ import annotations

import functools
import re
from dataclasses import replace

from bondgraph.assembly.system import Value
from bondgraph.errors import Problem
from bondgraph.model.laws import Gyrator, Law, SignalBlock, SkewGyrator, Transformer
from bondgraph.model.model import Model
from bondgraph.output.tex import FILE_COMMANDS
from screws.names import similar_names
from screws.numeric_arguments import shown

_NAME = re.compile(r"[\w.]+")
_ESCAPED = re.compile(r"\\.", re.DOTALL)


def set_letters(model: Model, values: dict[str, Value]) -> list[Problem]:
    """Give quantities the letters of their elements; return the problems of letters and units."""
    problems = []
    for path, element in model.elements.items():
        units, inputs = (element.law.units, element.law.inputs) if isinstance(element.law, SignalBlock) else ({}, ())
        for word in dict.fromkeys((*element.symbols, *units)):
            if word in inputs:
                continue
            name = f"{path}.{_matrix_of(element.law) if word == 'matrix' else word}"
            if name not in values:
                local = [each for name in values if (each := name.removeprefix(f"{path}.")) != name and _NAME.fullmatch(each)]
                title = f'{element.kind} "{path}" has no quantity "{word}" that could have a letter or a unit'
                cure = " or ".join(f'"{each}"' for each in similar_names(word, local) or local[:8])
                problems.append(Problem("E110", title, (), (element.place,), (f"{cure} instead",)))
            elif letter := element.symbols.get(word):
                values[name] = replace(values[name], symbol=letter)
    for name, value in values.items():
        if value.symbol != "" and not (isinstance(value.symbol, str) and _is_letter(value.symbol)):
            path, _, word = name.rpartition(".")
            places = (model.elements[path].place,) if path in model.elements else ()
            title = f'the letter of "{name}" cannot be {shown(value.symbol)}'
            problems.append(Problem("E110", title, ("it is LaTeX for a formula",), places, (f'symbols={{"{word}": r"F_1"}}',)))
    return problems


def _matrix_of(law: Law) -> str:
    """Return the name of the matrix of a two-port or an Euler junction."""
    return law.letter if isinstance(law, Transformer | Gyrator) else "J" if isinstance(law, SkewGyrator) else "matrix"


@functools.cache
def _is_letter(text: str) -> bool:
    """Return True for text with balanced braces, without commands of files and characters that end a formula, row or line."""
    depth = 0
    if FILE_COMMANDS.search(text):
        return False
    for character in _ESCAPED.sub("", text):
        depth += (character == "{") - (character == "}")
        if depth < 0 or character in "$%#&\n\\":
            return False
    return depth == 0
