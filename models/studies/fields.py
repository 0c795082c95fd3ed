"""Strict reading of JSON: text in; typed fields out, and every problem with its JSON path, file and line."""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

from bondgraph.errors import Place, Problem

_SPACE = re.compile(r"[ \t\n\r]*")
_ATOM = re.compile(r"[^,\]}\s]+")


def key_lines(text: str) -> dict[str, int]:
    """Line of each key of a valid JSON text: `{"a.b": 3, "a.c[1]": 4, ...}`; `"a.b#2"` is the second key of that name.

    >>> key_lines('{"a":\\n {"b": [1,\\n 2]}}')
    {'a': 1, 'a.b': 2, 'a.b[0]': 2, 'a.b[1]': 3}
    """
    lines: dict[str, int] = {}

    def skip(at: int) -> int:
        return _SPACE.match(text, at).end()  # type: ignore[union-attr]

    def value(at: int, path: str) -> int:
        at = skip(at)
        if text[at] not in "{[":
            return scanstring(text, at + 1)[1] if text[at] == '"' else _ATOM.match(text, at).end()  # type: ignore[union-attr]
        is_object, index, at = text[at] == "{", 0, skip(at + 1)
        while text[at] not in "}]":
            inner = f"{path}[{index}]"
            line = text.count("\n", 0, at) + 1
            if is_object:
                key, at = scanstring(text, at + 1)
                inner, at = f"{path}.{key}" if path else key, skip(at) + 1
            lines.setdefault(inner, line)
            at = skip(value(at, inner))
            at = skip(at + 1) if text[at] == "," else at
            index += 1
        return at + 1

    value(0, "")
    return lines


