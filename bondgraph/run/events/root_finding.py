"""Event location: the guard that first rises to zero within a step, and the location of its zero.

Between the fractions at which guards are evaluated, a guard that changes from rising to falling has a crest (a local maximum). A
guard that is a polynomial along the step, because it is linear in the states, has Bernstein coefficients that show where it has
no zero. For any other guard, the step is subdivided, up to a number of parts, until the coefficients of the interpolant on each
part are conclusive, and crests are searched until an upper bound (by chords, where the guard is concave) is below zero.

A guard that jumps over zero (a sign, a comparison) has no slope there; `steppers.driver` locates the jump without slopes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from bondgraph.emit.kernel_language.language import Disjoint, Fixed, Ints, Length, Reals, Table, inline, larger, smaller, unrolled
from bondgraph.run.events.polynomials.bernstein import (
    DEGREE,
    interpolate,
    quartic_is_below,
    quartic_misfit,
    quartic_rises_once,
    rises,
    take_part,
)

EPSILON = 2.220446049250313e-16
EDGE = 2.0**-30
FRACTIONS = (0.0, EDGE, 0.25, 0.5, 0.75, 1.0 - EDGE, 1.0)
"""Fractions of a step at which guards are evaluated; the fractions next to its ends show whether guards rise or fall there."""
POINTS = len(FRACTIONS)
_PROBES = (0.125, 0.375, 0.625, 0.875)
"""Fractions between the quarters of a step. At the first and the last, a guard is compared with the quartic through its values at
the quarters; a polynomial of degree 8 passes through the values at all eighths."""
_FIT = 2.0**-6
"""Largest misfit of the quartic of a guard, relative to the distance of the guard from its chord (`bend`)."""
_ROUNDED, _FITS, _PART = 2.0**-42, 2.0**-36, 2.0**-12
"""_ROUNDED is the rounding error of a polynomial's coefficients and _FITS its largest misfit, relative to the guard;
parts up to the fraction _PART of a step are not halved."""
_MAX_PARTS = 96
"""Maximum number of parts of a step in which a guard that is not a polynomial is interpolated."""
_GOLDEN = 0.3819660112501051
_SEARCHES, _NARROWEST = 60, 1e-13
_SLOPE_TRIALS, _PREDICTIONS = 8, 2
_STEEP = 1024.0
"""Ratio of the slope of a guard at its zero to its mean slope, above which the guard may jump there."""
_JUMP_RATIO, _JUMP_REACH, _JUMP_SCALE, _JUMP_SCALES = 0.25, 8.0, 64.0, 3
"""The test for a jump compares a guard at several distances from its zero: the nearest is _JUMP_REACH time resolutions, and each
of _JUMP_SCALES further distances is _JUMP_SCALE times the one before. Near a jump, the guard changes by at most the fraction
_JUMP_RATIO of the jump from one distance to the next."""
_FLAT = 2.0**-20
"""Fraction of a bracket; if a guard is also zero this far before an exact zero, the search for its first zero continues."""


AtFractions = Annotated[Reals, Length(lambda c: POINTS * c.guard_count)]
AtProbes = Annotated[Reals, Length(lambda c: len(_PROBES) * c.guard_count)]
Coefficients = Annotated[Reals, Length(lambda c: DEGREE + 1)]
PerGuard = Annotated[Reals, Length(lambda c: c.guard_count)]
GuardFlags = Annotated[Ints, Length(lambda c: c.guard_count)]
PerNumber = Annotated[Reals, Length(lambda c: c.width)]


class StepTable(Table):
    """Fields of an integrator's table for a step and its guards."""

    g: AtFractions
    probes: AtProbes
    g_dense: PerGuard
    y_dense: PerNumber
    y_new: PerNumber
    theta: PerGuard
    fired: GuardFlags
    steep: GuardFlags
    guard_count: int
    # Bernstein coefficients of a guard over the step and over a part of the step.
    bernstein: Coefficients
    part: Coefficients
    # The guard that fires first; True if it jumps; its slope; the time at the start of the step.
    first: int
    jumps: bool
    slope: float
    t: float


@dataclass(frozen=True)
class DenseOutput:
    """Functions of a step, and of its guards.

    Parameters
    ----------
    exact : (c, theta, out, method) computes the state at a fraction of the step.
    cubic : (c, theta, h, out, method) computes a cheaper approximation of that state.
    guard_values : (c, t, y, g) computes the guards at (t, y).
    method : method of the step.
    """

    exact: Callable[..., None]
    cubic: Callable[..., None]
    guard_values: Callable[..., None]
    method: Any


