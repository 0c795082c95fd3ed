"""Syntax trees of the repository's files, each parsed and walked once per process."""

import ast
import collections
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


@functools.cache
def files(folder: str) -> tuple[Path, ...]:
    return tuple(sorted((ROOT / folder).rglob("*.py")))


@functools.cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


@functools.cache
def _by_kind(path: Path) -> dict[type, list[ast.AST]]:
    kinds = collections.defaultdict[type, list[ast.AST]](list)
    for node in ast.walk(tree_of(path)):
        kinds[type(node)].append(node)
    return kinds


def nodes(path: Path, *kinds: type[ast.AST]) -> Iterator[Any]:
    for kind in kinds:
        yield from _by_kind(path).get(kind, ())


def called(node: ast.expr) -> str:
    """Return the dotted name of a called function: `a.b` of `a.b()`, `.b` of `a().b()`."""
    if isinstance(node, ast.Attribute):
        return f"{called(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""
