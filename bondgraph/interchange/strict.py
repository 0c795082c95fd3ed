"""A text in; the JSON object that it holds out, within limits: no key twice, no number that JSON has not, no depth."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from bondgraph.errors import ModelError, refusal

LARGEST = 64_000_000
"""Bytes of a file, unless the reader allows more."""
DEEPEST = 32
"""Brackets inside one another."""
HALF = re.compile("[\ud800-\udfff]")
"""Half of a character."""
_ESCAPED = re.compile(r"\\u[dD][89abcdefABCDEF]")
_TEXT = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)', re.DOTALL)
_OPENING, _CLOSING, _CURLY = ord("{"), ord("}"), ord("{") ^ ord("[")


def refused(code: str, file: str, path: str, why: str, cure: str = "") -> ModelError:
    """The error of a file of a model: what is wrong, and where in it."""
    cures = (cure,) if cure else ("save_model writes such files; what was changed by hand is the first to look at",)
    title = f"{path}: {why}" if path else why
    return refusal(code, title, *cures, about=file, places=())


def too_large(file: str, size: int, largest: int) -> ModelError:
    """E351 for a file of so many bytes."""
    cure = f"largest={size}, if you trust who wrote it: reading takes some ten times its size of memory"
    return refused("E351", file, "", f"it has {size} bytes, and {largest} are read at most", cure)


def depth(text: str) -> int:
    """How many brackets lie inside one another at most, those within texts not counted; of any text, JSON or not.

    Found without recursion: Python's own parser goes as deep as the limit of recursion lets it, which whoever calls may have
    raised beyond what the stack holds.

    >>> depth('{"a[[[": [1, {"b\\\\"{": [2]}]}'), depth("[[["), depth("]]]"), depth("")
    (4, 3, 0, 0)
    """
    letters = np.frombuffer(_TEXT.sub("", text).encode("utf-8", "surrogatepass"), np.uint8) | _CURLY
    brackets = letters[(letters == _OPENING) | (letters == _CLOSING)]
    return int(np.cumsum(np.where(brackets == _OPENING, 1, -1)).max(initial=0))


def strict_json(text: str, file: str, largest: int) -> dict[str, Any]:
    """The object that a text holds; E351 where it is none, or beyond the limits."""
    if len(text) > largest:
        raise too_large(file, len(text), largest)
    if depth(text) > DEEPEST:
        raise refused("E351", file, "", f"its brackets are nested more than {DEEPEST} deep")

    def pairs(entries: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(entries)
        if len(found) < len(entries):
            keys = [key for key, _ in entries]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise refused("E351", file, "", f"the key {twice[:60]!r} stands twice in one object")
        return found

    def constant(word: str) -> NoReturn:
        raise refused("E351", file, "", f'JSON has no number {word}; such numbers are texts, "{word.lower()}"')

    try:
        content = json.loads(text, object_pairs_hook=pairs, parse_constant=constant, parse_int=_whole)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise refused("E351", file, "", f"the file is not JSON: {error.msg} in {where}") from None
    except OverflowError:
        raise refused("E351", file, "", "a number in it is too long") from None
    if not isinstance(content, dict):
        raise refused("E351", file, "", "it holds no object {...}")
    if (HALF.search(text) or _ESCAPED.search(text)) and _has_halves(content):
        raise refused("E351", file, "", "a text in it has half of a character: one surrogate without the other")
    return content


def _has_halves(content: dict[str, Any]) -> bool:
    return HALF.search(json.dumps(content, ensure_ascii=False)) is not None


def _whole(digits: str) -> int:
    if len(digits) > 40:
        raise OverflowError
    return int(digits)
