"""Zero crossings (zero-crossing) of guards within a step: which guard rises to zero first, and where (event location).

Between the fractions at which guards are evaluated, a guard that changes from rising to falling has a crest. The crest is
searched, however narrow, until an upper bound on it (by chords, where the guard is concave) lies below zero. So bodies that graze
for a moment in a long step are seen. Two crests between two neighbouring fractions are not told apart.

A guard that jumps over zero (a sign, a comparison) has no slope: `steppers.driver` then locates the jump without one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bondgraph.emit.procedure import Operand, Procedure, Record, Temporary

EPSILON = 2.220446049250313e-16
EDGE = 2.0**-30
FRACTIONS = (0.0, EDGE, 0.25, 0.5, 0.75, 1.0 - EDGE, 1.0)
"""Fractions of a step at which guards are evaluated: those next to its ends tell whether the guards rise or fall there."""
POINTS = len(FRACTIONS)
_GOLDEN = 0.3819660112501051
_SEARCHES, _NARROWEST = 60, 1e-13
_STRAIGHT, _SURE = 8, 2
_STEEP = 1024.0
"""A guard this much steeper at its zero than on average may jump there."""
_JUMP_RATIO, _JUMP_REACH, _JUMP_SCALE = 0.25, 8.0, 64.0
"""A jump keeps its height to this ratio, in reaches from the first (in time resolutions) to the square of the scale times it."""
_FLAT = 2.0**-20
"""Part of a bracket before an exact zero in which a guard that jumped to zero is zero too."""


@dataclass(frozen=True)
class StepAccess:
    """Access to the dense output of an integrator's step, behind a pointer c to `fields`.

    `exact` and, if there is a cheaper approximation, `cubic` are procedures (c, fraction, [h,] out): the state at a fraction of
    the step of length h from time "t".
    Fields: guard_count; g, `POINTS` times the guards; g_dense, theta, fired, steep, one each; y_dense, a state; first, slope,
    jumps. The procedure guard_values (c, t, state, g) evaluates the guards.
    """

    fields: Mapping[str, tuple[int, str]]
    exact: str
    cubic: str = ""

    def record(self, write: Procedure) -> Record:
        return Record(write["c"], self.fields)

    def state(self, write: Procedure, theta: Temporary, h: Temporary, exact: bool) -> Temporary:
        """Evaluate the state at a fraction of the step, in y_dense."""
        out = self.record(write).get("y_dense")
        write.call(self.exact if exact else self.cubic, [write["c"], theta, out] if exact else [write["c"], theta, h, out])
        return out


def update_levels(write: Procedure, record: Record, now: Temporary, levels: Temporary) -> None:
    """Make the guards `now` (minus their levels) those of the next step; drop the level of a guard that has been as far below
    zero as its level is off it."""
    with write.loop(record.get("guard_count")) as i:
        below = now[i] + (levels[i] + write.intrinsic("fabs", levels[i])) < 0.0
        record.get("g")[i] = write.select(below, now[i] + levels[i], now[i])
        levels[i] = write.select(below, 0.0, levels[i])


def crossing_check(access: StepAccess) -> Procedure:
    """Return 1 if a guard may cross zero within the step, by the cubic: at one of the fractions, or at a crest, with a margin of
    a quarter of its height above its neighbours. Fill g at all fractions; those of the first are there already."""
    write = Procedure("crossing_check", {"c": "ptr", "h": "double", "t_new": "double"}, "i64", internal=True)
    record = access.record(write)
    count, g = record.get("guard_count"), record.get("g")
    _look(access, write, exact=False)
    write.call("guard_values", [write["c"], write["t_new"], record.get("y_new"), g.at(count * (POINTS - 1))])
    with write.loop(count) as i:
        for j in range(1, POINTS):
            with write.when((g[count * (j - 1) + i] < 0.0) & (g[count * j + i] >= 0.0)):
                write.give(1)
        for j in range(1, POINTS - 1):
            left, middle, right = (g[count * (j + s) + i] for s in (-1, 0, 1))
            with write.when(_is_crest(write, left, middle, right)):
                margin = (middle - write.intrinsic("minnum", left, right)) * 0.25
                with write.when(_top(write, i, j, (left, middle, right), -1.0 * margin, 0) <= 1.0):
                    write.give(1)
    write.give(0)
    return write


def _look(access: StepAccess, write: Procedure, exact: bool) -> None:
    """Evaluate the guards at all interior fractions of the step."""
    record, h = access.record(write), write["h"]
    for j in range(1, POINTS - 1):
        fraction = write.value(FRACTIONS[j], "double")
        inner = access.state(write, fraction, h, exact)
        there = record.get("g").at(record.get("guard_count") * j)
        write.call("guard_values", [write["c"], record.get("t") + fraction * h, inner, there])


def _is_crest(write: Procedure, left: Temporary, middle: Temporary, right: Temporary) -> Temporary:
    """Return 1 if a guard is highest at the middle of three fractions and below zero there, beyond its rounding."""
    rise = middle - write.intrinsic("minnum", left, right)
    return (middle < 0.0) & (middle >= left) & (middle >= right) & (rise > middle * (-8.0 * EPSILON))


def _top(
    write: Procedure, i: Temporary, j: int, values: tuple[Temporary, Temporary, Temporary], goal: Temporary | float, exact: int
) -> Temporary:
    """Call `crest` of guard i around fraction j."""
    fractions = [write.value(fraction, "double") for fraction in FRACTIONS[j - 1 : j + 2]]
    arguments = [*fractions, *values, write.value(goal, "double"), write.value(exact, "i64")]
    return write.call("crest", [write["c"], write["h"], i, *arguments], "double")


def _guard_at(access: StepAccess, write: Procedure, h: Temporary, theta: Temporary, i: Temporary) -> Temporary:
    """Evaluate guard i at a fraction of the step, by the exact output."""
    access.state(write, theta, h, exact=True)
    return _guard_there(access, write, h, theta, i)


def _guard_there(access: StepAccess, write: Procedure, h: Temporary, theta: Temporary, i: Temporary) -> Temporary:
    record = access.record(write)
    y, g = record.get("y_dense"), record.get("g_dense")
    write.call("guard_values", [write["c"], record.get("t") + theta * h, y, g])
    return g[i]


def crest(access: StepAccess) -> Procedure:
    """Find a fraction of the step, between low and high, at which guard i is at least `goal`; 2 if there is none.

    The guard is highest at `middle` of the three. The search alternates parabolas and golden sections (Brent), by the dense
    output if `exact`, else by the cubic. Chords bound the crest where the guard is concave, as shown by probes on both sides of
    the middle, or by parabolas that predict it.
    """
    arguments = {"c": "ptr", "h": "double", "i": "i64"}
    arguments |= dict.fromkeys(("low", "middle", "high", "at_low", "at_middle", "at_high", "goal"), "double")
    write = Procedure("crest", {**arguments, "exact": "i64"}, "double", internal=True)
    h, goal = write["h"], write["goal"]
    a, m, b = (write.local(write[name]) for name in ("low", "middle", "high"))
    fa, fm, fb = (write.local(write[f"at_{name}"]) for name in ("low", "middle", "high"))
    parabola, foretold = write.local(1, "i64"), write.local(0, "i64")
    sure_left, sure_right = write.local(0, "i64"), write.local(0, "i64")
    with write.loop(_SEARCHES):
        left, right, width = m.get() - a.get(), b.get() - m.get(), b.get() - a.get()
        rise, fall = (fm.get() - fa.get()) / left, (fb.get() - fm.get()) / right
        bend = (fall - rise) / width
        vertex = m.get() - (rise * right + fall * left) / (2.0 * bend * width)
        reach = width * 1e-2
        inside = (vertex > a.get() + reach) & (vertex < b.get() - reach) & (bend < 0.0) & parabola.get().equals(1)
        apart = write.intrinsic("fabs", vertex - m.get()) > width * 1e-3
        undecided = sure_left.get().equals(sure_right.get())
        to_right = (undecided & (right > left)) | (~undecided & sure_left.get().equals(1))
        golden = write.select(to_right, m.get() + _GOLDEN * right, m.get() - _GOLDEN * left)
        u = write.select(inside & apart, vertex, golden)
        parabola.set(1 - parabola.get())
        with write.when(write["exact"].equals(1)):
            access.state(write, u, h, exact=True)
        if access.cubic:
            with write.when(write["exact"].equals(0)):
                access.state(write, u, h, exact=False)
        value = _guard_there(access, write, h, u, write["i"])
        with write.when(value >= goal):
            write.give(u)
        step = u - m.get()
        drop = fm.get() - write.intrinsic("minnum", fa.get(), fb.get())
        foreseen = fm.get() + step * ((rise * right + fall * left) / width + bend * step)
        smooth = write.intrinsic("fabs", value - foreseen) <= drop * 0.05
        later = u > m.get()
        second, third = write.select(later, m.get(), u), write.select(later, u, m.get())
        at_second, at_third = write.select(later, fm.get(), value), write.select(later, value, fm.get())
        slopes = (
            (at_second - fa.get()) / (second - a.get()),
            (at_third - at_second) / (third - second),
            (fb.get() - at_third) / (b.get() - third),
        )
        concave = (slopes[0] >= slopes[1]) & (slopes[1] >= slopes[2])
        higher = value > fm.get()
        foretold.set(write.select(smooth, foretold.get() + 1, 0, "i64"))
        with write.when(later):
            sure_right.set(write.select(concave, 1, 0, "i64"))
        with write.when(~later):
            sure_left.set(write.select(concave, 1, 0, "i64"))
        with write.when(higher):
            sure_left.set(0)
            sure_right.set(0)
        # drop the part beyond the lower one of the two inner points
        keep_left = write.select(later, 0, 1, "i64").equals(write.select(higher, 1, 0, "i64"))
        with write.when(keep_left):
            b.set(third)
            fb.set(at_third)
            m.set(second)
            fm.set(at_second)
        with write.when(~keep_left):
            a.set(second)
            fa.set(at_second)
            m.set(third)
            fm.set(at_third)
        left, right = m.get() - a.get(), b.get() - m.get()
        beyond = fm.get() + (fm.get() - fa.get()) / left * right
        before = fm.get() + (fm.get() - fb.get()) / right * left
        bounded = write.intrinsic("maxnum", beyond, before) < goal
        sure = (sure_left.get() + sure_right.get() >= 2) | (foretold.get() >= _SURE)
        flat = fm.get() - write.intrinsic("minnum", fa.get(), fb.get()) <= fm.get() * (-4.0 * EPSILON)
        with write.when((sure & bounded) | flat | (b.get() - a.get() < _NARROWEST)):
            write.give(2.0)
    write.give(2.0)
    return write


def root(access: StepAccess) -> Procedure:
    """Find the zero crossing of guard i between fractions low (guard negative) and high (not negative).

    Illinois method, which converges in about ten steps; after twenty (for a guard that leaves zero without a slope), bisection.
    Note in `steep` whether the guard may jump there.
    """
    arguments = {"c": "ptr", "h": "double", "i": "i64"}
    arguments |= dict.fromkeys(("low", "high", "at_low", "at_high"), "double")
    write = Procedure("root", arguments, "double", internal=True)
    record, h = access.record(write), write["h"]
    low, high = write.local(write["low"]), write.local(write["high"])
    below, above = write.local(write["at_low"]), write.local(write["at_high"])
    side, flat = write.local(0, "i64"), write.local(0, "i64")
    true_below, true_above = write.local(write["at_low"]), write.local(write["at_high"])
    tolerance = _resolution(write, record, h)
    mean_slope = (write["at_high"] - write["at_low"]) / (write["high"] - write["low"])
    record.get("steep").store(write["i"], 0, "i64")
    with write.loop(80) as k:
        a, b, fa, fb = low.get(), high.get(), below.get(), above.get()
        with write.when(b - a <= tolerance):
            is_steep = true_above.get() - true_below.get() > mean_slope * (b - a) * _STEEP
            record.get("steep").store(write["i"], write.select(is_steep, 1, 0, "i64"), "i64")
            write.give(b)
        with write.when(fb.equals(0.0) & flat.get().equals(0)):
            before = _guard_at(access, write, h, b - (b - a) * _FLAT, write["i"])
            with write.when(~before.equals(0.0)):
                write.give(b)
            flat.set(1)
        secant = a + (b - a) * (fa / (fa - fb))
        inside = (secant > a) & (secant < b) & (k < 20)
        theta = write.select(inside, secant, 0.5 * (a + b))
        value = _guard_at(access, write, h, theta, write["i"])
        rising = value >= 0.0
        was = side.get()
        # The end that stays twice gets half the weight, so that both ends move.
        with write.when(rising):
            high.set(theta)
            above.set(value)
            true_above.set(value)
            with write.when(was.equals(1)):
                below.set(fa * 0.5)
            side.set(1)
        with write.when(~rising):
            low.set(theta)
            below.set(value)
            true_below.set(value)
            with write.when(was.equals(-1)):
                above.set(fb * 0.5)
            side.set(-1)
    write.give(high.get())
    return write


def _resolution(write: Procedure, record: Record, h: Temporary) -> Temporary:
    """Return the smallest distinguishable fraction of the step."""
    size = write.intrinsic("maxnum", write.intrinsic("fabs", record.get("t")), h)
    return write.intrinsic("maxnum", size / h * EPSILON, EPSILON)


def locate(access: StepAccess) -> Procedure:
    """Find the fraction of the step where the first guard fires, 2 if none does; mark the guards that fire there in `fired`."""
    write = Procedure("locate", {"c": "ptr", "h": "double"}, "double", internal=True)
    record, h = access.record(write), write["h"]
    count, g, theta, fired = (record.get(name) for name in ("guard_count", "g", "theta", "fired"))
    _look(access, write, exact=True)
    earliest = write.local(2.0)

    def search(i: Temporary, low: Operand, high: Operand, at_low: Temporary, at_high: Temporary) -> None:
        ends = [write.value(low, "double"), write.value(high, "double")]
        was_steep = record.get("steep").load(i, "i64")
        crossing = write.call("root", [write["c"], h, i, *ends, at_low, at_high], "double")
        with write.when(crossing >= theta[i]):
            record.get("steep").store(i, was_steep, "i64")
        theta[i] = write.intrinsic("minnum", theta[i], crossing)

    with write.loop(count) as i:
        theta[i] = 2.0
        for j in range(POINTS - 1, 0, -1):
            left, right = g[count * (j - 1) + i], g[count * j + i]
            with write.when((left < 0.0) & (right >= 0.0)):
                search(i, FRACTIONS[j - 1], FRACTIONS[j], left, right)
        for j in range(1, POINTS - 1):
            left, middle, right = (g[count * (j + s) + i] for s in (-1, 0, 1))
            with write.when(_is_crest(write, left, middle, right) & (theta[i] > FRACTIONS[j - 1])):
                top = _top(write, i, j, (left, middle, right), 0.0, 1)
                with write.when(top <= 1.0):
                    after = top > FRACTIONS[j]
                    value = _guard_at(access, write, h, top, i)
                    start, at_start = write.select(after, FRACTIONS[j], FRACTIONS[j - 1]), write.select(after, middle, left)
                    search(i, start, top, at_start, value)
        with write.when(theta[i] < earliest.get()):
            earliest.set(theta[i])
            record.set("first", i)
    earliest_crossing = earliest.get()
    tolerance = write.intrinsic("maxnum", write.intrinsic("fabs", record.get("t")), h) / h * (32.0 * EPSILON)
    with write.loop(count) as i:
        here = (theta[i] <= earliest_crossing + tolerance) & (theta[i] <= 1.0)
        fired.store(i, write.select(here, 1, 0, "i64"), "i64")
    with write.when(earliest_crossing <= 1.0):
        _measure_slope(access, write, h, earliest_crossing)
    write.give(earliest_crossing)
    return write


def _measure_slope(access: StepAccess, write: Procedure, h: Temporary, crossing: Temporary) -> None:
    """Measure the slope of the guard that fires first, so near its zero that it is straight; or note in `jumps` that it jumps."""
    record, reach = access.record(write), write.local(1e-4)
    first = record.get("first")
    record.set("jumps", 0)
    with write.when(record.get("steep").load(first, "i64").equals(1)):
        record.set("jumps", write.select(_is_jump(access, write, h, crossing), 1, 0, "i64"))
    with write.when(record.get("jumps").equals(1)):
        write.give(crossing)
    with write.loop(_STRAIGHT):
        ahead = _guard_at(access, write, h, crossing + reach.get(), first)
        behind = _guard_at(access, write, h, crossing - reach.get(), first)
        record.set("slope", (ahead - behind) / (h * (2.0 * reach.get())))
        straight = write.intrinsic("fabs", ahead + behind) <= 0.5 * (ahead - behind)
        with write.when(straight):
            write.give(crossing)
        reach.set(reach.get() * 0.0625)


def _is_jump(access: StepAccess, write: Procedure, h: Temporary, crossing: Temporary) -> Temporary:
    """Return 1 if the guard that fires first keeps its values on both sides of its zero, however near or far: a jump."""
    record = access.record(write)
    reach = _resolution(write, record, h) * _JUMP_REACH
    reaches = (reach, reach * _JUMP_SCALE, reach * _JUMP_SCALE**2)
    ahead, behind = (
        [_guard_at(access, write, h, crossing + side * reach, record.get("first")) for reach in reaches] for side in (1.0, -1.0)
    )
    height = (ahead[0] - behind[0]) * _JUMP_RATIO
    jumps = height > 0.0
    for values in (ahead, behind):
        for value in values[1:]:
            jumps = jumps & (write.intrinsic("fabs", value - values[0]) <= height)
    return jumps
