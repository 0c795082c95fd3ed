"""Compile a plain formula of several arrays to one function, or count its operations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from bondgraph.compile.kernels import kernels_of
from bondgraph.emit.kernel import Kernel
from bondgraph.tape import opcodes
from bondgraph.tape.routine import Routine, reachable
from bondgraph.tape.scalar import Tape
from screws.renamed import answer_old_names
from screws.scalars import array

Formula = Callable[..., Mapping[str, Any]]
"""Arrays of any scalars -> arrays or scalars by name."""


@answer_old_names
@dataclass(frozen=True, eq=False)
class CompiledFormula:
    """A formula as machine code, or as NumPy operations; `shapes` are the shapes of its results by name."""

    kernel: Kernel
    shapes: Mapping[str, tuple[int, ...]]

    def __call__(self, *arguments: Any) -> dict[str, np.ndarray]:
        """Evaluate the formula; arguments have the shapes that were given to `compile_formula`. Returns results by name.

        Raises `KernelError` E395 where they do not fit.
        """
        return self._by_name(self.kernel(*map(np.ravel, arguments)))

    def evaluate_many(self, *arguments: Any) -> dict[str, np.ndarray]:
        """Evaluate the formula at samples: arguments (samples, length), or (length,) for all; results (samples, ...) by name.

        Raises `KernelError` E395 where they do not fit, or differ in their number of samples.
        """
        return self._by_name(self.kernel.many(*arguments))

    def _by_name(self, row: np.ndarray) -> dict[str, np.ndarray]:
        results, start = {}, 0
        for name, shape in self.shapes.items():
            end = start + prod(shape)
            results[name] = row[..., start:end].reshape(row.shape[:-1] + shape)
            start = end
        return results


def compile_formula(formula: Formula, arguments: Mapping[str, tuple[int, ...]], *, backend: str = "auto") -> CompiledFormula:
    """Compile a formula, which is traced once.

    Parameters
    ----------
    formula : function of arrays, in the order of `arguments`, that returns its results by name, written with the functions of
        `screws.scalars`, without branches on values.
    arguments : shape of each argument by name; () for a number.
    backend : "llvm" (machine code), "numpy" (the reference) or "auto" (LLVM where llvmlite is installed).

    Raises `ModelError` E123 for another backend; what the formula raises.

    >>> polar = compile_formula(lambda p: {"square": p @ p, "double": 2.0 * p}, {"p": (2,)}, backend="numpy")
    >>> results = polar([3.0, 4.0])
    >>> float(results["square"]), results["double"].tolist()
    (25.0, [6.0, 8.0])
    """
    tape, results = _traced(formula, arguments)
    values = tuple(scalar for result in results.values() for scalar in np.asarray(result, dtype=object).flat)
    routine = Routine("formula", tape, tuple((name, prod(shape)) for name, shape in arguments.items()), values)
    return CompiledFormula(kernels_of({"formula": routine}, backend)["formula"], {k: np.shape(v) for k, v in results.items()})


def count_operations(formula: Formula, arguments: Mapping[str, tuple[int, ...]], *, constant: Collection[str] = ()) -> int:
    """Count the distinct operations of a formula, without those on the `constant` arguments alone.

    Arguments are as in `compile_formula`; each argument that it reads counts as one.
    """
    tape, results = _traced(formula, arguments)
    roots = [tape.scalar(scalar).index for result in results.values() for scalar in np.asarray(result, dtype=object).flat]
    fixed = {number for number, name in enumerate(arguments) if name in constant}
    moves: list[bool] = []
    for code, *of in tape.nodes:
        is_input = code == opcodes.INPUT
        moves.append(of[0] not in fixed if is_input else code != opcodes.CONSTANT and any(moves[a] for a in of))
    return sum(moves[position] for position in reachable(tape, roots))


def _traced(formula: Formula, arguments: Mapping[str, tuple[int, ...]]) -> tuple[Tape, Mapping[str, Any]]:
    tape = Tape()
    inputs = [tape.inputs(name, prod(shape)) for name, shape in arguments.items()]
    shaped = [array(list(i)).reshape(shape) if shape else i[0] for i, shape in zip(inputs, arguments.values(), strict=True)]
    return tape, formula(*shaped)
