"""LaTeX symbols: a letter for every value of a system, from its symbol or the user's name."""

from __future__ import annotations

import re

from bondgraph.assembly.system import System
from bondgraph.model.domains import COEFFICIENTS
from bondgraph.output.tex import GREEK, escape_latex

LOCAL_LETTERS = {
    "effort": "e",
    "flow": "f",
    "power": "P",
    "energy": "E",
    "mode": "m",
    "force": "F",
    **{word: coefficient.letter for word, coefficient in COEFFICIENTS.items()},
}
"""Letter in the literature for each usual local name; other one-letter names are used as they are."""

_NUMBERED = re.compile(rf"(?:({GREEK})|([A-Za-z]))(\d*)")


def value_latex(system: System, name: str) -> str:
    name = name.removesuffix(":computed")  # the value that a torn statement of an algebraic loop computes
    value = system.values.get(name)
    if name == "time":
        return "t"
    if name.startswith("-"):
        return "-" + value_latex(system, name[1:])
    if value is not None and value.symbol:
        sharing = [other for other in system.values.values() if other.symbol == value.symbol]
        return value.symbol if len(sharing) == 1 else _with_owner(value.symbol, name)
    path, _, local = name.rpartition(".")
    if ":" in local:
        bond, _, variable = name.rpartition(":")
        return rf"{LOCAL_LETTERS.get(variable, variable)}_{{{text(bond)}}}"
    dot = local.endswith("'")
    local = local.removesuffix("'")
    letter, number = greek_or_letter(local)
    indices = ",".join(index for index in (number, text(path) if path else "") if index)
    return (rf"\dot{{{letter}}}" if dot else letter) + (rf"_{{{indices}}}" if indices else "")


def greek_or_letter(local: str) -> tuple[str, str]:
    """Return LaTeX of a local name without its index, and the index: (r"\\alpha", "1") for "alpha1"."""
    if local in LOCAL_LETTERS:
        return LOCAL_LETTERS[local], ""
    match = _NUMBERED.fullmatch(local)
    if match is None:
        return text(local), ""
    return rf"\{match[1]}" if match[1] else match[2], match[3]


def dotted(letter: str, order: int = 1) -> str:
    dots, slope = (r"\dot", r"\tfrac{d}{dt}") if order == 1 else (r"\ddot", r"\tfrac{d^2}{dt^2}")
    return rf"{dots}{{{letter[0]}}}{letter[1:]}" if letter[:1].isalpha() else rf"{slope} {letter}"


def _with_owner(symbol: str, name: str) -> str:
    owner = name.partition(":")[0] if ":" in name else name.rpartition(".")[0]
    return rf"\left({symbol}\right)_{{{text(owner)}}}"


def text(words: str) -> str:
    return r"\text{" + r"}\to\text{".join(escape_latex(piece) for piece in words.split("->")) + "}"
