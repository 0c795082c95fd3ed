"""Extract formulas, tables and sections from a page in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.export.reading.tokens import tokens_of

NOTE = " In the notation of the source: "


def formulas(text: str) -> list[str]:
    return re.findall(r"(?<!\\)\$((?:\\.|[^$\\])+)\$", re.sub(r"`[^`]*`", "", text))


def tables(text: str) -> Iterator[list[list[str]]]:
    rows: list[list[str]] = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("| "):
            rows.append([cell.strip() for cell in re.split(r"(?<!\\) \|(?: |$)", line[2:].rstrip())][:-1])
        elif rows:
            yield [rows[0], *rows[2:]]
            rows = []


def captioned(text: str, caption: str) -> list[list[list[str]]]:
    found = re.findall(rf"^Table \d+\. {re.escape(caption)}\n\n((?:\|.*\n)+)", text, re.MULTILINE)
    return [table for rows in found for table in tables(rows)]


def functions(text: str) -> list[tuple[str, str]]:
    """Return (number and title, head and equations) of each function, without the note."""
    found = re.findall(r"^\*\*D(\d+ [^*]*)\*\* (.*)((?:\n\n&emsp; .*)*)", text, re.MULTILINE)
    return [(title, head.partition(NOTE)[0] + equations) for title, head, equations in found]


def section(text: str, title: str) -> str:
    found = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#|\Z)", text, re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


def literal(text: str) -> Any:
    """Return the value of 1, (1, 2), [1, 2; 3, 4] or diag(1, 2)."""

    def number(text: str) -> float:
        tokens, sign = tokens_of(text), 1.0
        if tokens[0] == "-":
            tokens, sign = tokens[1:], -1.0
        if tokens[:2] == [r"\tfrac", "{"]:
            above, below = "".join(tokens[2:-1]).split("}{")
            return sign * float(above) / float(below)
        return sign * (np.inf if tokens == [r"\infty"] else float("".join(tokens)))

    text = text.strip()
    if text.startswith(r"\operatorname{diag}"):
        return np.diag(literal(text.removeprefix(r"\operatorname{diag}")))
    if text[0] == "(":
        return np.array([number(part) for part in text[1:-1].split(",")])
    if text[0] == "[":
        return np.array([[number(part) for part in row.split(",")] for row in text[1:-1].split(";")])
    return number(text)


def with_index(text: str, letter: str, number: str) -> str:
    return re.sub(rf"(?<!\\math..\{{)(?<=[{{,\s]){letter}(?=[.,}}\\])", number, text)
