"""Mutation testing of the runtime: `python -m campaigns.mutants --count 100 --seed 0`.

A mutant is the project with one mutation in one function of the kernel language: another operator, comparison, index or constant,
a negated condition, a missing statement. The tests that execute the mutated statement run until one fails, which kills the mutant
(`mutant_tests`). A mutant that survives shows a rule that no test states, or is equivalent to the original.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import inspect
import itertools
import json
import math
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, ModuleType

import pytest

from bondgraph.emit import cache
from bondgraph.emit.kernel_language.language import Array, Table, types_of
from campaigns.mutant_tests import Codes, Mutant, Recorded, Trials, in_fork, name_of, record
from campaigns.processes import Progress

ROOT = Path(__file__).parents[1]
TESTS = ("tests/run", "tests/laws", "tests/acceptance", "tests/models", "tests/comparisons", "tests/campaigns")

_SWAPPED: Mapping[type[ast.AST], tuple[type[ast.AST], ...]] = MappingProxyType(
    {
        ast.Add: (ast.Sub,),
        ast.Sub: (ast.Add,),
        ast.Mult: (ast.Div,),
        ast.Div: (ast.Mult,),
        ast.Lt: (ast.LtE, ast.Gt),
        ast.LtE: (ast.Lt, ast.Gt),
        ast.Gt: (ast.GtE, ast.Lt),
        ast.GtE: (ast.Gt, ast.Lt),
        ast.Eq: (ast.NotEq,),
        ast.NotEq: (ast.Eq,),
        ast.And: (ast.Or,),
        ast.Or: (ast.And,),
        ast.BitAnd: (ast.BitOr,),
        ast.BitOr: (ast.BitAnd,),
    }
)
_RENAMED = MappingProxyType({"larger": "smaller", "smaller": "larger", "max": "min", "min": "max"})


def kernel_functions() -> Iterator[tuple[Path, ast.FunctionDef]]:
    for path in sorted((ROOT / "bondgraph" / "run").rglob("*.py")):
        if "kernel_language" not in path.read_text(encoding="utf-8"):
            continue
        module = _module(path)
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            function = getattr(module, node.name, None) if isinstance(node, ast.FunctionDef) else None
            if isinstance(node, ast.FunctionDef) and inspect.isfunction(function) and _is_kernel(function):
                yield path, node


def _module(path: Path) -> ModuleType:
    return importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))


def _is_kernel(function: object) -> bool:
    types = types_of(function)
    tables = (isinstance(kind, Array) or (isinstance(kind, type) and issubclass(kind, Table)) for kind in types.values())
    return "return" in types and (any(tables) or getattr(function, "is_inline", False))


def mutations(function: ast.FunctionDef) -> list[tuple[int, int]]:
    """Return (index of a node in a walk of the syntax tree, number of the mutation of that node) for each mutation."""
    nodes = enumerate(ast.walk(function))
    return [(index, choice) for index, node in nodes for choice in range(3) if _mutate(copy.copy(node), choice)]


def mutated(function: ast.FunctionDef, mutation: tuple[int, int]) -> tuple[str, ast.FunctionDef]:
    """Return the first changed line, as "line 7: before -> after", and the mutated function."""
    mutant = copy.deepcopy(function)
    nodes = list(ast.walk(mutant))
    node = nodes[mutation[0]]
    before = ast.unparse(node)
    _mutate(node, mutation[1])
    lines = [(was, now) for was, now in itertools.zip_longest(before.split("\n"), ast.unparse(node).split("\n")) if was != now]
    return f"line {getattr(node, 'lineno', function.lineno)}: {lines[0][0]} -> {lines[0][1]}", mutant


def _mutate(node: ast.AST, choice: int) -> bool:
    """Apply the mutation with this number to a node; return False if there is no such mutation."""
    match node:
        case ast.BinOp(op=operation) | ast.BoolOp(op=operation) if type(operation) in _SWAPPED and choice == 0:
            node.op = _SWAPPED[type(operation)][0]()  # type: ignore[assignment]
        case ast.Compare(ops=[operation, *others]) if choice < len(_SWAPPED.get(type(operation), ())):
            node.ops = [_SWAPPED[type(operation)][choice](), *others]  # type: ignore[list-item]
        case ast.Constant(value=bool() as truth) if choice == 0:
            node.value = not truth
        case ast.Constant(value=float() as number) if choice == 0:
            node.value = number * 2.0 if number else 1.0
        case ast.Constant(value=int() as number) if choice == 0:
            node.value = number + 1
        case ast.Name(id=name) if name in _RENAMED and choice == 0:
            node.id = _RENAMED[name]
        case ast.Subscript(slice=(ast.Name() | ast.BinOp()), ctx=ast.Load()) if choice == 0:
            node.slice = ast.Constant(0)
        case ast.If() | ast.While() if choice == 0:
            node.test = ast.UnaryOp(ast.Not(), node.test)
        case ast.If() | ast.While() | ast.For() if choice == 1 and len(node.body) > 1:
            node.body = node.body[:-1]
        case ast.For() if choice == 0:
            return _mutate(node, 1)
        case _:
            return False
    return True


def mutants(count: int, seed: int) -> list[Mutant]:
    """Return random mutants; each mutation of each function is equally likely."""
    every = [(path, function, mutation) for path, function in kernel_functions() for mutation in mutations(function)]
    return [mutant_of(*one) for one in random.Random(seed).sample(every, min(count, len(every)))]


def mutant_of(path: Path, function: ast.FunctionDef, mutation: tuple[int, int]) -> Mutant:
    text, mutant = mutated(function, mutation)
    original = getattr(_module(path), function.name)
    nodes = list(ast.walk(function))
    inside = [node for node in nodes[1:] if isinstance(node, ast.stmt) and nodes[mutation[0]] in ast.walk(node)]
    line = inside[-1].lineno  # the walk reaches the innermost last
    where = f"{path.relative_to(ROOT).as_posix()}, {function.name}, {text}"
    return Mutant(original, (name_of(original), line), where, ast.fix_missing_locations(mutant))


class Campaign:
    """Pytest plugin that tries random mutants instead of running the tests of a session."""

    def __init__(self, given: argparse.Namespace):
        self.given, self.codes = given, Codes()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        recorded = self.recorded(session.items)
        for name in (name for name, test in recorded.items() if test.failed):
            print(f"fails on the unmutated project, and is omitted: {name}")
        (self.codes.ready,) = in_fork(self.codes.make)
        trials = Trials(session.items, recorded, self.codes)
        chosen = mutants(self.given.count, self.given.seed)
        progress = Progress(len(chosen), "mutants")
        for mutant in chosen:
            verdict = trials.verdict(mutant, self.given.longest)
            tests = f"{verdict.tests} of {verdict.executing} tests that execute it"
            progress.say(f"{mutant.mutation}: {verdict.time:.0f} s, {f'killed by {verdict.killer}' if verdict.killer else tests}")
            progress.add("" if verdict.killer else "this mutant survives")
        session.testsfailed = progress.failures
        return True

    def recorded(self, items: Sequence[pytest.Item]) -> dict[str, Recorded]:
        """Return the tests' records on the unmutated project, from the file of an earlier campaign if the sources are
        unchanged."""
        file, sources = self.given.record, cache.sources()
        if file and file.exists():
            read, tests = json.loads(file.read_text(encoding="utf-8"))
            if read == sources:
                return {
                    name: Recorded(time, frozenset(map(tuple, places)), failed) for name, (time, places, failed) in tests.items()
                }
        recorded = record(items, [getattr(_module(path), node.name) for path, node in kernel_functions()])
        if file:
            tests = {name: (test.time, sorted(test.executed), test.failed) for name, test in recorded.items()}
            file.write_text(json.dumps((sources, tests)), encoding="utf-8")
        return recorded


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[2].replace("\n", " "))
    parser.add_argument("--count", type=int, default=100, help="mutants (default 100)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random choice (default 0)")
    parser.add_argument("--longest", type=float, default=math.inf, help="limit of the tests' CPU time for one mutant, s")
    parser.add_argument("--record", type=Path, help="file that records what each test executes, for the next campaign")
    parser.add_argument("--tests", nargs="+", default=TESTS, help=f"files or folders (default {' '.join(TESTS)})")
    given = parser.parse_args(arguments)
    return int(pytest.main(["-q", "-p", "no:cacheprovider", *given.tests], plugins=[Campaign(given)]))


if __name__ == "__main__":
    sys.exit(main())
