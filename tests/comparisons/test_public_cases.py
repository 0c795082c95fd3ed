"""Cases from public issue trackers are accurate to a bound, refused, or ended too early, as docs/comparisons.md says."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from bondgraph import ModelError, RunEndedWarning
from screws.scalars import absolute, sqrt
from tests.comparisons import public_cases as cases
from tests.comparisons import public_circuits as circuits
from tests.comparisons import public_mechanics as mechanics

MODULES = (cases, circuits, mechanics)

PAGE = Path(__file__).parents[2] / "docs" / "comparisons.md"

REFUSED = {
    "OpenModelica #9868": (circuits.cubic_loop, "E215"),
    "ModelicaStandardLibrary #4333": (lambda: circuits.op_amp_oscillator("clipped"), "E215"),
    "ModelicaStandardLibrary #1011": (circuits.coupled_coils, "E119"),
    "circuitjs1 #637": (lambda: circuits.diode_beside_a_resistor(0.0), "E209"),
}

ENDED = {
    "OpenModelica #12190": (lambda: cases.sliding().compile(), 1.0, "chattering", 1 / 7),
    "modelica-ibpsa #745": (lambda: circuits.tanks(effort=lambda f: 4 * f * absolute(f)).compile(), 4.0, "chattering", 2.0),
    "ModelicaStandardLibrary #1582": (lambda: circuits.tank(lambda e: 2.0 * sqrt(e)).compile(), 3.0, "not finite", 1.0),
    "ModelicaStandardLibrary #4333": (
        lambda: circuits.op_amp_oscillator("clipped").compile(guess={"out.effort": 10.0}), 0.1, "algebraic loop", 0.00588,
    ),
}  # fmt: skip
"""Runs that end too early, with the requested end time and the failure's kind and approximate time.

A case that is fixed fails here, and is then registered with `case`.
"""


INEXACT = {"scipy #18039": (cases.bang_bang, 2e-3)}
"""Runs that are `ok` but less accurate than they should be, each with its maximum error."""


@pytest.mark.parametrize("name", INEXACT)
def test_no_worse(name):
    solve, bound = INEXACT[name]
    answer = solve()
    assert answer.run.ok
    np.testing.assert_allclose(answer.values, answer.exact, rtol=0.0, atol=bound)


@pytest.mark.parametrize("name", cases.CASES)
def test_right(name):
    case = cases.CASES[name]
    answer = case.solve()
    assert answer.run.ok
    values, exact = np.asarray(answer.values), np.asarray(answer.exact)
    assert np.broadcast_shapes(values.shape, exact.shape) == values.shape
    np.testing.assert_allclose(values, np.broadcast_to(exact, values.shape), rtol=0.0, atol=case.bound * answer.size)


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    build, code = REFUSED[name]
    with pytest.raises(ModelError) as refusal:
        build().compile()
    assert [problem.code for problem in refusal.value.problems] == [code]


@pytest.mark.parametrize("name", ENDED)
def test_ends_and_says_so(name):
    build, t_end, kind, time = ENDED[name]
    with pytest.warns(RunEndedWarning):
        run = build().simulate(t_end, max_steps=20_000)
    assert not run.ok
    assert run.failure.kind == kind
    assert run.failure.time == pytest.approx(time, rel=0.05)


def test_the_page_lists_the_cases():
    rows = re.findall(r"^\| \[([^\]]+)\]\(https://\S+\) \|(.+)\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    right, refused, ended = {}, {}, set()
    for name, row in rows:
        *_, here, exact, _ = (cell.strip() for cell in row.split("|"))
        if here.startswith("right"):
            right[name] = float(exact.split()[0])
        elif here.startswith("refused"):
            refused[name] = exact
        else:
            assert here.startswith(("**no**", "ends"))
            ended.add(name)
    assert right == {name: case.bound for name, case in cases.CASES.items()}
    assert refused == {name: code for name, (_, code) in REFUSED.items()}
    assert ended == {*ENDED, *INEXACT}
