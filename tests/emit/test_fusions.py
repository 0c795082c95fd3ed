"""All processors fuse the same products into sums, and so round alike."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tests.emit.test_lanes import in_lanes
from tests.inner.emit import FROM, MINUS, PLUS, compile_in_lanes, compile_routines, fused, llvm, routines_text
from tests.inner.tape import Routine, Tape, TapeScalar, listing
from tests.inner.tape import opcodes as op


def processors() -> list[str]:
    import llvmlite.binding

    has_vectors = llvmlite.binding.get_host_cpu_features().get("avx2")
    return ["baseline", *(["haswell"] if has_vectors else []), "host"]


def traced(formula):
    tape = Tape()
    outputs = formula(*tape.inputs("x", 4))
    return Routine("rates", tape, (("x", 4),), outputs if isinstance(outputs, tuple) else (outputs,))


CHOSEN = {
    "a product that a sum takes": (lambda a, b, c, d: a * b + c, [PLUS]),
    "the first of two products": (lambda a, b, c, d: a * b + c * d, [op.MULTIPLY, PLUS]),
    "less a number": (lambda a, b, c, d: a * b - c, [MINUS]),
    "from a number": (lambda a, b, c, d: c - a * b, [FROM]),
    "a product that is needed twice": (lambda a, b, c, d: (a * b + c, a * b - d), [op.MULTIPLY, op.ADD, op.SUBTRACT]),
    "a product that is an output": (lambda a, b, c, d: (a * b, a * b + c), [op.MULTIPLY, op.ADD]),
    "a row": (lambda a, b, c, d: a * b + b * c + c * d, [op.MULTIPLY, PLUS, PLUS]),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_a_product_that_one_sum_alone_takes_goes_into_it(name):
    formula, expected = CHOSEN[name]
    program = fused(listing(traced(formula)))
    assert sorted(step[0] for step in program.steps if step[0] > op.INPUT) == sorted(expected)


def test_a_fused_operation_rounds_once():
    routine = traced(lambda a, b, c, d: (a * b + c, a * b - d, c - b * d))
    points = np.random.default_rng(1).normal(size=(50, 4))
    rows = compile_routines([routine]).kernel("rates").many(points)
    for (a, b, c, d), row in zip((map(Fraction, point) for point in points), rows, strict=True):
        exact = a * b + c, a * b - d, c - b * d
        twice = np.asarray([float(exact[2])])  # a b is used twice: the product and the sum both round
        assert row[2] == twice[0]
        assert row[0] == float(Fraction(float(a * b)) + c) and row[1] == float(Fraction(float(a * b)) - d)


def random_routine(seed: int, steps: int) -> Routine:
    tape, random = Tape(), np.random.default_rng(seed)
    values: list[TapeScalar] = list(tape.inputs("x", 4))
    for _ in range(steps):
        a, b, c = (values[-int(k)] for k in random.integers(1, 5, 3))
        values.append(random.choice([a * b + c * 0.9, 0.8 * a - b * c, (a * a - b * c + 0.1) / (1.0 + b * b)]))
    return Routine("rates", tape, (("x", 4),), tuple(values[-9:]))


@pytest.mark.parametrize("limit", [llvm.SINGLE_LIMIT, 50], ids=["one function", "parts"])
def test_every_processor_and_every_lane_rounds_alike(limit, monkeypatch):
    routine, points = random_routine(3, 60), np.random.default_rng(1).normal(size=(8, 4))
    monkeypatch.setattr(llvm, "SINGLE_LIMIT", limit)
    monkeypatch.setattr(llvm, "PART_STEPS", 40)
    assert "contract" not in routines_text([routine]) and "llvm.fma" in routines_text([routine])
    found = []
    for processor in processors():
        monkeypatch.setenv("SCREWBOND_PROCESSOR", processor)
        found.append(compile_routines([routine]).kernel("rates").many(points))
        for lanes in (2, 4, 8):
            library = compile_in_lanes([routine], lanes)
            found.append(np.concatenate([in_lanes(library.address("rates"), part, 9) for part in np.split(points, 8 // lanes)]))
    assert np.isfinite(found[0]).all() and np.ptp(found[0]) > 0.1
    for rows in found:
        np.testing.assert_array_equal(rows, found[0])
