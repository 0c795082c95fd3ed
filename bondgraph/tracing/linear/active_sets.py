"""Linear systems of many ideal elements: one elimination for any number of mode combinations; the modes switch its equations.

The mode of an ideal element decides its equation: a row of A w = b while the element is active, else w_i = o_i, which sets its
unknown to a number. The equations of active elements on masses or coils are symmetric and semidefinite, A = J M^-1 J^T up to a
sign for each element. In any combination of modes, the active equations form a principal submatrix, eliminated with diagonal
pivots in one order for all modes.

A principal submatrix of A is singular if and only if its elements include all elements of a null vector n of A. All null vectors
are combinations of circuits, null vectors with minimal sets of elements: a row of locks between two walls, two parallel
clutches. While all elements of a circuit are active, their reactions are undetermined along n, and b does not depend on them.
The reactions of least norm satisfy

    s(w) = sum_k W_k (r_k . n) (r_k . w + o_k) = 0

for the reactions r_k . w + o_k with their weights W. A term p s(w) with n^T p > 0 makes A nonsingular without changing the
solutions, since n^T b = 0: one elimination gives the reactions of least norm without regularisation.

A connected part may have vanishing quantities at two levels: unknowns act on some directly; other quantities depend only on
states, and their rates are the equations (diodes in series with a coil, or across a capacitor). An implicit step of a short
length h has the matrix A0 + h A1 of both levels. The rate of a combination n of vanishing quantities counts only if no unknown
acts on it, n^T A0 = 0. So each equation of a rate belongs to its own circuit of A0. Both levels are solved together: solving one
level after the other would be wrong, because the rates determine unknowns that a circuit of A0 leaves open. Reactions are
undetermined along common null vectors of A0 and A1, where rates are redundant. There the terms p of rates have n^T p = 0, so
rates and reactions keep their own equations.

The matrix of diodes and switches between floating potentials is monotone but partly skew, so that diagonal pivots may cancel: a
run chooses the pivot of each column, with a small compliance and iterative refinement. If n^T b is not zero, either its rate
along the motion is the equation of the circuit, or the elements contradict each other and react like stiff elements.

Source: Rockafellar 1969, The elementary vectors of a subspace; Cottle, Pang and Stone 1992, The Linear Complementarity Problem.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import networkx as nx
import numpy as np

from bondgraph.tracing.linear.circuits import Circuit, circuits_of, fundamental_circuits, lossless, without_rates
from bondgraph.tracing.linear.complementarity import BoxPart, box_parts
from bondgraph.tracing.linear.holding import (
    ActiveEquations,
    CircuitTerm,
    Levels,
    active_equations,
    bordered_equations,
    levels_of,
    masked,
)
from bondgraph.tracing.linear.ideal_reactions import Ideal
from bondgraph.tracing.linear.indeterminate import (
    CONTRADICTION_RTOL,
    STIFFNESS,
    SUM_ROUNDING,
    SYMMETRY_TOLERANCE,
    factorised,
    is_zero,
    semidefinite_solver,
    solve_semidefinite,
)
from bondgraph.tracing.linear.self_stresses import SelfStresses, least_norm_without_circuits, null_vector, reaction_steps
from bondgraph.tracing.linear.solve import SingularSystem, distinct_samples, magnitudes, matrices_of, rows_of
from bondgraph.tracing.on_tape.context import TracingContext
from bondgraph.tracing.on_tape.values import Entries
from screws.scalars import absolute, equal, less, sign, where

RESIDUAL_TOLERANCE = 1e-7

COMPLIANCE = 2.0**-42
"""Compliance or resistance of an ideal element in a part with skew couplings, in natural sizes. Even at the least dissipation,
the refinements reduce its effect to 1e-6; a smaller value would magnify rounding errors."""

MAX_CIRCUITS = 128

FEW_CIRCUITS = 16
"""Maximum number of circuits of a symmetric part for which one term per circuit costs less than refinement (`self_stresses`)."""

RUIZ_ROUNDS = 8
"""Number of rounds of scaling; each round halves the logarithm of the largest entry of each row."""


@dataclass(frozen=True)
class OpenShares:
    """A circuit along which the equations leave the reactions of these elements undetermined."""

    circuit: Circuit
    elements: tuple[str, ...]
    contradiction: Any = None
    """None if the equations are always consistent; else a scalar that is positive where they are not."""
    by_time: bool = False
    """True if time and parameters alone determine the contradiction."""


@dataclass(frozen=True)
class ActiveSetSolution:
    """The unknowns of a part in all modes, and the circuits with undetermined reactions."""

    values: list[Any]
    shares: tuple[OpenShares, ...]
    boxes: tuple[BoxPart, ...] = ()
    stresses: SelfStresses | None = None


def solve_active_sets(
    context: TracingContext, entries: Entries, right: Sequence[Any], ideal: Ideal, steps: Entries | None = None
) -> ActiveSetSolution | None:
    """Solve A w = b in all modes by one elimination; return None if it fails, as for equations that are not monotone. `steps` is
    the larger matrix with steps as unknowns."""
    held = active_equations(context, entries, right, ideal.gates)
    if held is None:
        return None
    n = len(right)
    if held.entries:
        senses = {i: -float(gate.sense) for i, gate in ideal.gates.items()}
        matrices = matrices_of(distinct_samples(context.sampled(held.entries)), n)
        held = held.multiplied(_row_factors(held.entries, matrices, senses))
    levels = levels_of(context, held, ideal)
    separate, numbers = levels.separate, distinct_samples(context.sampled({**levels.separate, **levels.rates}))
    matrices = matrices_of({key: numbers[key] for key in separate}, n) if separate else np.zeros((1, n, n))
    scale = _monotone_scale(matrices)
    if scale is None:
        return None
    scaled = matrices * scale * scale[:, None]
    skew = bool(levels.rated or np.abs(scaled - scaled.transpose(0, 2, 1)).max(initial=0.0) > SYMMETRY_TOLERANCE)
    scaled[:, sorted(levels.rated)] = 0.0
    bases = [basis for matrix in scaled if (basis := lossless(matrix)) is not None]
    if len(bases) < len(scaled):
        return None
    sample = min(range(len(bases)), key=lambda k: bases[k].shape[1])
    generic, gated = bases[sample], {i for i in held.holds if i not in held.never}
    if bases[0].shape[1] > generic.shape[1]:  # redundant where loops of joints close: `redundant_modes`
        return None
    circuits = circuits_of(generic, gated, held.never | levels.rated, MAX_CIRCUITS if skew else FEW_CIRCUITS)
    if circuits is None and not skew:
        least = least_norm_without_circuits(context, held, ideal, fundamental_circuits(generic, held.never), scale)
        if least is not None and _fits(context, entries, right, least[0], ()):
            return ActiveSetSolution(least[0], (), box_parts(context, entries, right, held, ideal.gates), least[1])
        circuits = circuits_of(generic, gated, held.never, MAX_CIRCUITS)
    repeated: list[Circuit] | None = []
    if levels.rated:
        moved = matrices_of({(i - n, j): numbers[i, j] for i, j in levels.rates}, n)[sample] * scale
        repeated = circuits_of(without_rates(generic, moved), gated, held.never, MAX_CIRCUITS)
    if circuits is None or repeated is None:
        return None
    try:
        of_values = _circuit_equations(context, levels, right, ideal, circuits)
        of_rates = _repeated_rates(context, levels, ideal, [circuit for circuit in repeated if circuit not in circuits])
    except SingularSystem:
        return None
    if of_values is None or of_rates is None or (not skew and any(e.contradicts for e in of_values)):
        return None
    equations = _alone([*of_values, *_rate_equations(levels, repeated), *of_rates])
    held, sizes = levels.values, [_row_size(separate, i, scale) for i in range(n)]
    terms = [e.term(sizes, part) for e, part in zip(equations, _misfit_parts(equations, sizes), strict=True)]
    can_border = skew and not (levels.rated or terms)
    border = bordered_equations(context, held, ideal, steps, scale) if can_border and steps is not None else None
    if border is None:
        matrix, b = held.masked(sizes, terms)
        solver = semidefinite_solver(matrix, sizes, COMPLIANCE, range(n)) if skew else factorised(rows_of(matrix, n))
    else:
        matrix, b = held.masked_border(border.rows, border.sizes)
        b[0] = where(border.is_correct, b[0], math.nan)
        solver = semidefinite_solver(matrix, border.sizes, COMPLIANCE, border.late)
    values = solver(b)[:n]
    shares = [_open_shares(context, held, e) for e in equations]
    if any(share.contradiction is not None for share in shares):
        shifted = _pushed(held, equations, shares, terms, sizes, values)
        values = [a + b for a, b in zip(values, solver(shifted), strict=True)]
    misfitting = [e.holds for e in equations if e.misfit is not None and e.holds is not None]
    if not _fits(context, entries, right, values, misfitting):
        return None
    boxes = () if skew else box_parts(context, entries, right, held, ideal.gates)
    return ActiveSetSolution(values, tuple(share for share in shares if share.elements), boxes)


def _row_factors(entries: Entries, matrices: np.ndarray, senses: Mapping[int, float]) -> list[Any]:
    """Return a factor for each equation that makes the diagonal positive and the couplings symmetric or skew; for a part without
    a diagonal, `senses` are the signs with which the equations of ideal elements absorb power."""
    n = matrices.shape[1]
    top = np.abs(matrices).max(axis=0)
    coupled = top > SUM_ROUNDING * np.maximum(top.max(axis=0), top.max(axis=1, keepdims=True))
    diagonal = np.sign(matrices.sum(axis=0).diagonal())
    factors: list[Any] = [None] * n
    for first in sorted(range(n), key=lambda i: (diagonal[i] == 0.0, i not in senses)):
        if factors[first] is None:
            factors[first] = float(diagonal[first]) or senses.get(first, 1.0)
        waiting = [first]
        while waiting:
            j = waiting.pop()
            for i in range(n):
                if factors[i] is None and coupled[i, j] and coupled[j, i]:
                    k = int(np.argmax(np.abs(matrices[:, i, j] * matrices[:, j, i])))
                    sign = np.sign(matrices[k, i, j] * matrices[k, j, i])
                    sense = float(diagonal[i] * diagonal[j] or -sign) * sign  # + for two dissipative equations, - for a skew pair
                    sizes = np.abs(matrices[:, [i, j], [j, i]])
                    is_one = bool(np.all(np.abs(sizes[:, 0] - sizes[:, 1]) <= SYMMETRY_TOLERANCE * sizes.max(axis=1)))
                    factors[i] = factors[j] * sense * (float(sign) if is_one else entries[j, i] / entries[i, j])
                    waiting.append(i)
    return factors


def _monotone_scale(matrices: np.ndarray) -> np.ndarray | None:
    """Return sizes of the unknowns (n,) that bring the largest entry of each row close to one (Ruiz 2001), or None if a sample is
    not finite or not monotone."""
    n = matrices.shape[1]
    if not np.isfinite(matrices).all():
        return None
    top = np.abs(matrices).max(axis=0)
    top = np.maximum(top, top.T)
    sizes = np.ones(n)
    for _ in range(RUIZ_ROUNDS):
        most = (top * sizes * sizes[:, None]).max(axis=1)
        sizes = sizes / np.sqrt(np.where(most > 0.0, most, 1.0))
    scaled = sizes[:, None] * matrices * sizes
    values = np.linalg.eigvalsh(scaled + scaled.transpose(0, 2, 1))
    return None if np.any(values[:, 0] < -SYMMETRY_TOLERANCE) else np.asarray(sizes)


LinearForm = tuple[Mapping[int, Any], Any, tuple[str, ...]]
"""Slopes and offset of slopes . w + offset = 0, and the elements that share a reaction in this equation."""


@dataclass(frozen=True)
class _CircuitEquation:
    """Equation slopes . w + offset = 0 of an active circuit: its rate along the motion, or the condition of least norm."""

    circuit: Circuit
    vector: Mapping[int, Any]
    holds: Any
    slopes: Mapping[int, Any]
    offset: Any
    elements: tuple[str, ...]
    """Elements that share a reaction in this equation; none if it is the equation of a rate."""
    misfit: Any
    """Inconsistency of the right-hand sides along the circuit; None if they are always consistent."""
    alone: bool = False
    of_rates: bool = False
    """True if only the right-hand sides of rates may contradict each other, not the right-hand sides of vanishing quantities."""

    @property
    def contradicts(self) -> bool:
        """True if the right-hand sides may contradict each other and no unknown acts on their rate."""
        return self.misfit is not None and bool(self.elements)

    @property
    def along(self) -> Any:
        return _along(self.slopes, self.vector)

    def term(self, sizes: Sequence[Any], misfit: Mapping[int, Any]) -> CircuitTerm:
        """Return the term of the circuit; if `alone`, it goes into one equation, which keeps all other equations sparse."""
        if self.alone:
            first = self.circuit.rows[0]
            factors = {first: sizes[first] / self.along}
        else:
            size = sum((sizes[i] * n * n for i, n in self.vector.items()), 0.0) / (self.along * self.along)
            factors = {j: size * slope for j, slope in self.slopes.items()}
        return CircuitTerm(self.holds, self.slopes, self.offset, factors, misfit)


def _circuit_equations(
    context: TracingContext, levels: Levels, right: Sequence[Any], ideal: Ideal, circuits: Sequence[Circuit]
) -> list[_CircuitEquation] | None:
    held, n = levels.values, len(right)
    vectors = [null_vector(context, held.entries, circuit, n) for circuit in circuits]
    misfits = [_misfit(context, held, circuit, vector) for circuit, vector in zip(circuits, vectors, strict=True)]
    conditions = [_condition(held, circuit) for circuit in circuits]
    demands = list(misfits)
    if not ideal.motion:  # modes decide together whether an impulse has to stop a flow
        demands = [
            sum((masked(n * held.factors[i] * right[i], condition) for i, n in vector.items()), 0.0)
            for condition, vector in zip(conditions, vectors, strict=True)
        ]
    wrong = [not zero for zero in is_zero(context, demands)]
    motions, shares = _motions(context, held, ideal, vectors, misfits), _shares(context, ideal, vectors)
    equations = []
    for c, circuit in enumerate(circuits):
        moves = motions[c] is not None and (wrong[c] or not ideal.motion)
        equation = motions[c] if moves else shares[c]
        if equation is None:
            return None
        misfit = misfits[c] if moves or wrong[c] else None
        equations.append(_CircuitEquation(circuit, vectors[c], conditions[c], *equation, misfit))
    return equations


def _rate_equations(levels: Levels, repeated: Sequence[Circuit]) -> list[_CircuitEquation]:
    rows, held = rows_of(levels.every.entries, len(levels.every.right)), levels.every
    circuits = [(i, Circuit((i,), ())) for i in sorted(levels.rated - held.never)]
    return [
        _CircuitEquation(circuit, {i: 1.0}, held.holds.get(i), rows[i], -held.right[i], (), None)
        for i, circuit in circuits
        if circuit not in repeated
    ]


def _repeated_rates(
    context: TracingContext, levels: Levels, ideal: Ideal, circuits: Sequence[Circuit]
) -> list[_CircuitEquation] | None:
    """Return the equations of circuits that change no rate because their elements repeat each other, like closed diodes across
    one capacitor; return None if a circuit has no equation."""
    entries, n = {**levels.values.entries, **levels.rates}, len(levels.every.right)
    vectors = [null_vector(context, entries, circuit, 2 * n) for circuit in circuits]
    equations = []
    for circuit, vector, share in zip(circuits, vectors, _shares(context, ideal, vectors), strict=True):
        if share is None:
            return None
        misfit = _misfit_of_rates(context, levels, ideal, circuit, vector)
        wrong, condition = not is_zero(context, [misfit])[0], _condition(levels.values, circuit)
        equations.append(_CircuitEquation(circuit, vector, condition, *share, misfit if wrong else None, of_rates=True))
    return equations


def _misfit_of_rates(context: TracingContext, levels: Levels, ideal: Ideal, circuit: Circuit, vector: Mapping[int, Any]) -> Any:
    """Return the sum of the right-hand sides of rates around a circuit, which must be zero."""
    held = levels.every
    parts = {i: n / (absolute(held.factors[i]) * ideal.decays.get(i, 1.0)) for i, n in vector.items()}
    values = {i: part for i, part in parts.items() if i not in levels.rated}
    total = sum((part * held.right_without(i, circuit.released) for i, part in parts.items() if i in levels.rated), 0.0)
    if values:
        misfit = _misfit(context, held, circuit, values)
        ((_, value),) = ideal.derived([{i: part * held.factors[i] for i, part in values.items()}], [misfit])
        total = total - value if ideal.motion else total + value
    return context.tape.scalar(total)


def _alone(equations: Sequence[_CircuitEquation]) -> list[_CircuitEquation]:
    users = Counter(i for e in equations for i in e.circuit.rows)
    return [replace(e, alone=all(users[i] == 1 for i in e.circuit.rows)) for e in equations]


def _misfit_parts(equations: Sequence[_CircuitEquation], sizes: Sequence[Any]) -> list[Mapping[int, Any]]:
    """Return, for each circuit, its contradiction spread over the right-hand sides of its equations; circuits that are active at
    the same time and have elements in common are solved together."""
    parts: list[Mapping[int, Any]] = [{} for _ in equations]
    couplings = {
        (i, j): sum((sizes[k] * n * b.vector[k] for k, n in a.vector.items() if k in b.vector), 0.0)
        for (i, a), (j, b) in itertools.product([(k, e) for k, e in enumerate(equations) if not e.of_rates], repeat=2)
        if a.vector.keys() & b.vector.keys()
    }
    for group in nx.connected_components(nx.from_edgelist(couplings.keys())):
        members = sorted(group)
        if all(equations[k].misfit is None for k in members):
            continue
        at = {k: i for i, k in enumerate(members)}
        holds = [equations[k].holds for k in members]
        matrix = {(at[i], at[j]): masked(a, holds[at[i]], holds[at[j]]) for (i, j), a in couplings.items() if i in at and i != j}
        matrix |= {(at[k], at[k]): couplings[k, k] for k in members}
        right = [0.0 if (m := equations[k].misfit) is None else masked(m, equations[k].holds) for k in members]
        factors = solve_semidefinite(matrix, right, [couplings[k, k] for k in members])[0]
        for k, factor in zip(members, factors, strict=True):
            parts[k] = {i: factor * sizes[i] * n for i, n in equations[k].vector.items()}
    return parts


def _open_shares(context: TracingContext, held: ActiveEquations, equation: _CircuitEquation) -> OpenShares:
    circuit, misfit, tape = equation.circuit, equation.misfit, context.tape
    if not equation.contradicts:
        return OpenShares(circuit, equation.elements)
    demands = magnitudes(tape, [held.right_without(i, circuit.released) for i in equation.vector])
    size = (
        magnitudes(tape, [misfit])[0]
        if equation.of_rates
        else sum((absolute(n) * demand for n, demand in zip(equation.vector.values(), demands, strict=True)), tape.scalar(0.0))
    )
    by_time = not {x.index for x in context.inputs["x"]} & context.reached([misfit])
    part = where(less(0.0, size), absolute(misfit) / where(less(0.0, size), size, 1.0), 0.0)
    return OpenShares(circuit, equation.elements, part - (SUM_ROUNDING if by_time else CONTRADICTION_RTOL), by_time)


def _pushed(
    held: ActiveEquations,
    equations: Sequence[_CircuitEquation],
    shares: Sequence[OpenShares],
    terms: Sequence[CircuitTerm],
    sizes: Sequence[Any],
    w: Sequence[Any],
) -> list[Any]:
    """Return right-hand sides that make contradicting elements react like stiff elements; w is the solution without these
    right-hand sides."""
    right: list[Any] = [0.0] * len(w)
    for e, share, term in zip(equations, shares, terms, strict=True):
        if share.contradiction is None:
            continue
        size = sum((absolute(w[j] / n) for j, n in e.vector.items()), 0.0)
        step = e.misfit / sum((sizes[j] * n * n for j, n in e.vector.items()), 0.0)
        push = where(less(0.0, share.contradiction), STIFFNESS * (step + sign(step) * size), 0.0) * e.along
        for i, factor in term.factors.items():
            right[i] = right[i] + masked(factor * push, e.holds, held.holds.get(i))
    return right


def _along(slopes: Mapping[int, Any], vector: Mapping[int, Any]) -> Any:
    return sum((slopes[j] * n for j, n in vector.items() if j in slopes), 0.0)


def _motions(
    context: TracingContext, held: ActiveEquations, ideal: Ideal, vectors: Sequence[Mapping[int, Any]], misfits: Sequence[Any]
) -> list[LinearForm | None]:
    """Return, for each circuit, the rate of its contradiction during the motion, or None if its reactions do not change this
    rate."""
    left = [{i: n * held.factors[i] for i, n in vector.items()} for vector in vectors]
    equations: list[LinearForm | None] = []
    for (slopes, value), vector in zip(ideal.derived(left, misfits) if left else [], vectors, strict=True):
        along = context.tape.scalar(_along(slopes, vector))
        equations.append((slopes, -value, ()) if slopes and not is_zero(context, [along])[0] else None)
    return equations


def _shares(context: TracingContext, ideal: Ideal, vectors: Sequence[Mapping[int, Any]]) -> list[LinearForm | None]:
    reactions = ideal.reactions
    steps, weights = reaction_steps(context, reactions, vectors)
    equations: list[LinearForm | None] = []
    for c in range(len(vectors)):
        slopes, offset = dict[int, Any](), 0.0
        members = [k for k in range(len(reactions)) if (k, c) in steps]
        for k in members:
            part = weights[k] * steps[k, c]
            slopes |= {j: slopes.get(j, 0.0) + part * slope for j, slope in reactions[k].slopes.items()}
            offset = offset + part * reactions[k].offset
        equations.append((slopes, offset, tuple(dict.fromkeys(reactions[k].element for k in members))) if members else None)
    return equations


def _condition(held: ActiveEquations, circuit: Circuit) -> Any:
    conditions = [held.holds[i] for i in circuit.rows if i in held.holds]
    conditions += [equal(where(held.holds[i], 1.0, 0.0), 0.0) for i in circuit.released]
    return functools.reduce(operator.and_, conditions) if conditions else None


def _row_size(entries: Entries, i: int, scale: np.ndarray) -> Any:
    terms = [absolute(v) * float(abs(scale[j] / scale[i])) for (k, j), v in entries.items() if k == i]
    return sum(terms[1:], terms[0]) if terms else 1.0


def _misfit(context: TracingContext, held: ActiveEquations, circuit: Circuit, vector: Mapping[int, Any]) -> Any:
    """Return the sum of the right-hand sides around a circuit, which must be zero."""
    return context.tape.scalar(sum((n * held.right_without(i, circuit.released) for i, n in vector.items()), 0.0))


def _fits(
    context: TracingContext, entries: Entries, right: Sequence[Any], values: Sequence[Any], excluded: Sequence[Any]
) -> bool:
    """Return True if the values solve the equations at all samples with finite equations at which no `excluded` circuit is
    active: the states of the samples need not be consistent with such a circuit."""
    rows = rows_of(entries, len(right))
    residuals = [sum((a * values[j] for j, a in row.items()), -b) for row, b in zip(rows, right, strict=True)]
    terms_of_right = magnitudes(context.tape, right)
    sizes = [sum((absolute(a * values[j]) for j, a in row.items()), b) for row, b in zip(rows, terms_of_right, strict=True)]
    moving = [where(condition, 1.0, 0.0) for condition in excluded]
    table = context.sampled.table([*residuals, *sizes])
    finite = np.isfinite(context.sampled.table([*entries.values(), *right])).all(axis=1)
    if moving:
        finite &= ~context.sampled.table(moving).any(axis=1)
    off, size = np.abs(table[finite, : len(right)]), table[finite, len(right) :]
    every = size.max(axis=1, keepdims=True, initial=0.0)
    return bool(np.all(off <= RESIDUAL_TOLERANCE * (every + RESIDUAL_TOLERANCE * every.max(initial=0.0))))
