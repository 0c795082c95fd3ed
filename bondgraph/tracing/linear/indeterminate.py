"""Statically indeterminate systems: singular but consistent equations with a unique motion and reactions that are not unique.

Two parallel clutches that stick hold one speed with two torques; two diodes that block in series stop one current with two
voltages. The equations A w = b are then dependent, and changes w = N y have no effect. Of all solutions, the one whose
reactions (torques of sticking clutches, voltages of open switches, currents of closed switches) have the least norm is used.
Each reaction is scaled by its natural size, so that units, order and causality do not matter and equal parts have equal
shares.

If the equations are inconsistent, the states alone must make the residual (g = L^T b, L^T A = 0) vanish: it is differentiated
along the motion (index reduction), and its rate replaces the equation. If no unknown acts on the rate either, the equations of
the mode contradict each other while g is not zero. The ideal elements then react like stiff elements, so that a diode among them
can switch.

Symmetric, positive semidefinite systems A w = b on a tape are solved with least norm, up to rounding errors. Redundant
constraints have such a matrix, A = J M^-1 J^T with dependent rows of J. Elimination would divide by the rounding error of a
pivot; instead each pivot is raised by a small fraction of its diagonal entry, and iterative refinement removes the error:

    w_0 = 0,   w_{k+1} = w_k + (A + eps D)^-1 (b - A w_k),   D = diag A.

Components in the range of A converge by the factor eps / (eps + s) per step, where s is the eigenvalue of D^-1 A; components in
its null space stay zero, so that the limit is the solution of least w^T D w. Any order of pivots is stable, no choice depends on
values, and units cancel. The entries of D are natural sizes, which do not vanish where a row of A does.

Source: Riley 1955; Bayo and Ledesma 1996 (constraints of multibody systems in singular positions).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bondgraph.tracing.linear.ideal_reactions import Ideal, IdealReaction
from bondgraph.tracing.linear.solve import (
    SINGULAR,
    Elimination,
    SingularSystem,
    eliminate,
    equilibrated,
    factorised_in_run,
    magnitudes,
    matrices_of,
    natural_sizes,
    rows_of,
)
from bondgraph.tracing.on_tape.context import TracingContext
from bondgraph.tracing.on_tape.values import Entries
from screws.scalars import absolute, less, maximum, sign, where

REGULARISATION = 1e-9
"""Relative increase of each diagonal entry (eps)."""

REFINEMENTS = 3

SYMMETRY_TOLERANCE = 1e-6
"""Largest deviation of a matrix, up to a sign of each row, from a symmetric and semidefinite matrix, as a fraction of its
entries."""


@dataclass(frozen=True)
class RedundantPart:
    rows: tuple[int, ...]
    right: Sequence[Any]
    residuals: Sequence[Any]


def solve_redundant(
    entries: Entries, right: Sequence[Any], numbers: Mapping[tuple[int, int], np.ndarray]
) -> tuple[list[Any], list[Any]] | None:
    """Return the least-norm solution and its residuals; return None unless the matrix is symmetric (up to signs) and
    semidefinite, with no zero on its diagonal at the start."""
    matrices = matrices_of(numbers, len(right))
    sizes = semidefinite_sizes(matrices)
    if sizes is None or not np.all(np.diagonal(matrices[0])):
        return None
    return solve_semidefinite(entries, right, list(sizes))


def semidefinite_sizes(matrices: np.ndarray) -> np.ndarray | None:
    """Return natural sizes of the diagonal (n,), with the sign of each row; return None unless the matrices (k, n, n) at samples
    are symmetric up to these signs and positive semidefinite."""
    diagonal = np.diagonal(matrices, axis1=1, axis2=2)
    signs = np.sign(diagonal.sum(axis=0))
    if not np.all(signs) or np.any(signs * diagonal < 0.0):
        return None
    sizes = np.abs(diagonal).max(axis=0)
    scale = 1.0 / np.sqrt(sizes)
    scaled = signs[:, None] * scale[:, None] * matrices * scale
    scaled = scaled[np.isfinite(scaled).all(axis=(1, 2))]  # another pass reports values that are not finite at the start
    skew = np.abs(scaled - scaled.transpose(0, 2, 1)).max(initial=0.0)
    if skew > SYMMETRY_TOLERANCE or np.linalg.eigvalsh(scaled).min(initial=0.0) < -SYMMETRY_TOLERANCE:
        return None
    return np.asarray(signs * sizes)


def solve_semidefinite(
    matrix: Mapping[tuple[int, int], Any], right: Sequence[Any], sizes: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """Return the least-norm solution w (n,) and its residuals b - A w (n,), as scalars of the tape.

    Parameters
    ----------
    matrix : scalar of each (equation, unknown); symmetric up to a sign of each equation.
    right : b, one scalar for each equation.
    sizes : natural sizes of the diagonal, with its signs; numbers, or scalars of the tape.
    """
    w = semidefinite_solver(matrix, sizes)(right)
    return w, residuals(rows_of(matrix, len(right)), right, w)


def semidefinite_solver(
    matrix: Mapping[tuple[int, int], Any], sizes: Sequence[Any], part: float = REGULARISATION, late: Sequence[int] = ()
) -> Callable[[Sequence[Any]], list[Any]]:
    """Factorise a matrix for `solve_semidefinite` and return its solver; the diagonal is raised by `part` of the sizes.

    Pivots are diagonal entries, except for `late` unknowns: a run chooses the largest entry of each column, since skew
    couplings may cancel the diagonal.
    """
    rows = rows_of(matrix, len(sizes))
    solved = factorised([row | {i: row.get(i, 0.0) + part * sizes[i]} for i, row in enumerate(rows)], late)

    def refined(right: Sequence[Any]) -> list[Any]:
        w = solved(right)
        for _ in range(REFINEMENTS):
            w = [a + b for a, b in zip(w, solved(residuals(rows, right, w)), strict=True)]
        return w

    return refined


def residuals(rows: Sequence[Mapping[int, Any]], right: Sequence[Any], w: Sequence[Any]) -> list[Any]:
    return [b - sum((a * w[j] for j, a in row.items()), 0.0) for b, row in zip(right, rows, strict=True)]


def factorised(rows: list[dict[int, Any]], late: Sequence[int] = ()) -> Callable[[Sequence[Any]], list[Any]]:
    """Factorise a definite matrix and return its solver; rows are eliminated in place, with diagonal pivots in a fill-reducing
    order, and then the `late` rows with pivots chosen at run time."""
    remaining, order, below = set(range(len(rows))) - set(late), list[int](), list[tuple[int, int, Any]]()
    while remaining:
        i = min(remaining, key=lambda k: (sum(j in remaining for j in rows[k]), k))
        remaining.discard(i)
        order.append(i)
        for k in sorted({*remaining, *late}):
            if i not in rows[k]:
                continue
            factor = rows[k].pop(i) / rows[i][i]
            below.append((k, i, factor))
            for j, value in rows[i].items():
                if j != i:
                    rows[k][j] = rows[k].get(j, 0.0) - factor * value
    at = {k: index for index, k in enumerate(late)}
    last = factorised_in_run({(at[k], at[j]): value for k in late for j, value in rows[k].items()}, len(at))

    def solved(right: Sequence[Any]) -> list[Any]:
        b, w = list(right), [0.0] * len(right)
        for k, i, factor in below:
            b[k] = b[k] - factor * b[i]
        for k, value in zip(late, last([b[k] for k in late]), strict=True):
            w[k] = value
        for i in reversed(order):
            total = b[i]
            for j, value in rows[i].items():
                if j != i:
                    total = total - value * w[j]
            w[i] = total / rows[i][i]
        return w

    return solved


RANK_GAP = 1e3
"""Minimum ratio of the smallest pivot to the remaining entries at which a system counts as singular."""

SUM_ROUNDING = 1e-9
"""Fraction of a sum's terms below which the sum counts as zero, at sample states."""

