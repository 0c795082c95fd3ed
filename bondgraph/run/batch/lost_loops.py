"""Check in machine code whether the Newton iteration has lost the solution of an algebraic loop at a sample of a run."""

from __future__ import annotations

from bondgraph.emit.kernel_language.language import Reals, larger
from bondgraph.run.batch.fields import BatchTable


def record_loop_steps(r: BatchTable, k: int, date: float, row: Reals, m: Reals) -> None:
    loops, x, out = r.table.instants, r.x_solved, r.loop_out
    if loops is None:
        return
    first = 0
    for j in range(loops.loops):
        count, kernel, states = loops.loop_counts[j], loops.loop_kernels[j], loops.loop_places[first:]
        sizes, further = r.loop_sizes[first:], r.loop_further[first:]
        for i in range(loops.n):
            x[i] = row[i]
        for _ in range(r.loop_steps[j]):
            kernel(date, x, r.table.p, m, out)
            for i in range(count):
                state = states[i]
                x[state] = x[state] + out[count + i]
        kernel(date, x, r.table.p, m, out)
        for i in range(count):
            if k == 0:
                sizes[i] = 0.0
                further[i] = 0.0
            sizes[i] = larger(sizes[i], abs(x[states[i]]))
            further[i] = larger(further[i], abs(out[count + i]))
        first += count


def has_lost_loop(r: BatchTable) -> bool:
    sizes, further, near = r.loop_sizes, r.loop_further, r.loop_near
    for i in range(r.unknowns):
        if further[i] > r.loop_limit * larger(sizes[i], near[i]):
            return True
    return False