def crossing_check(c: StepTable, h: float, t_new: float, step: Fixed) -> bool:
    """Return True if a guard may cross zero within the step, according to the cubic interpolant: at one of the fractions, or at a
    crest, with a margin for the error of the cubic. Fill g at all fractions but the first, where it is filled already.

    If the quartic through a guard's values at the quarters of the step is accurate, it decides; otherwise the crest is searched
    for, with a margin of a quarter of its height.
    """
    count, g = c.guard_count, c.g
    for j in unrolled(range(1, POINTS - 1)):
        guards_by_cubic(c, FRACTIONS[j], h, g[count * j :], step)
    step.guard_values(c, t_new, c.y_new, g[count * (POINTS - 1) :])
    marks = c.theta
    mark_crossings(marks, g, count)
    probed = False
    for i in range(count):
        if marks[i] == 2.0:
            return True
        if marks[i] == 1.0:
            if not probed:
                for j in unrolled((0, 3)):
                    guards_by_cubic(c, _PROBES[j], h, c.probes[count * j :], step)
                probed = True
            if is_quartic(c, i):
                if not is_below(c, i):
                    return True
            elif may_crest(c, h, i, step):
                return True
    return False


@inline
def guards_by_cubic(c: StepTable, theta: float, h: float, g: Reals, step: Fixed) -> None:
    step.cubic(c, theta, h, c.y_dense, step.method)
    step.guard_values(c, c.t + theta * h, c.y_dense, g)


def mark_crossings(marks: Disjoint, g: Reals, count: int) -> None:
    for i in range(count):
        kind = 0.0
        for j in unrolled(range(1, POINTS - 1)):
            kind = 1.0 if is_crest(g[count * (j - 1) + i], g[count * j + i], g[count * (j + 1) + i]) else kind
        for j in unrolled(range(1, POINTS)):
            kind = 2.0 if (g[count * (j - 1) + i] < 0.0) & (g[count * j + i] >= 0.0) else kind
        marks[i] = kind


@inline
def bend(c: StepTable, i: int) -> float:
    g, count, a, e = c.g, c.guard_count, c.g[i], c.g[c.guard_count * (POINTS - 1) + i]
    first, second, third = a * 0.75 + e * 0.25, (a + e) * 0.5, a * 0.25 + e * 0.75
    sides = larger(abs(g[count * 2 + i] - first), abs(g[count * 4 + i] - third))
    return larger(sides, abs(g[count * 3 + i] - second))


def is_quartic(c: StepTable, i: int) -> bool:
    g, count, end = c.g, c.guard_count, c.g[c.guard_count * (POINTS - 1) + i]
    off = quartic_misfit(g[i], g[count * 2 + i], g[count * 3 + i], g[count * 4 + i], end, c.probes[i], c.probes[count * 3 + i])
    return off <= bend(c, i) * _FIT + larger(larger(abs(g[i]), abs(end)), abs(g[count * 3 + i])) * (8.0 * EPSILON)


def is_below(c: StepTable, i: int) -> bool:
    """Return True if the quartic of guard i does not rise to zero before the end of the step, with a quarter of its `bend` as
    margin for interpolation errors."""
    g, count = c.g, c.guard_count
    end, margin = g[count * (POINTS - 1) + i], bend(c, i) * 0.25
    return quartic_is_below(g[i], g[count * 2 + i], g[count * 3 + i], g[count * 4 + i], end, margin)


def may_crest(c: StepTable, h: float, i: int, step: Fixed) -> bool:
    g, count = c.g, c.guard_count
    for j in unrolled(range(1, POINTS - 1)):
        left, middle, right = g[count * (j - 1) + i], g[count * j + i], g[count * (j + 1) + i]
        if is_crest(left, middle, right):
            margin = (middle - smaller(left, right)) * 0.25
            if crest(c, h, i, j, -margin, False, step) <= 1.0:
                return True
    return False


@inline
def is_crest(left: float, middle: float, right: float) -> bool:
    rise = middle - smaller(left, right)
    return (middle < 0.0) & (middle >= left) & (middle >= right) & (rise > middle * (-8.0 * EPSILON))


@inline
def guard_there(c: StepTable, h: float, theta: float, i: int, step: Fixed) -> float:
    step.guard_values(c, c.t + theta * h, c.y_dense, c.g_dense)
    return c.g_dense[i]


