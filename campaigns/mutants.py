"""Mutation testing of the runtime: `python -m campaigns.mutants --count 100 --seed 0`.

A mutant is the project with one mutation in one function of the kernel language: another operator, comparison, index or constant,
a negated condition, a missing statement. The tests run on it until one fails, which kills the mutant. A mutant that survives
shows a rule that no test states, or is equivalent to the original.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import inspect
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import pytest

from bondgraph.emit.kernel_language.language import Array, Table, types_of
from campaigns.processes import Progress, each

ROOT = Path(__file__).parents[1]
TESTS = ("tests/run", "tests/laws", "tests/acceptance", "tests/models", "tests/judges", "tests/campaigns")
"""The tests that run models, those that kill most first."""
LONGEST = 3600.0
"""Wall time after which the tests on a mutant are endless, s."""

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


@dataclass(frozen=True)
class Mutant:
    """A mutated function: its file, the lines (first, last) that its source replaces, and the line and code that are mutated."""

    path: str
    lines: tuple[int, int]
    source: str
    mutation: str


@dataclass(frozen=True)
class Trial:
    """A mutant to test, None for the project itself; the tests, and their longest wall time, s."""

    mutant: Mutant | None
    tests: tuple[str, ...]
    longest: float


def kernel_functions() -> Iterator[tuple[Path, ast.FunctionDef]]:
    """Yield the functions of the kernel language in the runtime, with their files."""
    for path in sorted((ROOT / "bondgraph" / "run").rglob("*.py")):
        if "kernel_language" not in path.read_text(encoding="utf-8"):
            continue
        module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            function = getattr(module, node.name, None) if isinstance(node, ast.FunctionDef) else None
            if isinstance(node, ast.FunctionDef) and inspect.isfunction(function) and _is_kernel(function):
                yield path, node


def _is_kernel(function: object) -> bool:
    types = types_of(function)
    tables = (isinstance(kind, Array) or (isinstance(kind, type) and issubclass(kind, Table)) for kind in types.values())
    return "return" in types and (any(tables) or getattr(function, "is_inline", False))


def mutations(function: ast.FunctionDef) -> list[tuple[int, int]]:
    """Return the mutations of a function: the number of a node in the walk of its tree, and that of a mutation of this node."""
    nodes = enumerate(ast.walk(function))
    return [(index, choice) for index, node in nodes for choice in range(3) if _mutate(copy.copy(node), choice)]


def mutated(function: ast.FunctionDef, mutation: tuple[int, int]) -> tuple[str, ast.FunctionDef]:
    """Return the line and the code that a mutation changes, and the function with it."""
    mutant = copy.deepcopy(function)
    node = list(ast.walk(mutant))[mutation[0]]
    before = ast.unparse(node) if isinstance(node, (ast.expr, ast.stmt)) else type(node).__name__
    _mutate(node, mutation[1])
    return f"line {getattr(node, 'lineno', function.lineno)}: {before}", mutant


def _mutate(node: ast.AST, choice: int) -> bool:
    """Apply the mutation of this number to a node; return False if there is none."""
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
    """Return mutants at random: each mutation of each function is as likely as any other."""
    every = [(path, function, mutation) for path, function in kernel_functions() for mutation in mutations(function)]
    chosen = []
    for path, function, mutation in random.Random(seed).sample(every, min(count, len(every))):
        before, mutant = mutated(function, mutation)
        first = min([function.lineno, *(each.lineno for each in function.decorator_list)])
        source = ast.unparse(ast.fix_missing_locations(mutant))
        chosen.append(Mutant(path.relative_to(ROOT).as_posix(), (first, function.end_lineno or first), source, before))
    return chosen


def write(mutant: Mutant, root: Path) -> None:
    """Write the file of a mutant below a folder."""
    lines = (ROOT / mutant.path).read_text(encoding="utf-8").splitlines(keepends=True)
    first, last = mutant.lines
    text = "".join([*lines[: first - 1], mutant.source, "\n", *lines[last:]])
    (root / mutant.path).write_text(text, encoding="utf-8")


def survivor(trial: Trial) -> str:
    """Return the mutant of a trial if it survives, or "" if a test kills it; raise a RuntimeError if the tests cannot run."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "project")
        shutil.copytree(ROOT, root, ignore=shutil.ignore_patterns(".*", "site", "build", "__pycache__"))
        if trial.mutant is not None:
            write(trial.mutant, root)
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *trial.tests]
        environment = {**os.environ, "PYTHONPATH": str(root)}
        try:
            done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=trial.longest)
        except subprocess.TimeoutExpired:
            return ""
    if done.returncode not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED):
        raise RuntimeError(f"the tests do not run: {done.stderr or done.stdout}")
    name = "the project itself" if trial.mutant is None else f"{trial.mutant.path}, {trial.mutant.mutation}"
    return "" if done.returncode else name


def main(arguments: list[str] | None = None) -> int:
    """Return 1 if a mutant survives; first, the tests must pass on the project itself."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[2].replace("\n", " "))
    parser.add_argument("--count", type=int, default=100, help="mutants (default 100)")
    parser.add_argument("--seed", type=int, default=0, help="of the random choice (default 0)")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="tests of so many at once")
    parser.add_argument("--tests", nargs="+", default=TESTS, help=f"files or folders (default {' '.join(TESTS)})")
    given = parser.parse_args(arguments)
    if not survivor(Trial(None, tuple(given.tests), LONGEST)):
        sys.exit("the tests fail on the project itself, so that they kill every mutant")
    trials = [Trial(mutant, tuple(given.tests), LONGEST) for mutant in mutants(given.count, given.seed)]
    progress = Progress(len(trials), "mutants")
    for lived in each(survivor, trials, given.processes, chunk=1):
        progress.add(lived)
    return int(progress.failures > 0)


if __name__ == "__main__":
    sys.exit(main())
