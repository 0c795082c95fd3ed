"""Rank screening of the constraint matrix along a run, in machine code: a cheap test that excludes a loss of rank.

If A' - theta A is positive definite for two successive matrices A, A', then every eigenvalue of A' is larger than theta times
the corresponding eigenvalue of A (in ascending order), and remains so after any congruence (Loewner order), such as the change of
scale in `validation.constraint_rank`. Two attempted factorisations thus exclude too fast a change in either direction (`bounds`);
eigenvalues are needed only if a factorisation fails. Several samples are tested in SIMD lanes, and only the envelope of the
matrices is factored, so independent bodies and chains cost no more than their own constraints.
"""

from __future__ import annotations

from bondgraph.emit.kernel_language.language import Disjoint, Fixed, Reals, inline, larger, smaller
from bondgraph.run.batch.validity.sample_check import SampleCheck, evaluate_samples, take_row, take_rows
from bondgraph.run.program import Program
from bondgraph.run.steppers.shared_fields import IntegratorTable
from bondgraph.run.validation.checked_result import has_constraints
from bondgraph.run.validation.constraint_rank import RANK_TOLERANCE

# Fraction of the diagonal that must remain of each difference; smallest diagonal relative to the largest of the run.
_LEFT, _SMALLER = 1e-9, 1e-3


def screens(program: Program) -> bool:
    """Return True if machine code can check the constraints: none is redundant (eigenvalues would always be zero), and there are
    no transitions, which could change the active constraints."""
    closing, kernel = program.closing, program.closing_matrix
    plain = has_constraints(program) and closing is not None and not closing.repeating and not program.transitions
    return plain and kernel is not None and kernel.is_machine_code


def definite(s: SampleCheck, work: Disjoint, bad: Disjoint, factor: Disjoint, lanes: Fixed) -> bool:
    """Return True if the matrices in `work` are positive definite, by elimination; False if an entry is NaN."""
    n, leftmost, lowest = s.n, s.leftmost, s.lowest
    for lane in range(lanes):
        bad[lane] = 0.0
    for j in range(n):
        pivot = work[(j * n + j) * lanes :]
        for lane in range(lanes):
            before, is_sound = bad[lane], pivot[lane] > 0.0
            bad[lane] = before if is_sound else 1.0
        for i in range(j + 1, lowest[j]):
            if leftmost[i] <= j:
                for lane in range(lanes):
                    factor[lane] = work[(i * n + j) * lanes + lane] / pivot[lane]
                for k in range(j + 1, i + 1):
                    for lane in range(lanes):
                        index = (i * n + k) * lanes + lane
                        work[index] = work[index] - factor[lane] * work[(k * n + j) * lanes + lane]
    for lane in range(lanes):
        if bad[lane] != 0.0:
            return False
    return True


def exceeds(s: SampleCheck, a: Reals, b: Reals, work: Disjoint, lanes: Fixed) -> bool:
    n, theta, leftmost = s.n, s.theta, s.leftmost
    for i in range(n):
        for j in range(leftmost[i], i + 1):
            for lane in range(lanes):
                wide = (i * n + j) * (lanes + 1) + lane
                work[(i * n + j) * lanes + lane] = a[wide] - theta[lane] * b[wide]
        for lane in range(lanes):
            index, wide = (i * n + i) * lanes + lane, (i * n + i) * (lanes + 1) + lane
            work[index] = work[index] - (a[wide] + b[wide]) * _LEFT
    return definite(s, work, s.bad, s.factor, lanes)


def measure_matrices(s: SampleCheck, matrix: Disjoint, is_first: bool, lanes: Fixed) -> None:
    n, now, signs, entries = s.n, s.now, s.signs, s.entries
    for e in range(s.entry_count):
        place = (s.rows[e] * n + s.columns[e]) * lanes
        for lane in range(lanes):
            matrix[place + lane] = entries[e * lanes + lane]
    for i in range(n):
        measure_diagonal(matrix[(i * n + i) * lanes :], s.low[i * lanes :], s.high[i * lanes :], is_first, lanes)
        if is_first:
            signs[i] = -1.0 if matrix[(i * n + i) * lanes] < 0.0 else 1.0
        for j in range(s.leftmost[i], i + 1):
            before = now[(i * n + j) * (lanes + 1) :]
            if not is_first:
                before[0] = before[lanes]
            mean(before[1:], matrix[(i * n + j) * lanes :], matrix[(j * n + i) * lanes :], signs[i], signs[j], lanes)
            if is_first:
                before[0] = before[1]
                s.first[i * n + j] = before[1]


@inline
def measure_diagonal(diagonal: Reals, low: Reals, high: Reals, is_first: bool, lanes: Fixed) -> None:
    for lane in range(lanes):
        size = abs(diagonal[lane])
        if is_first:
            low[lane] = size
            high[lane] = size
        low[lane] = smaller(low[lane], size)
        high[lane] = larger(high[lane], size)


@inline
def mean(out: Reals, ours: Reals, theirs: Reals, sign: float, other: float, lanes: Fixed) -> None:
    for lane in range(lanes):
        out[lane] = (ours[lane] * sign + theirs[lane] * other) * 0.5


def may_lose_rank(s: SampleCheck, c: IntegratorTable, samples: Reals, lanes: Fixed) -> bool:
    """Return True unless it is certain that `find_rank_loss` would find nothing in the finished run with these rows."""
    n, width, stride, count = s.n, c.width, s.stride, s.count
    now, work, first_matrix = s.now, s.work, s.first
    every_sample, first = count + s.beyond, 0
    while first < every_sample:
        take_rows(s, samples, first * stride, (count - 1) * stride, stride, width, lanes)
        for lane in range(lanes):
            if first + lane >= count and every_sample > count:
                take_row(s, c.y, s.end_date, width, lane, lanes)
        evaluate_samples(s, width, lanes)
        measure_matrices(s, s.matrix, first == 0, lanes)
        take_bounds(s.theta, s.falls, first, every_sample - 1, lanes)
        if not exceeds(s, now[1:], now, work, lanes):
            return True
        take_bounds(s.theta, s.rises, first, every_sample - 1, lanes)
        if not exceeds(s, now, now[1:], work, lanes):
            return True
        first = first + lanes
    # Rank is relative to the size over the whole run; if a diagonal has been much smaller, the test with `_LEFT` is inconclusive.
    for i in range(n):
        low, high = s.low[i * lanes :], s.high[i * lanes :]
        smallest, largest = low[0], high[0]
        for lane in range(1, lanes):
            smallest = smaller(smallest, low[lane])
            largest = larger(largest, high[lane])
        if not smallest > largest * _SMALLER:
            return True
        for j in range(s.leftmost[i], i + 1):
            least = largest * float(n) * (2.0 * RANK_TOLERANCE) if i == j else 0.0
            for lane in range(lanes):
                work[(i * n + j) * lanes + lane] = first_matrix[i * n + j] - least
    return not definite(s, work, s.bad, s.factor, lanes)


@inline
def take_bounds(theta: Reals, bounds: Reals, first: int, last: int, lanes: Fixed) -> None:
    for lane in range(lanes):
        theta[lane] = bounds[min(first + lane, last)]
