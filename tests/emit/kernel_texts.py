"""Functions of the kernel language, one for each construct, that tests run in CPython, LLVM and C compilers."""

from __future__ import annotations

from typing import Annotated, cast

from tests.inner.emit import (
    Callback,
    Disjoint,
    Fixed,
    Ints,
    KernelCode,
    Kernels,
    Length,
    Reals,
    Table,
    anywhere,
    empty_like,
    finite,
    inline,
    larger,
    power,
    smaller,
    sqrt,
    unrolled,
    wrapped,
)

WEIGHTS = {0: 0.5, 2: -1.25, 3: 3.0}
LIMIT, ROWS = 1.5, 3


class Inner(Table):
    scale: float
    numbers: Annotated[Reals, Length(lambda c: 4)]


class Numbers(Table):
    x: Annotated[Reals, Length(lambda c: c.count)]
    y: Annotated[Reals, Length(lambda c: c.count)]
    out: Annotated[Reals, Length(lambda c: 2 * c.count)]
    i: Annotated[Ints, Length(lambda c: c.count)]
    whole: Annotated[Ints, Length(lambda c: c.count)]
    inner: Inner
    missing: KernelCode
    doubled: KernelCode
    asked: Callback
    several: Annotated[Kernels, Length(lambda c: 2)]
    count: int
    steps: int
    total: float
    found: float


def arithmetic(c: Numbers) -> None:
    for i in range(c.count):
        a, b = c.x[i], c.y[i]
        c.out[i] = -(a + b) * (a - 2.0) / (b + 1)
        c.out[c.count + i] = a / b - 1.0 / a


def integers(c: Numbers) -> None:
    for k in range(c.count):
        c.whole[k] = wrapped(c.i[k] * 3 - (c.i[k] + 5) * k + 1)
    c.steps += c.count


def conversions(c: Numbers) -> None:
    for k in range(c.count):
        c.out[k] = float(k) + c.i[k] * 0.5 + float(c.x[k] > c.y[k])
        c.whole[k] = int(c.x[k] > 0.0) + int(bool(c.i[k]))


def functions(c: Numbers) -> None:
    for k in range(c.count):
        a, b = c.x[k], c.y[k]
        c.out[k] = larger(abs(a), smaller(b, sqrt(a))) + max(a, b) * min(a, 2.0)
        c.out[c.count + k] = larger(a, b)
        c.whole[k] = max(c.i[k], 7) - min(c.i[k], 3)


def powers(c: Numbers) -> None:
    for k in range(c.count):
        c.out[k] = power(c.x[k], c.y[k])
        c.out[c.count + k] = power(c.x[k], 3.0) + power(c.x[k], -3.0)


def comparisons(c: Numbers) -> None:
    for k in range(c.count):
        a, b = c.x[k], c.y[k]
        first = int(a < b) + 2 * int(a <= b) + 4 * int(a > b) + 8 * int(a >= b)
        second = 16 * int(a == b) + 32 * int(a != b) + 64 * int(-1.0 < a <= 1.0) + 128 * int(finite(a))
        c.whole[k] = first + second + 256 * int(c.i[k] != 2) + 512 * int((a < b) == (b < 1.0))


def conditions(c: Numbers) -> None:
    for k in range(c.count):
        ahead = k + 1 < c.count and c.x[k + 1] > c.x[k]
        other = not (ahead or c.y[k] > 0.0) and not c.x[k] < 0.0
        c.whole[k] = int(ahead) + 2 * int(other) + 4 * int((c.x[k] > 0.0) & (c.y[k] > 0.0) | ahead)
        if (ahead and not other) or c.y[k] >= c.x[0]:
            c.out[k] = 1.0 if ahead else c.y[k]
        elif other:
            c.out[k] = 2.0
        else:
            c.out[k] = c.x[k] if k + 1 < c.count and c.x[k + 1] > LIMIT else 3


def loops(c: Numbers) -> None:
    total, before = 0.0, -1
    for k in range(1, c.count):
        if c.x[k] > LIMIT:
            continue
        if c.y[k] > 2.0 * LIMIT:
            break
        total += c.x[k]
        before = k
    c.total, c.steps = total, before
    rest, rounds = c.count, 0
    while rest > 1 and c.total < 1e6:
        rest -= 2
        rounds += 1
        if rounds == 4:
            break
    while True:
        rounds += 1
        if rounds > 6:
            break
    c.found = float(rest + 100 * rounds)


