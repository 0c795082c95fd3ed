"""The smallest graph for each error code raises it, and the message contains the required words."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import bondgraph
from tests.checks.small_graphs import provoke
from tests.checks.wrong_equations import CALLS, EQUATIONS
from tests.checks.wrong_formulas import FORMULAS
from tests.checks.wrong_graphs import GRAPHS
from tests.checks.wrong_numbers import NUMBERS

CASES = [*GRAPHS, *NUMBERS, *FORMULAS, *EQUATIONS, *CALLS]


@pytest.mark.parametrize(("code", "make", "words"), CASES, ids=[f"{code}-{i}" for i, (code, _, _) in enumerate(CASES)])
def test_message(code: str, make: Callable[[], object], words: tuple[str, ...]) -> None:
    error = provoke(make)
    of_code = [problem for problem in error.problems if problem.code == code]
    assert of_code, str(error)
    said = "\n".join(map(str, of_code))
    for word in words:
        assert word in said, said


RUN_TIME = {"E121", "E122", "E123", "E124"}
"""Codes of errors in calls on a compiled model; these errors have no line in the graph."""


@pytest.mark.parametrize(("code", "make"), [(code, make) for code, make, _ in CASES if code not in RUN_TIME])
def test_message_has_the_line_and_a_cure(code: str, make: Callable[[], object]) -> None:
    problem = next(p for p in provoke(make).problems if p.code == code)
    assert problem.cures, str(problem)
    if not ((code in ("E101", "E106") and "export" in str(problem)) or problem.title.startswith('"x"')):
        assert re.search(r"created at (small_graphs|wrong_[a-z]+)\.py:\d+", str(problem)), str(problem)


LANGUAGE = ("model", "elements", "signals", "graph", "checks", "causality", "assembly", "passes", "tracing", "compile")


def test_every_code_of_the_language_is_in_the_table() -> None:
    root = Path(bondgraph.__file__).parent
    folders = [*root.glob("*.py"), *(p for name in LANGUAGE for p in (root / name).glob("*.py"))]
    written = {code for path in folders for code in re.findall(r'"(E1\d\d|E2[0-4]\d)"', path.read_text(encoding="utf-8"))}
    of_own_laws = {"E172", "E173"}  # test_own_laws
    assert written == {code for code, _, _ in CASES} | of_own_laws
