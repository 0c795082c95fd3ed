"""Each construct of the kernel language gives equal bits in CPython, LLVM and C; anything else is refused."""

from __future__ import annotations

import ctypes
import functools
import re

import numpy as np
import pytest

from tests.compilers import COMPILERS, by_compiler
from tests.emit import kernel_texts as texts
from tests.emit.kernel_texts import Inner, Numbers
from tests.inner.emit import Fixed, Ints, Reals, Table, TranslationError, address_of, compile_procedures, inline, translate
from tests.inner.run import FieldTable

COUNT = 8
EXTREMES = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324, -2.2e-308, 1.7e308, -1e300, 0.5)
INTEGERS = (0, 1, -1, 2, 2**62, -(2**63), 2**63 - 1, 7)
MAKERS = {"llvm": compile_procedures} | {name: functools.partial(by_compiler, name) for name in COMPILERS}
NAMES = [function.__name__ for function in texts.EACH]


@functools.cache
def made(maker):
    return MAKERS[maker](translate(texts.EACH, NAMES))


@ctypes.CFUNCTYPE(None, *[ctypes.POINTER(ctypes.c_double)] * 3)
def doubled(time, x, out):
    for k in range(3):
        out[k] = 2.0 * x[k] + time[0]


ASKED = ctypes.CFUNCTYPE(ctypes.c_int64)(lambda: 41)


def address(function):
    return ctypes.cast(function, ctypes.c_void_p).value


def memory(seed):
    random, table, inner = np.random.default_rng(seed), FieldTable(Numbers), FieldTable(Inner)
    table.allocate(count=COUNT)
    inner.allocate()
    for name in ("i", "whole"):
        table.point(name, random.choice(INTEGERS, COUNT))
    for own in (table.arrays["x"], table.arrays["y"], table.arrays["out"], inner.arrays["numbers"]):
        own[:] = np.where(random.uniform(size=own.size) < 0.3, random.choice(EXTREMES, own.size), random.normal(0, 2, own.size))
    table.point("inner", inner)
    table.point("doubled", address(doubled))
    table.point("asked", address(ASKED))
    table.point("several", np.array([0, address(doubled)]))
    table["count"], table["total"], table["found"], inner["scale"] = COUNT, random.normal(), random.choice(EXTREMES), 0.25
    return table


