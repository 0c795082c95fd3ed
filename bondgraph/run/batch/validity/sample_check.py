"""Sample check of a finished run, in SIMD lanes: are all values that follow from the rows finite?

One kernel with `lanes` lanes, `AT_SAMPLE`, evaluates them all. `lanes` = 1 is for single runs, for which only the constraints are
checked here. The table of `FIELDS` also serves that check (`screen`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from bondgraph.emit.kernel import aligned_zeros
from bondgraph.emit.procedure import Operand, Procedure, Record, Temporary
from bondgraph.run.program import Program
from bondgraph.run.simd_values import SimdArray, SimdNumber, lane_loop
from bondgraph.run.steppers.shared_fields import COMMON as INTEGRATOR
from bondgraph.run.table import FieldTable, fields_of
from bondgraph.run.validation.checked_result import check_stride
from bondgraph.run.validation.constraint_rank import EXTRAPOLATION

# Relative rounding margin of the bounds beyond which an interval is suspected.
_ROUNDING = 1e-3
# Ratio of neighbouring intervals from which only rounding distinguishes them.
_UNLIKE = 1e6


def bounds(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each time of t (k,) and the one before, the least fraction of the earlier eigenvalues that must remain, and the
    least fraction of the present ones that must have been there before, for `singular` to suspect no interval.

    An interval of length L that begins at a root s is suspected if the straight line through s and the root s' at the time d
    before reaches zero within (1 + BEYOND) L: s' > s (1 + d / ((1 + BEYOND) L)); likewise on its other side. Eigenvalues are
    squares of roots.
    """
    d = np.diff(t)
    reach = (1.0 + EXTRAPOLATION) * (1.0 + _ROUNDING)
    falls, rises = np.zeros(len(t)), np.zeros(len(t))
    falls[1:-1] = (1.0 + d[:-1] / (reach * d[1:])) ** -2
    rises[2:] = (1.0 + d[1:] / (reach * d[:-1])) ** -2
    unlike = np.flatnonzero((d[1:] > _UNLIKE * d[:-1]) | (d[:-1] > _UNLIKE * d[1:]))
    falls[unlike + 1] = rises[unlike + 2] = np.inf  # which nothing satisfies
    return falls, rises


# kernel: of the constraint matrix, or of all values at a sample followed by that matrix; t, x, p, m, out: its blocks, of several
# samples; spoilt: for each state, integrated power and value, zero while all were finite, in each lane; falls, rises: of each
# sample whose constraints are checked; rows, columns: of the entries of their matrix; given ... work: such matrices, `now` with
# the previous one in front; theta, bad, factor: of each lane; signs, low, high: of each diagonal, the latter two in each lane;
# leftmost, lowest: the envelope of such a matrix; beyond: 1 if the end of a run is checked.
_POINTERS = """kernel dates t x p m out spoilt bad falls rises rows columns entries given now first work theta factor
    signs low high leftmost lowest"""
_WHOLES = "parameters modes values samples watched n entry_count count stride beyond"
FIELDS = fields_of(_POINTERS.split(), _WHOLES.split(), ("end_date",))


def row_table(
    program: Program, kernel: int, lanes: int, times: np.ndarray, dates: np.ndarray, watched: bool, span: float
) -> FieldTable:
    """Return the table of these procedures, for runs with rows at these times since their start; constraints are checked if
    `watched`, at every `check_stride`-th sample. `kernel` is the address of its code."""
    table = FieldTable(FIELDS)
    every = (program.rates, program.powers, program.energies)
    values = 0 if lanes == 1 else sum(each.n_out for each in every if each is not None)
    behind = 0 if program.closing_matrix is None else program.closing_matrix.n_out
    width = program.states + (0 if program.powers is None else program.powers.n_out)
    lengths = {"x": width, "p": program.parameters, "m": program.modes, "out": values + behind, "spoilt": width + values}
    lengths |= dict.fromkeys(("t", "bad", "theta", "factor"), 1)
    arrays = {"dates": np.ascontiguousarray(dates)}
    table.point("kernel", kernel)
    table["parameters"], table["modes"], table["values"] = program.parameters, program.modes, values
    table["samples"], table["stride"] = len(times), 1
    if watched:
        assert program.closing is not None
        n, stride = len(program.closing.owners), check_stride(len(times))
        looked, beyond = times[::stride], span > times[-1]
        arrays["falls"], arrays["rises"] = bounds(np.append(looked, span) if beyond else looked)
        rows, columns = np.array(program.closing.pattern, dtype=np.int64).reshape(-1, 2).T
        arrays |= {"rows": np.ascontiguousarray(rows), "columns": np.ascontiguousarray(columns)}
        arrays |= dict(zip(("leftmost", "lowest"), envelope(n, rows, columns), strict=True))
        arrays |= {"signs": np.zeros(n), "first": np.zeros(n * n), "now": np.zeros(n * n * (lanes + 1))}
        lengths |= {"given": n * n, "work": n * n, "low": n, "high": n}
        table["n"], table["entry_count"], table["count"], table["stride"] = n, len(rows), len(looked), stride
        table["watched"], table["beyond"], table["end_date"] = 1, beyond, dates[0] + (span - times[0])
    arrays |= {name: aligned_zeros(length * lanes) for name, length in lengths.items()}
    for name, array in {**arrays, "entries": arrays["out"][values * lanes :]}.items():
        table.point(name, array)
    return table


