"""Strict reading of JSON by declared fields, which reports all problems together, with path, file and line."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from screwbond.models.studies.fields import Declared, declarations

from bondgraph.errors import ModelError, Place, Problem, raise_if_any
from bondgraph.interchange.strict_json import MAX_DEPTH, key_lines, nesting_depth
from screws.names import similar_names


@dataclass
class Document:
    file: str
    comments: frozenset[str] = frozenset()
    lines: Mapping[str, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def report(self, code: str, path: str, what: str, *cures: str) -> None:
        line, ancestor = None, path
        while ancestor and line is None:
            line = self.lines.get(ancestor)
            ancestor = ancestor.rpartition(".")[0]
        place = Place(self.file, line or 1)
        self.problems.append(Problem(code, f"{path or 'the file'}: {what}", (f"in {self.file}",), (place,), cures))


def parse_json(text: str, document: Document) -> dict[str, Any] | None:
    if nesting_depth(text) > MAX_DEPTH:
        document.report("E402", "", f"brackets are nested more than {MAX_DEPTH} deep")
        return None
    try:
        value = json.loads(text)
        document.lines, repeated = key_lines(text)
    except json.JSONDecodeError as error:
        details = (f"in {document.file}, line {error.lineno}, column {error.colno}",)
        cures = ("compare with a file that works: commas between entries, double quotes, no comments",)
        problem = Problem("E402", f"the file is not JSON: {error.msg}", details, (Place(document.file, error.lineno),), cures)
        document.problems.append(problem)
        return None
    except ValueError:
        document.report("E402", "", "a number has too many digits")
        return None
    if not isinstance(value, dict):
        document.report("E402", "", f"it holds {json_kind(value)} where an object {{...}} is needed")
        return None
    for path in repeated:
        document.report("E404", path, "the key appears twice in one object", "only one entry with this key")
    return value


def json_kind(value: Any) -> str:
    words = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return words.get(type(value), "a number")


T = TypeVar("T")


def _closest_option(word: Any, options: Iterable[str]) -> str | None:
    return next(iter(similar_names(word, options, most=1)), None)


class JsonSection:
    """JSON object of a document, read key by key.

    Parameters
    ----------
    document : document that collects the problems.
    path : JSON path of the object, "" for the root.
    values : content of the object.
    """

    def __init__(self, document: Document, path: str, values: Mapping[str, Any]):
        self.document, self.path, self.values = document, path, values
        self.known_keys: list[str] = []

    def at(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key

    def report(self, code: str, key: str, what: str, *cures: str) -> None:
        self.document.report(code, self.at(key) if key else self.path, what, *cures)

    def read(self, record: Any, *names: str) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for name, declared in declarations(record).items():
            if not names or name in names:
                values[name] = self.value(declared.key or name, declared, values)
        return values

    def value(self, key: str, declared: Declared, before: Mapping[str, Any] | None = None) -> Any:
        """Return the value of a key as declared: None for null where None is valid, and the default of a missing key that is not
        required.

        Other values are reported; numbers out of bounds are returned, all others replaced by nan, "" or a tuple.

        `before` : values of the fields before it.
        """
        before = before or {}
        required = declared.is_required(before)
        if self.values.get(key, self) is None and declared.may_be_none and not required:
            self.known_keys.append(key)
            return None
        requirement = declared.requirement(before)
        kind = list if declared.many else str if declared.options else (int, float)
        value = self._value(key, requirement, kind, required)
        if key not in self.values and not required:
            return declared.default
        if declared.options:
            return self._words(key, value, declared)
        if not declared.many:
            return math.nan if value is None else self._number(key, value, declared)
        return self._numbers(key, value, declared, before)

    def _value(self, key: str, requirement: str, kind: Any, required: bool) -> Any:
        self.known_keys.append(key)
        if key not in self.values:
            if required:
                self.report("E403", key, f"missing; {requirement} is needed here")
            return None
        value = self.values[key]
        if not isinstance(value, kind) or isinstance(value, bool):
            self.report("E405", key, f"{json_kind(value)} where {requirement} is needed")
            return None
        return value

    def _number(self, key: str, value: Any, declared: Declared) -> float:
        number = self._finite(self.at(key), value)
        if math.isnan(number):
            return number
        if not declared.contains(number) or (declared.integer and number % 1.0):
            requirement = declared.requirement({}) if declared.integer else declared.range("more than")
            self.report("E407", key, f"{number:g} where {requirement} is needed")
        return int(number) if declared.integer else number

    def _numbers(self, key: str, value: Any, declared: Declared, before: Mapping[str, Any]) -> tuple[float, ...]:
        length = declared.length(before)
        nothing = (math.nan,) * (length or 0)
        if value is None:
            return nothing
        if length not in (None, len(value)) or not all(map(_is_number, value)):
            what = f"a list of {len(value)}" if length not in (None, len(value)) else "a list with values other than numbers"
            self.report("E405", key, f"{what} where {declared.requirement(before)} is needed")
            return nothing
        numbers = tuple(self._finite(f"{self.at(key)}[{i}]", v) for i, v in enumerate(value))
        if all(map(math.isfinite, numbers)) and not all(map(declared.contains, numbers)):
            self.report("E407", key, f"{list(numbers)}: every number must be {declared.range()}")
        return numbers

    def _words(self, key: str, value: Any, declared: Declared) -> Any:
        if not declared.many:
            return "" if value is None else self._option(self.at(key), value, declared.options)
        words: list[str] = []
        for index, word in enumerate(value or ()):
            path = f"{self.at(key)}[{index}]"
            if not isinstance(word, str):
                what = f"{json_kind(word)} where one of {', '.join(declared.options)} is needed"
                self.document.report("E405", path, what)
            elif word in words:
                self.document.report("E407", path, f'"{word}" appears twice', "each word once")
            elif self._option(path, word, declared.options):
                words.append(word)
        return tuple(words)

    def label(self, key: str, default: str) -> str:
        self.known_keys.append(key)
        value = self.values.get(key)
        return value if isinstance(value, str) and value else default

    def section(self, key: str, *, required: bool = True) -> JsonSection | None:
        value = self._value(key, "an object {...}", dict, required)
        return None if value is None else JsonSection(self.document, self.at(key), value)

    def sections(self, key: str, entries: str) -> list[JsonSection]:
        self.known_keys.append(key)
        items = self.values.get(key)
        if not isinstance(items, list):
            what = f"a list of {entries} is needed, not {json_kind(items)}"
            self.report("E403" if items is None else "E405", key, what)
            return []
        sections = []
        for i, entry in enumerate(items):
            path = f"{self.at(key)}[{i}]"
            if isinstance(entry, dict):
                sections.append(JsonSection(self.document, path, entry))
            else:
                self.document.report("E405", path, f"{json_kind(entry)} where an object {{...}} is needed")
        return sections

    def finish(self) -> None:
        comments = self.document.comments
        for key in self.values:
            if key in self.known_keys or key in comments or key.startswith("_") or key.lower().startswith("comment"):
                continue
            missing = [name for name in self.known_keys if name not in self.values]
            near = _closest_option(key, missing) or _closest_option(key, [*self.known_keys, *comments])
            cure = f'did you mean "{near}"?' if near else f"known here: {', '.join(self.known_keys)}; a comment begins with _"
            self.report("E404", key, "unknown key", cure)

    def _option(self, path: str, word: str, options: Iterable[str]) -> str:
        if word in options:
            return word
        near = _closest_option(word, options)
        cure = f'did you mean "{near}"?' if near else "one of " + ", ".join(options)
        self.document.report("E408", path, f'"{word}" is unknown here', cure)
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
    return isinstance(value, int | float) and not isinstance(value, bool)


def read_text(
    text: str,
    file: str | os.PathLike[str],
    read: Callable[[JsonSection], Mapping[str, Any]],
    make: Callable[..., T],
    comments: Iterable[str] = (),
) -> T:
    """Call `make` with the values that `read` returns for a JSON object.

    Parameters
    ----------
    file : name of the text in messages.
    comments : ignored keys, in addition to those that begin with _ or "comment".

    Raises `ModelError` E402 to E408 for all problems together, with JSON path, file and line; then the errors of `make`, without
    source lines.
    """
    document, values = Document(os.fspath(file), frozenset(comments)), None
    content = parse_json(text, document)
    if content is not None:
        section = JsonSection(document, "", content)
        values = read(section)
        section.finish()
    name = Path(file).name
    raise_if_any(name, document.problems)
    assert values is not None
    return make_from_input(lambda: make(**values), name)


def make_from_input(make: Callable[[], T], name: str = "") -> T:
    try:
        return make()
    except ModelError as error:
        raise ModelError(name or error.name, [replace(problem, places=()) for problem in error.problems]) from error


def read_file(
    path: str | os.PathLike[str],
    read: Callable[[JsonSection], Mapping[str, Any]],
    make: Callable[..., T],
    comments: Iterable[str] = (),
    *cures: str,
) -> T:
    document = Document(os.fspath(path))
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        document.report("E401", "", "it is not UTF-8 text", *cures)
    except OSError as error:
        document.report("E401", "", f"it cannot be read: {error.strerror or error}", *(cures or ("the path of a JSON file",)))
    raise_if_any(Path(path).name, document.problems)
    return read_text(text, path, read, make, comments)