CONTRADICTION_RTOL = 1e-6
"""Fraction of its terms above which the right-hand side of an equation without unknowns is a contradiction in a run; for a
right-hand side that depends only on time, and has no integration error, it is `SUM_ROUNDING`."""

MAX_REDUCTIONS = 3

PREFERENCE = 1e4
"""Weight of a limited reaction (friction) relative to an unlimited one (a stop)."""

STIFFNESS = 1e6
"""Stiffness of ideal elements that contradict each other, in natural sizes."""


@dataclass(frozen=True)
class LeastNormSolution:
    values: list[Any]
    elements: tuple[str, ...] = ()
    """Elements whose reactions the equations do not determine: these reactions are the least-norm choice."""
    contradiction: Any = None
    """None if the equations are always consistent; else a scalar that is positive where they are not."""
    by_time: bool = False
    """True if time and parameters alone determine the contradiction."""
    is_motion_unique: bool = True
    singular: SingularSystem | None = field(default=None, compare=False)


def solve_least_norm(context: TracingContext, entries: Entries, right: Sequence[Any], ideal: Ideal) -> LeastNormSolution:
    """Solve a singular A w = b in one mode by least norm; raise `SingularSystem` if the rank of A is unclear, or a free unknown
    acts on no reaction."""
    entries, right = dict(entries), list(right)
    eliminated = _eliminated(context, entries, right)
    misfits = _misfits(context, eliminated, entries, right, ideal)
    for _ in range(MAX_REDUCTIONS):
        rates = _rates(context, eliminated, misfits, ideal)
        if not rates:
            break
        for i, (row, value) in rates.items():
            entries = {key: entry for key, entry in entries.items() if key[0] != i}
            entries |= {(i, j): entry for j, entry in row.items()}
            right[i] = value
        eliminated = _eliminated(context, entries, right)
        misfits = _misfits(context, eliminated, entries, right, ideal)
    if not eliminated.equations:
        return LeastNormSolution(eliminated.solution({}))
    singular = SingularSystem(eliminated.equations, eliminated.unknowns)
    free = {j: eliminated.null_vector(j) for j in eliminated.unknowns}
    reactions, slopes, sizes = _open_reactions(context, ideal, free)
    if not all(any(j in row for row in slopes) for j in free):
        raise singular
    particular = eliminated.solution({})
    least = _least_norm(reactions, slopes, sizes, particular, list(free))
    by_time = {i for i, (value, _) in misfits.items() if not _depends_on_states(context, value)}
    contradiction = _contradiction(misfits, by_time)
    if contradiction is not None:
        pushed = _pushes(context, eliminated, entries, free, ideal)
        size = sum((absolute(r.at(particular)) / s for r, s in zip(reactions, sizes, strict=True)), 0.0)
        active = less(0.0, contradiction)
        least = [y + where(active, STIFFNESS * (d + sign(d) * size), 0.0) for y, d in zip(least, pushed, strict=True)]
    values = eliminated.solution(dict(zip(free, least, strict=True)))
    is_motion_unique = not _moves(context, ideal, free)
    elements = tuple(dict.fromkeys(r.element for r in reactions))
    return LeastNormSolution(values, elements, contradiction, bool(by_time), is_motion_unique, singular)


