"""Test mutants in forks of one pytest session, which collects the tests once.

One fork runs all tests on the unmutated project, with probes in its machine code, and records which statements each test
executes. For each mutant, another fork loads it in memory and runs the tests that execute the mutated statement, starting with
those that kill the most mutants per second. The machine code is not optimised: its results are the same, and it compiles ten
times faster. Only the mutant's code is new.
"""

from __future__ import annotations

import ast
import contextlib
import ctypes
import inspect
import mmap
import multiprocessing
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any, NamedTuple

import pytest
from _pytest.runner import runtestprotocol

from bondgraph import warming
from bondgraph.emit import llvm, machine
from bondgraph.emit.kernel_language import source, translate
from bondgraph.emit.printers import llvm_procedures

Statement = tuple[str, int]
"""Full name of a function, and the line of a statement in it."""
Tell = Callable[[Any], None]
SLACK, FACTOR = 8.0, 10.0
"""Time limit of a test, s: SLACK + FACTOR times its CPU time on the unmutated project. A test that exceeds it counts
as endless, and kills the mutant."""


class Recorded(NamedTuple):
    """Test on the unmutated project: its CPU time, s, the statements that it executes, and whether it fails."""

    time: float
    executed: frozenset[Statement]
    failed: bool


@dataclass(frozen=True)
class Mutant:
    """Mutated function of the kernel language.

    `function` is the original; `statement` is the mutated statement; `mutation` is the file, the line, and the code
    before and after; `tree` is the mutated function with the lines of its source.
    """

    function: Any
    statement: Statement
    mutation: str
    tree: ast.FunctionDef


@dataclass(frozen=True)
class Verdict:
    """Verdict of the tests on a mutant.

    `killer` is the test that kills it, "" if it survives; `tests` and `executing` are the numbers of tests that ran and
    that execute the mutated statement; `time` is process time, s.
    """

    killer: str
    tests: int
    executing: int
    time: float


def name_of(function: Any) -> str:
    return f"{function.__module__}.{function.__qualname__}"


def tree_of(function: Any) -> ast.FunctionDef:
    return source._definitions(inspect.getsourcefile(function) or "")[function.__code__.co_firstlineno]


def plant(mutant: Mutant) -> None:
    """Replace a function with its mutant in this process, for CPython and for its translation to machine code."""
    function, file = mutant.function, inspect.getsourcefile(mutant.function) or ""
    constants = compile(ast.Module([mutant.tree], []), file, "exec").co_consts
    source._definitions(file)[function.__code__.co_firstlineno] = mutant.tree
    (function.__code__,) = (each for each in constants if isinstance(each, CodeType) and each.co_name == function.__name__)
    source.source_of.cache_clear()


class Codes:
    """Machine code of the solvers by the function that writes it; only code of a changed function is recompiled."""

    def __init__(self) -> None:
        self.ready: dict[tuple[str, ...], tuple[set[str], tuple[bytes, Sequence[str]]]] = {}
        self.changed = ""
        self.seen = set[str]()
        read, compiled = source.source_of, machine.object_code

        def source_of(function: Any) -> Any:
            self.seen.add(name_of(function))
            return read(function)

        def object_code(text: str, passes: int, level: int) -> bytes:
            return compiled(text, 0, 0)

        translate.source_of = source_of  # type: ignore[assignment]
        machine.object_code = llvm.object_code = object_code
        machine.written_code = llvm.written_code = self.written

    def written(self, writer: Iterable[str], write: Callable[[], str]) -> tuple[bytes, Sequence[str]]:
        key = tuple(writer)
        if key not in self.ready or self.changed in self.ready[key][0]:
            self.seen.clear()
            text = write()
            self.ready[key] = {*self.seen}, (machine.object_code(text, 0, 0), machine.defined_functions(text))
        return self.ready[key][1]

    def make(self, tell: Tell) -> None:
        for part in warming.PARTS.values():
            part()
        tell(self.ready)


class Probe(NamedTuple):
    number: int


