"""Procedures become readable LLVM IR and C, and compiled code."""

import ctypes
import functools
from pathlib import Path

import numpy as np
import pytest

from tests.compilers import COMPILERS, by_compiler, needed
from tests.inner.emit import (
    PRIMITIVES,
    Disjoint,
    Ints,
    KernelCode,
    Procedure,
    Reals,
    Table,
    compile_procedures,
    fma,
    larger,
    module_text,
    real,
    smaller,
    source_text,
    sqrt,
    translate,
)

GOLDEN = Path(__file__).parent / "golden"


class Numbers(Table):
    values: Reals
    count: int
    total: float
    report: KernelCode


MAKERS = [pytest.param(compile_procedures, id="llvm")]
MAKERS += [pytest.param(functools.partial(by_compiler, name), id=name) for name in COMPILERS]


def largest(c: Numbers) -> None:
    found = 0.0
    for i in range(c.count):
        found = larger(found, c.values[i])
    c.total = found
    if c.report is not None and not found < 1.5:
        c.report(found)


def halves(c: Numbers, least: float) -> int:
    """Return how many halvings bring the largest number below a limit, or -1 for a limit <= 0."""
    if not least > 0.0:
        return -1
    largest(c)
    left, count = c.total, 0
    while not left < least:
        left = left / 2.0
        count += 1
    return count


def two():
    return translate([halves], ["halves"])


@pytest.mark.parametrize("ending, printed", [("ll", module_text), ("c", source_text)])
def test_text_is_as_it_was_looked_at(ending, printed, update_golden):
    path, text = GOLDEN / f"procedures.{ending}", printed(two())
    if update_golden:
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), "pytest tests/emit --update-golden, then read the diff"


@pytest.mark.parametrize("make", MAKERS)
def test_machine_code_of_procedures(make):
    library = make(two())
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_double)(library.address("halves"))
    told = []
    report = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_double))(lambda value: told.append(value[0]))
    values, table = np.array([0.25, 9.0, 3.0]), np.zeros(4, dtype=np.int64)
    table[:2] = values.ctypes.data, 3
    assert [function(table.ctypes.data, least) for least in (1.0, 10.0, 0.0)] == [4, 0, -1]
    table[3] = ctypes.cast(report, ctypes.c_void_p).value
    values[1] = 1.0
    assert function(table.ctypes.data, 1.0) == 2 and told == [3.0]
    assert table.view(float)[2] == 3.0


def difference(start: int, entry: int) -> int:
    return start - entry


@pytest.mark.parametrize("make", MAKERS)
def test_an_argument_may_have_the_name_of_a_label(make):
    library = make(translate([difference], ["difference"]))
    assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(library.address("difference"))(5, 2) == 3


FUNCTIONS = 9
INFINITE, NAN = float("inf"), float("nan")


def of_pairs(x: Reals, y: Reals, out: Disjoint, n: int) -> None:
    for i in range(n):
        a, b = x[i], y[i]
        out[i] = fma(a, b, a)
        out[n + i] = fma(a, b, -b)
        out[2 * n + i] = sqrt(a)
        out[3 * n + i] = smaller(a, b)
        out[4 * n + i] = larger(a, b)
        out[5 * n + i] = larger(a, 0.0)
        out[6 * n + i] = larger(0.0, a)
        out[7 * n + i] = a * b + a * a
        out[8 * n + i] = INFINITE if a > b else (-INFINITE if a == a else NAN)


EXTREMES = (0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 5e-324, 1.7976931348623157e308)


@needed
@pytest.mark.parametrize("compiler", COMPILERS)
def test_functions_of_numbers_have_equal_bits(compiler):
    """The numbers include all pairs of special numbers; only the bit patterns of NaN may differ."""
    rng = np.random.default_rng(0)
    x, y = (np.concatenate([rng.normal(size=2000) ** 9, grid.ravel()]) for grid in np.meshgrid(EXTREMES, EXTREMES))
    procedures, found = translate([of_pairs], ["of_pairs"]), []
    for library in (compile_procedures(procedures), by_compiler(compiler, procedures)):
        out = np.empty((FUNCTIONS, len(x)))
        function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_int64)(library.address("of_pairs"))
        function(x.ctypes.data, y.ctypes.data, out.ctypes.data, len(x))
        found.append(np.where(np.isnan(out), np.nan, out).view(np.int64))
    np.testing.assert_array_equal(*found)


def tripled(default: Ints, n: int) -> int:
    """Store and return integers whose computation wraps around; the argument is called `default`, a keyword of C."""
    default[1] = n * 3 + (2**62 - 1)
    return default[1] - n * 2


@pytest.mark.parametrize("make", MAKERS)
def test_whole_numbers_wrap_around(make):
    library, place, given = make(translate([tripled], ["tripled"])), np.zeros(2, dtype=np.int64), 2**62 + 5
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(library.address("tripled"))
    assert function(place.ctypes.data, given) == 2**63 + 4 - 2**64 and place.tolist() == [0, 14 - 2**64 + 4 * 2**62]


def test_every_primitive_has_a_form_in_every_language():
    letters = ("{x}", "{y}", "{z}")
    for name, primitive in PRIMITIVES.items():
        assert name == primitive.name
        for text in (primitive.llvm, primitive.c):
            assert [letter in text for letter in letters] == [k < len(primitive.takes) for k in range(3)], (name, text)


def test_operands_of_another_kind_are_refused():
    write = Procedure("f", {"count": "i64", "size": "double", "values": "ptr"})
    assert write.step("mul double", write["size"], real(2.0)).kind == "double"
    with pytest.raises(TypeError, match='"add double" takes double, double, not double, i64'):
        write.step("add double", write["size"], write["count"])
    with pytest.raises(TypeError, match='"at double" takes ptr, i64, not i64, i64'):
        write.load(write["count"], write["count"], "double")
