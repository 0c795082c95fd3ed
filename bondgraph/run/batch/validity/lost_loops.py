"""Check in machine code whether the Newton iteration has lost the solution of an algebraic loop at a sample of a run."""

from __future__ import annotations

from bondgraph.emit.procedure import Procedure, Record
from bondgraph.run.batch.fields import tables_of
from bondgraph.run.codegen_helpers import larger, magnitude
from bondgraph.run.events.state import EventTable


def procedures() -> list[Procedure]:
    """Return the procedures that check the solutions of algebraic loops."""
    return [_see(), _has_lost_loop()]


def _see() -> Procedure:
    """Record, at a sample, the size of each unknown after the steps of every evaluation, and the remaining step."""
    arguments = {"r": "ptr", "k": "i64", "date": "ptr", "row": "ptr", "m": "ptr"}
    write = Procedure("see_loops", arguments, internal=True)
    record, integrator, _ = tables_of(write)
    pointer, x, out = integrator.get("instants"), record.get("x_solved"), record.get("loop_out")
    with write.when(~pointer.is_given()):
        write.give()
    loops, first = Record(pointer, EventTable.layout()), write.local(0, "i64")
    with write.loop(loops.get("loops")) as j:
        count, kernel = loops.get("loop_counts").load(j, "i64"), loops.get("loop_kernels").load(j, "ptr")
        states = loops.get("loop_places").at(first.get(), "i64")
        sizes, further = (record.get(name).at(first.get()) for name in ("loop_sizes", "loop_further"))
        at = [write["date"], x, integrator.get("p"), write["m"], out]
        with write.loop(loops.get("n")) as i:
            x[i] = write["row"][i]
        with write.loop(record.get("loop_steps").load(j, "i64")):
            write.call(kernel, at)
            with write.loop(count) as i:
                state = states.load(i, "i64")
                x[state] = x[state] + out[count + i]
        write.call(kernel, at)
        with write.loop(count) as i:
            with write.when(write["k"].equals(0)):
                sizes[i] = 0.0
                further[i] = 0.0
            sizes[i] = larger(write, sizes[i], magnitude(write, x[states.load(i, "i64")]))
            further[i] = larger(write, further[i], magnitude(write, out[count + i]))
        first.set(first.get() + count)
    write.give()
    return write


def _has_lost_loop() -> Procedure:
    """Return 1 if a remaining step is too large relative to its unknown."""
    write = Procedure("astray", {"r": "ptr"}, "i64", internal=True)
    record, _, _ = tables_of(write)
    least, sizes, further = (record.get(name) for name in ("loop_near", "loop_sizes", "loop_further"))
    with write.loop(record.get("unknowns")) as i, write.when(further[i] > record.get("off") * larger(write, sizes[i], least[i])):
        write.give(1)
    write.give(0)
    return write
