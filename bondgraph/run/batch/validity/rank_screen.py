"""Rank screening of the constraint matrix along a run, in machine code: a cheap test that excludes a loss of rank.

If A' - theta A is positive definite for two successive matrices A, A', then every eigenvalue of A' is larger than theta times
that of A, and remains so after any congruence (Loewner's order; the change of scale in `validation.constraint_rank` is one). Two
attempted decompositions thus exclude too fast a change in either direction (`bounds`), and eigenvalues are needed only if one
fails. Several samples are tested in SIMD lanes, and only the envelope of the matrices is factored: independent bodies and chains
cost as much as their own constraints.
"""

from __future__ import annotations

from bondgraph.emit.procedure import Procedure, Record
from bondgraph.run.batch.validity.sample_check import FIELDS, groups, least
from bondgraph.run.program import Program
from bondgraph.run.simd_values import SimdArray, lane_loop
from bondgraph.run.steppers.shared_fields import COMMON as INTEGRATOR
from bondgraph.run.validation.checked_result import has_constraints
from bondgraph.run.validation.constraint_rank import RANK_TOLERANCE

# Fraction of the diagonal that must remain of each difference, and how much smaller than in the rest of the run it may be.
_LEFT, _SMALLER = 1e-9, 1e-3


def screens(program: Program) -> bool:
    """Return True if machine code can check the constraints: with redundant ones, some eigenvalues are always zero; modes change
    which of them hold."""
    closing, kernel = program.closing, program.closing_matrix
    plain = has_constraints(program) and closing is not None and not closing.repeating and not program.transitions
    return plain and kernel is not None and kernel.is_machine_code


def procedures(lanes: int) -> list[Procedure]:
    """Return `may_lose_rank` and the procedures it calls."""
    return [_definite(lanes), _exceeds(lanes), _measured(lanes), may_lose_rank(lanes)]


def _definite(lanes: int) -> Procedure:
    """Return 1 if the matrices in `work` are positive definite, by elimination; NaN makes it 0."""
    scratch = dict.fromkeys(("work", "bad", "factor"), "ptr noalias")
    write = Procedure("definite", {"s": "ptr", **scratch}, "i64", internal=True)
    record, work, bad, factor = Record(write["s"], FIELDS), write["work"], write["bad"], write["factor"]
    n, leftmost, lowest = (record.get(name) for name in ("n", "leftmost", "lowest"))
    with write.loop(lanes) as lane:
        bad[lane] = 0.0
    with write.loop(n) as j:
        pivot = work.at((j * n + j) * lanes)
        with write.loop(lanes) as lane:
            bad[lane] = write.select(pivot[lane] > 0.0, bad[lane], 1.0)
        with write.loop(lowest.load(j, "i64"), j + 1) as i, write.when(leftmost.load(i, "i64") <= j):
            with write.loop(lanes) as lane:
                factor[lane] = work[(i * n + j) * lanes + lane] / pivot[lane]
            with write.loop(i + 1, j + 1) as k, write.loop(lanes) as lane:
                index = (i * n + k) * lanes + lane
                work[index] = work[index] - factor[lane] * work[(k * n + j) * lanes + lane]
    with write.loop(lanes) as lane, write.when(~bad[lane].equals(0.0)):
        write.give(0)
    write.give(1)
    return write


def _exceeds(lanes: int) -> Procedure:
    """Return 1 if a - theta b is safely positive definite in all lanes; a and b are addresses in `now`."""
    write = Procedure("exceeds", {"s": "ptr", "a": "ptr", "b": "ptr", "work": "ptr noalias"}, "i64", internal=True)
    record = Record(write["s"], FIELDS)
    n, work, a, b, theta = record.get("n"), write["work"], write["a"], write["b"], record.get("theta")
    with write.loop(n) as i:
        with write.loop(i + 1, record.get("leftmost").load(i, "i64")) as j, write.loop(lanes) as lane:
            index, wide = (i * n + j) * lanes + lane, (i * n + j) * (lanes + 1) + lane
            work[index] = a[wide] - theta[lane] * b[wide]
        with write.loop(lanes) as lane:
            index, wide = (i * n + i) * lanes + lane, (i * n + i) * (lanes + 1) + lane
            work[index] = work[index] - (a[wide] + b[wide]) * _LEFT
    write.give(write.call("definite", [write["s"], work, record.get("bad"), record.get("factor")], "i64"))
    return write


