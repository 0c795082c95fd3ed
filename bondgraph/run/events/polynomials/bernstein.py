"""Zeros of a polynomial on an interval, by its coefficients in the Bernstein basis: the polynomial lies between the smallest and
the largest coefficient, and has at most as many zeros as the coefficients have sign changes (Descartes' rule).

G. Farin, Curves and Surfaces for CAGD, 2002, chapters 4 and 5; R. T. Farouki, The Bernstein polynomial basis: a centennial
retrospective, Computer Aided Geometric Design 29, 2012.
"""

from __future__ import annotations

from bondgraph.emit.kernel_language.language import Reals, inline, larger, unrolled

DEGREE = 8
_NEAR = (0.2734375, 1.09375, -0.546875, 0.21875, -0.0390625)
"""Weights of the values at the quarters of the interval that give the value of the quartic through them at the first eighth
(Lagrange)."""
_IN_THE_MIDDLE = 16.0 / 6.0
"""Middle coefficient of the quartic 16 x^2 (1 - x)^2, whose maximum is 1."""
_FIRST_ROWS = (
    tuple(weight / 840 for weight in (-1443, 6720, -11760, 15680, -14700, 9408, -3920, 960, -105)),
    tuple(weight / 8820 for weight in (19939, -135936, 379008, -568064, 561960, -370944, 157696, -39168, 4329)),
    tuple(weight / 17640 for weight in (-40953, 324544, -1096144, 2030784, -2229500, 1563968, -691824, 176704, -19939)),
    tuple(weight / 22050 for weight in (40953, -349184, 1298304, -2731008, 3503920, -2731008, 1298304, -349184, 40953)),
)
_ROWS = (*_FIRST_ROWS, *(row[::-1] for row in _FIRST_ROWS[2::-1]))
"""Weights by which the values at the eighths of the interval give each inner coefficient of the interpolating polynomial."""
_DIFFERENCES = (1.0, -8.0, 28.0, -56.0, 70.0, -56.0, 28.0, -8.0, 1.0)


def quartic_misfit(a: float, b: float, m: float, d: float, e: float, near: float, far: float) -> float:
    """Interpolate the values a, b, m, d, e at the quarters by a quartic; return the larger of its deviations from `near` at the
    first eighth and `far` at the last eighth."""
    before = a * _NEAR[0] + b * _NEAR[1] + m * _NEAR[2] + d * _NEAR[3] + e * _NEAR[4]
    after = a * _NEAR[4] + b * _NEAR[3] + m * _NEAR[2] + d * _NEAR[1] + e * _NEAR[0]
    return larger(abs(near - before), abs(far - after))


@inline
def second_coefficient(a: float, b: float, m: float, d: float, e: float) -> float:
    return (b * 48.0 - m * 36.0 + d * 16.0 - a * 13.0 - e * 3.0) * (1.0 / 12.0)


@inline
def middle_coefficient(a: float, b: float, m: float, d: float, e: float) -> float:
    return ((a + e) * 13.0 - (b + d) * 64.0 + m * 120.0) * (1.0 / 18.0)


def quartic_is_below(a: float, b: float, m: float, d: float, e: float, margin: float) -> bool:
    """Return True if the inner coefficients of both halves show that the quartic through the values a, b, m, d, e at the
    quarters, plus a margin that falls from the middle to zero at both ends, does not rise to zero before the end."""
    one, three = second_coefficient(a, b, m, d, e), second_coefficient(e, d, m, b, a)
    two = middle_coefficient(a, b, m, d, e) + margin * _IN_THE_MIDDLE
    left, right = (a + one) * 0.5, (three + e) * 0.5
    before, after = (one + two) * 0.5, (two + three) * 0.5
    left_two, right_two, middle = (left + before) * 0.5, (right + after) * 0.5, (before + after) * 0.5
    left_three, right_three = (left_two + middle) * 0.5, (right_two + middle) * 0.5
    sides = larger(larger(left, right), larger(left_two, right_two))
    return larger(larger(sides, larger(left_three, right_three)), (left_three + right_three) * 0.5) < 0.0


def quartic_rises_once(a: float, b: float, m: float, d: float, e: float, margin: float) -> bool:
    """Return True if the coefficients show that the quartic through the values a, b, m, d, e at the quarters, plus or minus a
    margin as in `quartic_is_below`, rises through zero at most once and then stays above."""
    one, three = second_coefficient(a, b, m, d, e), second_coefficient(e, d, m, b, a)
    two, most = middle_coefficient(a, b, m, d, e), margin * _IN_THE_MIDDLE
    return (one < 0.0 or two - most >= 0.0) and (two + most < 0.0 or three >= 0.0) and (three < 0.0 or e >= 0.0)


def interpolate(values: Reals, coefficients: Reals) -> float:
    """Fill the coefficients of the polynomial through values at the eighths of the interval; return its misfit: the size
    of the eighth difference of the values, which is zero for a polynomial of degree 7 or less."""
    off = 0.0
    for k in unrolled(range(DEGREE + 1)):
        off = off + values[k] * _DIFFERENCES[k]
    coefficients[0] = values[0]
    coefficients[DEGREE] = values[DEGREE]
    for k in unrolled(range(1, DEGREE)):
        total = 0.0
        for j in unrolled(range(DEGREE + 1)):
            total = total + values[j] * _ROWS[k - 1][j]
        coefficients[k] = total
    return abs(off)


def take_part(coefficients: Reals, low: float, high: float, part: Reals) -> None:
    """Fill `part` with the coefficients of a polynomial over a part of its interval (de Casteljau)."""
    ratio = low / high
    for k in range(DEGREE + 1):
        part[k] = coefficients[k]
    for r in range(1, DEGREE + 1):
        for k in range(DEGREE + 1 - r):
            at = DEGREE - k
            part[at] = part[at - 1] + (part[at] - part[at - 1]) * high
    for r in range(1, DEGREE + 1):
        for k in range(DEGREE + 1 - r):
            part[k] = part[k] + (part[k + 1] - part[k]) * ratio


def rises(part: Reals, error: float, first: int, last: int) -> int:
    """Return how often a polynomial rises through zero, 0 or 1, by the signs of the coefficients, from `first` up to but not
    including `last`, that exceed their error; 2 if the signs are inconclusive."""
    changes, ups, sign, clear = 0, 0, 0, True
    for k in range(first, last):
        value = part[k]
        now = int(value > error) - int(value < -error)
        if now == 0:
            clear = False
        elif now != sign:
            if sign != 0:
                changes += 1
                ups += int(now > 0)
            sign = now
    return ups if clear and changes < 2 else 2
