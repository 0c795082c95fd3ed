"""Linear systems in one mode: solved by one elimination, or shared where they are singular; once where modes are alike."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bondgraph.tape.specialise import specialise
from bondgraph.tracing.linear.ideal import Ideal
from bondgraph.tracing.linear.indeterminate import Shared, solve_shared
from bondgraph.tracing.linear.sizes import equilibrated, matrices_of
from bondgraph.tracing.linear.solve import SINGULAR, SingularSystem, eliminate, solve
from bondgraph.tracing.on_tape.context import Ground
from bondgraph.tracing.on_tape.values import Entries


def regular(ground: Ground, entries: Entries, right: Sequence[Any], one_mode: bool = False) -> list[Any] | None:
    """The solution by one elimination, with pivots judged as they are, or by the natural sizes of equations and unknowns; None
    where it finds none. Of a matrix that knows no modes, samples that are singular beside a regular start do not count: a curve
    is so steep there, in the units of its state, that nothing is left of what stands beside it."""
    numbers, n = ground.sampled(entries), len(right)
    trials = [lambda: numbers, lambda: equilibrated(numbers, n, n)]
    if one_mode and numbers:
        trials.append(lambda: equilibrated(_sound(numbers, n), n, n))
    for trial in trials:
        with contextlib.suppress(SingularSystem):
            return solve(entries, right, trial())
    return None


def _sound(numbers: Mapping[tuple[int, int], np.ndarray], n: int) -> dict[tuple[int, int], np.ndarray]:
    """The samples at which a matrix is regular; all of them where it is singular at the first one, the start."""
    count = len(next(iter(numbers.values())))
    alone = ({key: values[k : k + 1] for key, values in numbers.items()} for k in range(count))
    sound = np.array([not singular_somewhere(one, n) for one in alone])
    return {key: values[sound] if sound[0] else values for key, values in numbers.items()}


def singular_part(ground: Ground, entries: Entries, right: Sequence[Any]) -> SingularSystem:
    """The equations and unknowns for which no pivot is left."""
    found = eliminate(entries, right, equilibrated(ground.sampled(entries), len(right), len(right)))
    return SingularSystem(found.equations, found.unknowns)


def singular_at(numbers: Mapping[tuple[int, int], np.ndarray], n: int) -> np.ndarray:
    """At which samples a matrix is singular, or has entries that are no numbers."""
    matrices = matrices_of(equilibrated(numbers, n, n), n)
    found = ~np.isfinite(matrices).all(axis=(1, 2))
    values = np.linalg.svd(matrices[~found], compute_uv=False)
    found[~found] = values[:, -1] <= SINGULAR * values[:, 0]
    return found


def singular_somewhere(numbers: Mapping[tuple[int, int], np.ndarray], n: int) -> bool:
    """Whether a matrix is singular at a sample."""
    return bool(np.any(singular_at(numbers, n)))


class Alike:
    """Solutions of a system in its modes: what is the same in several of them is solved once."""

    def __init__(self, ground: Ground, ideal: Ideal | None):
        self._ground, self._ideal = ground, ideal
        self._regular: dict[tuple[Any, ...], list[Any] | None] = {}
        self._shared: dict[tuple[Any, ...], list[tuple[list[Any], list[Any], Shared | SingularSystem]]] = {}

    def regular(self, matrix: Entries, right: Sequence[Any]) -> list[Any] | None:
        """The solution in a mode in which the matrix is regular, None in others."""
        key = (self._places(matrix), self._indices(right))
        if key not in self._regular:
            self._regular[key] = regular(self._ground, matrix, right)
        return self._regular[key]

    def shared(self, matrix: Entries, right: Sequence[Any], fixed: Mapping[tuple[str, int], float]) -> Shared:
        """The solution in a mode in which it is singular. Raises `SingularSystem`."""
        if self._ideal is None:
            raise singular_part(self._ground, matrix, right)
        ideal, fold, asked = self._ideal, functools.partial(specialise, self._ground.tape, fixed=fixed), []

        def derived(combinations: Sequence[Mapping[int, Any]], values: Sequence[Any]) -> Any:
            asked.append(ideal.derived(combinations, values))
            return asked[-1]

        def folded(rates: Sequence[Any]) -> list[Any]:
            """What was asked for on the way, as it is in this mode: all else that the solution depends on."""
            return [self._indices(fold([*row.values(), value])) for found in rates for row, value in found]

        meant = replace(ideal, derived=derived).folded(fold)
        key = (self._places(matrix), self._indices(right), *self._meaning(meant))
        known = self._shared.setdefault(key, [])
        found = next((outcome for rates, then, outcome in known if folded(rates) == then), None)
        if found is None:
            found = self._solved(matrix, right, meant)
            known.append((asked, folded(asked), found))
        if isinstance(found, SingularSystem):
            raise found
        return found

    def _solved(self, matrix: Entries, right: Sequence[Any], ideal: Ideal) -> Shared | SingularSystem:
        try:
            return solve_shared(self._ground, matrix, right, ideal)
        except SingularSystem as stuck:
            return stuck

    def _indices(self, values: Iterable[Any]) -> tuple[int, ...]:
        return tuple(self._ground.tape.scalar(value).index for value in values)

    def _places(self, entries: Mapping[Any, Any]) -> tuple[Any, ...]:
        return (*entries, *self._indices(entries.values()))

    def _meaning(self, ideal: Ideal) -> Iterator[tuple[Any, ...]]:
        yield self._places(ideal.senses)
        yield self._places(ideal.moves)
        for reaction in ideal.reactions:
            limit = () if reaction.limit is None else self._indices([reaction.limit])
            yield (*self._places(reaction.slopes), *self._indices([reaction.offset]), *limit)
