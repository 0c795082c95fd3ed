"""Slips planted in the texts of the runtime, which the tests should notice: `python -m campaigns.mutants --count 100 --seed 0`.

A mutant is the project with one slip in one function of the kernel language: an operator, a comparison, an index, a constant, a
condition turned round, a missing statement. The tests run on it until one fails. A mutant that lives shows a rule that no test
states, or a text that may be either way.
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

from bondgraph.emit.kernel_language.language import Array, Table, types_of
from campaigns.processes import Progress, each

ROOT = Path(__file__).parents[1]
TESTS = ("tests/run", "tests/laws", "tests/acceptance", "tests/models", "tests/judges", "tests/campaigns")
"""The tests that run models, those that notice most first."""
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
    """A slip: the file, the lines of the function that it replaces (first, last), its text, and what is wrong with it."""

    path: str
    lines: tuple[int, int]
    text: str
    slip: str


@dataclass(frozen=True)
class Trial:
    """A mutant to test, the tests, and their wall time, s."""

    mutant: Mutant
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


def places(function: ast.FunctionDef) -> list[tuple[int, int]]:
    """Return the slips of a function: a node by its number in the walk of its tree, and the number of a slip there."""
    nodes = enumerate(ast.walk(function))
    return [(index, choice) for index, node in nodes for choice in range(3) if _slip(copy.copy(node), choice)]


def slipped(function: ast.FunctionDef, place: tuple[int, int]) -> tuple[str, ast.FunctionDef]:
    """Return what is wrong with a slip, and the function with it."""
    mutated = copy.deepcopy(function)
    node = list(ast.walk(mutated))[place[0]]
    before = ast.unparse(node) if isinstance(node, (ast.expr, ast.stmt)) else type(node).__name__
    _slip(node, place[1])
    return f"line {getattr(node, 'lineno', function.lineno)}: {before}", mutated


def _slip(node: ast.AST, choice: int) -> bool:
    """Make the slip of this number at a node; return False if there is none."""
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
            return _slip(node, 1)
        case _:
            return False
    return True


def mutants(count: int, seed: int) -> list[Mutant]:
    """Return mutants at random: each place of each function is as likely as any other."""
    every = [(path, function, place) for path, function in kernel_functions() for place in places(function)]
    made = []
    for path, function, place in random.Random(seed).sample(every, min(count, len(every))):
        slip, mutated = slipped(function, place)
        first = min([function.lineno, *(each.lineno for each in function.decorator_list)])
        lines = first, function.end_lineno or first
        made.append(Mutant(path.relative_to(ROOT).as_posix(), lines, ast.unparse(ast.fix_missing_locations(mutated)), slip))
    return made


def plant(mutant: Mutant, root: Path) -> None:
    """Write the file of a mutant below a folder."""
    lines = (ROOT / mutant.path).read_text(encoding="utf-8").splitlines(keepends=True)
    first, last = mutant.lines
    text = "".join([*lines[: first - 1], mutant.text, "\n", *lines[last:]])
    (root / mutant.path).write_text(text, encoding="utf-8")


def survives(trial: Trial) -> str:
    """Return how a mutant lives, or "" where a test notices it."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "project")
        shutil.copytree(ROOT, root, ignore=shutil.ignore_patterns(".*", "site", "build", "__pycache__"))
        plant(trial.mutant, root)
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *trial.tests]
        try:
            done = subprocess.run(
                command, cwd=root, env={**os.environ, "PYTHONPATH": str(root)}, capture_output=True, timeout=trial.longest
            )
        except subprocess.TimeoutExpired:
            return ""
    return f"{trial.mutant.path}, {trial.mutant.slip}" if done.returncode == 0 else ""


def main(arguments: list[str] | None = None) -> int:
    """Return 1 if a mutant lives."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[2].replace("\n", " "))
    parser.add_argument("--count", type=int, default=100, help="mutants (default 100)")
    parser.add_argument("--seed", type=int, default=0, help="of the random choice (default 0)")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="tests of so many at once")
    parser.add_argument("--tests", nargs="+", default=TESTS, help=f"files or folders (default {' '.join(TESTS)})")
    given = parser.parse_args(arguments)
    trials = [Trial(mutant, tuple(given.tests), LONGEST) for mutant in mutants(given.count, given.seed)]
    progress = Progress(len(trials), "mutants")
    for lived in each(survives, trials, given.processes, chunk=1):
        progress.add(lived)
    return int(progress.failures > 0)


if __name__ == "__main__":
    sys.exit(main())
