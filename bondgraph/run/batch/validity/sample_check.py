"""Check of the samples of a finished run, in SIMD lanes: find rows, rates, powers and energies that are not finite.

One kernel with `lanes` lanes, `AT_SAMPLE`, evaluates all of these. With `lanes` = 1, for single runs, only the constraints are
checked here. The constraint check (`rank_screen`) uses the same table.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import numpy as np

from bondgraph.emit.kernel_language.language import Disjoint, Fixed, Ints, Kernel, Length, Reals, Table, inline, unrolled
from bondgraph.emit.kernel_language.translate import translate
from bondgraph.emit.procedure import Procedure
from bondgraph.run.program import Program
from bondgraph.run.steppers.shared_fields import IntegratorTable
from bondgraph.run.table import FieldTable
from bondgraph.run.validation.checked_result import check_stride
from bondgraph.run.validation.constraint_rank import EXTRAPOLATION

# Relative rounding margin of the bounds beyond which an interval is suspected.
_ROUNDING = 1e-3
# Ratio of neighbouring intervals above which the bounds are meaningless because of rounding.
_UNLIKE = 1e6


def bounds(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each time of t (k,) and the previous time, the bounds within which `find_rank_loss` suspects no interval: the
    smallest ratio of current to previous eigenvalues, and the smallest ratio of previous to current eigenvalues.

    An interval of length L that begins at a root s is suspected if the straight line through s and the root s' a time d earlier
    reaches zero within (1 + e) L, that is unless s' <= s (1 + d / ((1 + e) L)), with e = `EXTRAPOLATION`; likewise on the other
    side. Eigenvalues are squares of roots.
    """
    d = np.diff(t)
    reach = (1.0 + EXTRAPOLATION) * (1.0 + _ROUNDING)
    falls, rises = np.zeros(len(t)), np.zeros(len(t))
    falls[1:-1] = (1.0 + d[:-1] / (reach * d[1:])) ** -2
    rises[2:] = (1.0 + d[1:] / (reach * d[:-1])) ** -2
    unlike = np.flatnonzero((d[1:] > _UNLIKE * d[:-1]) | (d[:-1] > _UNLIKE * d[1:]))
    falls[unlike + 1] = rises[unlike + 2] = np.inf  # an infinite bound, which nothing satisfies
    return falls, rises


PerSample = Annotated[Reals, Length(lambda s: s.lanes)]
PerDiagonal = Annotated[Reals, Length(lambda s: s.n * s.lanes)]
Matrices = Annotated[Reals, Length(lambda s: s.n * s.n * s.lanes)]


class SampleCheck(Table):
    """Table of samples in lanes; array lengths also depend on the number of `lanes`, the `width` of rows, and the number of
    `matrix_entries` after the values."""

    # kernel: code for the constraint matrix, or for all values at a sample followed by that matrix; t, x, p, m, out: its blocks,
    # with a sample per lane; nonfinite: for each state, integrated power and value in a lane, 0, or NaN once it was not finite.
    kernel: Kernel
    dates: Reals
    t: PerSample
    x: Annotated[Reals, Length(lambda s: s.width * s.lanes)]
    p: Annotated[Reals, Length(lambda s: s.parameters * s.lanes)]
    m: Annotated[Reals, Length(lambda s: s.modes * s.lanes)]
    out: Annotated[Reals, Length(lambda s: (s.values + s.matrix_entries) * s.lanes)]
    nonfinite: Annotated[Reals, Length(lambda s: (s.width + s.values) * s.lanes)]
    bad: PerSample
    # falls, rises: `bounds` of each sample whose constraints are checked; rows, columns: rows and columns of the entries of the
    # constraint matrix; matrix, work: one such matrix per lane; now: the same after the previous matrix; first: matrix of the
    # first sample; theta, bad, factor: values of each lane; signs, low, high: values of each diagonal, low and high in each lane;
    # leftmost, lowest: envelope of the matrix.
    falls: Reals
    rises: Reals
    rows: Ints
    columns: Ints
    entries: Reals
    matrix: Matrices
    now: Annotated[Reals, Length(lambda s: s.n * s.n * (s.lanes + 1))]
    first: Annotated[Reals, Length(lambda s: s.n * s.n)]
    work: Matrices
    theta: PerSample
    factor: PerSample
    signs: Annotated[Reals, Length(lambda s: s.n)]
    low: PerDiagonal
    high: PerDiagonal
    leftmost: Ints
    lowest: Ints
    # beyond: 1 if the end of a run, at end_date, is checked.
    parameters: int
    modes: int
    values: int
    samples: int
    watched: int
    n: int
    entry_count: int
    count: int
    stride: int
    beyond: int
    end_date: float


