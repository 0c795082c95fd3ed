"""Each lane of a kernel for several runs equals a single run's kernel bit for bit, whatever its neighbours."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from screws import scalars as s
from tests.emit.expressions import FORMULAS
from tests.inner.compile import lanes_of
from tests.inner.emit import compile_in_lanes, compile_routines, widened
from tests.inner.tape import Alternatives, Routine, Tape

ODD = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e300, -1e-310, 3e5)


def in_lanes(address, values, outputs):
    lanes = len(values)
    given, out = np.ascontiguousarray(values.T), np.empty((outputs, lanes))
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(address)(given.ctypes.data, out.ctypes.data)
    return out.T


def assert_same_bits(found, expected, of=""):
    numbers = ~np.isnan(expected)
    assert np.array_equal(found, expected, equal_nan=True), of
    assert np.array_equal(np.signbit(found[numbers]), np.signbit(expected[numbers])), of


@pytest.mark.parametrize("lanes", [4, 8])
def test_every_formula_has_the_same_bits_in_every_lane(lanes):
    tape = Tape()
    x = tape.inputs("x", 3)
    blocks = (("x", 3),)
    routines = [
        Routine(f"formula_{k}", tape, blocks, (formula(*x), formula(x[1], x[2], x[0])))
        for k, (formula, _) in enumerate(FORMULAS.values())
    ]
    alone, wide = compile_routines(routines), compile_in_lanes(routines, lanes)
    for routine, (name, (_, (low, high))) in zip(routines, FORMULAS.items(), strict=True):
        random = np.random.default_rng(7)
        points = random.uniform(low, high, (60 * lanes, 3))
        for row in range(0, len(points), 5):
            points[row, random.integers(3)] = random.choice(ODD)
        expected = alone.kernel(routine.name).many(points)
        found = [in_lanes(wide.address(routine.name), part, 2) for part in np.split(points, 60)]
        assert_same_bits(np.concatenate(found), expected, name)


def test_long_routines_are_cut_alike():
    tape = Tape()
    x = tape.inputs("x", 4)
    values = list(x)
    for k in range(900):
        values.append(values[-3] * 0.6 + values[k] * 0.25 - s.sin(values[-2]) / (1.0 + values[-1] * values[-1]))
    routine = Routine("long", tape, (("x", 4),), tuple(values[-9:]))
    points = np.random.default_rng(1).normal(size=(8, 4))
    expected = compile_routines([routine]).kernel("long").many(points)
    assert np.isfinite(expected).all() and np.ptp(expected) > 0.1
    wide = compile_in_lanes([routine], 8)
    assert_same_bits(in_lanes(wide.address("long"), points, 9), expected)


CHOICES = {
    "nothing taken away": lambda x: x[0] * x[1] - s.where(s.less(x[2], x[3]), x[4], 0.0),
    "nothing added": lambda x: x[0] * x[1] + s.where(s.less(x[2], x[3]), x[4], -0.0),
    "by one": lambda x: x[0] * x[1] * s.where(s.less(x[2], x[3]), 1.0, x[4]) + x[5],
    "by a sign": lambda x: x[0] * x[1] * s.sign(x[2]) - x[3],
    "needed by a choice alone": lambda x: x[0] * x[1] + s.where(s.less(x[2], x[3]), s.absolute(x[4]) ** 0.3 / x[5], x[0]),
    "parted by one": lambda x: x[4] - x[0] / s.where(s.less(x[2], x[3]), x[1], 1.0) * x[5],
}


@pytest.mark.parametrize("lanes", [4, 8])
@pytest.mark.parametrize("choice", CHOICES)
def test_a_selection_without_effect_rounds_identically(choice, lanes):
    tape = Tape()
    routine = Routine("chosen", tape, (("x", 6),), (CHOICES[choice](tape.inputs("x", 6)),))
    points = np.random.default_rng(6).normal(size=(50 * lanes, 6))
    wide = compile_in_lanes([routine], lanes)
    found = np.concatenate([in_lanes(wide.address("chosen"), part, 1) for part in np.split(points, 50)])
    assert_same_bits(found, compile_routines([routine]).kernel("chosen").many(points))
    assert lanes_of({"rates": routine}, "llvm", lanes) is not None


def test_beginnings_are_shared_alike():
    tape = Tape()
    x = tape.inputs("x", 3)
    values = list(x)
    for k in range(400):
        values.append(values[-1] * 0.6 - values[-2] * values[-3] / (1.0 + values[k] * values[k]))
    outputs = tuple(value / (1.0 + value * value) for value in values[-3:])
    routines = [Routine("rates", tape, (("x", 3),), outputs), Routine("rates_and_powers", tape, (("x", 3),), (*outputs, x[0]))]
    alone, wide = compile_routines(routines), compile_in_lanes(routines, 4)
    points = np.random.default_rng(2).normal(size=(4, 3))
    for routine in routines:
        expected = alone.kernel(routine.name).many(points)
        assert np.isfinite(expected).all()
        assert_same_bits(in_lanes(wide.address(routine.name), points, len(routine.outputs)), expected)


def test_only_straight_lines_of_machine_code_go_side_by_side():
    tape = Tape()
    x = tape.inputs("x", 1)
    line = Routine("rates", tape, (("x", 1),), (x[0] * 2.0,))
    assert lanes_of({"rates": line}, "llvm", 4).lanes == 4
    assert lanes_of({"rates": line}, "numpy", 4) is None
    entries = tape.inputs("entries", 40)
    looked_up = Routine("rates", tape, (("x", 1), ("entries", 40)), (s.take(s.array(list(entries)), x[0]),))
    assert lanes_of({"rates": looked_up}, "llvm", 4) is None
    choice = Alternatives("rates", "x", (0,), (2,), (line, line), line)
    assert lanes_of({"rates": choice}, "llvm", 4) is None


def test_a_line_is_widened():
    assert widened("%v1 = load double, ptr %p1", 4) == "%v1 = load <4 x double>, ptr %p1, align 8"
    assert widened("%v1 = call double @llvm.sqrt.f64(double %v0)", 8) == (
        "%v1 = call <8 x double> @llvm.sqrt.v8f64(<8 x double> %v0)"
    )
    assert widened("%c1 = xor i1 %c0, true", 4) == "%c1 = xor <4 x i1> %c0, splat (i1 true)"
    assert widened("%v1 = fneg double %v0", 1) == "%v1 = fneg double %v0"
