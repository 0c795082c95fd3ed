"""Mutation testing of the runtime finds whether the tests that execute a mutated statement kill the mutant."""

import ast
import os
import subprocess
import sys
from pathlib import Path

from campaigns import mutants
from campaigns.mutant_tests import tree_of


def test_mutants_are_functions_that_differ_from_the_source():
    chosen = mutants.mutants(40, seed=0)
    assert [mutant.mutation for mutant in chosen] == [mutant.mutation for mutant in mutants.mutants(40, seed=0)]
    assert [mutant.mutation for mutant in chosen] != [mutant.mutation for mutant in mutants.mutants(40, seed=1)]
    for mutant in chosen:
        before, line = tree_of(mutant.function), mutant.statement[1]
        assert before.name == mutant.tree.name and ast.dump(before) != ast.dump(mutant.tree), mutant
        (was,), (now,) = (
            [ast.dump(node) for node in ast.walk(tree) if isinstance(node, ast.stmt) and node.lineno == line]
            for tree in (before, mutant.tree)
        )
        assert was != now, mutant


SOURCE = """
def f(x: Reals, n: int) -> float:
    y = x[n] + 1.0
    if y < 2.0:
        n = 3
        y = larger(y, 4.0)
    return y
"""
MUTATED = (
    "x[0] + 1.0",
    "x[n] - 1.0",
    "x[n] + 2.0",
    "if not y < 2.0",
    "y <= 2.0",
    "y > 2.0",
    "y < 4.0",
    "n = 4",
    "smaller(y, 4.0)",
)


def test_each_mutation_of_a_function_is_made():
    (function,) = ast.parse(SOURCE).body
    texts = [ast.unparse(mutants.mutated(function, mutation)[1]) for mutation in mutants.mutations(function)]
    for part in (*MUTATED, "larger(y, 8.0)"):
        assert any(part in text for text in texts), part
    assert any("larger" not in text and "smaller" not in text for text in texts)  # the last statement of a block is missing
    assert len(set(texts)) == len(texts) == len(MUTATED) + 2 and ast.unparse(function) not in texts


PROGRAM = """
from bondgraph.emit.kernel_language.language import Reals

def double(x: Reals, n: int) -> None:
    for i in range(n):
        x[i] = x[i] + x[i]
        if x[i] > 100.0:
            x[i] = 100.0
"""
PROGRAM_TESTS = """
import ctypes
import numpy as np
from bondgraph.emit.kernel_language.translate import translate
from bondgraph.emit.llvm import compile_procedures
from double import double

def test_nothing():
    pass

def test_double():
    library = compile_procedures(translate([double], ["double"]))
    x = np.array([2.0, 0.0])
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(library.address("double"))(x.ctypes.data, 2)
    assert x.tolist() == [4.0, 0.0]
"""
PROGRAM_CAMPAIGN = """
import ast, inspect, sys
from pathlib import Path
import pytest
from campaigns import mutants
from campaigns.mutant_tests import Codes, Trials, record, tree_of

class Campaign:
    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session):
        from double import double
        mutants.ROOT = Path.cwd()
        trials = Trials(session.items, record(session.items, [double]), Codes())
        (function,) = (node for node in ast.parse(inspect.getsource(inspect.getmodule(double))).body if hasattr(node, "args"))
        for mutation in mutants.mutations(function):
            mutant = mutants.mutant_of(Path.cwd() / "double.py", function, mutation)
            verdict = trials.verdict(mutant, 60.0)
            print("::", mutant.mutation.partition(": ")[2], "|", verdict.killer, "|", verdict.tests, "|", verdict.executing)
        return True

pytest.main(["-q", "-s", "-p", "no:cacheprovider"], plugins=[Campaign()])
"""


def test_tests_that_execute_a_mutated_statement_kill_it_or_not(tmp_path):
    for name, text in (("double", PROGRAM), ("test_double", PROGRAM_TESTS), ("campaign", PROGRAM_CAMPAIGN)):
        (tmp_path / f"{name}.py").write_text(text)
    paths = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(Path(__file__).parents[2])])}
    command = [sys.executable, "campaign.py"]
    done = subprocess.run(command, cwd=tmp_path, env=paths, capture_output=True, text=True, check=True)
    verdicts = [line[3:].split(" | ") for line in done.stdout.splitlines() if line.startswith(":: ")]
    said = {mutation: rest for mutation, *rest in verdicts}
    killed = ["test_double.py::test_double", "1", "1"]
    assert said["x[i] + x[i] -> x[i] - x[i]"] == killed
    assert said["x[i] > 100.0 -> x[i] < 100.0"] == killed
    assert said["x[i] > 100.0 -> x[i] >= 100.0"] == ["", "1", "1"]
    assert said["100.0 -> 200.0"] == ["", "0", "0"]
