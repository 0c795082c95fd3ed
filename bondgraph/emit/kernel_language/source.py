"""Source of a function of the kernel language: its syntax tree, types, and names that need a variable."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from bondgraph.emit.kernel_language.language import types_of

Function = Callable[..., Any]


class TranslationError(TypeError):
    """Error for a function that is not written in the kernel language; the message begins with file and line."""


@dataclass(frozen=True)
class FunctionSource:
    """Source of a function.

    Parameters
    ----------
    function : the function.
    tree : its syntax tree.
    types : types of its annotated arguments and of "return".
    variables : names that need a variable: set in several places, or read outside the block that sets them.
    reads : names that each part of the tree reads.
    names : global names and names of enclosing functions, with their values.
    """

    function: Function
    tree: ast.FunctionDef
    types: Mapping[str, Any]
    variables: frozenset[str]
    reads: Mapping[ast.AST, Sequence[str]]
    names: dict[str, Any]

    @property
    def arguments(self) -> list[str]:
        return [argument.arg for argument in self.tree.args.args]

    @property
    def is_inline(self) -> bool:
        return getattr(self.function, "is_inline", False)

    def fail(self, node: ast.AST, what: str) -> NoReturn:
        line = getattr(node, "lineno", self.tree.lineno)
        raise TranslationError(f"{inspect.getsourcefile(self.function)}:{line}: {what}")


@functools.cache
def source_of(function: Function) -> FunctionSource:
    tree = _definitions(inspect.getsourcefile(function) or "")[function.__code__.co_firstlineno]
    names = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
    reads, writes = _names(tree)
    source = FunctionSource(function, tree, types_of(function), frozenset(_variables(tree, reads, writes)), reads, names)
    if any(getattr(tree.args, part) for part in ast.arguments._fields if part != "args"):
        source.fail(tree, f'arguments of "{tree.name}" must be plain names without defaults')
    for argument in tree.args.args:
        if argument.arg not in source.types:
            source.fail(argument, f'argument "{argument.arg}" of "{tree.name}" has no type: annotate it')
    if "return" not in source.types:
        source.fail(tree, f'"{tree.name}" has no result type: write "-> None" if it returns nothing')
    is_external = getattr(function, "is_external", False)
    if source.types["return"] is not type(None) and not is_external and not leaves(tree.body, (ast.Return,)):
        source.fail(tree, f'"{tree.name}" may end without a result')
    return source


@functools.cache
def _definitions(file: str) -> dict[int, ast.FunctionDef]:
    blocks, functions = [list[ast.stmt](ast.parse("".join(linecache.getlines(file))).body)], dict[int, ast.FunctionDef]()
    for block in blocks:  # the list grows during the loop
        for node in block:
            blocks.append(getattr(node, "body", []))
            if isinstance(node, ast.FunctionDef):
                functions[min([node.lineno, *[each.lineno for each in node.decorator_list]])] = node
    return functions


Names = dict[ast.AST, list[str]]


def _names(tree: ast.AST) -> tuple[Names, Names]:
    reads: Names = {}
    writes: Names = {}

    def visit(node: ast.AST) -> None:
        reads[node], writes[node] = [], []
        if type(node) is ast.Name:
            (reads if isinstance(node.ctx, ast.Load) else writes)[node] = [node.id]
            return
        for field in node._fields:
            value = getattr(node, field)
            for child in value if type(value) is list else (value,):
                if isinstance(child, (ast.expr, ast.stmt)):
                    visit(child)
                    reads[node] += reads[child]
                    writes[node] += writes[child]
        if isinstance(node, ast.AugAssign):
            for part in (node, node.target):  # its target is also read
                reads[part] = reads[part] + writes[node.target]

    visit(tree)
    return reads, writes


def _variables(tree: ast.FunctionDef, reads: Names, writes: Names) -> Iterator[str]:
    stored, loaded = Counter([*writes[tree], *(a.arg for a in tree.args.args)]), Counter(reads[tree])
    for node in reads:
        blocks = [] if isinstance(node, ast.expr) else [getattr(node, "body", []), getattr(node, "orelse", [])]
        for statements in filter(None, blocks):
            after: Counter[str] = Counter()
            for statement in reversed(statements):
                if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
                    yield from (name for name in writes[statement] if stored[name] > 1 or after[name] < loaded[name])
                after.update(reads[statement])


def leaves(body: Sequence[ast.stmt], by: tuple[type[ast.stmt], ...] = (ast.Return, ast.Break, ast.Continue)) -> bool:
    """Return True if control certainly never reaches the end of a block: each path through it ends with one of these statements,
    or never ends."""
    match body[-1] if body else None:
        case ast.If(_, yes, no):
            return leaves(yes, by) and leaves(no, by)
        case ast.While(ast.Constant(True), inner, []):
            return not any(isinstance(node, ast.Break) for statement in inner for node in ast.walk(statement))
        case last:
            return isinstance(last, by)
