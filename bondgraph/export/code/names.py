"""The user's names in C: constants for every place in the arrays, with the name, shape and unit in a comment."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.assembly.system import is_internal


@dataclass(frozen=True)
class Entry:
    """A named piece of an array: its constant ("" for what is internal), where it starts, its shape, and its comment."""

    constant: str
    start: int
    shape: tuple[int, ...]
    remark: str

    @property
    def size(self) -> int:
        """Count of numbers."""
        return int(np.prod(self.shape))


def sanitised(name: str) -> str:
    """Letters, digits and underscores only: "egg 2.pose" -> "egg_2_pose"."""
    return re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_") or "unnamed"


def comment(words: str) -> str:
    """Plain words that cannot end a comment, or begin one."""
    return " ".join(words.replace("*/", "* /").replace("/*", "/ *").split())


class Names:
    """Gives out constants, each once."""

    def __init__(self, prefix: str):
        self.prefix = prefix.upper()
        self.given: set[str] = set()

    def constant(self, *words: str) -> str:
        """`PREFIX_WORDS`, numbered where it is taken."""
        base = "_".join([self.prefix, *(sanitised(word).upper() for word in words)])
        name, count = base, 2
        while name in self.given:
            name, count = f"{base}_{count}", count + 1
        self.given.add(name)
        return name

    def entries(self, kind: str, items: Iterable[tuple[str, tuple[int, ...], str]]) -> tuple[Entry, ...]:
        """Entries of one array, from (name, shape, remark), one after the other."""
        found: list[Entry] = []
        start = 0
        for name, shape, remark in items:
            size = f" [{', '.join(map(str, shape))}]" if shape else ""
            constant = "" if is_internal(name) else self.constant(kind, name)
            found.append(Entry(constant, start, shape, comment(f"{name}{size}{remark}")))
            start += found[-1].size
        return tuple(found)


def places(array: str, entries: Sequence[Entry]) -> list[str]:
    """The C expression of every number of an array: `x[OSC_X_MASS_P]`, `x[OSC_X_POSE + 3]`."""
    found = []
    for entry in entries:
        first = entry.constant or str(entry.start)
        found += [f"{array}[{first}{f' + {k}' if k else ''}]" for k in range(entry.size)]
    return found


def enumeration(title: str, entries: Sequence[Entry], total: str, count: int) -> str:
    """An enum of the entries' constants, and of the whole length."""
    lines = [f"/* {comment(title)} */", "enum {"]
    lines += [f"    {entry.constant} = {entry.start}, /* {entry.remark} */" for entry in entries if entry.constant]
    return "\n".join([*lines, f"    {total} = {count}", "};", ""])


def array(kind: str, name: str, length: str, numbers: Sequence[Any]) -> str:
    """The definition of a constant array; C has none of length zero, so an empty one holds one zero."""
    body = ", ".join(map(str, numbers)) if len(numbers) else "0"
    lines = textwrap.wrap(body, 110, break_long_words=False, break_on_hyphens=False)
    bound = length if len(numbers) else "1"
    return "\n".join([f"const {kind} {name}[{bound}] = {{", *(f"    {line}" for line in lines), "};", ""])
