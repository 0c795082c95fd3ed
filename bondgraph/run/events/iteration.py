"""Event iteration in machine code: states, modes, levels and rows of the log after the guards that fired; unchanged if Python has
to iterate.

The values of the run change only at the end, or are restored, so that Python starts where the segment ended.
"""

from __future__ import annotations

from bondgraph.emit.procedure import Procedure
from bondgraph.run.codegen_helpers import larger, magnitude
from bondgraph.run.events.guard_history import PAIRS
from bondgraph.run.events.log import NO_LABEL, SCALARS
from bondgraph.run.events.reference.iteration import MIN_LEVEL
from bondgraph.run.events.root_finding import EPSILON
from bondgraph.run.events.state import flag, record_of
from bondgraph.run.events.transitions import row_of

MAX_REST_ROUNDS = 3
"""Largest number of consecutive states of rest at one instant."""


def procedures() -> list[Procedure]:
    """Return all procedures, callees first."""
    return [_see_here(), _see(), _levels(), _iterated(), _commit(), _handle_event()]


def _see_here() -> Procedure:
    """Machine code of `GuardHistory.record_states` of x_here."""
    write = Procedure("see_here", {"s": "ptr"}, internal=True)
    record = record_of(write)
    sizes, x = record.get("sizes"), record.get("x_here")
    with write.loop(record.get("n")) as i:
        sizes[i] = larger(write, sizes[i], magnitude(write, x[i]))
    write.give()
    return write


def _see() -> Procedure:
    """Machine code of `GuardHistory.record_states` for the sample rows since the last event, the ends of all steps, and the state
    at this event."""
    write = Procedure("see", {"s": "ptr"}, internal=True)
    record = record_of(write)
    sizes, rows, width = record.get("sizes"), record.get("rows"), record.get("width")
    with write.loop(record.get("written"), record.get("seen")) as k, write.loop(record.get("n")) as i:
        sizes[i] = larger(write, sizes[i], magnitude(write, rows[width * k + i]))
    record.set("seen", record.get("written"))
    with write.loop(record.get("n")) as i:
        sizes[i] = larger(write, sizes[i], record.get("reached")[i])
    write.call("see_here", [write["s"]])
    write.give()
    return write


def _levels() -> Procedure:
    """Machine code of `reference.iteration._levels` at x_here, m_here after `count` fired transitions, into `levels_begun`."""
    write = Procedure("set_levels", {"s": "ptr", "t": "double", "count": "i64"}, internal=True)
    record, s, t, x = record_of(write), write["s"], write["t"], record_of(write).get("x_here")
    guards, zero, levels, left = (record.get(name) for name in ("now", "zero", "levels_begun", "left"))
    transitions = record.get("transitions")
    write.call("guards_at", [s, t, x, record.get("p"), guards])
    write.call("zero_of", [s, t, x, guards, zero])
    with write.loop(transitions) as i:
        left.store(i, 0, "i64")
    with write.loop(write["count"]) as k:
        bounced = record.get("watched").load(k, "i64")
        left.store(bounced, write.call("is_bounce", [s, t, x, bounced], "i64"), "i64")
    with write.loop(transitions) as i:
        g = guards[i]
        above = g >= 0.0
        level = write.local(write.select(above, 2.0 * g + MIN_LEVEL, 0.0))
        with write.when(magnitude(write, g) <= zero[i]):
            level.set(larger(write, level.get(), 2.0 * zero[i]))
        with write.when(flag(left, i)):
            level.set(write.select(above, g * (1.0 + 4.0 * EPSILON) + MIN_LEVEL, 0.0))
        with write.when(flag(record.get("once"), i)):
            level.set(write.intrinsic("minnum", 2.0 * g, 0.0) - MIN_LEVEL)
        levels[i] = level.get()
    write.give()
    return write


def _iterated() -> Procedure:
    """Iterate the events at t to a fixed point, and bring transitions to rest where events accumulate: return the number of rows
    in the log; -1 for Python, and then some events may have been noted."""
    write = Procedure("iterate", {"s": "ptr", "t": "double", "probe": "double"}, "i64", internal=True)
    record, s, t, x = record_of(write), write["s"], write["t"], record_of(write).get("x_here")
    with_fired, last = write.local(1, "i64"), write.local(record.get("logged"), "i64")
    with write.loop(record.get("transitions")) as i:
        record.get("rested").store(i, 0, "i64")
    with write.loop(MAX_REST_ROUNDS):
        write.call("see_here", [s])
        count = write.call("fire_transitions", [s, t, write["probe"], with_fired.get(), last.get()], "i64")
        with_fired.set(0)
        last.set(last.get() + count)
        with write.when((count < 0) | (last.get() > record.get("events_left"))):
            write.give(-1)
        solved = write.call("consistent", [s, t, x], "i64").equals(1)
        with write.when(~(solved & write.call("all_finite", [x, record.get("n")], "i64").equals(1))):
            write.give(-1)
        resting = write.call("add_events", [s, t, count], "i64")
        with write.when(resting < 0):
            write.give(-1)
        with write.when(resting.equals(0)):
            write.call("set_levels", [s, t, count])
            write.give(last.get())
        rows = write.call("rest", [s, t, resting, last.get()], "i64")
        with write.when(rows <= 0):
            write.give(-1)
        last.set(last.get() + rows)
    write.give(-1)
    return write


