"""`Courses.is_bounce` in machine code: a transition and a state in; whether its reset turns the rate of its guard round, out."""

from __future__ import annotations

from bondgraph.emit.procedure import Procedure, Temporary
from bondgraph.run.idioms import clock_time, larger, size_of
from bondgraph.run.instants.fields import flag, record_of, truth
from bondgraph.run.switching.course import LATEST, TRIALS, TURNED

UNKNOWN = -1
"""Of an answer that only Python can give."""


def procedures() -> list[Procedure]:
    """All of them, those that are called before those that call."""
    return [_rise(), _turns_round(), _is_bounce()]


def _rise() -> Procedure:
    """How much guard i grows along the motion from (t, y), in the longest look ahead."""
    write = Procedure("rise", {"s": "ptr", "t": "double", "y": "ptr", "i": "i64"}, "double", internal=True)
    record, s, t, y = record_of(write), write["s"], write["t"], write["y"]
    p, speed, now, soon = (record.get(name) for name in ("p", "tried_speed", "tried_now", "tried_soon"))
    write.call("rates_at", [s, t, y, p, speed])
    write.call("ahead", [s, t, y, p, LATEST * record.get("span"), speed, record.get("tried_ahead"), soon])
    write.call("guards_at", [s, t, y, p, now])
    write.give(soon[write["i"]] - now[write["i"]])
    return write


def _turns_round() -> Procedure:
    """`Courses._turns_round` of transition i at (t, x) in the modes m_here, tried at states around x."""
    write = Procedure("turns_round", {"s": "ptr", "t": "double", "x": "ptr", "i": "i64"}, "i64", internal=True)
    record, s, t, x, i = (record_of(write), *(write[name] for name in ("s", "t", "x", "i")))
    n, size, y, after = (record.get(name) for name in ("n", "tried_size", "tried", "tried_after"))
    speed, kernel = record.get("tried_speed"), record.get("resets").load(i, "ptr")
    write.call("rates_at", [s, t, x, record.get("p"), speed])
    with write.loop(n) as k:
        known = larger(write, record.get("sizes")[k], size_of(write, x[k]))
        most = larger(write, known, size_of(write, speed[k]) * record.get("span"))
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
            for rise, place in ((before, y), (past, after)):
                own = write.call("rise", [s, t, place, i], "double")
                rise.set(own if side > 0.0 else rise.get() - own)
        along = write.select(before.get() > 0.0, past.get(), -1.0 * past.get())
        round_ = ~before.get().equals(0.0) & (along < TURNED * size_of(write, before.get()))
        turned.set(turned.get() + truth(write, round_))
    write.give(truth(write, turned.get() > TRIALS // 2))
    return write


def _is_bounce() -> Procedure:
    """`Courses.is_bounce`: 1 or 0, `UNKNOWN` where its kernels are not there yet."""
    write = Procedure("is_bounce", {"s": "ptr", "t": "double", "x": "ptr", "i": "i64"}, "i64", internal=True)
    record, i = record_of(write), write["i"]
    bounces: Temporary = record.get("bounces")
    with write.when(bounces.load(i, "i64").equals(UNKNOWN)), write.when(flag(record.get("ready"), i)):
        at = [write["s"], write["t"], write["x"], i]
        bounces.store(i, write.call("turns_round", at, "i64"), "i64")
    write.give(bounces.load(i, "i64"))
    return write
