"""Source of a function of the kernel language: its syntax tree, its types, and the names that need a variable."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from bondgraph.emit.kernel_language.language import types_of

Function = Callable[..., Any]


class TranslationError(TypeError):
    """A function uses what the kernel language lacks; the message begins with file and line."""


@dataclass(frozen=True)
class FunctionSource:
    """Source of a function.

    Parameters
    ----------
    function : the function.
    tree : its syntax tree.
    types : of its annotated arguments, and of its "return".
    variables : names that need a variable: those set at several places, or read outside of the block that sets them.
    names : global names and names of enclosing functions that it sees.
    """

    function: Function
    tree: ast.FunctionDef
    types: Mapping[str, Any]
    variables: frozenset[str]
    names: Mapping[str, Any]

    @property
    def arguments(self) -> list[str]:
        """Names of its arguments."""
        return [argument.arg for argument in self.tree.args.args]

    @property
    def is_inline(self) -> bool:
        """Its body is put where it is called."""
        return getattr(self.function, "is_inline", False)

    def fail(self, node: ast.AST, what: str) -> NoReturn:
        """Refuse a part of the source, with file and line."""
        line = getattr(node, "lineno", self.tree.lineno)
        raise TranslationError(f"{inspect.getsourcefile(self.function)}:{line}: {what}")


@functools.cache
def source_of(function: Function) -> FunctionSource:
    """Read the source of a function; raise a TranslationError for arguments that are not plain, or without a type."""
    lines, first = inspect.getsourcelines(function)
    (tree,) = ast.parse(textwrap.dedent("".join(lines))).body
    assert isinstance(tree, ast.FunctionDef)
    ast.increment_lineno(tree, first - 1)
    names = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
    source = FunctionSource(function, tree, types_of(function), frozenset(_variables(tree)), names)
    if ast.unparse(ast.arguments([], tree.args.args, None, [], [], None, [])) != ast.unparse(tree.args):
        source.fail(tree, f'arguments of "{tree.name}" are plain names without defaults')
    for argument in tree.args.args:
        if argument.arg not in source.types:
            source.fail(argument, f'argument "{argument.arg}" of "{tree.name}" has no type: annotate it')
    if "return" not in source.types:
        source.fail(tree, f'"{tree.name}" has no type of its result: write "-> None" if it has none')
    is_external = getattr(function, "is_external", False)
    if source.types["return"] is not type(None) and not is_external and not leaves(tree.body, (ast.Return,)):
        source.fail(tree, f'"{tree.name}" may end without a result')
    return source


@functools.cache
def names_read(node: ast.AST) -> Counter[str]:
    """Count the names that a part of the source reads."""
    return _names(node, ast.Load, names_read)


@functools.cache
def names_set(node: ast.AST) -> Counter[str]:
    """Count the names that a part of the source sets."""
    return _names(node, ast.Store, names_set)


def _names(node: ast.AST, context: type[ast.expr_context], inner: Callable[[ast.AST], Counter[str]]) -> Counter[str]:
    if isinstance(node, ast.Name):
        return Counter([node.id] if isinstance(node.ctx, context) else ())
    count: Counter[str] = Counter()
    for child in ast.iter_child_nodes(node):
        count.update(inner(child))
    return count


def _variables(tree: ast.FunctionDef) -> Iterator[str]:
    stored, loaded = names_set(tree) + Counter(a.arg for a in tree.args.args), names_read(tree)
    for node in ast.walk(tree):
        for block in (getattr(node, name, None) for name in ("body", "orelse")):
            statements: list[ast.stmt] = block if isinstance(block, list) else []
            after: Counter[str] = Counter()
            for statement in reversed(statements):
                if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
                    augmented = isinstance(statement, ast.AugAssign)
                    here = names_set(statement)
                    yield from (name for name in here if augmented or stored[name] > 1 or after[name] < loaded[name])
                after.update(names_read(statement))


def leaves(body: Sequence[ast.stmt], by: tuple[type[ast.stmt], ...] = (ast.Return, ast.Break, ast.Continue)) -> bool:
    """Return True if nothing after a block follows it: each way through it ends with one of these statements, or never."""
    match body[-1] if body else None:
        case ast.If(_, yes, no):
            return leaves(yes, by) and leaves(no, by)
        case ast.While(ast.Constant(True), inner, []):
            return not any(isinstance(node, ast.Break) for statement in inner for node in ast.walk(statement))
        case last:
            return isinstance(last, by)
