"""Equal parts of long routines are written once, with results that match the reference bit for bit."""

from __future__ import annotations

import re

import numpy as np
import pytest

from screws.scalars import maximum, where
from tests.inner.emit import compile_routines, llvm, numpy_kernel, routines_text
from tests.inner.tape import Routine, Tape, forms, listing

COUNT = 9


def parts(names: tuple[str, ...] = ("rates", "both", "rest"), joined: bool = False) -> list[Routine]:
    """Return routines of COUNT pairs of states, one with a different law; if `joined`, all pairs read one shared step."""
    tape = Tape()
    blocks = (("t", 1), ("x", 2 * COUNT), ("p", COUNT + 1))
    t, x, p = (tape.inputs(name, n) for name, n in blocks)
    shared = x[0] * x[1] if joined else p[COUNT]
    rates, powers = [], []
    for k in range(COUNT):
        a, b = x[2 * k], x[2 * k + 1]
        force = p[k] * a + (0.1 + k) * b * b - shared
        force = where(force > t[0], force, maximum(a, b)) if k == 3 else force / (1.5 + a * a)
        rates += [b, force]
        powers.append(force * b + a * a)
    every = [*rates, p[0], *powers, 2.5]
    return [
        Routine(name, tape, blocks, tuple({"rates": rates, "both": every, "rest": every[len(rates) :]}[name])) for name in names
    ]


@pytest.fixture
def long_from_five(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llvm, "QUICK", 5)


def test_parts_that_are_alike_have_one_form():
    (whole,) = parts(("both",))
    found = forms(listing(whole), 3, (2 * COUNT, COUNT + 2))
    assert sorted(len(form.input_positions) for form in found) == [1, 1, COUNT - 1]
    alike = max(found, key=lambda form: len(form.input_positions))
    assert (alike.inputs, alike.results) == ((0, 2, 2), (1, 1))
    others = [k for k in range(COUNT) if k != 3]
    assert alike.numbers == tuple((0.1 + k,) for k in others), "1.5 is the same in all parts, and remains in the source code"
    assert [goals[0] for goals in alike.output_positions] == [1 + 2 * k for k in others]


def test_values_that_share_a_step_form_one_island():
    (whole,) = parts(("rates",), joined=True)
    assert [len(form.input_positions) for form in forms(listing(whole), 3, (2 * COUNT,))].count(1) == 2


@pytest.mark.parametrize("names", [("both",), ("rest",), ("rates", "both", "rest")])
def test_islands_have_the_bits_of_the_reference(names, long_from_five):
    routines = parts(names)
    text = routines_text(routines)
    assert "islands.gather" in text and "@llvm.fma.f64(double %" not in text
    library, random = compile_routines(routines), np.random.default_rng(2)
    given = random.normal(size=(7, 1)), random.normal(size=(7, 2 * COUNT)), random.normal(size=(7, COUNT + 1))
    for routine in routines:
        kernel, reference = library.kernel(routine.name), numpy_kernel(routine)
        expected = np.array([reference(*row) for row in zip(*given, strict=True)])
        np.testing.assert_array_equal(kernel.many(*given), expected)
        np.testing.assert_array_equal([kernel(*row) for row in zip(*given, strict=True)], expected)


def test_the_text_does_not_grow_with_the_parts(long_from_five, monkeypatch):
    def operations(count: int) -> int:
        monkeypatch.setattr("tests.emit.test_islands.COUNT", count)
        return len(re.findall(r"= f(?:mul|add|sub|div) ", routines_text(parts(("both",)))))

    assert operations(40) == operations(8) > 0


def test_parts_that_are_joined_are_written_out(long_from_five):
    assert "islands" not in routines_text(parts(("rates",), joined=True))


def test_the_remainder_of_a_long_routine_is_compiled(long_from_five, monkeypatch):
    monkeypatch.setattr(llvm, "SHARED", 5)
    monkeypatch.setattr(llvm, "FEW", 1.0)
    routines = parts()
    assert re.search(r"define void @rest\([^)]*\) nounwind \{\n.*alloca.*\n.*call void @both\.both\(", routines_text(routines))
    library, random = compile_routines(routines), np.random.default_rng(3)
    given = random.normal(size=1), random.normal(size=2 * COUNT), random.normal(size=COUNT + 1)
    for routine in routines:
        np.testing.assert_array_equal(library.kernel(routine.name)(*given), numpy_kernel(routine)(*given))
