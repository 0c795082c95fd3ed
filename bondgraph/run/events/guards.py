"""Event detection in machine code: which guards fire at an instant, by `guard_history.GuardHistory`.

The operations and their order are those of the Python reference, so that both give the same bits. Work that does not change the
result is left out: a look ahead ends when no guard is open.
"""

from __future__ import annotations

from bondgraph.emit.procedure import Local, Procedure, Temporary
from bondgraph.run.codegen_helpers import clock_time, is_finite, larger, magnitude
from bondgraph.run.events.guard_history import (
    LOOK_AHEAD_RATIO,
    MARGIN,
    MAX_LOOK_AHEAD,
    MIN_LOOK_AHEAD,
    PAIRS,
    PERTURBATION,
    REVERSAL_RATIO,
    TRIALS,
)
from bondgraph.run.events.state import active, flag, record_of, truth

UNKNOWN = -1
"""Result that only Python can give."""


def reversal_procedures() -> list[Procedure]:
    """Return the procedures that test for bounces, callees first."""
    return [_rise(), _turns_round(), _is_bounce()]


def _rise() -> Procedure:
    """Return the growth of guard i along the motion from (t, y), in the longest look ahead."""
    write = Procedure("rise", {"s": "ptr", "t": "double", "y": "ptr", "i": "i64"}, "double", internal=True)
    record, s, t, y = record_of(write), write["s"], write["t"], write["y"]
    p, speed, now, soon = (record.get(name) for name in ("p", "tried_speed", "tried_now", "tried_soon"))
    write.call("rates_at", [s, t, y, p, speed])
    write.call("ahead", [s, t, y, p, MAX_LOOK_AHEAD * record.get("span"), speed, record.get("tried_ahead"), soon])
    write.call("guards_at", [s, t, y, p, now])
    write.give(soon[write["i"]] - now[write["i"]])
    return write