def _commit() -> Procedure:
    """Commit the iterated events to the run, whose log has `last` rows."""
    write = Procedure("commit", {"s": "ptr", "last": "i64"}, internal=True)
    record = record_of(write)
    n, modes, powers, y = (record.get(name) for name in ("n", "modes", "quadratures", "y"))
    with write.loop(record.get("written"), record.get("held_rows")) as k, write.loop(modes) as i:
        record.get("held")[modes * k + i] = record.get("m")[i]
    record.set("held_rows", record.get("written"))
    with write.loop(n) as i:
        y[i] = record.get("x_here")[i]
    with write.loop(modes) as i:
        record.get("m")[i] = record.get("m_here")[i]
    with write.loop(write["last"], record.get("logged")) as k:
        row = row_of(write, k)
        with write.when(row[SCALARS.index("label")].equals(float(NO_LABEL))):
            supplied = row.at(len(SCALARS)).at(n * 2 + modes * 2)
            with write.loop(powers) as i:
                y[n + i] = y[n + i] + supplied[i]
    with write.loop(record.get("transitions")) as i:
        record.get("levels")[i] = record.get("levels_begun")[i]
    record.set("logged", write["last"])
    record.set("begun", record.get("t"))
    write.give()
    return write


def _handle_event() -> Procedure:
    """Handle the event at t, or the start: 1 if that succeeds, 0 for Python, with all values restored."""
    write = Procedure("handle_event", {"s": "ptr"}, "i64")
    record, s, t = record_of(write), write["s"], record_of(write).get("t")
    with write.loop(record.get("n")) as i:
        record.get("x_here")[i] = record.get("y")[i]
    with write.loop(record.get("modes")) as i:
        record.get("m_here")[i] = record.get("m")[i]
        record.get("m_after")[i] = record.get("m")[i]
    write.call("see", [s])
    length = t - record.get("begun")
    shorter = write.intrinsic("minnum", record.get("probe"), length * record.get("segment_part"))
    probe = write.select(length > 0.0, shorter, record.get("probe"))
    least = (magnitude(write, record.get("start")) + t) * record.get("time_resolution")
    record.set("noted", 0)
    last = write.call("iterate", [s, t, larger(write, probe, least)], "i64")
    with write.when(last < 0):
        write.call("forget", [s])
        write.give(0)
    write.call("commit", [s, last])
    write.give(1)
    return write


def start_procedures() -> list[Procedure]:
    """Return the procedures of the start, callees first."""
    return [_open(), _handle_start()]


def _open() -> Procedure:
    """Reset all events, copy the parameters, and solve the algebraic loops at the start values: 1 if that succeeds."""
    write = Procedure("open", {"s": "ptr"}, "i64", internal=True)
    record = record_of(write)
    for name in ("seen", "written", "held_rows", "logged"):
        record.set(name, 0)
    for name in ("t", "begun"):
        record.set(name, 0.0)
    record.set("events_left", record.get("most_events"))
    with write.loop(record.get("n")) as i:
        record.get("sizes")[i] = 0.0
    for name in ("counts", "fired"):
        with write.loop(record.get("transitions")) as i:
            record.get(name).store(i, 0, "i64")
    with write.loop(record.get("transitions")) as i:
        record.get("bounces").store(i, record.get("known_bounces").load(i, "i64"), "i64")
    count = record.get("parameters")
    with write.loop(2 * PAIRS) as k, write.loop(count) as i:
        record.get("p_near")[count * k + i] = record.get("p")[i] * record.get("p_factors")[count * k + i]
    with write.loop(record.get("modes")) as i:
        record.get("m_after")[i] = record.get("m")[i]
    write.give(write.call("consistent", [write["s"], record.get("t"), record.get("y")], "i64"))
    return write


def _handle_start() -> Procedure:
    """Handle the events at the start, and write the modes of the first sample: 1 if that succeeds, 0 for Python."""
    write = Procedure("handle_start", {"s": "ptr"}, "i64", internal=True)
    record, s = record_of(write), write["s"]
    done, modes = write.local(1, "i64"), record.get("modes")
    with write.when(record.get("transitions") > 0):
        done.set(write.call("handle_event", [s], "i64"))
    with write.when(record.get("transitions").equals(0)):
        done.set(write.call("consistent", [s, record.get("t"), record.get("y")], "i64"))
    held = record.get("all_held")
    with write.loop(modes) as i:
        held[i] = record.get("m")[i]
    record.set("held", held.at(modes))
    write.give(done.get())
    return write