@inline
def guard_at(c: StepTable, h: float, theta: float, i: int, step: Fixed) -> float:
    step.exact(c, theta, c.y_dense, step.method)
    return guard_there(c, h, theta, i, step)


@inline
def fraction_of(j: int) -> float:
    fraction = 0.0
    for k in unrolled(range(POINTS)):
        if j == k:
            fraction = FRACTIONS[k]
    return fraction


def crest(c: StepTable, h: float, i: int, j: int, goal: float, exact: bool, step: Fixed) -> float:
    """Return a fraction of the step, between the neighbours of fraction j, at which guard i is at least `goal`; return 2 if
    none is found. The guard is not lower at fraction j than at its neighbours.

    The search alternates parabolas and golden sections (Brent), using the dense output if `exact` and the cubic interpolant
    otherwise. Chords bound the crest where the guard is concave, as shown by probes on both sides of the middle, or by parabolas
    that predict the guard.
    """
    g, count = c.g, c.guard_count
    a, m, b = fraction_of(j - 1), fraction_of(j), fraction_of(j + 1)
    fa, fm, fb = g[count * (j - 1) + i], g[count * j + i], g[count * (j + 1) + i]
    parabola, foretold, sure_left, sure_right = True, 0, False, False
    for _ in range(_SEARCHES):
        left, right, width = m - a, b - m, b - a
        rise, fall = (fm - fa) / left, (fb - fm) / right
        bend = (fall - rise) / width
        vertex = m - (rise * right + fall * left) / (2.0 * bend * width)
        reach = width * 1e-2
        inside = parabola and bend < 0.0 and vertex > a + reach and vertex < b - reach
        apart = abs(vertex - m) > width * 1e-3
        to_right = right > left if sure_left == sure_right else sure_left
        golden = m + _GOLDEN * right if to_right else m - _GOLDEN * left
        u = vertex if inside and apart else golden
        parabola = not parabola
        if exact:
            step.exact(c, u, c.y_dense, step.method)
        else:
            step.cubic(c, u, h, c.y_dense, step.method)
        value = guard_there(c, h, u, i, step)
        if value >= goal:
            return u
        distance = u - m
        drop = fm - smaller(fa, fb)
        foreseen = fm + distance * ((rise * right + fall * left) / width + bend * distance)
        smooth = abs(value - foreseen) <= drop * 0.05
        later, higher = u > m, value > fm
        second, third = m if later else u, u if later else m
        at_second, at_third = fm if later else value, value if later else fm
        slope, following = (at_second - fa) / (second - a), (at_third - at_second) / (third - second)
        concave = slope >= following and following >= (fb - at_third) / (b - third)
        foretold = foretold + 1 if smooth else 0
        if later:
            sure_right = concave
        else:
            sure_left = concave
        if higher:
            sure_left, sure_right = False, False
        # drop the part beyond the lower of the two inner points
        if later != higher:
            b, fb, m, fm = third, at_third, second, at_second
        else:
            a, fa, m, fm = second, at_second, third, at_third
        beyond = fm + (fm - fa) / (m - a) * (b - m)
        before = fm + (fm - fb) / (b - m) * (m - a)
        bounded = larger(beyond, before) < goal
        sure = (sure_left and sure_right) or foretold >= _PREDICTIONS
        flat = fm - smaller(fa, fb) <= fm * (-4.0 * EPSILON)
        if (sure and bounded) or flat or b - a < _NARROWEST:
            return 2.0
    return 2.0


def root(c: StepTable, h: float, i: int, low: float, high: float, at_low: float, at_high: float, step: Fixed) -> float:
    """Find the zero crossing of guard i between fractions low (guard negative) and high (not negative) by the Illinois method;
    after twenty steps, as for a guard that leaves zero without a slope, by bisection. Set `steep` if the guard may jump there."""
    a, b, below, above, true_below, true_above = low, high, at_low, at_high, at_low, at_high
    side, flat, tolerance = 0, False, resolution(c, h)
    mean_slope = (at_high - at_low) / (high - low)
    c.steep[i] = 0
    for k in range(80):
        if b - a <= tolerance:
            c.steep[i] = int(true_above - true_below > mean_slope * (b - a) * _STEEP)
            return b
        if above == 0.0 and not flat:
            if guard_at(c, h, b - (b - a) * _FLAT, i, step) != 0.0:
                return b
            flat = True
        secant = a + (b - a) * (below / (below - above))
        inside = secant > a and secant < b and k < 20
        theta = secant if inside else 0.5 * (a + b)
        value = guard_at(c, h, theta, i, step)
        # An end that is kept twice gets half the weight, so that both ends move.
        if value >= 0.0:
            b, above, true_above = theta, value, value
            if side == 1:
                below = below * 0.5
            side = 1
        else:
            a, below, true_below = theta, value, value
            if side == -1:
                above = above * 0.5
            side = -1
    return b


