"""XML documents of URDF: parse a file safely, without entities, network access or code."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from bondgraph.errors import ModelError, Place, Problem, raise_if_any, refusal

MAX_BYTES = 16 * 2**20
"""Limit of a file; the largest public robots have half a megabyte."""

MAX_ELEMENTS = 30_000
"""Limit of a file; the largest public robots have about 4000."""

XACRO = "http://www.ros.org/wiki/xacro"


def read_document(path: str | os.PathLike[str]) -> Any:
    """Return the root element <robot> of a URDF file, without comments.

    Raises `ModelError` E520 for a missing file, invalid or too deeply nested XML, another format, or more than `MAX_BYTES` or
    `MAX_ELEMENTS`, and E521 for a document type: it can only define entities, which may grow without bound or read other files.
    """
    file = Path(path)
    text = _read_bytes(file)
    refuse_document_types(file, text)
    root = _parse(file, text)
    count = sum(1 for _ in root.iter())
    if count > MAX_ELEMENTS:
        raise _too_large(file, f"it has {count} elements, more than {MAX_ELEMENTS}; the largest public robots have some 4000")
    raise_if_any(file.name, _format_problems(file, root))
    return root


def place(file: Path, line: int | None) -> Place:
    """Return a line of a file as a `Place`."""
    return Place(str(file), line or 1)


def _read_bytes(file: Path) -> bytes:
    if not file.is_file():
        why = "it is a folder" if file.is_dir() else "there is no such file" if not file.exists() else "it is no ordinary file"
        raise refusal("E520", f'no robot can be read from "{file}"', "the path of a .urdf file", about=file.name, why=why)
    try:
        with file.open("rb") as stream:
            text = stream.read(MAX_BYTES + 1)
    except OSError as error:
        why = error.strerror or str(error)
        raise refusal(
            "E520", f'no robot can be read from "{file}"', "a file that may be read", about=file.name, why=why
        ) from error
    if len(text) > MAX_BYTES:
        raise _too_large(file, f"it has more than {MAX_BYTES // 2**20} megabytes; the largest public robots have half of one")
    return text


def _too_large(file: Path, why: str) -> ModelError:
    cure = "a file that describes one robot, with its meshes in files of their own"
    return refusal("E520", f'"{file.name}" is too large for a robot', cure, about=file.name, why=why)


def refuse_document_types(file: Path, text: bytes) -> None:
    """Raise E521 for XML with a document type, E520 for invalid XML.

    This separate pass builds nothing and ends where a document type begins, so no entity is ever defined.
    """
    from lxml import etree

    class Listener:
        """Parser target that handles document types alone."""

        def doctype(self, name: str, public: str | None, system: str | None) -> None:
            line = text[: max(text.find(b"<!DOCTYPE"), 0)].count(b"\n") + 1
            title = f'"{file.name}" begins with a document type, which is not read'
            why = "it can only define entities, and those can grow without bound or read other files"
            cure = "delete the line <!DOCTYPE ...> with all its entities, and write their text where they are used"
            raise refusal("E521", title, cure, about=file.name, why=why, places=(place(file, line),))

        def start(self, tag: str, attributes: Any) -> None:
            """Nothing."""

        def close(self) -> None:
            """Nothing."""

    try:
        etree.fromstring(text, _parser(etree, Listener()))
    except etree.XMLSyntaxError as error:
        raise _malformed(file, error) from error


def _parse(file: Path, text: bytes) -> Any:
    from lxml import etree

    try:
        return etree.fromstring(text, _parser(etree))
    except etree.XMLSyntaxError as error:
        raise _malformed(file, error) from error


def _parser(etree: Any, target: Any = None) -> Any:
    """Return a parser without entities, document types, network access, or elements more than 256 deep."""
    safe = {"resolve_entities": False, "no_network": True, "load_dtd": False, "huge_tree": False, "recover": False}
    return etree.XMLParser(target=target, remove_comments=True, remove_pis=True, **safe)


def _malformed(file: Path, error: Any) -> ModelError:
    """Return E520 with the message of the parser; its log also holds messages about other files."""
    reason = str(error.msg).partition(", line ")[0]
    return refusal(
        "E520", f'"{file.name}" is no XML: {reason}', _cure(reason), about=file.name, places=(place(file, error.lineno),)
    )


def _cure(reason: str) -> str:
    if "depth" in reason.lower():
        return "links and joints side by side in <robot>: a URDF is never more than six elements deep"
    if "entit" in reason.lower():
        return "the text itself, or &amp; for the sign &"
    return "mend that line; an editor for XML shows what is open"


def _format_problems(file: Path, root: Any) -> list[Problem]:
    """Return problems of XML that is no URDF: another format, or macros that are not expanded."""
    if root.tag != "robot":
        cure = "a URDF file: its outermost element is <robot>"
        if root.tag in ("sdf", "mujoco"):
            cure += f"; {root.tag.upper()} is another format, for which there are converters"
        return [
            Problem(
                "E520", f'"{file.name}" is no URDF: it begins with <{root.tag}>', (), (place(file, root.sourceline),), (cure,)
            )
        ]
    macros = [element for element in root.iter() if isinstance(element.tag, str) and element.tag.startswith(f"{{{XACRO}}}")]
    if macros:
        lines = tuple(place(file, element.sourceline) for element in macros[:3])
        title = f'"{file.name}" is not expanded: it has {len(macros)} elements of xacro'
        return [Problem("E520", title, (), lines, (f"xacro {file.name} > robot.urdf, and read that file",))]
    return []
