"""Random nonlinear algebraic loops whose solutions are known: `python -m campaigns.algebraic_loops --count 500 --seed 0`.

A source and a resistor drive a load whose relation has one to five solutions by construction. A single solution must be found; a
model with several solutions must be refused with at least two of them listed, unless a guess selects the nearest solution. Order,
arrows, names and units must not matter.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bondgraph import J0, J1, Compiled, Graph, ModelError, R, Se, Sf, compile_model
from campaigns.processes import Progress, each
from screws.scalars import array

AGREES = 1e-6
"""Largest relative difference of a solution from the known solution."""


@dataclass(frozen=True)
class LoopCase:
    """Loop of a source of `drive`, a linear resistor and a load at a junction of `kind` "series" or "parallel".

    The relation of the load has the `roots` of k mixed unknowns, multiplied by `scale` (k,), and the factor `steepness`.
    """

    kind: str
    drive: float
    resistance: float
    roots: np.ndarray
    scale: np.ndarray
    mixing: np.ndarray
    steepness: float
    order: tuple[int, ...] = (0, 1, 2)
    outward: bool = False
    names: tuple[str, str, str] = ("source", "line", "load")

    @property
    def solutions(self) -> np.ndarray:
        """Return the unknowns of the load (count, k) at each combination of the roots, mixed and scaled."""
        combined = np.array(np.meshgrid(*self.roots, indexing="ij")).reshape(len(self.roots), -1).T
        return np.asarray(combined @ self.mixing.T * self.scale)


def drawn(seed: int) -> LoopCase:
    rng = np.random.default_rng(seed)
    unknowns = 1 if rng.random() < 0.75 else 2
    counts = [int(rng.integers(1, 6))] if unknowns == 1 else [int(n) for n in rng.integers(1, 3, size=2)]
    roots = np.empty(unknowns, dtype=object)
    for i, count in enumerate(counts):
        roots[i] = _apart(rng, count)
    turn = rng.uniform(0.0, 2.0 * np.pi)
    mixing = np.eye(1) if unknowns == 1 else np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    scale = np.full(unknowns, 10.0 ** rng.uniform(-12.0, 12.0))
    kind = "series" if rng.random() < 0.5 else "parallel"
    return LoopCase(kind, rng.uniform(-5.0, 5.0), 10.0 ** rng.uniform(-1.0, 1.0), roots, scale, mixing, rng.uniform(0.2, 2.0))


def _apart(rng: np.random.Generator, count: int) -> np.ndarray:
    """Draw numbers from -10 to 10 that differ by more than 0.02."""
    while True:
        roots = np.sort(rng.uniform(-10.0, 10.0, count))
        if count == 1 or float(np.diff(roots).min()) > 0.02:
            return roots


def variants(case: LoopCase, rng: np.random.Generator) -> Iterator[tuple[str, LoopCase]]:
    yield "as drawn", case
    yield "in another order", replace(case, order=tuple(int(k) for k in rng.permutation(3)))
    yield "with the arrow outward", replace(case, outward=True)
    yield "with other names", replace(case, names=("z", "a", "m"))
    yield "in other units", replace(case, scale=case.scale * 1e3)


def built(case: LoopCase) -> Graph:
    """Build the graph: drive - resistance x - load(x) vanishes only at the known solutions. The half arrow determines the sign
    with which the load enters the sum at the junction, so the relation of a load whose arrow points outward is negated."""
    unknowns = len(case.scale)

    def load(x: Any) -> Any:
        scaled = (array([x]) if unknowns == 1 else x) / case.scale
        values = []
        for i, roots in enumerate(case.roots):
            z = sum(case.mixing[k, i] * scaled[k] for k in range(unknowns))
            product = case.steepness * (1.0 + z * z / 25.0)
            for root in roots:
                product = product * (z - root) / 4.0
            values.append(product)
        mixed = [sum(case.mixing[k, i] * values[i] for i in range(unknowns)) for k in range(unknowns)]
        result = [case.drive - case.resistance * scaled[k] + mixed[k] for k in range(unknowns)]
        return result[0] if unknowns == 1 else array(result)

    def reversed_load(x: Any) -> Any:
        return -load(-x)

    relation = reversed_load if case.outward and case.kind == "series" else load
    drive: Any = case.drive if unknowns == 1 else np.full(unknowns, case.drive)
    coefficient: Any = case.resistance / case.scale[0] if unknowns == 1 else case.resistance / case.scale
    source, line, name = case.names
    if case.kind == "series":
        junction = J1("node", dimension=unknowns)
        parts = Se(source, drive), R(line, coefficient), R(name, effort=relation, dimension=unknowns)
    else:
        junction = J0("node", dimension=unknowns)
        parts = Sf(source, drive), R(line, conductance=coefficient), R(name, flow=relation, dimension=unknowns)
    ends = (parts[0], junction), (junction, parts[1]), ((parts[2], junction) if case.outward else (junction, parts[2]))
    graph = Graph("loop")
    for k in case.order:
        graph.connect(*ends[k])
    return graph


def _unknown(case: LoopCase) -> str:
    return f"{case.names[2]}.{'flow' if case.kind == 'series' else 'effort'}"


def _value(compiled: Compiled, name: str) -> np.ndarray:
    return np.atleast_1d(compiled.evaluate()[compiled.system.resolve(name)])


def _faults(case: LoopCase) -> Iterator[str]:
    solutions, name = case.solutions, _unknown(case)
    size = float(np.abs(solutions).max())

    def solves(value: np.ndarray, known: np.ndarray) -> bool:
        return bool(np.abs(np.abs(value) - np.abs(known)).max() <= AGREES * size)

    try:
        value = _value(compile_model(built(case)), name)
        if len(solutions) > 1:
            yield f"{len(solutions)} solutions, but {value} is taken"
        elif not solves(value, solutions[0]):
            yield f"{value} for {solutions[0]}"
    except ModelError as error:
        codes = [problem.code for problem in error.problems]
        if codes != ["E215"] or len(solutions) == 1:
            yield f"{codes} of {len(solutions)} solutions"
        else:
            pattern = re.escape(name) + r" = (\[[^\]]*\]|[^\s,]+)"
            matches = re.findall(pattern, "\n".join(error.problems[0].details))
            listed = [re.findall(r"[-+.e\d]+", match) for match in matches]
            known = [row for row in listed if any(_close(row, solution) for solution in solutions)]
            if len(known) < 2 or len(known) < len(listed):
                yield f"{listed} listed of {solutions.tolist()}"
    if case.outward:
        return
    for solution in solutions if len(solutions) > 1 else ():
        apart = min(float(np.abs(solution - other).max()) for other in solutions if other is not solution)
        guess = solution + 0.2 * apart
        compiled = compile_model(built(case), guess={name: float(guess[0]) if len(guess) == 1 else guess})
        value = _value(compiled, name)
        if not np.abs(value - solution).max() <= AGREES * size:
            yield f"{value} for the guess {guess} of {solution}"


def _close(words: list[str], known: np.ndarray) -> bool:
    numbers = np.array([float(word) for word in words])
    return numbers.shape == known.shape and bool(
        np.abs(np.abs(numbers) - np.abs(known)).max() <= 1e-4 * float(np.abs(known).max())
    )


def faults(seed: int) -> list[str]:
    case = drawn(seed)
    return [
        f"seed {seed}, {way}: {fault}"
        for way, variant in variants(case, np.random.default_rng(seed))
        for fault in _faults(variant)
    ]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=500, help="loops (default %(default)d)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first loop (default %(default)d)")
    parser.add_argument("--processes", type=int, default=min(2, os.cpu_count() or 1), help="default %(default)d")
    given, _ = parser.parse_known_args(arguments)
    check: Callable[[int], list[str]] = faults
    watched = Progress(given.count, "loops")
    for found in each(check, range(given.seed, given.seed + given.count), given.processes):
        watched.add("\n".join(found))
    print(f"{watched.failures} of {given.count} loops are wrong")
    return int(watched.failures > 0)


if __name__ == "__main__":
    sys.exit(main())
