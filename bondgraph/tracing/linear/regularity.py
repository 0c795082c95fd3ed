"""Regularity of matrices on the tape, checked at samples, and solutions of regular systems."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from bondgraph.tracing.linear.solve import SINGULAR, SingularSystem, eliminate, equilibrated, matrices_of, solve
from bondgraph.tracing.on_tape.context import TracingContext
from bondgraph.tracing.on_tape.values import Entries


def solve_regular(context: TracingContext, entries: Entries, right: Sequence[Any], one_mode: bool = False) -> list[Any] | None:
    """Solve by one elimination, with pivots chosen in the unscaled matrix or, failing that, in the matrix scaled to natural
    sizes; return None if all trials fail.

    With `one_mode`, singular samples are ignored in a last trial if the start is regular: at a sample, a curve may be so steep,
    in the units of its state, that other terms are lost to rounding.
    """
    numbers, n = context.sampled(entries), len(right)
    trials = [lambda: numbers, lambda: equilibrated(numbers, n, n)]
    if one_mode and numbers:
        trials.append(lambda: equilibrated(_regular_samples(numbers, n), n, n))
    for trial in trials:
        with contextlib.suppress(SingularSystem):
            return solve(entries, right, trial())
    return None


def _regular_samples(numbers: Mapping[tuple[int, int], np.ndarray], n: int) -> dict[tuple[int, int], np.ndarray]:
    count = len(next(iter(numbers.values())))
    samples = ({key: values[k : k + 1] for key, values in numbers.items()} for k in range(count))
    is_regular = np.array([not singular_somewhere(sample, n) for sample in samples])
    return {key: values[is_regular] if is_regular[0] else values for key, values in numbers.items()}


def singular_part(context: TracingContext, entries: Entries, right: Sequence[Any]) -> SingularSystem:
    eliminated = eliminate(entries, right, equilibrated(context.sampled(entries), len(right), len(right)))
    return SingularSystem(eliminated.equations, eliminated.unknowns)


def singular_at(numbers: Mapping[tuple[int, int], np.ndarray], n: int) -> np.ndarray:
    matrices = matrices_of(equilibrated(numbers, n, n), n)
    is_singular = ~np.isfinite(matrices).all(axis=(1, 2))
    values = np.linalg.svd(matrices[~is_singular], compute_uv=False)
    is_singular[~is_singular] = values[:, -1] <= SINGULAR * values[:, 0]
    return is_singular


def singular_somewhere(numbers: Mapping[tuple[int, int], np.ndarray], n: int) -> bool:
    return bool(np.any(singular_at(numbers, n)))


def regular_without(left_out: Collection[int], numbers: Mapping[tuple[int, int], np.ndarray], n: int) -> bool:
    """Return True if a matrix (n, n) without some rows and columns is regular at all samples."""
    kept = {k: i for i, k in enumerate(sorted(set(range(n)) - set(left_out)))}
    samples = {(kept[i], kept[j]): values for (i, j), values in numbers.items() if {i, j} <= kept.keys()}
    if not kept or not len(next(iter(numbers.values()))):
        return True
    first = {key: float(values[0]) for key, values in samples.items()}
    return not eliminate(first, [0.0] * len(kept), equilibrated(samples, len(kept), len(kept))).equations
