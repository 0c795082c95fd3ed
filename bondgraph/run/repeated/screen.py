"""A cheap look along a run in machine code: matrices of its constraints in; whether these may have lost rank on the way, out.

`outcome.singular` looks for positions where the root of the smallest eigenvalue of A falls to zero and rises again, and suspects
an interval of samples only where this root changes fast enough from one sample to the next. If A' - theta A is positive
definite for two matrices A, A' that follow each other, then every eigenvalue of A' is larger than theta times that of A, and so
it is after any congruence (Loewner's order; the change of scale in `singular` is one). So two tries of a Cholesky decomposition
exclude what is too fast in either direction, and eigenvalues are needed only where they do not.
"""

from __future__ import annotations

import numpy as np

from bondgraph.emit.procedure import Procedure, Record, Temporary
from bondgraph.run.idioms import larger, size_of
from bondgraph.run.integrators.one_step.method import COMMON as INTEGRATOR
from bondgraph.run.outcome.judge import stride_of
from bondgraph.run.outcome.singular import BEYOND, RANK
from bondgraph.run.program import Program
from bondgraph.run.table import FieldTable, fields_of

# Of the bounds beyond which an interval is suspected: what rounding may move them by.
_ROUNDING = 1e-3
# What must be left of each difference, as a part of the diagonal, and how much smaller than in the rest of the run that may be.
_LEFT, _SMALLER = 1e-9, 1e-3
# Intervals so many times as long as their neighbours are told from these by rounding only.
_UNLIKE = 1e6

# falls, rises: of each sample that is looked at; rows, columns: of the entries that the kernel gives; given ... work (n, n);
# signs, low, high: of each diagonal; beyond: whether the end of a run is looked at, too.
_POINTERS = "kernel dates falls rises rows columns entries given now before first work signs low high"
_WHOLES = "n entry_count count stride beyond"
FIELDS = fields_of(_POINTERS.split(), _WHOLES.split(), ("end_date",))


