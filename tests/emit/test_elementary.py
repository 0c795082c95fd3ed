"""Elementary functions have errors below one unit in the last place, and equal bits on all processors and in C and CPython."""

from __future__ import annotations

import ctypes
import functools
import math

import mpmath
import numpy as np
import pytest

from screws.scalars import FUNCTIONS as SCALARS
from tests.compilers import COMPILERS, by_compiler, needed
from tests.emit.test_fusions import processors
from tests.emit.test_lanes import assert_same_bits, in_lanes
from tests.inner.emit import ELEMENTARY, FAR, compile_in_lanes, compile_routines, symbol, translate
from tests.inner.tape import Routine, Tape, TapeScalar
from tests.inner.tape import opcodes as op

TAPE_NAMES = {"pow": "power"}
TWO = ("pow", "atan2")
ANY, POSITIVE = (-20.0, 20.0), (1e-3, 20.0)
RANGES = {
    "exp": [(-745.0, 709.7), (-1.0, 1.0), (-746.0, -707.0)],
    "expm1": [(-1.0, 1.0), (-1e-3, 1e-3), ANY, (-745.0, 709.7)],
    "log": [(0.5, 2.0), (0.0, 1e-307), (0.0, 1e300)],
    "pow": [(0.5, 2.0, -500.0, 500.0), (0.0, 1e-307, -1.0, 1.0), (0.999, 1.001, -7e5, 7e5), (0.0, 1e9, 0.19, 0.21)],
    "sin": [ANY, (-1e5, 1e5), (-FAR, FAR)],
    "cos": [ANY, (-1e5, 1e5), (-FAR, FAR)],
    "tan": [(-1.0, 1.0), ANY, (-1e5, 1e5), (-FAR, FAR)],
    "asin": [(-1.0, 1.0), (0.999, 1.0), (-1e-3, 1e-3)],
    "acos": [(-1.0, 1.0), (0.999, 1.0), (-1.0, -0.999)],
    "atan": [(-3.0, 3.0), (-1e9, 1e9), (-1e-3, 1e-3)],
    "atan2": [
        (-1.0, 1.0, -1.0, 1.0),
        (-1e-310, 1e-310, -1e-309, 1e-309),
        (-8e307, 8e307, -8e307, 8e307),
        (-1.0, 1.0, -99.0, 99.0),
    ],
    "tanh": [(-0.5, 0.5), ANY, (-1e-3, 1e-3)],
}
ODD = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 1e-310, -5e-324, 5e-324, 1e308, 4503599627370497.0, -9007199254740993.0, 1e18)
ODD += (math.inf, -math.inf, math.nan, math.pi / 2.0, 709.78, -745.13, 2.2250738585072014e-308)


@functools.cache
def routine(name: str) -> Routine:
    tape = Tape()
    arguments = [each.index for each in tape.inputs("x", 2)[: 2 if name in TWO else 1]]
    return Routine("rates", tape, (("x", 2),), (TapeScalar(tape, tape.apply(op.CODES[TAPE_NAMES.get(name, name)], *arguments)),))


def machine(name: str, points: np.ndarray) -> np.ndarray:
    return compile_routines([routine(name)]).kernel("rates").many(points)[:, 0]


def random_points(name: str, count: int) -> np.ndarray:
    random = np.random.default_rng(1)
    rows = [random.uniform((each * 2)[::2][:2], (each * 2)[1::2][:2], (count, 2)) for each in RANGES[name]]
    return np.concatenate(rows)


def odd_points(name: str) -> np.ndarray:
    return np.array([(x, y) for x in ODD for y in (ODD if name in TWO else (0.0,))])


def test_each_function_that_is_not_exact_is_one_of_these():
    called = {one.name for one in op.OPERATIONS if "@elementary." in one.llvm}
    assert called == {TAPE_NAMES.get(name, name) for name in ELEMENTARY} and set(RANGES) == set(ELEMENTARY)
    library = {one.llvm for one in op.OPERATIONS if "@llvm." in one.llvm}
    assert {text.partition("@llvm.")[2].partition(".")[0] for text in library} == {"sqrt", "fabs", "floor"}


@pytest.mark.parametrize("name", RANGES)
def test_the_error_is_below_a_unit_in_the_last_place(name):
    points = random_points(name, 400)
    exact = getattr(mpmath, {"pow": "power"}.get(name, name))
    with mpmath.workdps(60):
        for point, found in zip(points, machine(name, points), strict=True):
            expected = exact(*map(mpmath.mpf, point[: 2 if name in TWO else 1].tolist()))
            unit = float(np.spacing(abs(float(expected))))
            assert abs(mpmath.mpf(float(found)) - expected) < 0.95 * unit, point


@pytest.mark.parametrize("name", RANGES)
def test_special_values_are_those_of_the_standard(name):
    """Zeros, infinities, NaN and subnormal numbers give the results of the C library."""
    points = odd_points(name)
    function = getattr(ctypes.CDLL(None), name)
    function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double] * (2 if name in TWO else 1)
    expected = np.array([function(*point[: len(function.argtypes)]) for point in points])
    found = machine(name, points)
    special = ~np.isfinite(expected) | np.isin(expected, (0.0, 1.0, -1.0))
    if name in ("sin", "cos"):
        special &= points[:, 0] != 0.0  # joint sines and cosines give sin(-0) = 0
    assert special.sum() > 2
    assert_same_bits(found[special], expected[special], name)
    np.testing.assert_allclose(found, expected, rtol=3e-16, atol=5e-324)


@pytest.mark.parametrize("name", RANGES)
def test_every_processor_and_every_lane_gives_the_same_bits(name, monkeypatch):
    points = np.concatenate([random_points(name, 40), odd_points(name)])
    points = np.resize(points, (len(points) + -len(points) % 8, 2))
    expected = machine(name, points)
    for processor in processors():
        monkeypatch.setenv("SCREWBOND_PROCESSOR", processor)
        assert_same_bits(machine(name, points), expected, processor)
        for lanes in (2, 8):
            library = compile_in_lanes([routine(name)], lanes)
            address, parts = library.address("rates"), np.split(points, len(points) // lanes)
            found = np.concatenate([in_lanes(address, part, 1) for part in parts])
            assert_same_bits(found[:, 0], expected, f"{processor}, {lanes} lanes")


@needed
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("compiler", [*COMPILERS, "CPython"])
def test_the_text_gives_the_same_bits_by_a_c_compiler_and_by_cpython(compiler):
    names = [function.__name__ for function in ELEMENTARY.values()]
    library = by_compiler(compiler, translate(ELEMENTARY.values(), names)) if compiler != "CPython" else None
    for name, function in ELEMENTARY.items():
        points = np.concatenate([random_points(name, 10 if library is None else 300), odd_points(name)])
        points = points[np.abs(points[:, 0]) <= FAR] if name in ("sin", "cos", "tan") else points
        arguments = 2 if name in TWO else 1
        called = function
        if library is not None:
            called = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_double] * arguments)(library.address(function.__name__))
        found = np.array([called(*map(np.float64, point[:arguments])) for point in points])
        assert_same_bits(found, machine(name, points), name)


def test_names_of_machine_code_say_the_lanes():
    assert symbol("exp", 1) == "elementary.exp.f64" and symbol("exp", 4) == "elementary.exp.v4f64"
    assert set(RANGES) - {"pow"} <= SCALARS.keys()