def bits(table):
    """Return all numbers of a table, without addresses, and with all NaN made equal."""
    arrays = [table.arrays[name] for name in ("x", "y", "out")] + [table.tables["inner"].arrays["numbers"]]
    reals = np.concatenate([*arrays, [table["total"], table["found"], table.tables["inner"]["scale"]]])
    integers = [*table.arrays["i"].tolist(), *table.arrays["whole"].tolist(), table["steps"], table["count"]]
    return np.where(np.isnan(reals), 0, reals.view(np.int64)).tolist(), np.isnan(reals).tolist(), integers


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("function", texts.EACH, ids=NAMES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_each_construct_has_the_same_bits_in_every_world(function, maker):
    code = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(made(maker).address(function.__name__))
    for seed in range(60):
        by_python, by_machine = memory(seed), memory(seed)
        function(by_python.view())
        code(by_machine.address)
        assert bits(by_python) == bits(by_machine), seed
    assert bits(memory(59)) != bits(by_python)


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_each_lane_has_the_bits_of_a_run_of_its_own(lanes, maker):
    library = MAKERS[maker](translate([texts.in_lanes], ["in_lanes"], lanes))
    arguments, result = [*[ctypes.c_void_p] * 4, ctypes.c_int64], [ctypes.c_void_p] if lanes > 1 else []
    code = ctypes.CFUNCTYPE(None if lanes > 1 else ctypes.c_double, *arguments, *result)(library.address("in_lanes"))
    random, shared, shape = np.random.default_rng(lanes), np.arange(COUNT), (COUNT, lanes)
    for _ in range(30):
        x, y = (
            np.where(random.uniform(size=shape) < 0.2, random.choice(EXTREMES, shape), random.normal(0, 2, shape)) for _ in "xy"
        )
        out, total = np.zeros(shape), np.zeros(lanes)
        returned = code(*map(address_of, (x, y, out, shared)), COUNT, *([address_of(total)] if lanes > 1 else []))
        total = total if lanes > 1 else np.array([returned])
        for lane in range(lanes):
            own = np.zeros(COUNT)
            alone = texts.in_lanes(x[:, lane].copy(), y[:, lane].copy(), own, shared, COUNT)
            assert np.array_equal(np.append(own, alone), np.append(out[:, lane], total[lane]), equal_nan=True)


def unset(x: Reals, n: int) -> float:
    if n > 2:
        y = x[0]
    return y


def fraction(x: Reals, n: int) -> None:
    n = x[0]
    x[n] = 0.0


def quotient(n: int) -> float:
    return n / 2


def listed(x: Reals) -> None:
    x[0] = [x[k] for k in range(3)]


def squared(x: float) -> float:
    return x**2


def without_result(x: float) -> float:
    if x > 0.0:
        return x


def untyped(x) -> None:
    pass


def without_type(x: float):
    pass


def by_name(x: Reals, n: int) -> None:
    by_name(x, n=n)


def spelled(c: Numbers) -> None:
    c.cuont = 1


def of_a_number(n: int) -> None:
    n.real = 1


def known_later(x: Reals, n: int) -> None:
    for k in {n: 1}:
        x[k] = 1.0


def not_fixed(x: Reals, n: int) -> None:
    fixed_row(x, n)


def fixed_row(x: Reals, row: Fixed) -> None:
    x[row] = 0.0


def raised(x: float) -> None:
    raise ValueError


def counted(n: int) -> None:
    counted(n, 1)


def unknown_name(x: Reals) -> None:
    x[0] = nowhere  # noqa: F821


def middle(x: Reals) -> None:
    middle(x[1:2])


@inline
def early(x: float) -> float:
    if x > 0.0:
        return 1.0
    return 2.0


def calls_early(x: float) -> float:
    return early(x)


def modified(x: float) -> float:
    return abs(x) % 2.0


REFUSED = [
    (unset, '"y" may have no value here'),
    (fraction, "a float where an int is needed"),
    (quotient, "write float(a) / float(b)"),
    (listed, "has no ListComp; write a loop"),
    (squared, "has no Pow; write x * x, or power(x, y)"),
    (without_result, '"without_result" may end without a result'),
    (untyped, 'argument "x" of "untyped" has no type'),
    (without_type, 'write "-> None" if it returns nothing'),
    (by_name, "write them in order"),
    (spelled, '"Numbers" has no field "cuont"; it has x, y, out'),
    (of_a_number, 'an int has no field "real"'),
    (known_later, "must be known at translation"),
    (not_fixed, 'the fixed argument "row" must be known'),
    (raised, "has no Raise; return a status"),
    (counted, "counted takes 1 argument, not 2"),
    (unknown_name, "name 'nowhere' is not defined"),
    (middle, "a slice can only have a start"),
    (calls_early, "an inline function can return only at its end"),
    (modified, "has no Mod"),
]


@pytest.mark.parametrize("function, message", REFUSED, ids=[function.__name__ for function, _ in REFUSED])
def test_unsupported_syntax_is_refused_with_file_and_line(function, message):
    with pytest.raises(TranslationError, match=rf"test_kernel_language\.py:\d+: .*{re.escape(message)}") as refused:
        translate([function])
    line = int(re.search(r"\.py:(\d+):", str(refused.value))[1])
    first = function.__code__.co_firstlineno
    assert first <= line <= first + 5 or function is calls_early


def parted(x: Reals) -> None:
    while x[0] > 0.0:
        x[0] = x[0] - 1.0


def alone(x: Reals) -> None:
    if x[0] > 0.0:
        return
    x[0] = 1.0


def counts(x: Reals, shared: Ints) -> None:
    if x[0] > 0.0:
        shared[0] = 1


def called(x: Reals) -> None:
    if x[0] > 0.0:
        fixed_zero(x)


def fixed_zero(x: Reals) -> None:
    x[0] = 0.0


class Own(Table):
    total: float


def into_table(c: Own, x: Reals) -> None:
    c.total = x[0]


def whole(x: Reals) -> None:
    n = 0
    if x[0] > 0.0:
        n = 1
    x[n] = 2.0


IN_LANES = [
    (parted, "use anywhere(...)"),
    (alone, "a single lane cannot return"),
    (counts, "this would happen in all lanes"),
    (called, "this would happen in all lanes"),
    (into_table, '"total" is one number for all lanes'),
    (whole, '"n" is one number for all lanes but is set where lanes diverge'),
]


@pytest.mark.parametrize("function, message", IN_LANES, ids=[function.__name__ for function, _ in IN_LANES])
def test_operations_unavailable_in_lanes_are_refused(function, message):
    translate([function])
    with pytest.raises(TranslationError, match=re.escape(message)):
        translate([function], lanes=4)


def test_a_fixed_argument_makes_a_procedure_of_its_own():
    procedures = translate([functools.partial(fixed_row, row=2), functools.partial(fixed_row, row=3)])
    assert len({procedure.name for procedure in procedures}) == 2


def test_lengths_follow_from_the_integers_of_a_table():
    assert Numbers.lengths(count=3) == {"x": 3, "y": 3, "out": 6, "i": 3, "whole": 3, "several": 2}
