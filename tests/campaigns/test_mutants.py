"""Mutation testing of the runtime: mutants differ from the source, and tests kill them or not."""

import ast

import pytest

from campaigns import mutants
from campaigns.mutants import Mutant, Trial, survivor


def test_mutants_are_functions_that_differ_from_the_source():
    """Each is a function of the same name, in the place of the source, and nothing else changes."""
    chosen = mutants.mutants(40, seed=0)
    assert len(chosen) == 40 and chosen == mutants.mutants(40, seed=0)
    assert chosen != mutants.mutants(40, seed=1)
    for mutant in chosen:
        before = (mutants.ROOT / mutant.path).read_text(encoding="utf-8").splitlines()
        first, last = mutant.lines
        (was,), (now,) = ast.parse("\n".join(before[first - 1 : last])).body, ast.parse(mutant.source).body
        assert was.name == now.name and ast.dump(was) != ast.dump(now), mutant


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


def test_a_mutant_that_no_test_kills_survives(tmp_path, monkeypatch):
    (tmp_path / "double.py").write_text("def double(x):\n    return x + x\n")
    (tmp_path / "test_double.py").write_text("from double import double\n\n\ndef test_double():\n    assert double(2) == 4\n")
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    survives, dies = (Mutant("double.py", (1, 2), f"def double(x):\n    return x {sign} x", sign) for sign in "*-")
    assert survivor(Trial(survives, ("test_double.py",), 60.0)) == "double.py, *"
    assert survivor(Trial(dies, ("test_double.py",), 60.0)) == ""
    with pytest.raises(RuntimeError, match="do not run"):
        survivor(Trial(None, ("test_nowhere.py",), 60.0))
