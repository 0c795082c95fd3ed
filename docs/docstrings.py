"""A docstring as this project writes it in; reStructuredText that looks the same out.

Docstrings are written for people who read source: sections underlined with dashes, `name : meaning` in them, names and formulas
in `such quotes`, drawings indented, sessions of Python with their prompts. Nothing else in them is markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

QUOTED = re.compile(r"(`+)(.+?)\1", re.DOTALL)
SPECIAL = re.compile(r"([*|\\`]|(?<=\w)_(?=\W|$))")
ITEM = re.compile(r"^(\*{0,2}\w[\w, .*\[\]]*?) : (.*)$")
CLOSING = ".,:;!?)]}'\""
"""What may follow a literal at once."""
BULLET = re.compile(r"^([-*]|\d+\.) ")


def restructured(lines: Sequence[str]) -> list[str]:
    """The lines of a docstring, as Sphinx reads them."""
    shown: list[str] = []
    for block in blocks(lines):
        shown += [*_block(block), ""]
    return shown


def blocks(lines: Sequence[str]) -> Iterator[list[str]]:
    """Runs of lines between empty ones."""
    block: list[str] = []
    for line in [*lines, ""]:
        if line.strip():
            block.append(line.rstrip())
        elif block:
            yield block
            block = []


def _block(block: list[str]) -> list[str]:
    if len(block) > 1 and set(block[1].strip()) == {"-"}:
        return [f".. rubric:: {block[0].strip()}", "", *_items(block[2:])]
    if block[0].lstrip().startswith(">>>"):
        return block
    if BULLET.match(block[0]):
        return inline("\n".join(block)).splitlines()
    indented = next((place for place, line in enumerate(block) if line.startswith(" ")), len(block))
    text, drawing = block[:indented], block[indented:]
    flush = next((place for place, line in enumerate(drawing) if not line.startswith(" ")), len(drawing))
    drawing, rest = drawing[:flush], drawing[flush:]
    shown = inline("\n".join(text)).splitlines()
    if drawing:
        shown += ["", "::", "", *(f"    {line}" for line in drawing), ""]
    return shown + (_block(rest) if rest else [])


def _items(lines: list[str]) -> list[str]:
    """`name : meaning` as a list of definitions; what belongs to none as a paragraph."""
    items: list[tuple[str, list[str]]] = []
    for line in lines:
        if found := ITEM.match(line):
            items.append((found[1], [found[2]]))
        elif items:
            items[-1][1].append(line.strip())
        else:
            items.append(("", [line.strip()]))
    shown: list[str] = []
    for name, meaning in items:
        told = inline("\n".join(meaning)).splitlines()
        shown += [f"``{name}``", *(f"    {line}" for line in told)] if name else [*told, ""]
    return shown


def inline(text: str) -> str:
    """A paragraph in which quotes are literal and nothing else is markup."""
    parts: list[str] = []
    end = 0
    for found in QUOTED.finditer(text):
        before, after = text[end : found.start()], text[found.end() : found.end() + 1]
        literal = f"``{' '.join(found[2].split())}``"
        apart = ["\\ " if before[-1:].strip() else "", "\\ " if after.strip() and after not in CLOSING else ""]
        parts += [SPECIAL.sub(r"\\\1", before), apart[0], literal, apart[1]]
        end = found.end()
    return "".join([*parts, SPECIAL.sub(r"\\\1", text[end:])])
