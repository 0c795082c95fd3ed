"""Nonlinear algebraic loops in machine code: `Bound.consistent` solves for their unknowns by Newton iteration, in place."""

from __future__ import annotations

from bondgraph.emit.procedure import Local, Procedure, Temporary
from bondgraph.run.bound import ATTEMPTS, CLOSE, MAX_NEWTON_ITERATIONS, MIN_STEP_FRACTION, ROUNDED, SMALL
from bondgraph.run.codegen_helpers import clock_time, is_finite, magnitude
from bondgraph.run.events.state import record_of, truth


def procedures() -> list[Procedure]:
    """Return the procedures that solve algebraic loops, callees first."""
    return [_largest(), _finite(), _iterated(), _solved(), _consistent()]


def _largest() -> Procedure:
    """Return the largest magnitude of `count` numbers times their factors; NaN if one is NaN."""
    write = Procedure("largest", {"values": "ptr", "factors": "ptr", "count": "i64"}, "double", internal=True)
    top = write.local(0.0)
    with write.loop(write["count"]) as i:
        size = magnitude(write, write["values"][i] * write["factors"][i])
        top.set(write.select((size > top.get()) | ~size.equals(size), size, top.get()))
    write.give(top.get())
    return write


def _finite() -> Procedure:
    """Return 1 if `count` numbers are finite."""
    write = Procedure("all_finite", {"values": "ptr", "count": "i64"}, "i64", internal=True)
    with write.loop(write["count"]) as i, write.when(~is_finite(write["values"][i])):
        write.give(0)
    write.give(1)
    return write


_LOOP = {"s": "ptr", "t": "double", "x": "ptr", "kernel": "ptr", "places": "ptr", "first": "i64", "count": "i64"}


def _solved() -> Procedure:
    """Solve one loop, with its kernel, the indices of its unknowns, and the place of the first one: 1 if x is a solution."""
    write = Procedure("solved", _LOOP, "i64", internal=True)
    record, x, count, indices = record_of(write), write["x"], write["count"], write["places"]
    begun = record.get("newton_begun")
    with write.loop(count) as i:
        begun[i] = x[indices.load(i, "i64")]
    for number, (decrease, natural) in enumerate(ATTEMPTS):
        if number:
            with write.loop(count) as i:
                x[indices.load(i, "i64")] = begun[i]
        measures = ("loop_inverse_sizes", "loop_weights") if natural else ("loop_ones", "loop_ones")
        factors = [record.get(measure).at(write["first"]) for measure in measures]
        arguments = [*(write[name] for name in _LOOP), write.value(decrease, "double"), *factors]
        with write.when(write.call("newton_iteration", arguments, "i64").equals(1)):
            write.give(1)
    write.give(0)
    return write


def _iterated() -> Procedure:
    """Machine code of `Bound._iterated`: 1 if x is a solution."""
    arguments = {**_LOOP, "decrease": "double", "inverse_sizes": "ptr", "weights": "ptr"}
    write = Procedure("newton_iteration", arguments, "i64", internal=True)
    record, x, count, indices = record_of(write), write["x"], write["count"], write["places"]
    out, step, start = (record.get(name) for name in ("newton", "newton_step", "newton_start"))
    further = out.at(count)

    def evaluate() -> None:
        arguments = [clock_time(write, record, write["t"]), x, record.get("p"), record.get("m_after"), out]
        write.call(write["kernel"], arguments)

    def largest_unknown() -> Temporary:
        top = write.local(0.0)
        with write.loop(count) as i:
            size = magnitude(write, x[indices.load(i, "i64")] * write["inverse_sizes"][i])
            top.set(write.select((size > top.get()) | ~size.equals(size), size, top.get()))
        return top.get()

    def largest_residual() -> Temporary:
        return write.call("largest", [out, write["weights"], count], "double")

    def largest_step() -> Temporary:
        return write.call("largest", [further, write["inverse_sizes"], count], "double")

    def try_step(part: Local | None) -> None:
        with write.loop(count) as i:
            x[indices.load(i, "i64")] = start[i] if part is None else start[i] + part.get() * step[i]
        evaluate()

    evaluate()
    going, part = write.local(1, "i64"), write.local(1.0)
    with write.loop(MAX_NEWTON_ITERATIONS), write.when(going.get().equals(1)):
        size, longest = largest_residual(), largest_step()
        near = longest <= ROUNDED * (SMALL + largest_unknown())
        going.set(truth(write, ~(size.equals(0.0) | near)))
        with write.when(going.get().equals(1)):
            with write.loop(count) as i:
                step[i] = further[i]
                start[i] = x[indices.load(i, "i64")]
            part.set(1.0)
            with write.repeat() as (_, done):
                with write.when(~(part.get() > MIN_STEP_FRACTION)):
                    try_step(None)  # no step reduces the residual: converged to rounding, or stuck
                    going.set(0)
                    write.jump(done)
                try_step(part)
                good = write.call("all_finite", [out, count * 2], "i64").equals(1)
                with write.when(good & (largest_residual() < size - write["decrease"] * part.get() * size)):
                    write.jump(done)
                part.set(part.get() * 0.5)
    good = write.call("all_finite", [out, count * 2], "i64").equals(1)
    far = largest_step() > CLOSE * (CLOSE + largest_unknown())
    write.give(truth(write, good & ~far))
    return write


def _consistent() -> Procedure:
    """Machine code of `Bound.consistent` at (t, x) in the modes m_after, in place: 1 if all loops are solved."""
    write = Procedure("consistent", {"s": "ptr", "t": "double", "x": "ptr"}, "i64", internal=True)
    record = record_of(write)
    offset = write.local(0, "i64")
    with write.loop(record.get("loops")) as k:
        count, at = record.get("loop_counts").load(k, "i64"), record.get("loop_places").at(offset.get(), "i64")
        kernel = record.get("loop_kernels").load(k, "ptr")
        solved = write.call("solved", [write["s"], write["t"], write["x"], kernel, at, offset.get(), count], "i64")
        with write.when(solved.equals(0)):
            write.give(0)
        offset.set(offset.get() + count)
    write.give(1)
    return write
