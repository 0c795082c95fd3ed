"""Tokens and letters of the LaTeX formulas of a page."""

from __future__ import annotations

import re
from collections.abc import Sequence

TOKEN = re.compile(r"\\text\{[^{}]*\}|\\[A-Za-z]+|\\.|\d+(?:\.\d+)?(?:e[+-]?\d+)?|\S")
SPACES = {r"\,", r"\;", r"\:", "\\ ", r"\left", r"\right", r"\!"}
ACCENTS = {rf"\{word}" for word in ("hat", "tilde", "bar", "check", "breve", "acute", "grave", "vec", "dot", "ddot")}


class Unreadable(Exception):
    """Content that is missing on the page, given twice, or without meaning."""


def own_letter(tokens: Sequence[str], place: int) -> tuple[str, int] | None:
    """Return the sans-serif letter at this place, with its accent, and the place after it."""
    if tokens[place] in ACCENTS and list(tokens[place + 1 : place + 2]) == ["{"]:
        inner = own_letter(tokens, place + 2)
        if inner and list(tokens[inner[1] : inner[1] + 1]) == ["}"]:
            return tokens[place] + "{" + inner[0] + "}", inner[1] + 1
        return None
    if tokens[place] not in (r"\mathsf", r"\boldsymbol"):
        return None
    end = list(tokens).index("}", place)
    return "".join(tokens[place : end + 1]), end + 1


def tokens_of(text: str) -> list[str]:
    """Return the tokens of a formula, without spaces; powers of ten belong to their number."""
    text = re.sub(r"(\d+(?:\.\d+)?)\\cdot 10\^\{([+-]?\d+)\}", r"\1e\2", text)
    text = re.sub(r"(?<![\d.}\w])10\^\{([+-]?\d+)\}", r"1e\1", text)
    text = re.sub(r"\\(t?frac)(\d)(\d)", r"\\\1{\2}{\3}", text)
    text = re.sub(r"([_^])(\d)", r"\1{\2}", text)
    return [token for token in TOKEN.findall(text) if token not in SPACES]
