"""Guards within a step: does one cross zero upward, which comes first, and where."""

from __future__ import annotations

from bondgraph.run.explicit.fields import POINTS
from bondgraph.run.explicit.steps import clock_time, record_of
from bondgraph.run.procedure import Procedure, Record, Value

_SPACING = 1.0 / (POINTS - 1)
EPSILON = 2.220446049250313e-16


def guards() -> Procedure:
    """Guards less their levels at (t, y) into g."""
    write = Procedure("guard_values", {"c": "ptr", "t": "double", "y": "ptr", "g": "ptr"}, internal=True)
    record = record_of(write)
    t = clock_time(write, record, write["t"])
    write.call(record.get("guards"), [t, write["y"], record.get("p"), record.get("m"), write["g"]])
    record.count("guard_calls")
    with write.loop(record.get("guard_count")) as i:
        write["g"][i] = write["g"][i] - record.get("levels")[i]
    write.give()
    return write


def suspicion() -> Procedure:
    """1 if a guard may rise above zero within the step: by the cubic at three inner points, the end, and parabolas
    through neighbouring points. Fills g[0..4]; g[0] is there already."""
    write = Procedure("suspicion", {"c": "ptr", "h": "double", "t_new": "double"}, "i64", internal=True)
    record = record_of(write)
    count, g, inner = record.get("guard_count"), record.get("g"), record.get("y_dense")
    for j in range(1, POINTS - 1):
        theta = write.value(j * _SPACING, "double")
        write.call("hermite", [write["c"], theta, write["h"], inner])
        write.call("guard_values", [write["c"], record.get("t") + theta * write["h"], inner, g.at(count * j)])
    write.call("guard_values", [write["c"], write["t_new"], record.get("y_new"), g.at(count * (POINTS - 1))])
    with write.loop(count) as i:
        for j in range(1, POINTS):
            with write.when((g[count * (j - 1) + i] < 0.0) & (g[count * j + i] >= 0.0)):
                write.give(1)
        for j in range(1, POINTS - 1):
            left, middle, right = (g[count * (j + s) + i] for s in (-1, 0, 1))
            bend = left - 2.0 * middle + right
            height = middle - (left - right) * (left - right) / (8.0 * bend)
            drop = middle - write.intrinsic("minnum", left, right)
            hump = (middle < 0.0) & (middle >= left) & (middle >= right) & (bend < 0.0)
            with write.when(hump & (height + 0.25 * drop >= 0.0)):
                write.give(1)
    write.give(0)
    return write


def _guard_at(write: Procedure, record: Record, h: Value, theta: Value, i: Value) -> Value:
    """Guard i at a fraction of the step, by the dense output."""
    y, g = record.get("y_dense"), record.get("g_dense")
    write.call("dense", [write["c"], theta, y])
    write.call("guard_values", [write["c"], record.get("t") + theta * h, y, g])
    return g[i]


def root() -> Procedure:
    """Where guard i crosses zero between fractions low (guard negative) and high (not negative).

    Illinois method, which ends in some ten steps; where it has not after twenty (a guard that leaves zero with no slope),
    the rest is bisection.
    """
    arguments = {"c": "ptr", "h": "double", "i": "i64"}
    arguments |= dict.fromkeys(("low", "high", "at_low", "at_high"), "double")
    write = Procedure("root", arguments, "double", internal=True)
    record, h = record_of(write), write["h"]
    low, high = write.local(write["low"]), write.local(write["high"])
    below, above = write.local(write["at_low"]), write.local(write["at_high"])
    side = write.local(0, "i64")
    size = write.intrinsic("maxnum", write.intrinsic("fabs", record.get("t")), h)
    tolerance = write.intrinsic("maxnum", size / h * EPSILON, EPSILON)
    with write.loop(80) as k:
        a, b, fa, fb = low.get(), high.get(), below.get(), above.get()
        with write.when((b - a <= tolerance) | fb.equals(0.0)):
            write.give(b)
        secant = a + (b - a) * (fa / (fa - fb))
        inside = (secant > a) & (secant < b) & (k < 20)
        theta = write.select(inside, secant, 0.5 * (a + b))
        value = _guard_at(write, record, h, theta, write["i"])
        rising = value >= 0.0
        was = side.get()
        # The end that stays twice is weighted half, so that both ends move.
        with write.when(rising):
            high.set(theta)
            above.set(value)
            with write.when(was.equals(1)):
                below.set(fa * 0.5)
            side.set(1)
        with write.when(~rising):
            low.set(theta)
            below.set(value)
            with write.when(was.equals(-1)):
                above.set(fb * 0.5)
            side.set(-1)
    write.give(high.get())
    return write


def locate() -> Procedure:
    """Fraction of the step where the first guard fires, 2 if none does; marks what fires there in `fired`."""
    write = Procedure("locate", {"c": "ptr", "h": "double"}, "double", internal=True)
    record, h = record_of(write), write["h"]
    count, g, theta, fired = (record.get(name) for name in ("guard_count", "g", "theta", "fired"))
    inner = record.get("y_dense")
    write.call("prepare_dense", [write["c"], h])
    for j in range(1, POINTS - 1):
        place = write.value(j * _SPACING, "double")
        write.call("dense", [write["c"], place, inner])
        write.call("guard_values", [write["c"], record.get("t") + place * h, inner, g.at(count * j)])
    earliest = write.local(2.0)

    def search(i: Value, low: float, high: Value, at_low: Value, at_high: Value) -> None:
        start = write.value(low, "double")
        theta[i] = write.call("root", [write["c"], h, i, start, high, at_low, at_high], "double")

    with write.loop(count) as i:
        theta[i] = 2.0
        for j in range(POINTS - 1, 0, -1):
            left, right = g[count * (j - 1) + i], g[count * j + i]
            with write.when((left < 0.0) & (right >= 0.0)):
                search(i, (j - 1) * _SPACING, write.value(j * _SPACING, "double"), left, right)
        for j in range(1, POINTS - 1):
            left, middle, right = (g[count * (j + s) + i] for s in (-1, 0, 1))
            bend = left - 2.0 * middle + right
            hump = (middle >= left) & (middle >= right) & (middle < 0.0) & (bend < 0.0)
            with write.when(hump & (theta[i] > 1.0)):
                top = j * _SPACING + 0.5 * _SPACING * (left - right) / bend
                value = _guard_at(write, record, h, top, i)
                with write.when(value >= 0.0):
                    search(i, (j - 1) * _SPACING, top, left, value)
        with write.when(theta[i] < earliest.get()):
            earliest.set(theta[i])
            record.set("first", i)
    found = earliest.get()
    together = write.intrinsic("maxnum", write.intrinsic("fabs", record.get("t")), h) / h * (32.0 * EPSILON)
    with write.loop(count) as i:
        here = (theta[i] <= found + together) & (theta[i] <= 1.0)
        fired.store(i, write.select(here, 1, 0, "i64"), "i64")
    with write.when(found <= 1.0):
        first, reach = record.get("first"), 1e-4
        ahead = _guard_at(write, record, h, found + reach, first)
        behind = _guard_at(write, record, h, found - reach, first)
        record.set("slope", (ahead - behind) / (h * (2.0 * reach)))
    write.give(found)
    return write