def _measured(lanes: int) -> Procedure:
    """Evaluate the constraint matrices at the samples in the lanes, from their `entries`, into `now`, symmetric, with rows signed
    by their first diagonals."""
    write = Procedure("measured", {"s": "ptr", "is_first": "i64"}, internal=True)
    record, is_first = Record(write["s"], FIELDS), write["is_first"].equals(1)
    n, now, signs = (record.get(name) for name in ("n", "now", "signs"))
    matrix, entries, low, high = (SimdArray(record.get(name), lanes) for name in ("given", "entries", "low", "high"))
    with write.loop(record.get("entry_count")) as e:
        row, column = (record.get(name).load(e, "i64") for name in ("rows", "columns"))
        matrix[row * n + column] = entries[e]
    with write.loop(n) as i:
        diagonal = matrix[i * n + i]
        size = diagonal.intrinsic("fabs")
        with write.when(is_first):
            signs[i] = write.select(diagonal.numbers[0] < 0.0, -1.0, 1.0)
            low[i], high[i] = size, size
        low[i], high[i] = low[i].intrinsic("minnum", size), high[i].intrinsic("maxnum", size)
        row_sign = signs[i]
        with write.loop(i + 1, record.get("leftmost").load(i, "i64")) as j:
            before = now.at((i * n + j) * (lanes + 1))
            with write.when(~is_first):
                before[0] = before[lanes]
            other = signs[j]
            ours, theirs = (matrix[index] * sign for index, sign in ((i * n + j, row_sign), (j * n + i, other)))
            SimdArray(before.at(1), lanes)[write.value(0, "i64")] = (ours + theirs) * 0.5
            with write.when(is_first):
                before[0] = before[1]
                record.get("first")[i * n + j] = before[1]
    write.give()
    return write


def may_lose_rank(lanes: int) -> Procedure:
    """Return 1 unless it is certain that `singular` finds nothing in the present finished run with these rows."""
    write = Procedure("may_lose_rank", {"s": "ptr", "c": "ptr", "samples": "ptr"}, "i64", internal=True)
    record, integrator = Record(write["s"], FIELDS), Record(write["c"], INTEGRATOR)
    n, width, stride, count = record.get("n"), integrator.get("width"), record.get("stride"), record.get("count")
    now, work, first_matrix = (record.get(name) for name in ("now", "work", "first"))
    every_sample = count + record.get("beyond")
    with groups(write, every_sample, lanes) as first:
        write.call("take_rows", [write["s"], write["samples"], first * stride, (count - 1) * stride, stride, width])
        with write.loop(lanes) as lane, write.when((first + lane >= count) & (every_sample > count)):
            write.call("take_row", [write["s"], integrator.get("y"), record.get("end_date"), width, lane])
        write.call("evaluated", [write["s"], width])
        write.call("measured", [write["s"], write.select(first.equals(0), 1, 0, "i64")])
        for a, b, bound in ((now.at(1), now, "falls"), (now, now.at(1), "rises")):
            with write.loop(lanes) as lane:
                record.get("theta")[lane] = record.get(bound)[least(write, first + lane, every_sample - 1)]
            with write.when(write.call("exceeds", [write["s"], a, b, work], "i64").equals(0)):
                write.give(1)
    # Rank relative to the size over the whole run; if a diagonal has been much smaller, `_LEFT` says little.
    low, high = (SimdArray(record.get(name), lanes) for name in ("low", "high"))
    with write.loop(n) as i:
        smallest, largest = low[i].folded("minnum"), high[i].folded("maxnum")
        with write.when(~(smallest > largest * _SMALLER)):
            write.give(1)
        with lane_loop(write, i + 1, lanes, record.get("leftmost").load(i, "i64")) as (j, lane, _):
            index = (i * n + j) * lanes + lane
            least_of_all = write.select(i.equals(j), largest * write.real(n) * (2.0 * RANK_TOLERANCE), 0.0)
            work[index] = first_matrix[i * n + j] - least_of_all
    full = write.call("definite", [write["s"], work, record.get("bad"), record.get("factor")], "i64")
    write.give(write.select(full.equals(1), 0, 1, "i64"))
    return write
