"""Letters: names of symbols -> their LaTeX, in which a source's value is the effort or flow that it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from bondgraph.compile.compiled import Compiled
from bondgraph.compile.state_names import labels_of
from bondgraph.export.symbols import dotted, value_latex
from bondgraph.model.laws import Source


def letters_of(compiled: Compiled, inputs: Sequence[str], more: Iterable[str] = ()) -> dict[str, str]:
    """LaTeX of every value, of `more` names (aliases), and of every time derivative; by component."""
    system, elements = compiled.system, compiled.model.elements
    letters: dict[str, str] = {}
    for name in dict.fromkeys((*system.values, *more)):
        path, _, local = name.rpartition(".")
        letter = value_latex(system, name)
        if name in inputs and local == "value" and isinstance(law := elements[path].law, Source):
            letter = elements[path].symbols.get(law.gives) or value_latex(system, f"{path}.{law.gives}")
        shape = system.values[system.resolve(name)].shape or ()
        for label, index in zip(labels_of(name, shape), np.ndindex(*shape), strict=True):
            letters[label] = _component(letter, index)
    return letters


def letter_of(letters: Mapping[str, str], name: str) -> str:
    """LaTeX of a symbol: a value's, a time derivative's, that of a numbered one or of a common part s1, s2 ..."""
    if name in letters:
        return letters[name]
    if name.endswith("'"):
        return dotted(letter_of(letters, name.removesuffix("'")))
    base, _, number = name.removesuffix(")").rpartition(" (")
    if base in letters and number.isdigit():
        return rf"{{{letters[base]}}}^{{({number})}}"
    if name[:1] == "s" and name[1:].isdigit():
        return f"s_{{{name[1:]}}}"
    return name


def _component(letter: str, index: tuple[int, ...]) -> str:
    """A component's letter, with indices from 1 as in the literature."""
    if not index:
        return letter
    places = ",".join(str(k + 1) for k in index)
    if "_" not in letter:
        return rf"{letter}_{{{places}}}"
    if letter.endswith("}}") and letter.count("_{") == 1 and "^" not in letter:
        return f"{letter[:-1]},{places}}}"
    return rf"\left({letter}\right)_{{{places}}}"