@dataclass
class Document:
    """A JSON text while it is read: its file, the lines of its keys, and the problems found so far."""

    file: str
    lines: Mapping[str, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def report(self, code: str, path: str, what: str, *cures: str) -> None:
        """Add a problem with the value at a JSON path; a missing key's line is that of the object that lacks it."""
        line, known = None, path
        while known and line is None:
            line = self.lines.get(known)
            known = known.rpartition(".")[0]
        place = Place(self.file, line or 1)
        self.problems.append(Problem(code, f"{path or 'the file'}: {what}", (f"in {self.file}",), (place,), cures))


def parse_json(text: str, document: Document) -> dict[str, Any] | None:
    """The object that a JSON text holds; None, and a problem E402, where the text is not one."""
    repeated: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [key for key, _ in items]
        repeated.extend(name for name in dict.fromkeys(names) if names.count(name) > 1)
        return dict(items)

    try:
        value = json.loads(text, object_pairs_hook=pairs)
        document.lines = key_lines(text)
    except json.JSONDecodeError as error:
        problem = Problem(
            "E402",
            f"the file is not JSON: {error.msg}",
            (f"in {document.file}, line {error.lineno}, column {error.colno}",),
            (Place(document.file, error.lineno),),
            ("compare with a scenario that works: commas between entries, double quotes, no comments",),
        )
        document.problems.append(problem)
        return None
    except (RecursionError, ValueError):
        document.report("E402", "", "its brackets are nested too deeply, or a number has too many digits")
        return None
    if not isinstance(value, dict):
        document.report("E402", "", f"it holds {kind(value)} where an object {{...}} is needed")
        return None
    for name in repeated:
        path = next((known for known in document.lines if known.rpartition(".")[2] == name), name)
        document.report("E404", path, "the key stands twice in one object", "keep one of them")
    return value


def kind(value: Any) -> str:
    """What a JSON value is, in words."""
    words = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return words.get(type(value), "a number")


def _near(word: Any, options: Iterable[str]) -> str | None:
    """The option that a misspelt word most likely means."""
    by_lower = {option.lower(): option for option in options}
    close = difflib.get_close_matches(str(word).lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[close[0]] if close else None


class Fields:
    """One JSON object of a document, read key by key; a wrong value is reported and a harmless one is returned.

    Parameters
    ----------
    document : collects the problems.
    path : JSON path of the object, "" for the whole file.
    values : the object.
    """

    def __init__(self, document: Document, path: str, values: Mapping[str, Any]):
        self.document, self.path, self.values = document, path, values
        self.known: list[str] = []

    def at(self, key: str) -> str:
        """JSON path of a key."""
        return f"{self.path}.{key}" if self.path else key

    def report(self, code: str, key: str, what: str, *cures: str) -> None:
        """Add a problem with the value of a key."""
        self.document.report(code, self.at(key) if key else self.path, what, *cures)

    def has(self, key: str) -> bool:
        """Whether the key is there."""
        return key in self.values

    def _value(self, key: str, wanted: str, right: Callable[[Any], bool], required: bool) -> Any:
        self.known.append(key)
        if key not in self.values:
            if required:
                self.report("E403", key, f"missing; {wanted} is needed here")
            return None
        value = self.values[key]
        if not right(value):
            self.report("E405", key, f"{kind(value)} where {wanted} is needed")
            return None
        return value

    def number(
        self, key: str, unit: str = "", default: float | None = None, *, above: float | None = None, least: float | None = None
    ) -> float:
        """A finite number, required unless it has a default; nan where it is missing or wrong."""
        wanted = f"a number ({unit})" if unit else "a number"
        value = self._value(key, wanted, _is_number, default is None)
        if value is None:
            return math.nan if key in self.values or default is None else default
        number = self._finite(self.at(key), value)
        if above is not None and number <= above:
            self.report("E407", key, f"{number:g} where more than {above:g} is needed")
        if least is not None and number < least:
            self.report("E407", key, f"{number:g} where {least:g} or more is needed")
        return number

    def vector(self, key: str, size: int, unit: str = "", default: tuple[float, ...] | None = None) -> tuple[float, ...]:
        """A list of finite numbers, required unless it has a default; nan where it is missing or wrong."""
        wanted = f"a list of {size} numbers" + (f" ({unit})" if unit else "")
        value = self._value(key, wanted, lambda v: isinstance(v, list), default is None)
        if value is None:
            return (math.nan,) * size if key in self.values or default is None else default
        if len(value) != size or not all(map(_is_number, value)):
            what = f"a list of {len(value)}" if len(value) != size else "a list with something else than numbers"
            self.report("E405", key, f"{what} where {wanted} is needed")
            return (math.nan,) * size
        return tuple(self._finite(f"{self.at(key)}[{i}]", v) for i, v in enumerate(value))

    def label(self, key: str, default: str) -> str:
        """A text that means nothing to the program; the default where it is missing or something else."""
        self.known.append(key)
        value = self.values.get(key)
        return value if isinstance(value, str) and value else default

    def choice(self, key: str, options: Iterable[str], default: str | None = None) -> str:
        """One of some words, required unless it has a default; "" where it is missing or wrong."""
        options = list(options)
        value = self._value(key, "one of " + ", ".join(options), lambda v: isinstance(v, str), default is None)
        if value is None:
            return "" if key in self.values or default is None else default
        return self._option(self.at(key), value, options)

    def choices(self, key: str, options: Iterable[str]) -> tuple[str, ...]:
        """Several of some words, each at most once."""
        options = list(options)
        value = self._value(key, "a list out of " + ", ".join(options), lambda v: isinstance(v, list), True)
        chosen: list[str] = []
        for index, word in enumerate(value or ()):
            path = f"{self.at(key)}[{index}]"
            if not isinstance(word, str):
                self.document.report("E405", path, f"{kind(word)} where one of {', '.join(options)} is needed")
            elif word in chosen:
                self.document.report("E407", path, f'"{word}" stands twice', "keep one of them")
            elif self._option(path, word, options):
                chosen.append(word)
        return tuple(chosen)

    def section(self, key: str) -> Fields | None:
        """An object inside this one; None where it is missing or wrong."""
        value = self._value(key, "an object {...}", lambda v: isinstance(v, dict), True)
        return None if value is None else Fields(self.document, self.at(key), value)

    def finish(self, comments: Iterable[str]) -> None:
        """Report every key that nobody asked for and that is no comment."""
        comments = frozenset(comments)
        for key in self.values:
            if key in self.known or key in comments or key.startswith("_") or key.lower().startswith("comment"):
                continue
            missing = [known for known in self.known if known not in self.values]
            near = _near(key, missing) or _near(key, [*self.known, *comments])
            cure = f'did you mean "{near}"?' if near else f"known here: {', '.join(self.known)}; a comment begins with _"
            self.report("E404", key, "unknown key", cure)

    def _option(self, path: str, word: str, options: list[str]) -> str:
        if word in options:
            return word
        near = _near(word, options)
        cure = f'did you mean "{near}"?' if near else "one of " + ", ".join(options)
        self.document.report("E408", path, f'"{word}" is not known here', cure)
        return ""

    def _finite(self, path: str, value: float) -> float:
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
        self.document.report("E406", path, f"{number} where a finite number is needed")
        return math.nan


def _is_number(value: Any) -> bool:
    """Whether a JSON value is a number (true and false are none)."""
    return isinstance(value, int | float) and not isinstance(value, bool)
