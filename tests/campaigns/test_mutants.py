"""Mutants: slips in the texts of the runtime, and whether tests notice them."""

import ast

from campaigns import mutants
from campaigns.mutants import Mutant, Trial, survives


def test_slips_are_functions_that_differ_from_the_text():
    """Each is a function of the same name, planted in the place of the text, and nothing else changes."""
    chosen = mutants.mutants(40, seed=0)
    assert len(chosen) == 40 and chosen == mutants.mutants(40, seed=0)
    assert chosen != mutants.mutants(40, seed=1)
    for mutant in chosen:
        before = (mutants.ROOT / mutant.path).read_text(encoding="utf-8").splitlines()
        first, last = mutant.lines
        (was,), (now,) = ast.parse("\n".join(before[first - 1 : last])).body, ast.parse(mutant.text).body
        assert was.name == now.name and ast.dump(was) != ast.dump(now), mutant


TEXT = """
def f(x: Reals, n: int) -> float:
    y = x[n] + 1.0
    if y < 2.0:
        n = 3
        y = larger(y, 4.0)
    return y
"""
SLIPS = ("x[0] + 1.0", "x[n] - 1.0", "x[n] + 2.0", "if not y < 2.0", "y <= 2.0", "y > 2.0", "y < 4.0", "n = 4", "smaller(y, 4.0)")


def test_each_slip_of_a_function_is_made():
    (function,) = ast.parse(TEXT).body
    texts = [ast.unparse(mutants.slipped(function, place)[1]) for place in mutants.places(function)]
    for part in (*SLIPS, "larger(y, 8.0)"):
        assert any(part in text for text in texts), part
    assert any("larger" not in text and "smaller" not in text for text in texts)  # the last statement of a block is missing
    assert len(set(texts)) == len(texts) == len(SLIPS) + 2 and ast.unparse(function) not in texts


def test_a_slip_that_no_test_notices_lives(tmp_path, monkeypatch):
    (tmp_path / "double.py").write_text("def double(x):\n    return x + x\n")
    (tmp_path / "test_double.py").write_text("from double import double\n\n\ndef test_double():\n    assert double(2) == 4\n")
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    lived, noticed = (Mutant("double.py", (1, 2), f"def double(x):\n    return x {sign} x", sign) for sign in "*-")
    assert survives(Trial(lived, ("test_double.py",), 60.0)) == "double.py, *"
    assert survives(Trial(noticed, ("test_double.py",), 60.0)) == ""
