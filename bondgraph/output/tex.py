"""LaTeX of plain text, in any language, and of numbers and arrays."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

import numpy as np

GREEK = "alpha|beta|gamma|delta|epsilon|zeta|eta|theta|iota|kappa|lambda|mu|nu|xi|pi|rho|sigma|tau|phi|chi|psi|omega"

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "µ": r"$\mu$",
    "°": r"${}^\circ$",
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
    "×": r"$\times$",
    **{sign: "\\" + sign for sign in "_&#%${}"},
}
_CAPITALS = ("gamma", "delta", "theta", "lambda", "xi", "pi", "sigma", "phi", "psi", "omega", "upsilon")
"""Capital Greek letters that LaTeX knows; the other capitals look like Latin letters."""


FILE_COMMANDS = re.compile(
    r"\\(input|include|openin|openout|read|write|immediate|special|directlua|catcode|csname|def|let|newcommand)\b"
)
"""Commands of LaTeX that read or write files, or define others; formulas may come from a file of someone else."""
EXACT = 17
"""Number of significant digits that suffice to read a number back bit for bit."""


def decimal_latex(value: float, digits: int) -> str:
    """Return a finite number with this many significant digits; with `EXACT`, the fewest that read back bit for bit."""
    value = float(value) + 0.0
    mantissa, _, power = (repr(value) if digits >= EXACT else f"{value:.{digits}g}").partition("e")
    mantissa = mantissa.removesuffix(".0")
    if not power:
        return mantissa
    factor = mantissa.removesuffix("1") if mantissa in ("1", "-1") else rf"{mantissa}\cdot "
    return rf"{factor}10^{{{int(power)}}}"


def array_latex(value: Any, digits: int) -> str:
    """Return a number or a matrix in LaTeX; a vector becomes a row."""
    if np.ndim(value) == 0:
        return decimal_latex(float(value), digits)
    rows = (" & ".join(decimal_latex(x, digits) for x in row) for row in np.atleast_2d(value))
    return r"\begin{bmatrix}" + r" \\ ".join(rows) + r"\end{bmatrix}"


def escape_latex(text: str) -> str:
    """Escape every character that LaTeX reads as a command. Write characters other than Latin and Greek as Latin letters if their
    names allow it, else as their code points."""
    return "".join(_SPECIAL.get(character) or (character if character.isascii() else _non_ascii(character)) for character in text)


def _non_ascii(character: str) -> str:
    category, _, rest = unicodedata.name(character, "").partition(" ")
    if category == "SUBSCRIPT" and character.isdigit():
        return f"$_{{{unicodedata.digit(character)}}}$"
    if category == "LATIN" and unicodedata.category(character)[0] == "L" and ord(character) < 0x180:
        return character
    if category == "LATIN" and rest.endswith("WITH DOT ABOVE"):
        return rf"$\dot{{\mathrm{{{unicodedata.normalize('NFKD', character)[0]}}}}}$"
    if category == "GREEK":
        size, _, name = rest.partition(" LETTER ")
        word = {"lamda": "lambda", "final sigma": "varsigma"}.get(name.lower(), name.lower())
        if word == "omicron":
            return "$o$"
        if re.fullmatch(f"{GREEK}|upsilon|varsigma", word):
            plain = size == "CAPITAL" and word not in _CAPITALS
            return rf"$\mathrm{{{word[0].upper()}}}$" if plain else f"$\\{word.capitalize() if size == 'CAPITAL' else word}$"
    letter = rest.partition(" LETTER ")[2]
    if letter.isalpha() and len(letter) <= 3:
        return letter.lower()
    plain_sign = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return "".join(_SPECIAL.get(each, each) for each in plain_sign) or f"({ord(character):X})"
