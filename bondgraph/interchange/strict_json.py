"""Strict JSON: parse an object within limits; refuse duplicate keys, numbers that JSON lacks, and deep nesting."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, NoReturn

import numpy as np

from bondgraph.errors import ModelError, refusal

MAX_BYTES = 64_000_000
"""Maximum size of a file, unless the caller allows more."""
MAX_DEPTH = 32
"""Maximum nesting depth of brackets."""
SURROGATE = re.compile("[\ud800-\udfff]")
"""Half of a surrogate pair."""
_ESCAPED = re.compile(r"\\u[dD][89abcdefABCDEF]")
_TEXT = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)', re.DOTALL)
_SPACE = re.compile(r"[ \t\n\r]*")
_ATOM = re.compile(r"[^,\]}\s]+")
_OPENING, _CLOSING, _CURLY = ord("{"), ord("}"), ord("{") ^ ord("[")


def file_error(code: str, file: str, path: str, why: str, cure: str = "") -> ModelError:
    cures = (cure,) if cure else ("a file written by save_model; check manual changes first",)
    title = f"{path}: {why}" if path else why
    return refusal(code, title, *cures, about=file, places=())


def too_large(file: str, size: int, largest: int, unit: str = "bytes") -> ModelError:
    cure = f"largest={size}, if you trust the author of the file: reading needs about ten times its size in memory"
    return file_error("E351", file, "", f"it has {size} {unit}; the limit is {largest}", cure)


def nesting_depth(text: str) -> int:
    """Return the maximum nesting depth of brackets outside strings; a closing bracket counts -1, whether or not it matches.

    The function uses no recursion: Python's own parser recurses up to the recursion limit, which the caller may have raised
    beyond the stack.

    >>> nesting_depth('{"a[[[": [1, {"b\\\\"{": [2]}]}'), nesting_depth("[[["), nesting_depth("]]]"), nesting_depth("")
    (4, 3, 0, 0)
    """
    letters = np.frombuffer(_TEXT.sub("", text).encode("utf-8", "surrogatepass"), np.uint8) | _CURLY
    brackets = letters[(letters == _OPENING) | (letters == _CLOSING)]
    return int(np.cumsum(np.where(brackets == _OPENING, 1, -1)).max(initial=0))


def strict_json(text: str, file: str, largest: int) -> dict[str, Any]:
    """Return the object in JSON text; raise E351 if the text is invalid or exceeds the limits."""
    if len(text) > largest:
        raise too_large(file, len(text), largest, "characters")
    if nesting_depth(text) > MAX_DEPTH:
        raise file_error("E351", file, "", f"brackets are nested more than {MAX_DEPTH} levels deep")

    def pairs(entries: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        content = dict(entries)
        if len(content) < len(entries):
            duplicate = Counter(key for key, _ in entries).most_common(1)[0][0]
            raise file_error("E351", file, "", f"the key {duplicate[:60]!r} appears twice in one object")
        return content

    def constant(word: str) -> NoReturn:
        raise file_error("E351", file, "", f'JSON has no number {word}; write it as the string "{word.lower()}"')

    try:
        content = json.loads(text, object_pairs_hook=pairs, parse_constant=constant, parse_int=_integer_literal)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise file_error("E351", file, "", f"the file is not JSON: {error.msg} in {where}") from None
    except OverflowError:
        raise file_error("E351", file, "", "it has a number that is too long") from None
    if not isinstance(content, dict):
        raise file_error("E351", file, "", "it is not an object {...}")
    may_hold_surrogates = SURROGATE.search(text) or _ESCAPED.search(text)
    if may_hold_surrogates and SURROGATE.search(json.dumps(content, ensure_ascii=False)):
        raise file_error("E351", file, "", "it has a string with an unpaired surrogate")
    return content


def _integer_literal(digits: str) -> int:
    if len(digits) > 40:
        raise OverflowError
    return int(digits)


def key_lines(text: str) -> tuple[dict[str, int], list[str]]:
    """Return the line of each key in valid JSON text (the first of duplicates), and the paths of duplicates.

    >>> key_lines('{"a":\\n {"b": [1,\\n 2], "b": 3}}')
    ({'a': 1, 'a.b': 2, 'a.b[0]': 2, 'a.b[1]': 3}, ['a.b'])
    """
    lines: dict[str, int] = {}
    repeated: dict[str, None] = {}
    line, counted = 1, 0

    def skip(at: int) -> int:
        return _SPACE.match(text, at).end()  # type: ignore[union-attr]

    def value(at: int, path: str) -> int:
        nonlocal line, counted
        at = skip(at)
        if text[at] not in "{[":
            return scanstring(text, at + 1)[1] if text[at] == '"' else _ATOM.match(text, at).end()  # type: ignore[union-attr]
        is_object, keys, at = text[at] == "{", dict[str, None](), skip(at + 1)
        while text[at] not in "}]":
            inner = f"{path}[{len(keys)}]"
            line, counted = line + text.count("\n", counted, at), at
            if is_object:
                key, at = scanstring(text, at + 1)
                inner, at = f"{path}.{key}" if path else key, skip(at) + 1
            if inner in keys:
                repeated[inner] = None
            keys[inner] = None
            lines.setdefault(inner, line)
            at = skip(value(at, inner))
            at = skip(at + 1) if text[at] == "," else at
        return at + 1

    value(0, "")
    return lines, list(repeated)