def returns(c: Numbers) -> None:
    c.steps = first_above(c.x, c.count, LIMIT)
    c.found = halved(c.total, 3)
    c.whole[0] = int(is_above(c.x[0], c.total))
    if is_above(c.y[0], c.x[0]):
        c.whole[1] = 5
    cleared(c.out[2:], 3)


def first_above(x: Reals, count: int, limit: float) -> int:
    for k in range(count):
        if x[k] > limit:
            return k
    return -1


def halved(x: float, times: int) -> float:
    while times > 0:
        x = x * 0.5
        times -= 1
    return x


def is_above(x: float, y: float) -> bool:
    return x > y


def cleared(x: Disjoint, count: int) -> None:
    for k in range(count):
        x[k] = 0.0


def known(c: Numbers) -> None:
    for row in unrolled(range(ROWS)):
        shifted(c, row, WEIGHTS)
    for name in unrolled(("total", "found")):
        if name == "total":
            c.out[0] = getattr(c, name) * len(WEIGHTS)
        else:
            c.out[1] = getattr(c, name) + max(WEIGHTS.values())


def shifted(c: Numbers, row: Fixed, weights: Fixed) -> None:
    for k in range(4):
        c.out[ROWS * row + k] = weighted(c.x, k, weights) + row


@inline
def weighted(x: Reals, k: int, weights: Fixed) -> float:
    total = 0.0
    for j, weight in weights.items():
        total = total + x[k + j] * weight
    return total


def tables(c: Numbers) -> None:
    inner = c.inner
    inner.scale = inner.scale + inner.numbers[3]
    inner.numbers[0] = c.inner.scale * 2.0
    if c.missing is None and c.doubled is not None:
        c.doubled(c.x[1], c.x, c.out)
    c.several[1](2.0, c.y, c.out[4:])
    c.steps = c.asked() + 1


def names(c: Numbers) -> None:
    for k in range(c.count):
        if c.x[k] > c.y[k]:
            low, high = c.y[k], c.x[k]
        else:
            low, high = c.x[k], c.y[k]
        gap: float = high - low
        low, high = high, low
        gap *= 2.0
        gap /= 3.0
        c.out[k] = gap + low - 2 * high


def rooms(c: Numbers) -> None:
    room = empty_like(c.x, 3)
    for k in unrolled(range(3)):
        room[k] = c.x[k] * c.y[k]
    c.out[0] = room[0] + room[2]
    reversed_of(room, c.out[1:])
    cast(Kernels, c.several)[1](room[1], c.y, c.out[4:])


def reversed_of(x: Reals, out: Reals) -> None:
    for k in range(3):
        out[k] = x[2 - k]


EACH = (
    arithmetic,
    integers,
    conversions,
    functions,
    powers,
    comparisons,
    conditions,
    loops,
    returns,
    known,
    tables,
    names,
    rooms,
)


def in_lanes(x: Reals, y: Reals, out: Reals, shared: Ints, count: int) -> float:
    total, seen = 0.0, False
    for k in range(count):
        a, b = x[k], y[k]
        if a > b:
            out[k] = a - b
            seen = True
            if b < 0.0 and not a > 2.0:
                total = total + sqrt(abs(b))
        else:
            out[k] = b if a == 0.0 else larger(a, 0.5) * float(shared[k])
        if anywhere(not seen):
            out[k] = out[k] + (0.0 if seen else 1.0)
        room = empty_like(x, 2)
        room[0], room[1] = a, b
        total += power(abs(room[0]), 0.5) + (1.0 if finite(a) else 2.0)
    if anywhere(total > 3.0):
        total = total - (weighted(x, 0, WEIGHTS) if total > 3.0 else 0.0)
    return total if seen else scaled(total, y, count)


def scaled(total: float, y: Reals, count: int) -> float:
    """Return a number divided by the largest magnitude in an array, or by 1 if that is larger."""
    most = 1.0
    for k in range(count):
        most = larger(most, abs(y[k]))
    return total / most
