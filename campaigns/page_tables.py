"""Tables of campaigns in pages of the documentation: new rows replace rows with the same first cell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from bondgraph.output.files import write_texts

_END = "<!-- end -->\n"


def write_rows(
    path: Path,
    command: str,
    head: Sequence[str],
    fresh: Iterable[str],
    names: Iterable[str],
    remark: Callable[[Sequence[str]], str],
) -> None:
    """Replace rows of a command's table in a page, and keep the rows of all other `names`; rows are in the order of `names`.

    The table is between the comments `<!-- command -->` and `<!-- end -->`; `remark` receives all rows and returns the text that
    follows the table.
    """
    start = f"<!-- {command} -->\n"
    before, rest = path.read_text(encoding="utf-8").split(start)
    old, after = rest.split(_END, 1)
    lines = {line.split("|")[1].strip(): line for line in [*old.splitlines(), *fresh] if line.startswith("|")}
    kept = [lines[name] for name in names if name in lines]
    text = before + start + "\n".join([*head, *kept, "", remark(kept), ""]) + _END + after
    write_texts(path.parent, {path.name: text})