def row_table(
    program: Program, kernel: int, lanes: int, times: np.ndarray, dates: np.ndarray, watched: bool, span: float
) -> FieldTable:
    table = FieldTable(SampleCheck)
    every = (program.rates, program.powers, program.energies)
    values = 0 if lanes == 1 else sum(each.n_out for each in every if each is not None)
    matrix_entries = 0 if program.closing_matrix is None else program.closing_matrix.n_out
    width = program.states + program.quadratures
    arrays = {"dates": np.ascontiguousarray(dates)}
    counts = {"parameters": program.parameters, "modes": program.modes, "values": values, "n": 0}
    table.point("kernel", kernel)
    table["samples"], table["stride"] = len(times), 1
    if watched:
        assert program.closing is not None
        n, stride = len(program.closing.owners), check_stride(len(times))
        checked, beyond = times[::stride], span > times[-1]
        arrays["falls"], arrays["rises"] = bounds(np.append(checked, span) if beyond else checked)
        rows, columns = np.array(program.closing.pattern, dtype=np.int64).reshape(-1, 2).T
        arrays |= {"rows": np.ascontiguousarray(rows), "columns": np.ascontiguousarray(columns)}
        arrays |= dict(zip(("leftmost", "lowest"), envelope(n, rows, columns), strict=True))
        counts |= {"n": n, "entry_count": len(rows), "count": len(checked), "stride": stride, "watched": 1, "beyond": beyond}
        table["end_date"] = dates[0] + (span - times[0])
    for name, count in counts.items():
        table[name] = count
    table.allocate(lanes=lanes, width=width, matrix_entries=matrix_entries, **counts)
    for name, array in {**arrays, "entries": table.arrays["out"][values * lanes :]}.items():
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
    every: list[Callable[..., Any]] = [take_rows, load_run, evaluate_samples]
    every += [mark_nonfinite_samples, any_nonfinite] if lanes > 1 else []
    return translate([partial(function, lanes=lanes) for function in every])


@inline
def take_row(s: SampleCheck, row: Reals, date: float, width: int, lane: int, lanes: Fixed) -> None:
    x = s.x
    s.t[lane] = date
    for i in range(width):
        x[i * lanes + lane] = row[i]


def take_rows(s: SampleCheck, rows: Reals, first: int, last: int, stride: int, width: int, lanes: Fixed) -> None:
    for lane in range(lanes):
        s.t[lane] = s.dates[min(first + stride * lane, last)]
    rows_to_lanes(s.x, rows, first, last, stride, width, lanes)


def rows_to_lanes(x: Disjoint, rows: Reals, first: int, last: int, stride: int, width: int, lanes: Fixed) -> None:
    for i in range(width):
        for lane in unrolled(range(lanes)):
            x[i * lanes + lane] = rows[min(first + stride * lane, last) * width + i]


def load_run(s: SampleCheck, c: IntegratorTable, lanes: Fixed) -> None:
    for k in range(s.parameters):
        for lane in range(lanes):
            s.p[k * lanes + lane] = c.p[k]
    for k in range(s.modes):
        for lane in range(lanes):
            s.m[k * lanes + lane] = c.m[k]
    if lanes > 1:
        nonfinite = s.nonfinite
        for i in range((c.width + s.values) * lanes):
            nonfinite[i] = 0.0


def mark_nonfinite(nonfinite: Disjoint, values: Reals, count: int) -> None:
    """Mark the values that are not finite, each by a flag of its own, so that the operations do not depend on each other."""
    for i in range(count):
        nonfinite[i] = nonfinite[i] + values[i] * 0.0


def evaluate_samples(s: SampleCheck, width: int, lanes: Fixed) -> None:
    """Evaluate the kernel, which also writes `entries`, at the rows in the lanes."""
    s.kernel(s.t, s.x, s.p, s.m, s.out)
    if lanes > 1:
        mark_nonfinite(s.nonfinite, s.x, width * lanes)
        mark_nonfinite(s.nonfinite[width * lanes :], s.out, s.values * lanes)


def mark_nonfinite_samples(s: SampleCheck, c: IntegratorTable, samples: Reals, first: int, lanes: Fixed) -> None:
    sample = first
    while sample < s.samples:
        take_rows(s, samples, sample, s.samples - 1, s.stride, c.width, lanes)
        evaluate_samples(s, c.width, lanes)
        sample = sample + s.stride * lanes


def any_nonfinite(s: SampleCheck, c: IntegratorTable, lanes: Fixed) -> bool:
    nonfinite = s.nonfinite
    for i in range((c.width + s.values) * lanes):
        if nonfinite[i] != 0.0:
            return True
    return False
