"""Identifiers for the user's names, valid in C, Python, MATLAB and SymPy.

One rule for all. Letters and digits of the Latin alphabet stay, accents are dropped, Greek letters are spelled out ("ω1" is
omega1), a derivative ' is _dot, any other letter is its number (u4e2d), and everything between is one underscore. A name that
would begin with a digit, be a word of a language or look like a step of the code (v12) gets a letter more, and names that then
differ only by capitals are numbered.
"""

from __future__ import annotations

import keyword
import math
import re
import sys
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from bondgraph.assembly.system import is_internal
from bondgraph.tape.opcodes import NAMES

MAX_LENGTH = 63
"""Number of characters that C99 and MATLAB distinguish."""

_C = """
alignas alignof auto break case char const continue default do double else enum extern float for goto if inline int
long main register restrict return short signed sizeof static struct switch typedef typeof union unsigned void
volatile while
"""
_CPP = """
and_eq asm bitand bitor bool catch class compl concept constexpr decltype delete dynamic_cast explicit export false
friend mutable namespace new noexcept not_eq nullptr operator or_eq private protected public requires template this
throw true try typeid typename using virtual wchar_t xor xor_eq
"""
_MATLAB = """
break case catch classdef continue else elseif end end_try_catch end_unwind_protect endfor endfunction endif endswitch
endwhile for function global if otherwise parfor persistent return spmd switch try until unwind_protect while ans i j
e pi eps inf nan na double abs size numel zeros ones repmat sparse struct
"""
_CODE_NAMES = "t x u p m y w out numpy np sympy"

_NUMPY = "select amin amax logical_and logical_or logical_not greater greater_equal arcsin arccos arctan arctan2 array"

RESERVED = frozenset(
    word.lower()
    for word in (*f"{_C} {_CPP} {_MATLAB} {_CODE_NAMES} {_NUMPY}".split(), *keyword.kwlist, *keyword.softkwlist, *NAMES)
)
"""Words of the languages, and functions that the code calls, in small letters."""

_STEP = re.compile(r"[vcw]\d+", re.IGNORECASE)


@dataclass(frozen=True)
class Entry:
    """Named part of an array.

    Parameters
    ----------
    name : of the user.
    identifier : in the code; "" for an internal value.
    start : index of its first number, from 0; arrays are in row-major order.
    shape, unit : of the value.
    remark : further text.
    """

    name: str
    identifier: str
    start: int
    shape: tuple[int, ...] = ()
    unit: str = ""
    remark: str = ""

    @property
    def size(self) -> int:
        """Count of numbers."""
        return math.prod(self.shape)

    @property
    def comment(self) -> str:
        """Return name, shape, unit and remark in words."""
        size = f" [{', '.join(map(str, self.shape))}]" if self.shape else ""
        return " ".join(f"{self.name}{size}{f', {self.unit}' if self.unit not in ('', '1') else ''}{self.remark}".split())


def identifier(name: str) -> str:
    """Return the identifier of a name by itself: "egg 2.pose" -> "egg_2_pose", "Δθ'" -> "Deltatheta_dot"."""
    spelled = "".join(map(_ascii_text, unicodedata.normalize("NFKD", name)))
    word = re.sub(r"[^A-Za-z0-9]+", "_", spelled).strip("_") or "unnamed"
    word = f"n{word}" if word[0].isdigit() else word
    return f"{word}_" if is_reserved(word) else word


def identifiers(names: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """Return an identifier for each name, unique even without capitals, none of those `taken`, none longer than MAX_LENGTH."""
    used = {word.lower() for word in taken}
    results = []
    for name in names:
        base = identifier(name)[:MAX_LENGTH]
        candidate, count = base, 2
        while candidate.lower() in used:
            end = f"_{count}"
            candidate, count = base[: MAX_LENGTH - len(end)] + end, count + 1
        used.add(candidate.lower())
        results.append(candidate)
    return results


def is_reserved(word: str) -> bool:
    """Return True for a word of a language or of the code itself."""
    return word.lower() in RESERVED or _STEP.fullmatch(word) is not None


def is_taken(name: str) -> bool:
    """Return True for a word of a language, or a module of Python's library, which a file of this name would hide."""
    return is_reserved(name) or name.lower() in sys.stdlib_module_names


def model_identifier(name: str) -> str:
    """Return the name of a model's code: in small letters, and not taken."""
    spelled = re.sub(r"[^a-z0-9]+", "_", "".join(map(_ascii_text, unicodedata.normalize("NFKD", name))).lower()).strip("_")
    unfit = not spelled or spelled[0].isdigit() or is_taken(spelled)
    return (f"model_{spelled}" if unfit else spelled)[: MAX_LENGTH // 2].strip("_")


def entries(items: Iterable[tuple[str, tuple[int, ...], str, str]], taken: Iterable[str] = ()) -> tuple[Entry, ...]:
    """Return consecutive entries of one array, from (name, shape, unit, remark)."""
    rows = list(items)
    words = iter(identifiers((name for name, *_ in rows if not is_internal(name)), taken))
    results: list[Entry] = []
    start = 0
    for name, shape, unit, remark in rows:
        results.append(Entry(name, "" if is_internal(name) else next(words), start, shape, unit, remark))
        start += results[-1].size
    return tuple(results)


def count(entries: Iterable[Entry]) -> int:
    """Return the total count of numbers."""
    return sum(entry.size for entry in entries)


def _ascii_text(character: str) -> str:
    if character == "'":
        return "_dot"
    if character.isascii() or unicodedata.combining(character):
        return character if character.isascii() else ""
    words = unicodedata.name(character, "").split()
    if words[:1] == ["GREEK"] and "LETTER" in words:
        letter = words[words.index("LETTER") + 1].lower().replace("lamda", "lambda")  # as Unicode spells it
        return letter.capitalize() if "CAPITAL" in words else letter
    return f"u{ord(character):04x}" if character.isalpha() else "_"