@inline
def resolution(c: StepTable, h: float) -> float:
    return larger(larger(abs(c.t), h) / h * EPSILON, EPSILON)


def search(c: StepTable, h: float, i: int, low: float, high: float, at_low: float, at_high: float, step: Fixed) -> None:
    was_steep = c.steep[i]
    crossing = root(c, h, i, low, high, at_low, at_high, step)
    if crossing >= c.theta[i]:
        c.steep[i] = was_steep
    c.theta[i] = smaller(c.theta[i], crossing)


def highest_crests(c: StepTable, h: float, i: int, step: Fixed) -> None:
    g, count = c.g, c.guard_count
    for j in unrolled(range(1, POINTS - 1)):
        left, middle, right = g[count * (j - 1) + i], g[count * j + i], g[count * (j + 1) + i]
        if is_crest(left, middle, right) and c.theta[i] > FRACTIONS[j - 1]:
            top = crest(c, h, i, j, 0.0, True, step)
            if top <= 1.0:
                value = guard_at(c, h, top, i, step)
                if top > FRACTIONS[j]:
                    search(c, h, i, FRACTIONS[j], top, middle, value, step)
                else:
                    search(c, h, i, FRACTIONS[j - 1], top, left, value, step)


def rises_once(c: StepTable, i: int) -> bool:
    g, count = c.g, c.guard_count
    end, margin = g[count * (POINTS - 1) + i], bend(c, i) * 0.25
    return quartic_rises_once(g[i], g[count * 2 + i], g[count * 3 + i], g[count * 4 + i], end, margin)


def polynomial_error(c: StepTable, i: int) -> float:
    """Fill `bernstein` with the Bernstein coefficients of guard i over the step, and return their error; 0 if the guard is not a
    polynomial of degree at most 7."""
    g, values, count, size = c.g, c.part, c.guard_count, 0.0
    values[0] = g[i]
    values[DEGREE] = g[count * (POINTS - 1) + i]
    for j in unrolled(range(3)):
        values[2 + 2 * j] = g[count * (2 + j) + i]
    for j in unrolled(range(len(_PROBES))):
        values[1 + 2 * j] = c.probes[count * j + i]
    for k in range(DEGREE + 1):
        size = larger(size, abs(values[k]))
    off = interpolate(values, c.bernstein)
    error = size * _ROUNDED + off
    return error if off <= size * _FITS else 0.0


def interpolate_part(c: StepTable, h: float, i: int, low: float, high: float, step: Fixed) -> float:
    values, size = c.bernstein, 0.0
    for k in range(DEGREE + 1):
        values[k] = guard_at(c, h, low + (high - low) * (float(k) / DEGREE), i, step)
        size = larger(size, abs(values[k]))
    off = interpolate(values, c.part)
    return size * _ROUNDED + off


def first_rise(c: StepTable, h: float, i: int, exact: float, step: Fixed) -> None:
    """Find the first zero of guard i before the zero in `theta`; halve parts of the step in which the signs of the coefficients
    are inconclusive. The guard is a polynomial with coefficients `bernstein` of error `exact`, or, if `exact` is 0, interpolated
    in each of at most `_MAX_PARTS` parts. If the guard starts at zero, as after an event, this zero does not count."""
    end = smaller(c.theta[i], 1.0)
    low, width, parts, error = 0.0, 1.0, 0, exact
    while low < end and (exact > 0.0 or parts < _MAX_PARTS):
        high = smaller(low + width, end)
        parts += 1
        if exact > 0.0:
            take_part(c.bernstein, low, high, c.part)
        else:
            error = interpolate_part(c, h, i, low, high, step)
        starts = int(low == 0.0 and abs(c.part[0]) <= error)
        crossings = rises(c.part, error, starts, DEGREE if high == c.theta[i] else DEGREE + 1)
        if crossings == 1 or width <= _PART:
            if has_zero(c, h, i, low, high, step):
                return
            crossings = 0
        if crossings == 0:
            low = high
            width = width * 2.0
        else:
            width = width * 0.5


