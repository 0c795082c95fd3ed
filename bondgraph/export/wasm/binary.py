"""WebAssembly binaries: conversion of an LLVM object file to a module that exports functions.

An object file is already a module, except for its exports, so no linker is needed. Formats: WebAssembly 2.0 (W3C 2022), and the
conventions of its tools for linking.
"""

from __future__ import annotations

from collections.abc import Iterable

_CUSTOM, _IMPORT, _EXPORT, _DATA = 0, 2, 7, 11
_FUNCTION, _DATA_SYMBOL, _SECTION, _SYMBOL_TABLE = 0, 1, 3, 8
_UNDEFINED, _EXPLICIT_NAME = 0x10, 0x40
_HEAD = 8
"""Number of bytes of the magic number and version."""


class _Reader:
    def __init__(self, content: bytes, place: int = 0):
        self.content, self.place = content, place

    @property
    def ended(self) -> bool:
        return self.place >= len(self.content)

    def byte(self) -> int:
        self.place += 1
        return self.content[self.place - 1]

    def number(self) -> int:
        """Read an unsigned integer (LEB128)."""
        result = shift = 0
        while True:
            byte = self.byte()
            result |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return result

    def bytes(self) -> bytes:
        length = self.number()
        self.place += length
        return self.content[self.place - length : self.place]


def _number(value: int) -> bytes:
    """Return the bytes of an unsigned integer (LEB128)."""
    written = b""
    while True:
        low, value = value & 127, value >> 7
        written += bytes([low | (128 if value else 0)])
        if not value:
            return written


def _counted(content: bytes) -> bytes:
    return _number(len(content)) + content


def _sections(binary: bytes) -> list[tuple[int, bytes]]:
    reader, sections = _Reader(binary, _HEAD), []
    while not reader.ended:
        sections.append((reader.byte(), reader.bytes()))
    return sections


def _functions(sections: Iterable[tuple[int, bytes]]) -> dict[str, int]:
    indices = {}
    for kind, body in sections:
        reader = _Reader(body)
        if kind != _CUSTOM or reader.bytes() != b"linking":
            continue
        reader.number()
        while not reader.ended:
            part, content = reader.byte(), _Reader(reader.bytes())
            for _ in range(content.number()) if part == _SYMBOL_TABLE else ():
                symbol, flags = content.byte(), content.number()
                is_defined = not flags & _UNDEFINED
                if symbol == _DATA_SYMBOL:
                    content.bytes()
                    for _ in range(3 * is_defined):
                        content.number()
                    continue
                index = content.number()
                if symbol != _SECTION and (is_defined or flags & _EXPLICIT_NAME):
                    name = content.bytes().decode()
                    if symbol == _FUNCTION and is_defined:
                        indices[name] = index
    return indices


def with_exports(code: bytes, exported: Iterable[str]) -> bytes:
    """Return an object file as a module that exports these functions, without the sections that only a linker reads.

    Raises a ValueError for an object file with data, which a linker would have to place.
    """
    sections = _sections(code)
    if any(kind == _DATA for kind, _ in sections):
        raise ValueError("an object with data needs a linker")
    indices = _functions(sections)
    entries = [_counted(name.encode()) + b"\0" + _number(indices[name]) for name in exported]
    exports = (_EXPORT, _number(len(entries)) + b"".join(entries))
    kept = [section for section in sections if section[0] != _CUSTOM]
    place = next((k for k, (kind, _) in enumerate(kept) if kind > _EXPORT), len(kept))
    kept.insert(place, exports)
    return code[:_HEAD] + b"".join(bytes([kind]) + _counted(body) for kind, body in kept)
