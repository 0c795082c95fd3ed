"""Rows of a finished run, as many at a time as there are lanes: samples in; whether all that follows from them is finite, out.

`lanes` = 1 is for runs that go alone. The table of `FIELDS` serves the look at constraints, too (`screen`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from bondgraph.emit.kernel import aligned_zeros
from bondgraph.emit.procedure import Operand, Procedure, Record, Temporary
from bondgraph.run.error_control.abreast import Abreast, Numbers, Wide, everywhere
from bondgraph.run.integrators.explicit.lanes import every
from bondgraph.run.integrators.one_step.method import COMMON as INTEGRATOR
from bondgraph.run.outcome.judge import stride_of
from bondgraph.run.program import Program
from bondgraph.run.repeated.finished.bounds import bounds
from bondgraph.run.table import FieldTable, fields_of

KERNELS = ("rates", "powers", "rates_and_powers", "energies", "closing_matrix")
# t, x, p, m, out: blocks of the kernels, of several samples; falls, rises: of each sample whose constraints are looked at; rows,
# columns: of the entries of their matrix; given ... work: such matrices, `now` with the one before in front; theta, bad, factor:
# of each lane; signs, low, high: of each diagonal, the latter two of each lane; leftmost, lowest: the envelope of such a matrix;
# beyond: whether the end of a run is looked at.
_POINTERS = (
    "dates t x p m out bad falls rises rows columns entries given now first work theta factor signs low high leftmost lowest"
)
_WHOLES = "parameters modes storages samples watched n entry_count count stride beyond"
FIELDS = fields_of([*KERNELS, *_POINTERS.split()], _WHOLES.split(), ("end_date",))


def row_table(
    program: Program, addresses: Mapping[str, int], lanes: int, times: np.ndarray, dates: np.ndarray, watched: bool, span: float
) -> FieldTable:
    """What these procedures take, for runs with rows at these times since their start; constraints are looked at if `watched`, at
    the samples that `judge` chooses."""
    table = FieldTable(FIELDS)
    outs = [kernel.n_out for name in KERNELS if (kernel := getattr(program, name)) is not None]
    quadratures = 0 if program.powers is None else program.powers.n_out
    lengths = {"x": program.states + quadratures, "p": program.parameters, "m": program.modes, "out": max(outs)}
    lengths |= dict.fromkeys(("t", "bad", "theta", "factor"), 1)
    arrays = {"dates": np.ascontiguousarray(dates)}
    for name in KERNELS:
        table.point(name, addresses.get(name, 0))
    table["parameters"], table["modes"], table["samples"] = program.parameters, program.modes, len(times)
    table["storages"] = 0 if program.energies is None else program.energies.n_out
    if watched:
        assert program.closing is not None
        n, stride = len(program.closing.owners), stride_of(len(times))
        looked, beyond = times[::stride], span > times[-1]
        arrays["falls"], arrays["rises"] = bounds(np.append(looked, span) if beyond else looked)
        rows, columns = np.array(program.closing.pattern, dtype=np.int64).reshape(-1, 2).T
        arrays |= {"rows": np.ascontiguousarray(rows), "columns": np.ascontiguousarray(columns)}
        arrays |= dict(zip(("leftmost", "lowest"), envelope(n, rows, columns), strict=True))
        arrays |= {"signs": np.zeros(n), "first": np.zeros(n * n), "now": np.zeros(n * n * (lanes + 1))}
        lengths |= {"entries": len(rows), "given": n * n, "work": n * n, "low": n, "high": n}
        table["n"], table["entry_count"], table["count"], table["stride"] = n, len(rows), len(looked), stride
        table["watched"], table["beyond"], table["end_date"] = 1, beyond, dates[0] + (span - times[0])
    arrays |= {name: aligned_zeros(length * lanes) for name, length in lengths.items()}
    for name, array in arrays.items():
        table.point(name, array)
    return table


def envelope(n: int, rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of a symmetric matrix (n, n) with these entries (e,) on either side of its diagonal: the first column of each row that
    elimination does not leave zero, (n,), and the end of the rows of each column, (n,).

    Elimination fills nothing before the first entry of a row (A. George and J. W. H. Liu, Computer Solution of Large Sparse
    Positive Definite Systems, 1981, chapter 4).
    """
    leftmost, lowest = np.arange(n), np.arange(1, n + 1)
    np.minimum.at(leftmost, np.maximum(rows, columns), np.minimum(rows, columns))
    np.maximum.at(lowest, leftmost, np.arange(1, n + 1))
    return leftmost, np.maximum.accumulate(lowest)


