"""The user's names in any target: names and shapes in; identifiers that C, Python, MATLAB and SymPy accept, with a way back, out.

One rule for all. Letters and digits of the Latin alphabet stay, accents go, Greek letters are spelled out ("ω1" is omega1), a
derivative ' is _dot, any other letter is its number (u4e2d), and what lies between is one underscore. What would begin with a
digit, be a word of one of the languages or look like a step of the code (v12) is changed at one end, and what is then the same
but for capitals is numbered.
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

LONGEST = 63
"""So many characters C99 and MATLAB tell apart."""

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
_OWN = "t x u p m y w out numpy np sympy"

_NUMPY = "select amin amax logical_and logical_or logical_not greater greater_equal arcsin arccos arctan arctan2 array"

RESERVED = frozenset(
    word.lower() for word in (*f"{_C} {_CPP} {_MATLAB} {_OWN} {_NUMPY}".split(), *keyword.kwlist, *keyword.softkwlist, *NAMES)
)
"""Words of the languages, and functions that the code calls, in small letters."""

_STEP = re.compile(r"[vcw]\d+", re.IGNORECASE)


@dataclass(frozen=True)
class Entry:
    """A named piece of an array.

    Parameters
    ----------
    name : as the user says it.
    identifier : as code says it; "" for what is internal.
    start : place of its first number, from 0; several of them stand row by row.
    shape, unit : of the value.
    remark : what else there is to say.
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
        """Name, shape, unit and remark in words."""
        size = f" [{', '.join(map(str, self.shape))}]" if self.shape else ""
        return " ".join(f"{self.name}{size}{f', {self.unit}' if self.unit not in ('', '1') else ''}{self.remark}".split())


def identifier(name: str) -> str:
    """The identifier of a name by itself: "egg 2.pose" -> "egg_2_pose", "Δθ'" -> "Deltatheta_dot"."""
    spelled = "".join(map(_spelled, unicodedata.normalize("NFKD", name)))
    found = re.sub(r"[^A-Za-z0-9]+", "_", spelled).strip("_") or "unnamed"
    found = f"n{found}" if found[0].isdigit() else found
    return f"{found}_" if is_reserved(found) else found


def identifiers(names: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """An identifier for each name, no two alike but for capitals, none among those `taken`, none longer than LONGEST."""
    given = {word.lower() for word in taken}
    found = []
    for name in names:
        base = identifier(name)[:LONGEST]
        one, count = base, 2
        while one.lower() in given:
            end = f"_{count}"
            one, count = base[: LONGEST - len(end)] + end, count + 1
        given.add(one.lower())
        found.append(one)
    return found


def is_reserved(word: str) -> bool:
    """Whether a word means something to a language or in the code itself."""
    return word.lower() in RESERVED or _STEP.fullmatch(word) is not None


def is_taken(name: str) -> bool:
    """Whether code cannot have a name: a word of a language, or a module of Python's, which a file of this name would hide."""
    return is_reserved(name) or name.lower() in sys.stdlib_module_names


def model_identifier(name: str) -> str:
    """What the code of a model is called: in small letters, and not taken."""
    spelled = re.sub(r"[^a-z0-9]+", "_", "".join(map(_spelled, unicodedata.normalize("NFKD", name))).lower()).strip("_")
    unfit = not spelled or spelled[0].isdigit() or is_taken(spelled)
    return (f"model_{spelled}" if unfit else spelled)[: LONGEST // 2].strip("_")


def entries(items: Iterable[tuple[str, tuple[int, ...], str, str]], taken: Iterable[str] = ()) -> tuple[Entry, ...]:
    """Entries of one array, from (name, shape, unit, remark), one after the other."""
    given = list(items)
    named = iter(identifiers((name for name, *_ in given if not is_internal(name)), taken))
    found: list[Entry] = []
    start = 0
    for name, shape, unit, remark in given:
        found.append(Entry(name, "" if is_internal(name) else next(named), start, shape, unit, remark))
        start += found[-1].size
    return tuple(found)


def count(given: Iterable[Entry]) -> int:
    """How many numbers there are together."""
    return sum(entry.size for entry in given)


def _spelled(sign: str) -> str:
    if sign == "'":
        return "_dot"
    if sign.isascii() or unicodedata.combining(sign):
        return sign if sign.isascii() else ""
    words = unicodedata.name(sign, "").split()
    if words[:1] == ["GREEK"] and "LETTER" in words:
        letter = words[words.index("LETTER") + 1].lower().replace("lamda", "lambda")  # as Unicode spells it
        return letter.capitalize() if "CAPITAL" in words else letter
    return f"u{ord(sign):04x}" if sign.isalpha() else "_"