def probed(functions: Iterable[Any]) -> Callable[[], frozenset[Statement]]:
    """Make machine code mark the executed statements of functions; return a function that reads and clears the marks."""
    nodes = [(name_of(f), node) for f in functions for node in ast.walk(tree_of(f)) if isinstance(node, ast.stmt)]
    numbers = {id(node): number for number, (_, node) in enumerate(nodes)}
    marks = mmap.mmap(-1, len(nodes))
    address = ctypes.addressof(ctypes.c_char.from_buffer(marks))
    write_statement, write_line = translate._Statements.statement, llvm_procedures._line

    def statement(self: Any, node: ast.stmt) -> None:
        if id(node) in numbers:
            self.write._record(Probe(numbers[id(node)]))
        write_statement(self, node)

    def line(instruction: Any, width: int) -> str:
        if isinstance(instruction, Probe):
            return f"  store i8 1, ptr inttoptr (i64 {address + instruction.number} to ptr)"
        return write_line(instruction, width)

    def executed() -> frozenset[Statement]:
        found = frozenset((name, node.lineno) for mark, (name, node) in zip(marks[:], nodes, strict=True) if mark)
        marks[:] = bytes(len(nodes))
        return found

    translate._Statements.statement = statement  # type: ignore[method-assign]
    llvm_procedures._line = line
    return executed


def in_fork(task: Callable[[Tell], None]) -> Iterator[Any]:
    """Run a task in a fork of this process, without output, and yield its reports until the process ends."""
    context = multiprocessing.get_context("fork")
    receiving, sending = context.Pipe(duplex=False)
    child = context.Process(target=_silent, args=(task, sending.send))
    child.start()
    sending.close()
    with contextlib.suppress(EOFError):
        while True:
            yield receiving.recv()
    child.join()


def _silent(task: Callable[[Tell], None], tell: Tell) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    task(tell)


def failures(items: Sequence[pytest.Item], limits: Mapping[str, float]) -> Iterator[tuple[str, bool]]:
    """Run tests; yield the name of each and whether it fails. A test that exceeds its limit (CPU time, s) ends the
    process."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    for item, following in zip(items, [*items[1:], None], strict=True):
        signal.setitimer(signal.ITIMER_PROF, limits.get(item.nodeid, 0.0))
        reports = runtestprotocol(item, nextitem=following, log=False)
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        yield item.nodeid, any(report.failed for report in reports)


def record(items: Sequence[pytest.Item], functions: Sequence[Any]) -> dict[str, Recorded]:
    def run(tell: Tell) -> None:
        executed = probed(functions)
        begin = time.process_time()
        for name, failed in failures(items, {}):
            tell((name, Recorded(time.process_time() - begin, executed(), failed)))
            begin = time.process_time()

    return dict(in_fork(run))


def _function(name: str) -> str:
    return name.partition("[")[0]


class Trials:
    """Trials of mutants by the tests of a session; tests that killed mutants run first in the next trial."""

    def __init__(self, items: Sequence[pytest.Item], recorded: Mapping[str, Recorded], codes: Codes):
        self.items, self.recorded, self.codes = items, recorded, codes
        self.kills = Counter[str]()

    def chosen(self, mutant: Mutant) -> list[pytest.Item]:
        """Return the tests that execute a mutated statement, sorted by mutants killed per second; further cases of a
        parametrised test count less."""
        new = Recorded(0.0, frozenset({mutant.statement}), False)
        known = {item.nodeid: self.recorded.get(item.nodeid, new) for item in self.items}
        able = [name for name, test in known.items() if mutant.statement in test.executed and not test.failed]
        before, seen = Counter[str](), dict[str, int]()
        for name in sorted(able, key=lambda name: known[name].time):
            seen[name] = before[_function(name)]
            before[_function(name)] += 1

        def worth(name: str) -> float:
            return (self.kills[name] + 0.1) / (known[name].time + 0.1) / (1.0 + seen[name]) ** 2

        return sorted((item for item in self.items if item.nodeid in seen), key=lambda item: -worth(item.nodeid))

    def verdict(self, mutant: Mutant, longest: float) -> Verdict:
        """Return the verdict on a mutant; once the recorded CPU time of tests exceeds `longest`, s, no further tests run."""
        able, chosen, total = self.chosen(mutant), list[pytest.Item](), 0.0
        limits = {item.nodeid: SLACK + FACTOR * self.time(item) for item in able}
        for item in able:
            total += self.time(item)
            chosen += [item] if total <= longest else []

        def run(tell: Tell) -> None:
            plant(mutant)
            self.codes.changed = name_of(mutant.function)
            for name, failed in failures(chosen, limits):
                tell((name, failed, time.process_time()))
                if failed:
                    return

        told = list(in_fork(run))
        names = [item.nodeid for item in chosen]
        survives = len(told) == len(names) and not any(failed for _, failed, _ in told)
        killer = "" if survives else told[-1][0] if told and told[-1][1] else names[len(told)]
        self.kills[killer] += 1
        return Verdict(killer, len(told), len(able), told[-1][2] if told else 0.0)

    def time(self, item: pytest.Item) -> float:
        return self.recorded[item.nodeid].time if item.nodeid in self.recorded else 0.0
