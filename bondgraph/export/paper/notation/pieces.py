"""Pieces of LaTeX formulas: text, operator precedence and width; operators between them."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

CHOICE, SUM, RATIO, PRODUCT, POWER, ATOM = range(6)
"""Precedence of a piece; a lower one takes parentheses inside of a higher one."""


@dataclass(frozen=True)
class Piece:
    """Formula or a part of one."""

    latex: str
    strength: int = ATOM

    def within(self, strength: int) -> str:
        """Return its text as an operand of an operator of this precedence."""
        return self.latex if self.strength >= strength else f"({self.latex})"

    @property
    def negative(self) -> bool:
        """Return True if it begins with a minus sign."""
        return self.latex.startswith("-")


def number(value: float) -> Piece:
    """Return a number that is read back to the same bits: a fraction of small numbers, or decimals."""
    for below in range(2, 13) if np.isfinite(value) and abs(value) < 100 else ():
        above = round(value * below)
        if above / below == value and 0 < abs(above) < 100 and value != round(value) and repr(value) != f"{value:.4g}":
            return Piece(rf"{'-' if above < 0 else ''}\tfrac{{{abs(above)}}}{{{below}}}", SUM if above < 0 else ATOM)
    if not np.isfinite(value):
        return Piece(r"\mathrm{NaN}" if np.isnan(value) else r"\infty" if value > 0 else r"-\infty", SUM if value < 0 else ATOM)
    digits, _, power = repr(float(value) + 0.0).removesuffix(".0").partition("e")
    digits = digits.removesuffix(".0")
    sign = SUM if value < 0 else ATOM
    if not power:
        return Piece(digits, sign)
    scientific = rf"{digits}\cdot 10^{{{int(power)}}}"
    return Piece(scientific, min(sign, PRODUCT))


def plus(a: Piece, b: Piece) -> Piece:
    """Return a + b; a minus sign at the begin of b replaces the plus."""
    if b.negative and b.strength >= SUM:
        return Piece(f"{a.within(SUM)} - {b.latex[1:]}", SUM)
    return Piece(f"{a.within(SUM)} + {b.within(SUM)}", SUM)


def minus(a: Piece, b: Piece) -> Piece:
    """Return a - b; a negative number b is added without its sign."""
    if b.negative and b.latex[1:].replace(".", "").isdigit():
        return plus(a, Piece(b.latex[1:]))
    return Piece(f"{a.within(SUM)} - {b.within(PRODUCT)}", SUM)


def opposite(a: Piece) -> Piece:
    """Return -a."""
    return Piece(f"-{a.within(PRODUCT)}", SUM)


def times(a: Piece, b: Piece) -> Piece:
    """Return a b; a number stands first."""
    if b.latex[0].isdigit() and not a.latex[0].isdigit() and b.strength >= PRODUCT:
        a, b = b, a
    sign = r"\cdot " if b.latex[0].isdigit() else r"\,"
    return Piece(f"{a.within(PRODUCT)}{sign}{b.within(PRODUCT)}", PRODUCT)


def over(a: Piece, b: Piece, widest: int) -> Piece:
    """Return a / b: as a fraction if it is narrow, else in the line, where it may be broken."""
    if max(width(a.latex), width(b.latex)) <= widest and r"\frac" not in a.latex + b.latex and not a.negative:
        return Piece(rf"\frac{{{a.latex}}}{{{b.latex}}}", POWER)
    return Piece(f"{a.within(PRODUCT)} / {b.within(POWER)}", RATIO)


def raised(a: Piece, exponent: str) -> Piece:
    """Return a^exponent."""
    bare = a.strength == ATOM and "^" not in a.latex and "frac" not in a.latex
    return Piece(f"{a.latex if bare else f'({a.latex})'}^{{{exponent}}}", POWER)


def called(function: str, *arguments: Piece) -> Piece:
    """Return function(arguments)."""
    return Piece(f"{function}({', '.join(a.latex for a in arguments)})", ATOM)


def chosen(condition: Piece, held: Piece, otherwise: Piece) -> Piece:
    """Return one of two values, by a condition."""
    words = rf"\text{{ if }} {condition.latex} \text{{, else }}"
    return Piece(f"{held.within(SUM)} {words} {otherwise.within(CHOICE)}", CHOICE)


_INVISIBLE = re.compile(r"\\(mathsf|mathrm|text|mathcal|bar|hat|dot|tilde|left|right|operatorname)\b|[{}_^\\]|(?<=\\)[,;]|\s")


def width(latex: str) -> float:
    """Return the approximate width of a formula in the line, in letters; scripts count less."""
    small = sum(
        len(_INVISIBLE.sub("", scripts)) for scripts in re.findall(r"[_^]\{([^{}]*)\}|[_^](\w)", latex) for scripts in scripts
    )
    seen = len(re.sub(r"\\[a-zA-Z]+", "x", _INVISIBLE.sub("", re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"\1", latex))))
    return seen - 0.35 * small
