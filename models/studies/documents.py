"""JSON documents: values, the line of each key, and problems."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

from bondgraph.errors import Place, Problem
from bondgraph.interchange.strict_json import MAX_DEPTH, nesting_depth

_SPACE = re.compile(r"[ \t\n\r]*")
_ATOM = re.compile(r"[^,\]}\s]+")


def key_lines(text: str) -> tuple[dict[str, int], list[str]]:
    """Return the line of each key of a valid JSON text, the first of duplicates; and the paths of duplicates.

    >>> key_lines('{"a":\\n {"b": [1,\\n 2], "b": 3}}')
    ({'a': 1, 'a.b': 2, 'a.b[0]': 2, 'a.b[1]': 3}, ['a.b'])
    """
    lines: dict[str, int] = {}
    repeated: dict[str, None] = {}

    def skip(at: int) -> int:
        return _SPACE.match(text, at).end()  # type: ignore[union-attr]

    def value(at: int, path: str) -> int:
        at = skip(at)
        if text[at] not in "{[":
            return scanstring(text, at + 1)[1] if text[at] == '"' else _ATOM.match(text, at).end()  # type: ignore[union-attr]
        is_object, keys, at = text[at] == "{", dict[str, None](), skip(at + 1)
        while text[at] not in "}]":
            inner = f"{path}[{len(keys)}]"
            line = text.count("\n", 0, at) + 1
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


@dataclass
class Document:
    """JSON text during reading: its file, comment keys, the lines of its keys, the problems so far."""

    file: str
    comments: frozenset[str] = frozenset()
    lines: Mapping[str, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def report(self, code: str, path: str, what: str, *cures: str) -> None:
        """Add a problem with the value at a JSON path; a missing key has the line of the object around it."""
        line, ancestor = None, path
        while ancestor and line is None:
            line = self.lines.get(ancestor)
            ancestor = ancestor.rpartition(".")[0]
        place = Place(self.file, line or 1)
        self.problems.append(Problem(code, f"{path or 'the file'}: {what}", (f"in {self.file}",), (place,), cures))


def parse_json(text: str, document: Document) -> dict[str, Any] | None:
    """Return the object of a JSON text; None, and a problem E402, for anything else."""
    if nesting_depth(text) > MAX_DEPTH:
        document.report("E402", "", f"its brackets are nested more than {MAX_DEPTH} deep")
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
        document.report("E402", "", "a number in it has too many digits")
        return None
    if not isinstance(value, dict):
        document.report("E402", "", f"it holds {json_kind(value)} where an object {{...}} is needed")
        return None
    for path in repeated:
        document.report("E404", path, "the key stands twice in one object", "keep one of them")
    return value


def json_kind(value: Any) -> str:
    """Return the kind of a JSON value in words."""
    words = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return words.get(type(value), "a number")
