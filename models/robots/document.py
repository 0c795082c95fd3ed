"""XML documents of robots: parse a file safely, without entities, network access or code; list harmless errors."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from screwbond.models.robots.records import Ignored

from bondgraph.errors import ModelError, Place, Problem, raise_if_any, refusal
from screws.errors import plural

MAX_BYTES = 16 * 2**20
"""Largest size of a file, bytes; the largest public robot files have 0.5 MiB."""

MAX_ELEMENTS = 30_000
"""Maximum number of elements in a file; the largest public robots have about 4000."""

MAX_HARMLESS_ERRORS = 50
"""Maximum number of harmless errors in a file that is accepted; the parser reports only its first hundred messages."""

XACRO = re.compile(r"\{[^}]*\bxacro\b[^}]*\}|xacro:")

HARMLESS = {
    "ERR_UNKNOWN_VERSION": ("the version of XML", "the file is read as version 1.0"),
    "ERR_RESERVED_XML_NAME": ("an XML declaration after the first line", "only a declaration in the first line counts"),
    "ERR_HYPHEN_IN_COMMENT": ("comments with a double hyphen", "comments do not describe the robot"),
    "NS_ERR_UNDEFINED_NAMESPACE": ("prefixes without a namespace", "names have no prefix"),
    "ERR_DOCUMENT_END": ("text after the end", "the robot ends there"),
}


@dataclass(frozen=True)
class Format:
    name: str
    roots: tuple[str, ...]
    suffix: str
    reader: str


URDF = Format("URDF", ("robot",), ".urdf", "read_urdf")
MJCF = Format("MJCF", ("mujoco", "mujocoinclude"), ".xml", "read_mjcf")
SDF = Format("SDF", ("sdf",), ".sdf", "read_sdf")
READERS = {root: format for format in (URDF, MJCF, SDF) for root in format.roots}


def read_document(path: str | os.PathLike[str], format: Format) -> tuple[Any, tuple[Ignored, ...]]:
    """Return the root element of a robot file, without comments, and the ignored parts of the document around it.

    Raises `ModelError` E520 for a missing file, invalid or too deeply nested XML, another format, elements of xacro, or more than
    `MAX_BYTES` or `MAX_ELEMENTS`, and E521 for a document type: it can only define entities, which may grow without bound or read
    other files.
    """
    file = Path(path)
    text = _read_bytes(file, format)
    refuse_document_types(file, text)
    root, harmless = _parse(file, text)
    count = sum(1 for _ in root.iter())
    if count > MAX_ELEMENTS:
        raise _too_large(file, f"it has {count} elements, more than {MAX_ELEMENTS}; the largest public robots have about 4000")
    ignored = (*_harmless_errors(harmless), *_drop_namespace(root))
    raise_if_any(file.name, _format_problems(file, root, format))
    return root, ignored


def place(file: Path, line: int | None) -> Place:
    return Place(str(file), line or 1)


def _read_bytes(file: Path, format: Format) -> bytes:
    if "<" in str(file) and not file.is_file():
        cure = f'write the text to a file, pathlib.Path("robot{format.suffix}").write_text(text), and pass its path'
        raise refusal("E520", "the argument is the description of a robot, not the path of a file", cure, about="robot")
    if not file.is_file():
        why = "a folder" if file.is_dir() else "no such file" if not file.exists() else "not a regular file"
        title, cure = f'no robot can be read from "{file}"', f"the path of a {format.suffix} file"
        raise refusal("E520", title, cure, about=file.name or str(file), why=why)
    try:
        with file.open("rb") as stream:
            text = stream.read(MAX_BYTES + 1)
    except OSError as error:
        why = error.strerror or str(error)
        raise refusal(
            "E520", f'no robot can be read from "{file}"', "a file with read permission", about=file.name, why=why
        ) from error
    if len(text) > MAX_BYTES:
        raise _too_large(file, f"it is larger than {MAX_BYTES // 2**20} MiB; the largest public robot files have 0.5 MiB")
    return text


def _too_large(file: Path, why: str) -> ModelError:
    cure = "a file that describes one robot, with its meshes in separate files"
    return refusal("E520", f'"{file.name}" is too large for a robot', cure, about=file.name, why=why)


def refuse_document_types(file: Path, text: bytes) -> None:
    """Raise E521 for XML with a document type, E520 for invalid XML.

    This separate pass builds nothing and ends where a document type begins, so no entity is ever defined.
    """
    from lxml import etree

    class Listener:
        def doctype(self, name: str, public: str | None, system: str | None) -> None:
            line = text[: max(text.find(b"<!DOCTYPE"), 0)].count(b"\n") + 1
            title = f'"{file.name}" begins with a document type declaration, which is not allowed'
            why = "it can only define entities, and those can grow without bound or read other files"
            cure = "delete the line <!DOCTYPE ...> with all its entities, and write their text where they are used"
            raise refusal("E521", title, cure, about=file.name, why=why, places=(place(file, line),))

        def start(self, tag: str, attributes: Any) -> None:
            pass

        def close(self) -> None:
            pass

    parser = _parser(etree, Listener())
    etree.fromstring(text, parser)
    _refuse_errors(file, text, parser.error_log)


def _parse(file: Path, text: bytes) -> tuple[Any, Sequence[Any]]:
    from lxml import etree

    parser = _parser(etree)
    root = etree.fromstring(text, parser)
    _refuse_errors(file, text, parser.error_log)
    return root, parser.error_log


def _refuse_errors(file: Path, text: bytes, messages: Sequence[Any]) -> None:
    errors = [message for message in messages if not _is_harmless(text, message)] or list(messages)[MAX_HARMLESS_ERRORS:]
    if errors:
        reason = str(errors[0].message).partition(", line ")[0]
        title, places = f'"{file.name}" is not XML: {reason}', (place(file, errors[0].line),)
        raise refusal("E520", title, _cure(reason), about=file.name, places=places)


def _is_harmless(text: bytes, message: Any) -> bool:
    if message.type_name != "ERR_DOCUMENT_END":
        return message.type_name in HARMLESS
    line, *more = text.replace(b"\0", b"").split(b"\n")[message.line - 1 :]
    before, end, after = line.partition(b"</robot>")
    tail = b"\n".join([after if end else before, *more])
    return not any(word in tail for word in (b"<link", b"<joint", b"<body", b"<model"))


def _harmless_errors(harmless: Sequence[Any]) -> list[Ignored]:
    lines: dict[str, list[int]] = {}
    for error in harmless:
        lines.setdefault(error.type_name, []).append(error.line)
    return [Ignored(*HARMLESS[kind], tuple(places)) for kind, places in lines.items()]


def _drop_namespace(root: Any) -> list[Ignored]:
    from lxml import etree

    namespace, _, tag = str(root.tag).rpartition("}")
    if tag != "robot" or not namespace:
        return []
    for element in root.iter():
        if isinstance(element.tag, str) and element.tag.startswith(namespace):
            element.tag = element.tag.removeprefix(namespace + "}")
    etree.cleanup_namespaces(root)
    return [Ignored(f'the namespace "{namespace[1:]}"', "URDF has none", (root.sourceline,))]


def _parser(etree: Any, target: Any = None) -> Any:
    """Return a parser that expands no entities, loads no document types, has no network access, and reports elements nested more
    than 256 deep.

    It continues after an error, so that `_refuse_errors` can examine all messages.
    """
    safe = {"resolve_entities": False, "no_network": True, "load_dtd": False, "huge_tree": False, "recover": True}
    return etree.XMLParser(target=target, remove_comments=True, remove_pis=True, **safe)


def _cure(reason: str) -> str:
    if "depth" in reason.lower():
        return "elements nested at most 256 deep"
    if "entit" in reason.lower():
        return "the text itself, or &amp; for the sign &"
    if "Extra content" in reason:
        return "links and joints before the end of the outermost element; whatever follows it is not read"
    return "correct that line; an XML editor shows unclosed elements"


def _format_problems(file: Path, root: Any, format: Format) -> list[Problem]:
    if root.tag not in format.roots:
        cure = f"a {format.name} file: its outermost element is <{format.roots[0]}>"
        if root.tag in READERS:
            cure = f"{READERS[root.tag].reader}(...), the reader of {READERS[root.tag].name}"
        title = f'"{file.name}" is not {format.name}: it begins with <{root.tag}>'
        return [Problem("E520", title, (), (place(file, root.sourceline),), (cure,))]
    macros = [element for element in root.iter() if isinstance(element.tag, str) and XACRO.match(element.tag)]
    if macros:
        lines = tuple(place(file, element.sourceline) for element in macros[:3])
        title = f'"{file.name}" is not expanded: it has {plural(len(macros), "xacro element")}'
        cures = f"xacro {file.name} > robot.urdf, and read that file", "the file without these lines, if you do not need them"
        return [Problem("E520", title, (), lines, cures)]
    return []
