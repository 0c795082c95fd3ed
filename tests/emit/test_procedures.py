"""Procedures: what the writer records, its texts in LLVM's language and in C, which people read, and the code made of them."""

import ctypes
import functools
from pathlib import Path

import numpy as np
import pytest

from tests.compilers import COMPILERS, by_compiler, needed
from tests.inner.emit import PRIMITIVES, Procedure, Record, compile_procedures, module_text, source_text

GOLDEN = Path(__file__).parent / "golden"
FIELDS = {"values": (0, "ptr"), "count": (1, "i64"), "total": (2, "double"), "report": (3, "ptr")}


MAKERS = [pytest.param(compile_procedures, id="llvm")]
MAKERS += [pytest.param(functools.partial(by_compiler, name), id=name) for name in COMPILERS]


def largest():
    """The largest of some numbers; it is reported where it is not below 1.5."""
    write = Procedure("largest", {"c": "ptr"}, internal=True)
    record, found = Record(write["c"], FIELDS), write.local(0.0)
    with write.loop(record.get("count")) as i:
        found.set(write.intrinsic("maxnum", found.get(), record.get("values")[i]))
    record.set("total", found.get())
    with write.when(record.get("report").is_given() & ~(found.get() < 1.5)):
        write.call(record.get("report"), [found.address, write.value(3, "i32")], "i32")
    write.give()
    return write


def halves():
    """How often it can be halved before it is below a limit, or -1 where that is none."""
    write = Procedure("halves", {"c": "ptr", "least": "double"}, "i64")
    with write.when(~(write["least"] > 0.0)):
        write.give(-1)
    write.call("largest", [write["c"]])
    left, count = write.local(write["c"][2]), write.local(0, "i64")
    with write.repeat() as (_, done):
        with write.when(left.get() < write["least"]):
            write.jump(done)
        left.set(left.get() / 2.0)
        count.set(count.get() + 1)
    write.give(count.get())
    return write


@pytest.mark.parametrize("ending, printed", [("ll", module_text), ("c", source_text)])
def test_text_is_as_it_was_looked_at(ending, printed, update_golden):
    path, text = GOLDEN / f"procedures.{ending}", printed([largest(), halves()])
    if update_golden:
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), "pytest tests/emit --update-golden, then read the diff"


@pytest.mark.parametrize("make", MAKERS)
def test_machine_code_of_procedures(make):
    library = make([largest(), halves()])
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_double)(library.address("halves"))
    told = []
    kind = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.POINTER(ctypes.c_double), ctypes.c_int32)
    report = kind(lambda value, number: told.append((value[0], number)) or 0)
    values, table = np.array([0.25, 9.0, 3.0]), np.zeros(4, dtype=np.int64)
    table[:2] = values.ctypes.data, 3
    assert [function(table.ctypes.data, least) for least in (1.0, 10.0, 0.0)] == [4, 0, -1]
    table[3] = ctypes.cast(report, ctypes.c_void_p).value
    values[1] = 1.0
    assert function(table.ctypes.data, 1.0) == 2 and told == [(3.0, 3)]
    assert table.view(float)[2] == 3.0


@pytest.mark.parametrize("make", MAKERS)
def test_an_argument_may_have_the_name_of_a_label(make):
    write = Procedure("difference", {"start": "i64", "entry": "i64"}, "i64")
    write.give(write["start"] - write["entry"])
    assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(make([write]).address("difference"))(5, 2) == 3


def over_pairs(name, function):
    """A procedure that writes a function of each x and y of many."""
    write = Procedure(name, {"x": "ptr", "y": "ptr", "out": "ptr noalias", "n": "i64"})
    with write.loop(write["n"]) as i:
        write["out"][i] = function(write, write["x"][i], write["y"][i])
    write.give()
    return write


FUNCTIONS = {
    "root": lambda write, x, y: write.intrinsic("sqrt", x),
    "less": lambda write, x, y: write.intrinsic("minnum", x, y),
    "more": lambda write, x, y: write.intrinsic("maxnum", x, y),
    "positive": lambda write, x, y: write.intrinsic("maxnum", x, 0.0),
    "not_negative": lambda write, x, y: write.intrinsic("maxnum", 0.0, x),
    "summed": lambda write, x, y: x * y + x * x,
    "fused": lambda write, x, y: write.intrinsic("fma", x, y, x),
    "infinite": lambda write, x, y: write.select(x > y, float("inf"), write.select(x.equals(x), float("-inf"), float("nan"))),
}
EXTREMES = (0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 5e-324, 1.7976931348623157e308)


@needed
@pytest.mark.parametrize("compiler", COMPILERS)
def test_functions_of_numbers_have_equal_bits(compiler):
    """Of usual numbers and of all pairs of unusual ones; what is no number may be written in several ways."""
    rng = np.random.default_rng(0)
    x, y = (np.concatenate([rng.normal(size=2000) ** 9, grid.ravel()]) for grid in np.meshgrid(EXTREMES, EXTREMES))
    procedures = [over_pairs(name, function) for name, function in FUNCTIONS.items()]
    native, made = compile_procedures(procedures), by_compiler(compiler, procedures)
    for name in FUNCTIONS:
        found = []
        for library in (native, made):
            out = np.empty(len(x))
            function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_int64)(library.address(name))
            function(x.ctypes.data, y.ctypes.data, out.ctypes.data, len(x))
            found.append(np.where(np.isnan(out), np.nan, out))
        assert found[0].tobytes() == found[1].tobytes(), name


@pytest.mark.parametrize("make", MAKERS)
def test_whole_numbers_wrap_around_and_32_bits_keep_their_sign(make):
    write = Procedure("f", {"default": "ptr", "n": "i64"}, "i64")  # what is called like a word of C gets another name there
    write["default"].store(1, write["n"] * 3 + (2**62 - 1), "i32")
    write.give(write["default"].load(1, "i32") - write["n"] * 2)
    library, place, given = make([write]), np.zeros(2, dtype=np.int32), 2**62 + 5
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(library.address("f"))
    assert function(place.ctypes.data, given) == 14 - 2 * given and place.tolist() == [0, 14]


def test_every_primitive_has_a_form_in_every_language():
    letters = ("{x}", "{y}", "{z}")
    for name, primitive in PRIMITIVES.items():
        assert name == primitive.name
        for text in (primitive.llvm, primitive.c):
            assert [letter in text for letter in letters] == [k < len(primitive.takes) for k in range(3)], (name, text)


def test_operands_of_another_kind_are_refused():
    write = Procedure("f", {"count": "i64", "size": "double", "values": "ptr"})
    assert (write["count"] + 2).kind == "i64"
    with pytest.raises(TypeError):
        write["count"] + 0.5
    with pytest.raises(KeyError):
        write["values"] + write["count"]
    with pytest.raises(TypeError, match='"add double" takes double, double, not double, i64'):
        write["size"] + write["count"]
    with pytest.raises(TypeError, match='"select double" takes i1, double, double, not i1, i64, double'):
        write.select(write["count"] > 0, write["count"], 0.0)