def _eliminated(context: TracingContext, entries: Entries, right: Sequence[Any]) -> Elimination:
    result = eliminate(entries, right, equilibrated(context.sampled(entries), len(right), len(right)))
    if result.equations and not (result.remaining < SINGULAR and RANK_GAP * result.remaining < result.least):
        raise SingularSystem(result.equations, result.unknowns)
    return result


def is_zero(context: TracingContext, values: Sequence[Any]) -> list[bool]:
    """Return, for each value, whether it is within the rounding error of its terms at all samples."""
    if not values:
        return []
    numbers = context.sampled.row([*values, *magnitudes(context.tape, values)])
    return [
        bool(np.all(np.abs(value) <= SUM_ROUNDING * size))
        for value, size in zip(numbers[: len(values)], numbers[len(values) :], strict=True)
    ]


Misfit = tuple[Any, Any]


def _misfits(
    context: TracingContext, eliminated: Elimination, entries: Entries, right: Sequence[Any], ideal: Ideal
) -> dict[int, Misfit]:
    """Return the right-hand side and its size for each equation without unknowns whose right-hand side exceeds rounding error.

    The right-hand side is a combination of original ones. Its size counts their terms with and without their factors, some of
    which vanish in a run, but not at samples.
    """
    if not eliminated.equations:
        return {}
    tape = context.tape
    sizes = magnitudes(tape, ideal.without_stabilisation(right))
    combinations = [eliminated.combination(i) for i in eliminated.equations]
    terms = [sum((absolute(c) * sizes[j] for j, c in each.items()), tape.scalar(0.0)) for each in combinations]
    values = [tape.scalar(value) for value in ideal.without_stabilisation([eliminated.right[i] for i in eliminated.equations])]
    numbers = context.sampled.row([*values, *terms])
    scale = [float(r) for r in natural_sizes(context.sampled(entries), len(right), len(right))[0]]
    out: dict[int, Misfit] = {}
    for k, (i, combination) in enumerate(zip(eliminated.equations, combinations, strict=True)):
        if np.any(np.abs(numbers[k]) > SUM_ROUNDING * numbers[len(values) + k]):
            out[i] = (values[k], terms[k] + sum(scale[j] / scale[i] * sizes[j] for j in combination))
    return out