def envelope(n: int, rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the envelope of a symmetric matrix (n, n) with these entries (e,) on either side of its diagonal: the first column
    of each row that can become nonzero in elimination, (n,), and the end of the rows of each column, (n,).

    Elimination fills nothing before the first entry of a row (A. George and J. W. H. Liu, Computer Solution of Large Sparse
    Positive Definite Systems, 1981, chapter 4).
    """
    leftmost, lowest = np.arange(n), np.arange(1, n + 1)
    np.minimum.at(leftmost, np.maximum(rows, columns), np.minimum(rows, columns))
    np.maximum.at(lowest, leftmost, np.arange(1, n + 1))
    return leftmost, np.maximum.accumulate(lowest)


def procedures(lanes: int) -> list[Procedure]:
    """Return the procedures that check values and constraints."""
    values = [_spoil(), _evaluated(lanes), _see(lanes), _spoilt(lanes)] if lanes > 1 else [_evaluated(lanes)]
    return [_take(lanes), _take_all(lanes), _present(lanes), *values]


@contextmanager
def groups(write: Procedure, stop: Operand, step: Operand, start: Operand = 0) -> Iterator[Temporary]:
    """Loop over samples up to but without `stop`, in groups: yield the first of each, `step` after the one before."""
    first = write.local(start, "i64")
    with write.repeat() as (_, done):
        with write.when(first.get() >= write.value(stop, "i64")):
            write.jump(done)
        yield first.get()
        first.set(first.get() + step)


def _take(lanes: int) -> Procedure:
    """Copy a row (width,) and its date into a lane."""
    write = Procedure("take_row", {"s": "ptr", "row": "ptr", "date": "double", "width": "i64", "lane": "i64"}, internal=True)
    record = Record(write["s"], FIELDS)
    record.get("t")[write["lane"]] = write["date"]
    with write.loop(write["width"]) as i:
        record.get("x")[i * lanes + write["lane"]] = write["row"][i]
    write.give()
    return write


def _take_all(lanes: int) -> Procedure:
    """Copy every `stride`-th row, from number `first` on, with its date into the lanes; repeat the last."""
    arguments = {"s": "ptr", "rows": "ptr", **dict.fromkeys(("first", "last", "stride", "width"), "i64")}
    write = Procedure("take_rows", arguments, internal=True)
    record, x = Record(write["s"], FIELDS), SimdArray(Record(write["s"], FIELDS).get("x"), lanes)
    samples = [least(write, write["first"] + write["stride"] * lane, write["last"]) for lane in range(lanes)]
    rows = [write["rows"].at(sample * write["width"]) for sample in samples]
    for lane, sample in enumerate(samples):
        record.get("t")[lane] = record.get("dates")[sample]
    with write.loop(write["width"]) as i:
        x[i] = SimdNumber([row[i] for row in rows])
    write.give()
    return write


def _present(lanes: int) -> Procedure:
    """Copy parameters and modes of a run into all lanes."""
    write = Procedure("present_run", {"s": "ptr", "c": "ptr"}, internal=True)
    record, integrator = Record(write["s"], FIELDS), Record(write["c"], INTEGRATOR)
    for name, count in (("p", "parameters"), ("m", "modes")):
        with lane_loop(write, record.get(count), lanes) as (k, _, i):
            record.get(name)[i] = integrator.get(name)[k]
    if lanes > 1:
        with write.loop((integrator.get("width") + record.get("values")) * lanes) as i:
            record.get("spoilt")[i] = 0.0
    write.give()
    return write


def _spoil() -> Procedure:
    """Mark the numbers that are not finite. Each has its own flag, so that none waits for another."""
    write = Procedure("spoil", {"spoilt": "ptr noalias", "values": "ptr", "count": "i64"}, internal=True)
    with write.loop(write["count"]) as i:
        write["spoilt"][i] = write["spoilt"][i] + write["values"][i] * 0.0
    write.give()
    return write


def _evaluated(lanes: int) -> Procedure:
    """Evaluate the kernel at the rows in the lanes, `entries` included; with several lanes, mark values that are not finite."""
    write = Procedure("evaluated", {"s": "ptr", "width": "i64"}, internal=True)
    record, width = Record(write["s"], FIELDS), write["width"] * lanes
    x, out, spoilt = (record.get(name) for name in ("x", "out", "spoilt"))
    write.call(record.get("kernel"), [record.get("t"), x, record.get("p"), record.get("m"), out])
    if lanes > 1:
        write.call("spoil", [spoilt, x, width])
        write.call("spoil", [spoilt.at(width), out, record.get("values") * lanes])
    write.give()
    return write


def _see(lanes: int) -> Procedure:
    """Check every `stride`-th sample of the present run from number `first` on, and mark values that are not finite."""
    write = Procedure("see_samples", {**dict.fromkeys(("s", "c", "samples"), "ptr"), "first": "i64"}, internal=True)
    record, width = Record(write["s"], FIELDS), Record(write["c"], INTEGRATOR).get("width")
    count, stride = record.get("samples"), record.get("stride")
    with groups(write, count, stride * lanes, write["first"]) as first:
        write.call("take_rows", [write["s"], write["samples"], first, count - 1, stride, width])
        write.call("evaluated", [write["s"], width])
    write.give()
    return write


def _spoilt(lanes: int) -> Procedure:
    """Return 1 if a value at a checked sample was not finite: states, integrated powers, rates, powers, energies."""
    write = Procedure("any_spoilt", {"s": "ptr", "c": "ptr"}, "i64", internal=True)
    record, width = Record(write["s"], FIELDS), Record(write["c"], INTEGRATOR).get("width")
    with write.loop((width + record.get("values")) * lanes) as i, write.when(~record.get("spoilt")[i].equals(0.0)):
        write.give(1)
    write.give(0)
    return write


def least(write: Procedure, a: Temporary, b: Temporary) -> Temporary:
    """Return the smaller of two integers."""
    return write.select(a < b, a, b, "i64")
