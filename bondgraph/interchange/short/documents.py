"""Hand-written documents in JSON, or in YAML without anchors, aliases and tags: parsed content with the line of each key."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bondgraph.errors import ModelError, Place, Problem, refusal
from bondgraph.interchange.strict_json import MAX_DEPTH, key_lines, strict_json
from bondgraph.output.extras import require_package
from bondgraph.output.files import printable_path, system_reason

LARGEST_FILE = 1_000_000
"""Maximum size of a hand-written file, bytes."""
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")
_WORDS = {"true": True, "True": True, "false": False, "False": False, "null": None, "~": None, "": None}
_OTHER_NAME = "a different name, or only one of the two"
_SCRIPT = "a smaller file, or a script that builds the graph"
_FORM = "keys graph, elements and bonds; docs/files.md has an example"


@dataclass(frozen=True)
class Document:
    """Content of a file, with its name in messages and the line of each key by its path, such as "elements.spring.C"."""

    file: str
    content: Mapping[str, Any]
    lines: Mapping[str, int]

    def place(self, path: str) -> Place:
        while path and path not in self.lines:
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return Place(self.file, self.lines.get(path, 1))

    def problem(self, code: str, path: str, title: str, *cures: str, why: str = "") -> Problem:
        return Problem(code, title, (why,) if why else (), (self.place(path),), cures)


def text_of(path: str | os.PathLike[str], largest: int = LARGEST_FILE) -> tuple[str, str]:
    source, name, cure = Path(path), printable_path(path), "the path of a text file"
    try:
        if (size := source.stat().st_size) <= largest:
            return source.read_bytes().decode("utf-8-sig").replace("\r\n", "\n"), name
        why, cure = f"it has {size} bytes; the limit is {largest}", _SCRIPT
    except UnicodeDecodeError:
        why, cure = "it is not UTF-8 text", "the file saved as UTF-8"
    except (OSError, ValueError) as error:
        why = system_reason(error) if isinstance(error, OSError) else str(error)
    raise refusal("E630", f'"{name}" cannot be read: {why}', cure, about=name, places=())


def json_document(text: str, file: str) -> Document:
    try:
        content = strict_json(text, file, LARGEST_FILE)
    except ModelError as error:
        title = error.problems[0].title
        line = re.search(r" in line (\d+), column \d+$", title)
        raise _invalid(file, int(line[1]) if line else 1, title, _cure_of(title)) from None
    return Document(file, content, key_lines(text)[0])


def yaml_document(text: str, file: str) -> Document:
    """Return the mapping in YAML text; raise E631 for anything else, for anchors, aliases and tags, and for deep nesting.

    Scalars are numbers, true, false and null as in JSON, or strings: `no`, `1:30` and dates are strings.
    """
    require_package(f'the graph of "{file}"', "yaml")
    import yaml

    reader = _Reader(file)
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            reader.take(event)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or str(error).splitlines()[0]
        title = f"the file is not YAML: {what}"
        raise _invalid(file, 1 if mark is None else mark.line + 1, title, _cure_of(title)) from None
    if not isinstance(reader.root, dict):
        raise _invalid(file, 1, "it is not a mapping of keys to values")
    return Document(file, reader.root, reader.lines)


def _cure_of(title: str) -> str:
    cures = {
        "start any token": "spaces instead of tabs; quotes around a string",
        "appears twice": _OTHER_NAME,
        "has no number": '"inf", "nan"',
        "the limit is": _SCRIPT,
    }
    return next((cure for words, cure in cures.items() if words in title), _FORM)


def _invalid(file: str, line: int, title: str, cure: str = _FORM) -> ModelError:
    return refusal("E631", title, cure, about=file, places=(Place(file, line),))


class _Reader:
    """Reader of the events of a YAML parser; it needs no recursion."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.root: Any = None
        self.lines: dict[str, int] = {}
        self.documents = 0
        self.containers: list[tuple[Any, str]] = []
        self.keys: list[str | None] = []
        """Key whose value comes next, for each open container; None if a key comes next, or in a list."""

    def take(self, event: Any) -> None:
        kind, line = type(event).__name__, event.start_mark.line + 1
        if kind == "AliasEvent" or getattr(event, "anchor", None):
            raise _invalid(
                self.file, line, "anchors (&) and aliases (*) are not supported", "the value itself; quotes around a string"
            )
        if getattr(event, "tag", None) not in (None, "!"):
            raise _invalid(self.file, line, f"the tag {event.tag[:40]!r} is not supported", "the value without its tag")
        if kind == "DocumentStartEvent":
            self.documents += 1
            if self.documents > 1:
                raise _invalid(self.file, line, "a second document begins here", "a separate file for each graph")
        elif kind in ("MappingStartEvent", "SequenceStartEvent"):
            container: Any = {} if kind == "MappingStartEvent" else []
            path = self._put(container, line)
            if len(self.containers) >= MAX_DEPTH:
                raise _invalid(self.file, line, f"its content is nested more than {MAX_DEPTH} levels deep")
            self.containers.append((container, path))
            self.keys.append(None)
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            self.containers.pop()
            self.keys.pop()
        elif kind == "ScalarEvent":
            is_key = bool(self.containers) and isinstance(self.containers[-1][0], dict) and self.keys[-1] is None
            self._put(event.value if is_key or event.style else self._plain(event.value, line), line)

    def _put(self, value: Any, line: int) -> str:
        if not self.containers:
            self.root = value
            return ""
        container, path = self.containers[-1]
        if isinstance(container, list):
            path = f"{path}[{len(container)}]"
            container.append(value)
        elif (key := self.keys[-1]) is None:
            if not isinstance(value, str):
                raise _invalid(self.file, line, "a key must be a string, not a list or a mapping")
            if value in container:
                raise _invalid(self.file, line, f"the key {value[:60]!r} appears twice in one mapping", _OTHER_NAME)
            container[value], self.keys[-1] = None, value
            path = f"{path}.{value}" if path else value
        else:
            container[key], self.keys[-1] = value, None
            return f"{path}.{key}" if path else key
        self.lines.setdefault(path, line)
        return path

    def _plain(self, text: str, line: int) -> Any:
        if text in _WORDS:
            return _WORDS[text]
        if not _NUMBER.fullmatch(text):
            return text
        if len(text) > 40:
            raise _invalid(self.file, line, "it has a number that is too long")
        return float(text) if re.search(r"[.eE]", text) else int(text)


def document_of(text: str, file: str) -> Document:
    endings = {".json": json_document, ".yaml": yaml_document, ".yml": yaml_document}
    read = endings.get(Path(file).suffix.lower())
    if read is None:
        cures: Sequence[str] = [f"a name that ends in {ending}" for ending in endings]
        raise refusal("E631", f'"{file}" ends neither in .yaml nor in .json', *cures, about=file, places=())
    return read(text, file)