def _depends_on_states(context: TracingContext, value: Any) -> bool:
    return bool({scalar.index for scalar in context.inputs["x"]} & context.reached([value]))


def _rates(
    context: TracingContext, eliminated: Elimination, misfits: Mapping[int, Misfit], ideal: Ideal
) -> dict[int, tuple[Mapping[int, Any], Any]]:
    """Return, for each equation with a misfit (in an impulse, for each equation without a pivot), its rate along the motion, if
    unknowns act on this rate (index reduction)."""
    equations = list(misfits) if ideal.motion else list(eliminated.equations)  # in an impulse, right-hand sides show no misfits
    if not equations:
        return {}
    combinations = [_without_zeros(context, eliminated.combination(i)) for i in equations]
    derived = ideal.derived(combinations, [eliminated.right[i] for i in equations])
    out: dict[int, tuple[Mapping[int, Any], Any]] = {}
    for i, (row, value) in zip(equations, derived, strict=True):
        kept = _without_zeros(context, row)
        if kept:
            out[i] = (kept, value)
    return out


def _without_zeros(context: TracingContext, row: Mapping[int, Any]) -> dict[int, Any]:
    return {j: entry for (j, entry), zero in zip(row.items(), is_zero(context, list(row.values())), strict=True) if not zero}


def _open_reactions(
    context: TracingContext, ideal: Ideal, free: Mapping[int, Sequence[Any]]
) -> tuple[list[IdealReaction], list[dict[int, Any]], list[float]]:
    every = {
        (k, j): context.tape.scalar(sum((slope * vector[i] for i, slope in reaction.slopes.items()), 0.0))
        for k, reaction in enumerate(ideal.reactions)
        for j, vector in free.items()
    }
    rows: list[dict[int, Any]] = [{} for _ in ideal.reactions]
    for ((k, j), value), zero in zip(every.items(), is_zero(context, list(every.values())), strict=True):
        if not zero:
            rows[k][j] = value
    kept = [(reaction, row) for reaction, row in zip(ideal.reactions, rows, strict=True) if row]
    column = {j: k for k, j in enumerate(free)}
    numbers = context.sampled({(i, column[j]): value for i, (_, row) in enumerate(kept) for j, value in row.items()})
    factors, _ = natural_sizes(numbers, len(kept), len(free))
    return [r for r, _ in kept], [row for _, row in kept], [1.0 / float(factor) for factor in factors]


