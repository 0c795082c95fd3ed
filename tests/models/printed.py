"""Reader of the formulas that the models print, which evaluates their LaTeX for given values of the letters."""

from __future__ import annotations

import re

import numpy as np

from screws import tilde


def value(formula: str, given: dict[str, object]) -> np.ndarray:
    return np.asarray(_sum(formula, given), dtype=float)


def _sum(text: str, given: dict[str, object]) -> object:
    total: object = None
    for sign, term in _split(text):
        number = _product(term, given)
        signed = number if sign == "+" else -np.asarray(number)
        total = signed if total is None else np.asarray(total) + np.asarray(signed)
    return total


def _split(text: str) -> list[tuple[str, str]]:
    depth, start, sign, found = 0, 0, "+", []
    for k, character in enumerate(text):
        depth += (character in "({") - (character in ")}")
        if depth == 0 and character in "+-" and k:
            found.append((sign, text[start:k]))
            sign, start = character, k + 1
        elif character == "-" and k == 0:
            sign, start = "-", 1
    return [*found, (sign, text[start:])]


TOKEN = re.compile(
    r"\\tfrac(\d)(\d)|\\operatorname\{(tr|as)\}|\\(times|cdot)|\\tilde ?\{?(#\d|\w)\}?|(\^\{?-?T\}?)"
    r"|(#\d|J\^\{-T\}|\\theta|[A-Za-z])|(\d+)"
)


def _product(text: str, given: dict[str, object]) -> object:
    """Evaluate a product from left to right; the sign between two vectors, or ^T on a row, determines the kind of product."""
    factors: list[object] = []
    binary, at, k = "", 0, 0
    text = text.replace(r"\left", "").replace(r"\right", "").replace(r"\,", " ").replace(r"\;", " ").strip()
    while k < len(text):
        if text[k] == " ":
            k += 1
            continue
        if text[k] == "(":
            stop = _closing(text, k)
            factors.append(_sum(text[k + 1 : stop], given))
            k = stop + 1
            continue
        found = TOKEN.match(text, k)
        assert found, text[k:]
        k = found.end()
        top, bottom, function, sign, tilted, transposed, letter, number = found.groups()
        if top:
            factors.append(float(top) / float(bottom))
        elif number:
            factors.append(float(number))
        elif sign:
            binary, at = sign, len(factors)
        elif function or (letter == "G" and text[k : k + 1] == "("):
            stop = _closing(text, k)
            inner = np.asarray(_sum(text[k + 1 : stop], given))
            k = stop + 1
            factors.append(given[function or "G"](inner))  # type: ignore[operator]
        elif tilted:
            factors.append(tilde(np.asarray(given[tilted])))
        elif transposed:
            last = np.asarray(factors.pop())
            factors.append(last.T if last.ndim == 2 else last[None, :])
        else:
            factors.append(np.asarray(given[letter]))
    if binary:
        left, right = _multiplied(factors[:at]), _multiplied(factors[at:])
        return np.cross(left, right) if binary == "times" else np.asarray(left) @ np.asarray(right)
    return _multiplied(factors)


def _multiplied(factors: list[object]) -> object:
    total = np.asarray(factors[0])
    for factor in factors[1:]:
        other = np.asarray(factor)
        total = total * other if not total.ndim or not other.ndim else total @ other
    return total[0] if total.shape == (1,) else total


def _closing(text: str, k: int) -> int:
    depth = 0
    for place in range(k, len(text)):
        depth += (text[place] == "(") - (text[place] == ")")
        if depth == 0:
            return place
    raise AssertionError(text)