def procedures(lanes: int) -> list[Procedure]:
    """What the looks at values and at constraints need."""
    return [_take(lanes), _take_all(lanes), _present(lanes)]


@contextmanager
def groups(write: Procedure, count: Operand, lanes: int) -> Iterator[Temporary]:
    """Over so many samples, by groups of as many as there are lanes: the first of each."""
    first = write.local(0, "i64")
    with write.repeat() as (_, done):
        with write.when(first.get() >= write.value(count, "i64")):
            write.jump(done)
        yield first.get()
        first.set(first.get() + lanes)


def _take(lanes: int) -> Procedure:
    """A row (width,) and its date into a lane."""
    write = Procedure("take_row", {"s": "ptr", "row": "ptr", "date": "double", "width": "i64", "lane": "i64"}, internal=True)
    record = Record(write["s"], FIELDS)
    record.get("t")[write["lane"]] = write["date"]
    with write.loop(write["width"]) as i:
        record.get("x")[i * lanes + write["lane"]] = write["row"][i]
    write.give()
    return write


def _take_all(lanes: int) -> Procedure:
    """Rows, and their dates, from the one of number `first` on, into all lanes; every `stride` counts, and the last goes on."""
    given = {"s": "ptr", "rows": "ptr", **dict.fromkeys(("first", "count", "stride", "width"), "i64")}
    write = Procedure("take_rows", given, internal=True)
    record, stride, x = Record(write["s"], FIELDS), write["stride"], Wide(Record(write["s"], FIELDS).get("x"), lanes)
    places = [least(write, write["first"] + lane, write["count"] - 1) * stride for lane in range(lanes)]
    rows = [write["rows"].at(place * write["width"]) for place in places]
    for lane, place in enumerate(places):
        record.get("t")[lane] = record.get("dates")[place]
    with write.loop(write["width"]) as i:
        x[i] = Abreast([row[i] for row in rows])
    write.give()
    return write


def _present(lanes: int) -> Procedure:
    """Parameters and modes of a run into all lanes."""
    write = Procedure("present_run", {"s": "ptr", "c": "ptr"}, internal=True)
    record, integrator = Record(write["s"], FIELDS), Record(write["c"], INTEGRATOR)
    for name, count in (("p", "parameters"), ("m", "modes")):
        with every(write, record.get(count), lanes) as (k, _, i):
            record.get(name)[i] = integrator.get(name)[k]
    write.give()
    return write


def not_finite(lanes: int) -> Procedure:
    """1 where a value is not finite at a sample of a run that is present: states, integrated powers, rates, powers, energies."""
    write = Procedure("not_finite", {"s": "ptr", "c": "ptr", "samples": "ptr"}, "i64", internal=True)
    record, integrator = Record(write["s"], FIELDS), Record(write["c"], INTEGRATOR)
    n, quadratures, width = (integrator.get(name) for name in ("n", "quadratures", "width"))
    bad, out, count = Numbers(write, everywhere(write, 0.0, lanes)), record.get("out"), record.get("samples")
    blocks = [record.get(name) for name in ("t", "x", "p", "m")]

    def watch(values: Temporary, length: Temporary) -> None:
        with write.loop(length) as i:
            bad.set(bad.get() + Wide(values, lanes)[i] * 0.0)

    with groups(write, count, lanes) as first:
        write.call("take_rows", [write["s"], write["samples"], first, count, write.value(1, "i64"), width])
        watch(record.get("x"), width)
        fused = record.get("rates_and_powers")
        with write.when(fused.is_given()):
            write.call(fused, [*blocks, out])
            watch(out, width)
        with write.when(~fused.is_given()):
            write.call(record.get("rates"), [*blocks, out])
            watch(out, n)
            with write.when(quadratures > 0):
                write.call(record.get("powers"), [*blocks, out])
                watch(out, quadratures)
        with write.when(record.get("storages") > 0):
            write.call(record.get("energies"), [*blocks, out])
            watch(out, record.get("storages"))
    write.give(write.select((~bad.get().equals(0.0)).any(), 1, 0, "i64"))
    return write


def least(write: Procedure, a: Temporary, b: Temporary) -> Temporary:
    """The lesser of two whole numbers."""
    return write.select(a < b, a, b, "i64")
