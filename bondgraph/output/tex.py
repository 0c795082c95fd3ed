"""Words for LaTeX: plain words, of any language, in; text that every LaTeX sets, out."""

from __future__ import annotations

import re
import unicodedata

GREEK = "alpha|beta|gamma|delta|epsilon|zeta|eta|theta|iota|kappa|lambda|mu|nu|xi|pi|rho|sigma|tau|phi|chi|psi|omega"
"""Greek letters that LaTeX has, by name."""

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
"""Capital Greek letters that LaTeX has; the others look like Latin ones."""


def escaped(words: str) -> str:
    """Plain words with every sign that LaTeX would read as a command written out; Greek letters too, and what is in no Latin
    font is told by its number."""
    return "".join(_SPECIAL.get(sign) or (sign if sign.isascii() else _foreign(sign)) for sign in words)


def _foreign(sign: str) -> str:
    """A sign beyond ASCII, for text in any LaTeX."""
    kind, _, rest = unicodedata.name(sign, "").partition(" ")
    if kind == "SUBSCRIPT" and sign.isdigit():
        return f"$_{{{unicodedata.digit(sign)}}}$"
    if kind == "LATIN" and unicodedata.category(sign)[0] == "L" and ord(sign) < 0x180:
        return sign
    if kind == "LATIN" and rest.endswith("WITH DOT ABOVE"):
        return rf"$\dot{{\mathrm{{{unicodedata.normalize('NFKD', sign)[0]}}}}}$"
    if kind == "GREEK":
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
    plain_sign = unicodedata.normalize("NFKD", sign).encode("ascii", "ignore").decode()
    return "".join(_SPECIAL.get(each, each) for each in plain_sign) or f"({ord(sign):X})"
