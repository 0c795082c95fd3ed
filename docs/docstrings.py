"""Convert docstrings of this project to reStructuredText with the same appearance.

Docstrings are written for readers of the source: sections underlined with dashes, `name : meaning` in them, names and formulas in
`backquotes`, indented drawings, Python sessions with prompts. There is no other markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

QUOTED = re.compile(r"(`+)(.+?)\1", re.DOTALL)
SPECIAL = re.compile(r"([*|\\`]|(?<=\w)_(?=\W|$))")
ITEM = re.compile(r"^(\*{0,2}\w[\w, .*\[\]]*?) : (.*)$")
CLOSING = ".,:;!?)]}'\""
BULLET = re.compile(r"^([-*]|\d+\.) ")


def restructured(lines: Sequence[str]) -> list[str]:
    shown: list[str] = []
    for block in blocks(lines):
        shown += [*_block(block), ""]
    return shown


def blocks(lines: Sequence[str]) -> Iterator[list[str]]:
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
    """Return `name : meaning` as a definition list, and other lines as paragraphs."""
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
        text_lines = inline("\n".join(meaning)).splitlines()
        shown += [f"``{name}``", *(f"    {line}" for line in text_lines)] if name else [*text_lines, ""]
    return shown


def inline(text: str) -> str:
    """Return a paragraph in which quotes are literals and there is no other markup."""
    parts: list[str] = []
    end = 0
    for found in QUOTED.finditer(text):
        before, after = text[end : found.start()], text[found.end() : found.end() + 1]
        literal = f"``{' '.join(found[2].split())}``"
        separators = ["\\ " if before[-1:].strip() else "", "\\ " if after.strip() and after not in CLOSING else ""]
        parts += [SPECIAL.sub(r"\\\1", before), separators[0], literal, separators[1]]
        end = found.end()
    return "".join([*parts, SPECIAL.sub(r"\\\1", text[end:])])