def _turns_round() -> Procedure:
    """Machine code of `GuardHistory._turns_round` of transition i at (t, x) in the modes m_here, tried at states around x."""
    write = Procedure("turns_round", {"s": "ptr", "t": "double", "x": "ptr", "i": "i64"}, "i64", internal=True)
    record, s, t, x, i = (record_of(write), *(write[name] for name in ("s", "t", "x", "i")))
    n, size, y, after = (record.get(name) for name in ("n", "tried_size", "tried", "tried_after"))
    speed, kernel = record.get("tried_speed"), record.get("resets").load(i, "ptr")
    write.call("rates_at", [s, t, x, record.get("p"), speed])
    with write.loop(n) as k:
        size_so_far = larger(write, record.get("sizes")[k], magnitude(write, x[k]))
        most = larger(write, size_so_far, magnitude(write, speed[k]) * record.get("span"))
        size[k] = write.select(most > 0.0, most, 1.0)
    turned = write.local(0, "i64")
    with write.loop(TRIALS) as trial:
        before, past = write.local(0.0), write.local(0.0)
        for side in (1.0, -1.0):
            with write.loop(n) as k:
                y[k] = x[k] + side * (record.get("trials")[n * trial + k] * size[k])
                after[k] = y[k]
            with write.when(kernel.is_given()):
                at = [clock_time(write, record, t), y, record.get("p"), record.get("m_here")]
                write.call(kernel, [*at, after])
            for rise, state in ((before, y), (past, after)):
                growth = write.call("rise", [s, t, state, i], "double")
                rise.set(growth if side > 0.0 else rise.get() - growth)
        along = write.select(before.get() > 0.0, past.get(), -1.0 * past.get())
        round_ = ~before.get().equals(0.0) & (along < REVERSAL_RATIO * magnitude(write, before.get()))
        turned.set(turned.get() + truth(write, round_))
    write.give(truth(write, turned.get() > TRIALS // 2))
    return write


def _is_bounce() -> Procedure:
    """Machine code of `GuardHistory.is_bounce`: 1 or 0, or `UNKNOWN` if its kernels are not compiled yet."""
    write = Procedure("is_bounce", {"s": "ptr", "t": "double", "x": "ptr", "i": "i64"}, "i64", internal=True)
    record, i = record_of(write), write["i"]
    bounces: Temporary = record.get("bounces")
    with write.when(bounces.load(i, "i64").equals(UNKNOWN)), write.when(flag(record.get("ready"), i)):
        at = [write["s"], write["t"], write["x"], i]
        bounces.store(i, write.call("turns_round", at, "i64"), "i64")
    write.give(bounces.load(i, "i64"))
    return write


_POINTS = 2 * PAIRS
_AT = {"s": "ptr", "t": "double", "x": "ptr"}


def procedures() -> list[Procedure]:
    """Return all procedures, callees first."""
    parts = [_kernel("rates_at", "rates"), _kernel("guards_at", "guards"), _instant(), _spread(), _noise(), _zero(), _ahead()]
    return [*parts, *reversal_procedures(), _starts_near(), _noise_ahead(), _growing(), _firing_guards()]


def _kernel(name: str, kernel: str) -> Procedure:
    """Evaluate rates or guards at (t, x) with parameters p, in the modes m_here."""
    write = Procedure(name, {**_AT, "p": "ptr", "out": "ptr"}, internal=True)
    record = record_of(write)
    write.call(
        record.get(kernel), [clock_time(write, record, write["t"]), write["x"], write["p"], record.get("m_here"), write["out"]]
    )
    write.give()
    return write


def _instant() -> Procedure:
    """Machine code of `GuardHistory._instant`."""
    write = Procedure("instant", {"s": "ptr", "t": "double"}, "double", internal=True)
    record = record_of(write)
    times = magnitude(write, record.get("origin")) + magnitude(write, write["t"])
    write.give(4.0 * PERTURBATION * times + MIN_LOOK_AHEAD * record.get("span"))
    return write


def _spread() -> Procedure:
    """Machine code of `guard_history.rounding_error` of values (k,), which are `near` at the points; 0 for inactive guards, which
    are equal there."""
    write = Procedure("spread", {"s": "ptr", "value": "ptr", "near": "ptr", "out": "ptr"}, internal=True)
    count, near = record_of(write).get("transitions"), write["near"]
    with write.loop(count) as i:
        write["out"][i] = 0.0
    with write.loop(count) as i, write.when(active(write, i)):
        value, top = write["value"][i], write.local(0.0)
        for k in range(PAIRS):
            sides = (magnitude(write, near[count * j + i] - value) for j in (k, k + PAIRS))
            off = write.intrinsic("minnum", *sides)
            top.set(off if k == 0 else larger(write, top.get(), off))
        write["out"][i] = MARGIN * top.get()
    write.give()
    return write


def _noise() -> Procedure:
    """Machine code of `GuardHistory._noise`, for states of `sizes` and guards `now`."""
    write = Procedure("noise", {**_AT, "sizes": "ptr", "now": "ptr", "out": "ptr"}, internal=True)
    record, s, t, x = record_of(write), write["s"], write["t"], write["x"]
    n, y = record.get("n"), record.get("x_near")
    reach = magnitude(write, record.get("origin")) + magnitude(write, t)
    with write.loop(_POINTS) as k:
        with write.loop(n) as i:
            y[i] = x[i] + record.get("by_x")[n * k + i] * write["sizes"][i]
        near_p, near = record.get("p_near").at(record.get("parameters") * k), record.get("near").at(record.get("transitions") * k)
        write.call("guards_at", [s, t + reach * record.get("later")[k], y, near_p, near])
    write.call("spread", [s, write["now"], record.get("near"), write["out"]])
    write.give()
    return write


def _zero() -> Procedure:
    """Machine code of `GuardHistory.zero`, for guards `now`."""
    write = Procedure("zero_of", {**_AT, "now": "ptr", "out": "ptr"}, internal=True)
    record, sizes = record_of(write), record_of(write).get("x_ahead")
    with write.loop(record.get("n")) as i:
        sizes[i] = larger(write, record.get("sizes")[i], magnitude(write, write["x"][i]))
    write.call("noise", [write["s"], write["t"], write["x"], sizes, write["now"], write["out"]])
    write.give()
    return write


def _ahead() -> Procedure:
    """Machine code of `GuardHistory._states` h later, into y, with rates `speed`; write the guards there to `out`."""
    arguments = {**_AT, "p": "ptr", "h": "double", "speed": "ptr", "y": "ptr", "out": "ptr"}
    write = Procedure("ahead", arguments, internal=True)
    record, s, x, p, h, y = record_of(write), write["s"], write["x"], write["p"], write["h"], write["y"]
    n, speed, later, time = record.get("n"), write["speed"], record.get("speed_later"), write["t"] + write["h"]
    with write.loop(n) as i:
        y[i] = x[i] + h * speed[i]
    write.call("rates_at", [s, time, y, p, later])
    with write.loop(n) as i:
        y[i] = x[i] + 0.5 * h * (speed[i] + later[i])
    write.call("guards_at", [s, time, y, p, write["out"]])
    write.give()
    return write


def _starts_near() -> Procedure:
    """Evaluate guards `near_now` and rates `speed_near` at the points around x, from which `noise_ahead` starts."""
    write = Procedure("starts_near", _AT, internal=True)
    record, s, t = record_of(write), write["s"], write["t"]
    n, k_count = record.get("n"), record.get("transitions")
    with write.loop(_POINTS) as k:
        y, p = _near(write, k)
        write.call("guards_at", [s, t, y, p, record.get("near_now").at(k_count * k)])
        write.call("rates_at", [s, t, y, p, record.get("speed_near").at(n * k)])
    write.give()
    return write


def _near(write: Procedure, k: Temporary) -> tuple[Temporary, Temporary]:
    """Return state and parameters at a point around x."""
    record, n, y = record_of(write), record_of(write).get("n"), record_of(write).get("x_near")
    with write.loop(n) as i:
        y[i] = write["x"][i] * (record.get("by_x")[n * k + i] + 1.0)
    return y, record.get("p_near").at(record.get("parameters") * k)


def _noise_ahead() -> Procedure:
    """Machine code of `GuardHistory._noise_ahead` of changes within h, after `starts_near`."""
    write = Procedure("noise_ahead", {**_AT, "h": "double", "change": "ptr", "out": "ptr"}, internal=True)
    record, s, t, h = record_of(write), write["s"], write["t"], write["h"]
    n, count, near = record.get("n"), record.get("transitions"), record.get("near")
    with write.loop(_POINTS) as k:
        y, p = _near(write, k)
        guards_near = near.at(count * k)
        write.call("ahead", [s, t, y, p, h, record.get("speed_near").at(n * k), record.get("x_ahead"), guards_near])
        with write.loop(count) as i:
            guards_near[i] = guards_near[i] - record.get("near_now")[count * k + i]
    write.call("spread", [s, write["change"], near, write["out"]])
    write.give()
    return write


def _growing() -> Procedure:
    """Machine code of `GuardHistory._growing`: among the candidates in `asked`, which are `now` at (t, x) with rates `speed`,
    mark those that grow in `rising`."""
    write = Procedure("growing", {**_AT, "speed": "ptr"}, internal=True)
    record, s, t, x = record_of(write), write["s"], write["t"], write["x"]
    count, now, change, least = (record.get(name) for name in ("transitions", "now", "change", "least"))
    open_, rising, still, y = (record.get(name) for name in ("open", "rising", "still", "x_shift"))
    remaining = write.local(0, "i64")
    with write.loop(count) as i:
        is_asked = record.get("asked").load(i, "i64")
        open_.store(i, is_asked, "i64")
        remaining.set(remaining.get() + is_asked)
    with write.when(remaining.get().equals(0)):
        write.give()
    step = write.local(larger(write, MIN_LOOK_AHEAD * record.get("span"), write.call("instant", [s, t], "double")))
    latest, started, measured = MAX_LOOK_AHEAD * record.get("span"), write.local(0, "i64"), write.local(0, "i64")
    first = write.local(1, "i64")
    with write.repeat() as (_, done):
        h = step.get()
        write.call("ahead", [s, t, x, record.get("p"), h, write["speed"], y, change])
        moved, differs = write.local(0, "i64"), write.local(0, "i64")
        with write.loop(count) as i:
            change[i] = change[i] - now[i]
            least[i] = 0.0
            with write.when(flag(open_, i) & ~change[i].equals(0.0)):
                differs.set(1)
        with write.when(first.get().equals(1)):
            _drop_constant(write, measured)
            first.set(0)
        with write.when(differs.get().equals(1)):
            _measure_noise(write, measured)
            with write.loop(count) as i:
                least[i] = still[i]
                with write.when(flag(open_, i) & ~(magnitude(write, change[i]) <= still[i])):
                    moved.set(1)
        with write.when(moved.get().equals(1)):
            with write.when(started.get().equals(0)):
                write.call("starts_near", [s, t, x])
                started.set(1)
            write.call("noise_ahead", [s, t, x, h, change, least])
            with write.loop(count) as i:
                more = still[i] + least[i]
                least[i] = write.select(magnitude(write, change[i]) <= still[i], still[i], more)
            _mark_rises(write, h)
        remaining.set(0)
        with write.loop(count) as i, write.when(flag(open_, i)):
            bounces = flag(record.get("bounce"), i) & (now[i] + change[i] >= 0.0)
            stays = ~flag(rising, i) & is_finite(change[i]) & ((change[i] >= -1.0 * least[i]) | bounces)
            open_.store(i, truth(write, stays), "i64")
            remaining.set(remaining.get() + open_.load(i, "i64"))
        step.set(h * LOOK_AHEAD_RATIO)
        with write.when(remaining.get().equals(0) | ~(step.get() <= latest)):
            write.jump(done)
    write.give()
    return write


def _measure_noise(write: Procedure, measured: Local) -> None:
    """Fill `still` with the rounding errors of the guards, once; they are not needed while no guard changes."""
    record, sizes = record_of(write), record_of(write).get("x_ahead")
    with write.when(measured.get().equals(0)):
        with write.loop(record.get("n")) as i:
            sizes[i] = magnitude(write, write["x"][i])
        write.call("noise", [write["s"], write["t"], write["x"], sizes, record.get("now"), record.get("still")])
        measured.set(1)


def _drop_constant(write: Procedure, measured: Local) -> None:
    """Close the open guards that neither move in the first look ahead nor have a rounding error."""
    record, unmoved = record_of(write), write.local(0, "i64")
    count, open_, change = record.get("transitions"), record.get("open"), record.get("change")
    with write.loop(count) as i, write.when(flag(open_, i) & change[i].equals(0.0)):
        unmoved.set(1)
    with write.when(unmoved.get().equals(1)):
        _measure_noise(write, measured)
        with write.loop(count) as i, write.when(change[i].equals(0.0) & record.get("still")[i].equals(0.0)):
            open_.store(i, 0, "i64")


def _mark_rises(write: Procedure, h: Temporary) -> None:
    """Mark the open guards that have risen by more than their rounding errors now and after the growth."""
    record = record_of(write)
    count, y = record.get("transitions"), record.get("x_shift")
    change, least, open_, rising = (record.get(name) for name in ("change", "least", "open", "rising"))
    rises = write.local(0, "i64")
    with write.loop(count) as i, write.when(flag(open_, i) & (change[i] > least[i])):
        rises.set(1)
    with write.when(rises.get().equals(1)):
        there, sizes, noise = (record.get(name) for name in ("soon", "x_ahead", "was"))
        with write.loop(count) as i:
            there[i] = record.get("now")[i] + change[i]
        with write.loop(record.get("n")) as i:
            sizes[i] = magnitude(write, y[i])
        write.call("noise", [write["s"], write["t"] + h, y, sizes, there, noise])
        with write.loop(count) as i, write.when(flag(open_, i) & (change[i] > least[i]) & (change[i] > noise[i])):
            rising.store(i, 1, "i64")


def _firing_guards() -> Procedure:
    """Machine code of `GuardHistory.firing_guards` at (t, x) in the modes m_here, into `rising`; return `UNKNOWN` if only Python
    can tell a bounce, else 0."""
    write = Procedure("firing_guards", {**_AT, "probe": "double"}, "i64", internal=True)
    record, s, t, x = record_of(write), write["s"], write["t"], write["x"]
    n, count, p, here = (record.get(name) for name in ("n", "transitions", "p", "x_shift"))
    was, now, zero, soon, speed = (record.get(name) for name in ("was", "now", "zero", "soon", "speed"))
    firm, asked, bounce, rising = (record.get(name) for name in ("firm", "asked", "bounce", "rising"))
    shift = write.call("instant", [s, t], "double")
    start = t + shift
    write.call("guards_at", [s, t, x, p, was])
    write.call("rates_at", [s, start, x, p, speed])
    shifted = record.get("x_shifted")
    with write.loop(n) as i:
        shifted[i] = x[i] + shift * speed[i]
    write.call("guards_at", [s, start, shifted, p, now])
    write.call("zero_of", [s, start, shifted, now, zero])
    unclear = write.local(0, "i64")
    change = record.get("change")
    with write.loop(count) as i:
        change[i] = now[i] - was[i]
        beyond = magnitude(write, now[i]) > zero[i]
        with write.when(active(write, i) & beyond & (magnitude(write, was[i]) <= magnitude(write, change[i]))):
            unclear.set(1)
    with write.when(unclear.get().equals(1)):  # nonzero only by the shift
        write.call("starts_near", [s, t, x])
        write.call("noise_ahead", [s, t, x, shift, change, record.get("least")])
        with write.loop(count) as i:
            zero[i] = zero[i] + record.get("least")[i]
    near, firms, endings = write.local(0, "i64"), write.local(0, "i64"), write.local(0, "i64")
    with write.loop(count) as i:
        in_mode = active(write, i)
        is_near, is_firm = in_mode & (magnitude(write, now[i]) <= zero[i]), in_mode & (now[i] > zero[i])
        ends = in_mode & flag(record.get("last"), i) & (now[i] <= zero[i])
        asked.store(i, truth(write, is_near), "i64")
        firm.store(i, truth(write, is_firm), "i64")
        bounce.store(i, truth(write, ends), "i64")
        near.set(near.get() + asked.load(i, "i64"))
        firms.set(firms.get() + firm.load(i, "i64"))
        endings.set(endings.get() + bounce.load(i, "i64"))
        rising.store(i, 0, "i64")
    with write.when((near.get() + firms.get() + endings.get()).equals(0)):
        write.give(0)
    write.call("rates_at", [s, start, shifted, p, speed])
    with write.when(firms.get() + endings.get() > 0):
        write.call("ahead", [s, start, shifted, p, write["probe"], speed, here, soon])
        answers = write.local(0, "i64")
        with write.loop(count) as i:
            firm.store(i, truth(write, flag(firm, i) & (soon[i] > 0.0)), "i64")
            with write.when(flag(bounce, i) & (soon[i] > 0.0)):
                answers.set(1)
        with write.when(answers.get().equals(1)), write.loop(count) as i:
            plain = active(write, i) & ~flag(record.get("last"), i)
            firm.store(i, truth(write, flag(firm, i) | (plain & (soon[i] > zero[i]))), "i64")
    with write.loop(count) as i:
        matters = flag(asked, i) | flag(firm, i)
        with write.when(matters), write.when(write.call("is_bounce", [s, t, shifted, i], "i64").equals(UNKNOWN)):
            write.give(UNKNOWN)
        is_bounce = matters & flag(record.get("bounces"), i)
        bounce.store(i, truth(write, is_bounce), "i64")
        rising.store(i, truth(write, flag(firm, i) & ~is_bounce), "i64")
        asked.store(i, truth(write, flag(asked, i) | (flag(firm, i) & is_bounce)), "i64")
    write.call("growing", [s, start, shifted, speed])
    write.give(0)
    return write