def bounds(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each time of t (k,) and the one before: the least part of the eigenvalues before that must be left, and the least part
    of those now that must have been there before, so that `singular` suspects no interval.

    An interval of length L that begins at a root s is suspected if the straight line on which it came, from s' at the time d
    before, is zero within (1 + BEYOND) L: s' > s (1 + d / ((1 + BEYOND) L)); on its other side likewise. Eigenvalues are squares
    of roots.
    """
    d = np.diff(t)
    reach = (1.0 + BEYOND) * (1.0 + _ROUNDING)
    falls, rises = np.zeros(len(t)), np.zeros(len(t))
    falls[1:-1] = (1.0 + d[:-1] / (reach * d[1:])) ** -2
    rises[2:] = (1.0 + d[1:] / (reach * d[:-1])) ** -2
    unlike = np.flatnonzero((d[1:] > _UNLIKE * d[:-1]) | (d[:-1] > _UNLIKE * d[1:]))
    falls[unlike + 1] = rises[unlike + 2] = np.inf  # which nothing fulfils
    return falls, rises


def screen_table(program: Program, times: np.ndarray, dates: np.ndarray, span: float, t_start: float) -> FieldTable:
    """What `may_lose_rank` takes, for runs with rows at these times since their start; as `judge` chooses those that count."""
    closing, kernel, table = program.closing, program.closing_matrix, FieldTable(FIELDS)
    assert closing is not None and kernel is not None
    stride, n = stride_of(len(times)), len(closing.owners)
    looked = times[::stride]
    beyond = span > times[-1]
    falls, rises = bounds(np.append(looked, span) if beyond else looked)
    rows, columns = np.array(closing.pattern, dtype=np.int64).reshape(-1, 2).T
    arrays = {"dates": np.ascontiguousarray(dates), "falls": falls, "rises": rises}
    arrays |= {"rows": np.ascontiguousarray(rows), "columns": np.ascontiguousarray(columns), "entries": np.zeros(len(rows))}
    arrays |= {name: np.zeros(n * n) for name in ("given", "now", "before", "first", "work")}
    arrays |= {name: np.zeros(n) for name in ("signs", "low", "high")}
    for name, array in arrays.items():
        table.point(name, array)
    table.point("kernel", kernel.address or 0)
    table["n"], table["entry_count"], table["count"], table["stride"] = n, len(rows), len(looked), stride
    table["beyond"], table["end_date"] = beyond, t_start + span
    return table


def procedures() -> list[Procedure]:
    """The look, and what it needs."""
    return [_definite(), _exceeds(), _measured(), may_lose_rank()]


def _definite() -> Procedure:
    """1 where the matrix in `work` is positive definite, by elimination; what is no number makes it 0."""
    write = Procedure("definite", {"s": "ptr"}, "i64", internal=True)
    record = Record(write["s"], FIELDS)
    n, work = record.get("n"), record.get("work")
    with write.loop(n) as j:
        pivot = work[j * n + j]
        with write.when(~(pivot > 0.0)):
            write.give(0)
        with write.loop(n, j + 1) as i:
            factor = work[i * n + j] / pivot
            with write.loop(i + 1, j + 1) as k:
                work[i * n + k] = work[i * n + k] - factor * work[k * n + j]
    write.give(1)
    return write


def _exceeds() -> Procedure:
    """Whether a - theta b is positive definite, and safely so."""
    write = Procedure("exceeds", {"s": "ptr", "a": "ptr", "b": "ptr", "theta": "double"}, "i64", internal=True)
    record = Record(write["s"], FIELDS)
    n, work, a, b = record.get("n"), record.get("work"), write["a"], write["b"]
    with write.loop(n) as i:
        with write.loop(i + 1) as j:
            work[i * n + j] = a[i * n + j] - write["theta"] * b[i * n + j]
        at = i * n + i
        work[at] = work[at] - (a[at] + b[at]) * _LEFT
    write.give(write.call("definite", [write["s"]], "i64"))
    return write


def _measured() -> Procedure:
    """The matrix of the constraints at a sample into `now`, symmetric, its rows with the signs of their first diagonals."""
    write = Procedure("measured", {"s": "ptr", "c": "ptr", "date": "ptr", "row": "ptr", "is_first": "i64"}, internal=True)
    record, integrator = Record(write["s"], FIELDS), Record(write["c"], INTEGRATOR)
    n, given, now, entries = (record.get(name) for name in ("n", "given", "now", "entries"))
    signs, low, high = (record.get(name) for name in ("signs", "low", "high"))
    write.call(record.get("kernel"), [write["date"], write["row"], integrator.get("p"), integrator.get("m"), entries])
    with write.loop(record.get("entry_count")) as e:
        row, column = (record.get(name).load(e, "i64") for name in ("rows", "columns"))
        given[row * n + column] = entries[e]
    with write.loop(n) as i:
        own = given[i * n + i]
        with write.when(write["is_first"].equals(1)):
            signs[i] = write.select(own < 0.0, -1.0, 1.0)
            low[i], high[i] = size_of(write, own), size_of(write, own)
        low[i] = write.intrinsic("minnum", low[i], size_of(write, own))
        high[i] = larger(write, high[i], size_of(write, own))
        with write.loop(i + 1) as j:
            now[i * n + j] = (signs[i] * given[i * n + j] + signs[j] * given[j * n + i]) * 0.5
    write.give()
    return write


def may_lose_rank() -> Procedure:
    """1 where it cannot be excluded that `singular` finds something in a finished run with these rows."""
    write = Procedure("may_lose_rank", {"s": "ptr", "c": "ptr", "samples": "ptr"}, "i64", internal=True)
    record, integrator = Record(write["s"], FIELDS), Record(write["c"], INTEGRATOR)
    n, width, stride, count = record.get("n"), integrator.get("width"), record.get("stride"), record.get("count")
    now, before, first, work = (record.get(name) for name in ("now", "before", "first", "work"))
    date = write.local(0.0)

    def look(k: Temporary, row: Temporary) -> None:
        is_first = k.equals(0)
        write.call("measured", [write["s"], write["c"], date.place, row, write.select(is_first, 1, 0, "i64")])
        with write.when(~is_first):
            for a, b, bound in ((now, before, "falls"), (before, now, "rises")):
                safe = write.call("exceeds", [write["s"], a, b, record.get(bound)[k]], "i64")
                with write.when(safe.equals(0)):
                    write.give(1)
        with write.loop(n * n) as i:
            before[i] = now[i]
            with write.when(is_first):
                first[i] = now[i]

    with write.loop(count) as k:
        date.set(record.get("dates")[k * stride])
        look(k, write["samples"].at(k * stride * width))
    with write.when(record.get("beyond").equals(1)):
        date.set(record.get("end_date"))
        look(count, integrator.get("y"))
    _full_rank(write, record, n, first, work)
    write.give(write.select(write.call("definite", [write["s"]], "i64").equals(1), 0, 1, "i64"))
    return write


def _full_rank(write: Procedure, record: Record, n: Temporary, first: Temporary, work: Temporary) -> None:
    """Into `work` what is positive definite if the first matrix has full rank by the measure of the whole run; an end where that
    measure and a diagonal on the way differ so much that `_LEFT` says little."""
    low, high = record.get("low"), record.get("high")
    with write.loop(n) as i:
        with write.when(~(low[i] > high[i] * _SMALLER)):
            write.give(1)
        with write.loop(i + 1) as j:
            work[i * n + j] = first[i * n + j]
        work[i * n + i] = work[i * n + i] - high[i] * write.real(n) * (2.0 * RANK)