def has_zero(c: StepTable, h: float, i: int, low: float, high: float, step: Fixed) -> bool:
    """Search for a zero of guard i in a part of the step where it rises through zero at most once or is close to a parabola;
    return True if the guard rises through zero."""
    middle = 0.5 * (low + high)
    a, m, b = guard_at(c, h, low, i, step), guard_at(c, h, middle, i, step), guard_at(c, h, high, i, step)
    top, value = middle, m
    if m < 0.0 and b < 0.0:
        bend = 2.0 * m - a - b
        if bend > 0.0:
            top = middle + 0.25 * (high - low) * (b - a) / bend
        if not (bend > 0.0 and top > low and top < high):
            return False
        value = guard_at(c, h, top, i, step)
    if a < 0.0 and value >= 0.0:
        search(c, h, i, low, top, a, value, step)
        return True
    if m < 0.0 and b >= 0.0:
        search(c, h, i, middle, high, m, b, step)
        return True
    return False


def locate(c: StepTable, h: float, step: Fixed) -> float:
    """Find the fraction of the step where the first guard fires, or 2; mark the guards that fire there in `fired`.

    A crossing within the resolution of time after the start counts at the first distinguishable time: guards at the start have
    been evaluated, and errors of the dense output can make a guard that starts at zero cross anywhere in this interval.
    """
    count, g, theta = c.guard_count, c.g, c.theta
    for j in unrolled(range(1, POINTS - 1)):
        step.exact(c, FRACTIONS[j], c.y_dense, step.method)
        step.guard_values(c, c.t + FRACTIONS[j] * h, c.y_dense, g[count * j :])
    earliest, probed = 2.0, False
    for i in range(count):
        theta[i] = 2.0
        for j in unrolled(range(POINTS - 1, 0, -1)):
            left, right = g[count * (j - 1) + i], g[count * j + i]
            if left < 0.0 and right >= 0.0:
                search(c, h, i, FRACTIONS[j - 1], FRACTIONS[j], left, right, step)
        error = 0.0
        if not rises_once(c, i):
            if not probed:
                for j in unrolled(range(len(_PROBES))):
                    step.exact(c, _PROBES[j], c.y_dense, step.method)
                    step.guard_values(c, c.t + _PROBES[j] * h, c.y_dense, c.probes[count * j :])
                probed = True
            error = polynomial_error(c, i)
            first_rise(c, h, i, error, step)
        if error == 0.0:
            highest_crests(c, h, i, step)
        if theta[i] < earliest:
            earliest = theta[i]
            c.first = i
    earliest = larger(earliest, resolution(c, h))
    tolerance = larger(abs(c.t), h) / h * (32.0 * EPSILON)
    for i in range(count):
        c.fired[i] = int(theta[i] <= earliest + tolerance and theta[i] <= 1.0)
    if earliest <= 1.0:
        measure_slope(c, h, earliest, step)
    return earliest


def measure_slope(c: StepTable, h: float, crossing: float, step: Fixed) -> None:
    """Measure the slope of the guard that fires first, so near its zero that it is almost linear; set `jumps` if it jumps."""
    first, reach = c.first, 1e-4
    c.jumps = c.steep[first] == 1 and is_jump(c, h, crossing, step)
    if c.jumps:
        return
    for _ in range(_SLOPE_TRIALS):
        ahead = guard_at(c, h, crossing + reach, first, step)
        behind = guard_at(c, h, crossing - reach, first, step)
        c.slope = (ahead - behind) / (h * (2.0 * reach))
        if abs(ahead + behind) <= 0.5 * (ahead - behind):
            return
        reach = reach * 0.0625


def is_jump(c: StepTable, h: float, crossing: float, step: Fixed) -> bool:
    """Return True if the guard that fires first is discontinuous: the values on both sides of the zero hardly depend on the
    distance from it. At the nearest distances, rounding errors may determine the sign of the guard."""
    reach, first = resolution(c, h) * _JUMP_REACH, c.first
    ahead, behind = guard_at(c, h, crossing + reach, first, step), guard_at(c, h, crossing - reach, first, step)
    jumps = False
    for _ in range(_JUMP_SCALES):
        reach = reach * _JUMP_SCALE
        beyond, before = guard_at(c, h, crossing + reach, first, step), guard_at(c, h, crossing - reach, first, step)
        height = (beyond - before) * _JUMP_RATIO
        if height > 0.0 and abs(beyond - ahead) <= height and abs(before - behind) <= height:
            jumps = True
        ahead, behind = beyond, before
    return jumps
