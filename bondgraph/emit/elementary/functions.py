"""Elementary functions whose results are bitwise equal on every system, and accurate to less than one unit in the last place.

They are functions of the kernel language. Sines, cosines and tangents are limited to angles up to `FAR`. Argument reductions
follow fdlibm (Sun Microsystems 1993); polynomials are those of fdlibm or minimax polynomials. Where fdlibm splits numbers,
fused multiply-adds give products and quotients with their rounding errors (Dekker 1971). Special values follow C99, Annex F.
Only rare arguments branch, so SIMD lanes usually run the same code.
"""

from __future__ import annotations

import math
import struct

from bondgraph.emit.kernel_language.language import Fixed, Reals, bits_down, bits_sum, bits_up, fma, inline, sqrt, unrolled

_INFINITY = math.inf
_MAGIC = 6755399441055744.0
"""1.5 * 2^52: added to a number, it leaves the nearest integer in the lowest bits."""
_LOG2_E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""ln 2 in two parts: thirty-three bits, and the remainder."""
_SMALLEST_NORMAL = 2.2250738585072014e-308


def of_bits(bits: int) -> float:
    (number,) = struct.unpack("<d", struct.pack("<q", bits))
    return float(number)


_SQRT_HALF = of_bits(0x3FE6A09E667F3BCD)
_TO_ONE = of_bits(0x3FF0000000000000 - 0x3FE6A09E667F3BCD)
"""Difference of the bit patterns of 1 and sqrt(1/2)."""
_ONE_BIT = of_bits(1)
_EXPONENT_OFFSET = 4503599627370496.0 + 1023.0

_EXP = (
    0.5,
    0.1666666666666667,
    0.041666666666666685,
    0.008333333333326113,
    0.0013888888888874368,
    0.00019841269874899556,
    2.4801587347402917e-05,
    2.7557255300140186e-06,
    2.7557252858821857e-07,
    2.510525867088343e-08,
    2.092160531697506e-09,
)
"""(e^r - 1 - r) / r^2 for |r| <= ln(2) / 2, to 1.4e-18."""
_LOG = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
    1.818357216161805012e-01,
    1.531383769920937332e-01,
    1.479819860511658591e-01,
)
"""(ln((1 + s) / (1 - s)) - 2 s) / s^3 as a polynomial in s^2, from fdlibm."""
_LOG_TAIL = (
    0.4,
    0.28571428571429375,
    0.2222222222165056,
    0.18181818336494576,
    0.15384594854039754,
    0.1333481017597726,
    0.11706098976899665,
    0.11724530590963324,
)
"""(ln((1 + s) / (1 - s)) - 2 s - 2/3 s^3) / s^5 as a polynomial in s^2 <= 0.0295, to 1.9e-18."""
_TWO_THIRDS_HIGH, _TWO_THIRDS_LOW = 0.6666666666666666, 3.700743415417188e-17
_FAR_EXPONENT = 708.0
"""Largest |x| for which e^x is certainly a normal number."""
_PI_2 = (1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21)
"""pi/2 in three parts: thirty-three bits, the next thirty-three bits, and the remainder."""
_PI_2_FAR = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
"""pi/2 in three parts of fifty-three bits each."""
NEAR, FAR = 1e5, 35184372088832.0
"""Largest |angle|, rad, for which `_PI_2` suffices, and for which `_PI_2_FAR` suffices."""
_SIN = (
    -1.66666666666666324348e-01,
    8.33333333332248946124e-03,
    -1.98412698298579493134e-04,
    2.75573137070700676789e-06,
    -2.50507602534068634195e-08,
    1.58969099521155010221e-10,
)
_COS = (
    4.16666666666666019037e-02,
    -1.38888888888741095749e-03,
    2.48015872894767294178e-05,
    -2.75573143513906633035e-07,
    2.08757232129817482790e-09,
    -1.13596475577881948265e-11,
)
_ATAN = (
    3.33333333333329318027e-01,
    -1.99999999998764832476e-01,
    1.42857142725034663711e-01,
    -1.11111104054623557880e-01,
    9.09088713343650656196e-02,
    -7.69187620504482999495e-02,
    6.66107313738753120669e-02,
    -5.83357013379057348645e-02,
    4.97687799461593236017e-02,
    -3.65315727442169155270e-02,
    1.62858201153657823623e-02,
)
"""(t - atan t) / t^3 as a polynomial in t^2 for t <= 7/16, from fdlibm."""
_HALF_TURN = (3.141592653589793, 1.2246467991473532e-16)
_QUARTER_TURN = (_PI_2_FAR[0], _PI_2_FAR[1])
_EIGHTH = (0.7853981633974483, 3.061616997868383e-17)
_ATAN_HALF = (0.4636476090008061, 2.2698777452961687e-17)
"""atan(1/2), rad, as a sum of two numbers."""


@inline
def polynomial(z: float, coefficients: Fixed) -> float:
    """Return the value of the polynomial with these coefficients, lowest first, from four interleaved polynomials in z^4."""
    z2 = z * z
    z4 = z2 * z2
    even = fma(z2, horner(z4, coefficients[2::4]), horner(z4, coefficients[0::4]))
    odd = fma(z2, horner(z4, coefficients[3::4]), horner(z4, coefficients[1::4]))
    return fma(z, odd, even)


@inline
def horner(z: float, coefficients: Fixed) -> float:
    total = 1.0 * coefficients[-1]
    for coefficient in unrolled(coefficients[-2::-1]):
        total = fma(total, z, coefficient)
    return total


@inline
def power_of_two(n: float) -> float:
    """Return 2^n for an integer n from -1022 to 1023."""
    return bits_up(n + (_MAGIC + 1023.0), 52)


@inline
def exponential_of_sum(x: float, low: float) -> float:
    """Return e^(x + low) for a small `low`."""
    n = fma(x, _LOG2_E, _MAGIC) - _MAGIC
    high = fma(-n, _LN2_HIGH, x)
    rest = fma(n, _LN2_LOW, -low)
    r = high - rest
    error = (high - r) - rest
    s = 1.0 + r
    value = s + ((r - (s - 1.0)) + fma(r * r, polynomial(r, _EXP), error))
    result = value * power_of_two(n)
    if not (abs(x) <= _FAR_EXPONENT):
        half = fma(n, 0.5, _MAGIC) - _MAGIC
        result = (value * power_of_two(half)) * power_of_two(n - half)
        result = 0.0 if x < -746.0 else (_INFINITY if x > 710.0 else (x if x != x else result))
    return result


def exponential(x: float) -> float:
    return exponential_of_sum(x, 0.0)


def exponential_less_one(x: float) -> float:
    """Return e^x - 1 = 2^n (s + low) - 1."""
    n = fma(x, _LOG2_E, _MAGIC) - _MAGIC
    high = fma(-n, _LN2_HIGH, x)
    rest = n * _LN2_LOW
    r = high - rest
    s, scale = 1.0 + r, power_of_two(n)
    low = (r - (s - 1.0)) + fma(r * r, polynomial(r, _EXP), (high - r) - rest)
    result = fma(scale, s, -1.0) + scale * low
    if not (abs(x) <= _FAR_EXPONENT and abs(x) > 0.0):
        result = exponential_of_sum(x, 0.0) - 1.0 if abs(x) > 0.0 else x
    return result


def logarithm(x: float) -> float:
    scaled, shift = 1.0 * x, _EXPONENT_OFFSET * 1.0
    if not (x >= _SMALLEST_NORMAL):
        scaled, shift = x * 18014398509481984.0, _EXPONENT_OFFSET + 54.0
    bits = bits_sum(scaled, _TO_ONE)
    k = bits_sum(bits_down(bits, 52), 4503599627370496.0) - shift
    f = bits_sum(bits_down(bits_up(bits, 12), 12), _SQRT_HALF) - 1.0
    s = f / (2.0 + f)
    z = s * s
    half = 0.5 * f * f
    tail = fma(s, fma(z, polynomial(z, _LOG), half), k * _LN2_LOW)
    result = fma(k, _LN2_HIGH, -((half - tail) - f))
    if not (x > 0.0 and x < _INFINITY):
        result = x if x == _INFINITY or x != x else (-_INFINITY if x == 0.0 else math.nan)
    return result


def power(x: float, y: float) -> float:
    size = abs(x)
    scaled, shift = 1.0 * size, _EXPONENT_OFFSET * 1.0
    if size < _SMALLEST_NORMAL:
        scaled, shift = size * 18014398509481984.0, _EXPONENT_OFFSET + 54.0
    bits = bits_sum(scaled, _TO_ONE)
    k = bits_sum(bits_down(bits, 52), 4503599627370496.0) - shift
    m = bits_sum(bits_down(bits_up(bits, 12), 12), _SQRT_HALF)
    # s + s_low = (m - 1) / (m + 1)
    f = m - 1.0
    above = m + 1.0
    inverse = 1.0 / above
    s = f * inverse
    s_low = fma(-s, m - (above - 1.0), fma(-s, above, f)) * inverse
    z = s * s
    z_low = fma(s, s, -z) + 2.0 * s * s_low
    # ln m = 2 s + s^3 (2/3 + q)
    q = z * polynomial(z, _LOG_TAIL)
    p = _TWO_THIRDS_HIGH + q
    p_low = ((_TWO_THIRDS_HIGH - p) + q) + fma(0.4, z_low, _TWO_THIRDS_LOW)
    cube = s * z
    cube_low = fma(s, z, -cube) + fma(s, z_low, s_low * z)
    u = cube * p
    u_low = fma(cube, p, -u) + fma(cube, p_low, cube_low * p)
    twice = 2.0 * s
    near = twice + u
    near_low = ((twice - near) + u) + fma(2.0, s_low, u_low)
    # ln x = k ln 2 + ln m
    multiple = k * _LN2_HIGH
    high = multiple + near
    low = ((multiple - high) + near) + fma(k, _LN2_LOW, near_low)
    log = high + low
    log_low = (high - log) + low
    e = y * log
    result = exponential_of_sum(e, fma(y, log, -e) + y * log_low)
    if not (x > 0.0 and x < _INFINITY and abs(y) < _INFINITY):
        # even and odd integers y
        count = abs(y)
        is_whole = count >= 4503599627370496.0 or (count + 4503599627370496.0) - 4503599627370496.0 == count
        pairs = 0.5 * count
        is_even = pairs >= 4503599627370496.0 or (pairs + 4503599627370496.0) - 4503599627370496.0 == pairs
        grows = y > 0.0
        extreme = _INFINITY if grows else 0.0
        result = extreme if size == _INFINITY else result
        if count == _INFINITY:
            result = 1.0 if size == 1.0 else (extreme if size > 1.0 else (0.0 if grows else _INFINITY))
        result = (0.0 if grows else _INFINITY) if size == 0.0 else result
        result = -result if bits_down(x, 63) > 0.0 and is_whole and not is_even else result
        result = math.nan if x < 0.0 and size < _INFINITY and not is_whole else result
        result = x + y if x != x or y != y else result
        result = 1.0 if y == 0.0 or x == 1.0 else result
    return result


@inline
def with_sign_of(size: float, x: float) -> float:
    return bits_sum(size, bits_up(bits_down(x, 63), 63))


# Angles. An angle is n quarter turns plus a remainder of at most half a quarter turn: y, plus its rounding error.


@inline
def quarter_turns(x: float) -> float:
    """Return the nearest count n of quarter turns plus 1.5 * 2^52, so that the lowest bits are those of n."""
    return x * 0.63661977236758134308 + _MAGIC


@inline
def near_remainder(x: float, n: float) -> float:
    """Return the angle minus n quarter turns, computed with the first two parts of pi/2."""
    return fma(n, -_PI_2[0], x) - n * _PI_2[1]


@inline
def near_remainder_error(x: float, n: float) -> float:
    """Return the error to be subtracted from `near_remainder`."""
    first = fma(n, -_PI_2[0], x)
    return fma(n, _PI_2[2], -((first - near_remainder(x, n)) - n * _PI_2[1]))


@inline
def far_remainder(x: float, n: float) -> float:
    """Return the angle minus n quarter turns for an angle beyond `NEAR`."""
    return fma(n, -_PI_2_FAR[0], x) - n * _PI_2_FAR[1]


@inline
def far_remainder_error(x: float, n: float) -> float:
    """Return the error to be subtracted from `far_remainder`."""
    first, product = fma(n, -_PI_2_FAR[0], x), n * _PI_2_FAR[1]
    difference = far_remainder(x, n)
    part = difference - first
    lost = (first - (difference - part)) - (product + part)
    return fma(n, _PI_2_FAR[2], fma(n, _PI_2_FAR[1], -product)) - lost


@inline
def remainder(x: float, n: float) -> float:
    """Return the angle minus n quarter turns for any angle up to `FAR`."""
    first = 1.0 * near_remainder(x, n)
    if not (abs(x) <= NEAR):
        first = far_remainder(x, n)
    return first


@inline
def remainder_error(x: float, n: float) -> float:
    """Return the error to be subtracted from `remainder`."""
    error = 1.0 * near_remainder_error(x, n)
    if not (abs(x) <= NEAR):
        error = far_remainder_error(x, n)
    return error


@inline
def sine_of_remainder(y: float, low: float) -> float:
    """Return sin(y + low), |y| <= pi/4."""
    z = y * y
    return y + fma(z * y, horner(z, _SIN), low)


@inline
def cosine_of_remainder(y: float, low: float) -> float:
    """Return cos(y + low), |y| <= pi/4."""
    z = y * y
    half = z * 0.5
    above = 1.0 - half
    return above + (((1.0 - above) - half) + fma(z * z, horner(z, _COS), -(y * low)))


@inline
def in_quadrant(even: float, odd: float, quarter: float) -> float:
    """Return `even` or `odd`, selected by the last bit of `quarter`, negated if the bit before it is set."""
    two = bits_up(quarter, 62)
    return bits_sum(odd if abs(two) > 0.0 else even, bits_up(bits_down(two, 63), 63))


def sine(x: float) -> float:
    quarter = quarter_turns(x)
    n = quarter - _MAGIC
    first, error = remainder(x, n), remainder_error(x, n)
    y = first - error
    low = (first - y) - error
    return in_quadrant(sine_of_remainder(y, low), cosine_of_remainder(y, low), quarter)


def cosine(x: float) -> float:
    quarter = quarter_turns(x)
    n = quarter - _MAGIC
    first, error = remainder(x, n), remainder_error(x, n)
    y = first - error
    low = (first - y) - error
    return in_quadrant(sine_of_remainder(y, low), cosine_of_remainder(y, low), bits_sum(quarter, _ONE_BIT))


def sine_and_cosine(x: float, out: Reals) -> None:
    """Write the sine and the cosine of an angle up to `FAR`, bitwise equal to `sine` and `cosine`."""
    quarter = quarter_turns(x)
    n = quarter - _MAGIC
    first, error = remainder(x, n), remainder_error(x, n)
    y = first - error
    low = (first - y) - error
    sin, cos = sine_of_remainder(y, low), cosine_of_remainder(y, low)
    out[0] = in_quadrant(sin, cos, quarter)
    out[1] = in_quadrant(sin, cos, bits_sum(quarter, _ONE_BIT))


def tangent(x: float) -> float:
    quarter = quarter_turns(x)
    n = quarter - _MAGIC
    first, error = remainder(x, n), remainder_error(x, n)
    y = first - error
    low = (first - y) - error
    z = y * y
    # sine and cosine of y, each as a sum of two numbers
    tail = z * y * polynomial(z, _SIN)
    sin = y + tail
    sin_low = (y - sin) + tail
    half = z * 0.5
    above = 1.0 - half
    rest = ((1.0 - above) - half) + fma(z * z, polynomial(z, _COS), -0.5 * fma(y, y, -z))
    cos = above + rest
    cos_low = (above - cos) + rest
    is_odd = abs(bits_up(quarter, 62)) > 0.0
    top, top_low = -cos if is_odd else sin, -cos_low if is_odd else sin_low
    bottom, bottom_low = sin if is_odd else cos, sin_low if is_odd else cos_low
    q = top / bottom
    q_low = (fma(-q, bottom, top) + fma(-q, bottom_low, top_low)) / bottom
    return x if x == 0.0 else q + (q_low + low * fma(q, q, 1.0))


@inline
def angle_of(y: float, y_low: float, x: float, x_low: float) -> float:
    """Return the angle of the point (x + x_low, y + y_low), from 0 to pi, for nonnegative y.

    Rotating the point back by 0, atan(1/2) or pi/4 leaves a small quotient t of the smaller to the larger coordinate.
    """
    size = abs(x)
    is_steep = y > size
    small, small_low = size if is_steep else y, x_low if is_steep else y_low
    large, large_low = y if is_steep else size, y_low if is_steep else x_low
    small, large = 1.0 * small, 1.0 * large
    if not (large > 1e-270 and large < 1e300):
        scale = 7.888609052210118e-31 if large > 1.0 else 1.2676506002282294e30
        small = (1.0 if small == _INFINITY else 0.0 * small) if large == _INFINITY else small * scale
        large = 1.0 if large == _INFINITY or large == 0.0 else large * scale
    near, middle = small < 0.4375 * large, small < 0.6875 * large
    c = 0.0 if near else (0.5 if middle else 1.0)
    rotation = 0.0 if near else (_ATAN_HALF[0] if middle else _EIGHTH[0])
    rotation_low = 0.0 if near else (_ATAN_HALF[1] if middle else _EIGHTH[1])
    top = fma(-c, large, small)
    top_low = fma(-c, large_low, small_low)
    bottom = fma(c, small, large)
    bottom_low = fma(c, small, large - bottom) + fma(c, small_low, large_low)
    t = top / bottom
    t_low = (fma(-t, bottom, top) + fma(-t, bottom_low, top_low)) / bottom
    z = t * t
    tail = (t_low - t_low * z) - t * (z * polynomial(z, _ATAN))
    # the angle is first + sign (rotation + t)
    is_behind = bits_down(x, 63) > 0.0
    first = _QUARTER_TURN[0] if is_steep else (_HALF_TURN[0] if is_behind else 0.0)
    first_low = _QUARTER_TURN[1] if is_steep else (_HALF_TURN[1] if is_behind else 0.0)
    minus = (is_steep and not is_behind) or (is_behind and not is_steep)
    rotation, rotation_low, t, tail = (
        -rotation if minus else rotation,
        -rotation_low if minus else rotation_low,
        -t if minus else t,
        -tail if minus else tail,
    )
    start = first + rotation
    start_low = ((first - start) + rotation) + (first_low + rotation_low)
    angle = start + t
    return angle + (((start - angle) + t) + (start_low + tail))


def arctangent(x: float) -> float:
    return with_sign_of(angle_of(abs(x), 0.0, 1.0, 0.0), x)


def arctangent_of(y: float, x: float) -> float:
    """Return the angle of the point (x, y), from -pi to pi."""
    return with_sign_of(angle_of(abs(y), 0.0, x, 0.0), y)


@inline
def cosine_of_arcsine(x: float) -> float:
    return sqrt(1.0 - x * x)


@inline
def cosine_of_arcsine_error(x: float) -> float:
    square = x * x
    rest, root = 1.0 - square, cosine_of_arcsine(x)
    lost = ((1.0 - rest) - square) - fma(x, x, -square)
    return (fma(-root, root, rest) + lost) / (2.0 * root) if root > 0.0 else 0.0


def arcsine(x: float) -> float:
    return with_sign_of(angle_of(abs(x), 0.0, cosine_of_arcsine(x), cosine_of_arcsine_error(x)), x)


def arccosine(x: float) -> float:
    return angle_of(cosine_of_arcsine(x), cosine_of_arcsine_error(x), x, 0.0)


def hyperbolic_tangent(x: float) -> float:
    """Return the hyperbolic tangent E / (E + 2), with E = e^(2 |x|) - 1 as a sum of two numbers."""
    size = abs(x)
    v = 2.0 * (22.0 if size > 22.0 else size)
    n = fma(v, _LOG2_E, _MAGIC) - _MAGIC
    high = fma(-n, _LN2_HIGH, v)
    rest = n * _LN2_LOW
    r = high - rest
    error = (high - r) - rest
    scale = power_of_two(n)
    # E = scale (1 + r + r^2 / 2 + r^3 p + error) - 1
    square = r * r
    tail = scale * (fma(r * square, polynomial(r, _EXP[1:]), 0.5 * fma(r, r, -square)) + error)
    multiple, linear, half = scale - 1.0, scale * r, scale * (0.5 * square)
    line = multiple + linear
    parabola = line + half
    tail = tail + (((multiple - line) + linear) + ((line - parabola) + half))
    top = parabola + tail
    top_low = (parabola - top) + tail
    bottom = top + 2.0
    added = bottom - top
    bottom_low = ((top - (bottom - added)) + (2.0 - added)) + top_low
    q = top / bottom
    return with_sign_of(q + (fma(-q, bottom, top) + fma(-q, bottom_low, top_low)) / bottom, x)


OF_TWO = frozenset((power, arctangent_of))