def _least_norm(
    reactions: Sequence[IdealReaction],
    slopes: Sequence[Mapping[int, Any]],
    sizes: Sequence[float],
    particular: Sequence[Any],
    free: Sequence[int],
) -> list[Any]:
    """Return y such that the reactions at w + N y have the least norm."""
    weights = reaction_weights(reactions, sizes)
    normal: dict[tuple[int, int], Any] = {}
    right = []
    for i, a in enumerate(free):
        value: Any = 0.0
        for reaction, row, weight in zip(reactions, slopes, weights, strict=True):
            if a in row:
                value = value - weight * row[a] * reaction.at(particular)
                for j, b in enumerate(free):
                    if b in row:
                        normal[i, j] = normal.get((i, j), 0.0) + weight * row[a] * row[b]
        right.append(value)
    return factorised(rows_of(normal, len(free)))(right)


def reaction_weights(reactions: Sequence[IdealReaction], sizes: Sequence[float]) -> list[Any]:
    """Return the weights W of the norm of reactions r, the sum of W r^2, with each reaction scaled by its size.

    Reactions with limits have shares in proportion to these limits, and almost none if there are reactions without limits.
    """
    limits = [None if r.limit is None else absolute(r.limit) / s for r, s in zip(reactions, sizes, strict=True)]
    total = sum((limit for limit in limits if limit is not None), 0.0)
    unlimited = any(limit is None for limit in limits)
    weights = []
    for limit, size in zip(limits, sizes, strict=True):
        weight: Any = 1.0
        if limit is not None:
            part = where(less(0.0, total), limit / where(less(0.0, total), total, 1.0), 1.0)
            weight = (PREFERENCE if unlimited else 1.0) / (part + 1.0 / PREFERENCE)
        weights.append(weight / size**2)
    return weights


def _contradiction(misfits: Mapping[int, Misfit], by_time: Collection[int]) -> Any:
    worst: Any = None
    for i, (value, terms) in misfits.items():
        allowed = SUM_ROUNDING if i in by_time else CONTRADICTION_RTOL
        part = where(less(0.0, terms), absolute(value) / where(less(0.0, terms), terms, 1.0), 0.0) - allowed
        worst = part if worst is None else maximum(worst, part)
    return worst


def _pushes(
    context: TracingContext, eliminated: Elimination, entries: Entries, free: Mapping[int, Sequence[Any]], ideal: Ideal
) -> list[Any]:
    """Return the direction in which contradictory equations push y: the limit for elements whose compliance D tends to zero;
    zeros if it is undetermined.

    (A - eps D) w = b gives w = N y / eps with L^T D N y = -L^T b.
    """
    r, c = natural_sizes(context.sampled(entries), len(eliminated.rows), len(eliminated.rows))
    matrix, right = {}, []
    for k, i in enumerate(eliminated.equations):
        factors = {a: factor for a, factor in eliminated.combination(i).items() if a in ideal.senses}
        right.append(-ideal.without_stabilisation([eliminated.right[i]])[0])
        for m, j in enumerate(free):
            value = sum((factor * ideal.senses[a] * free[j][a] / float(r[a] * c[a]) for a, factor in factors.items()), 0.0)
            matrix[k, m] = context.tape.scalar(value)
    zeros = is_zero(context, list(matrix.values()))
    matrix = {key: value for (key, value), zero in zip(matrix.items(), zeros, strict=True) if not zero}
    size = len(right)
    pushed = eliminate(matrix, right, equilibrated(context.sampled(matrix), size, size)) if matrix else None
    if pushed is None or pushed.equations:
        return [0.0] * size
    return pushed.solution({})


def _moves(context: TracingContext, ideal: Ideal, free: Mapping[int, Sequence[Any]]) -> bool:
    totals: dict[tuple[int, int], Any] = {}
    for (state, unknown), slope in ideal.moves.items():
        for j, vector in free.items():
            totals[state, j] = totals.get((state, j), 0.0) + slope * vector[unknown]
    return not all(is_zero(context, [context.tape.scalar(value) for value in totals.values()]))
