"""Which outputs depend on which inputs: compressed columns (indptr, indices), as sparse solvers read them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bondgraph.tape.differentiate import SparseJacobian, active_nodes
from bondgraph.tape.scalar import TapeScalar


def compressed_columns(jacobian: SparseJacobian) -> tuple[np.ndarray, np.ndarray]:
    """`indptr` (columns + 1,) and row `indices` (nonzeros,) of a Jacobian; int32, as SUNDIALS is built."""
    indptr = np.searchsorted(jacobian.columns, range(jacobian.shape[1] + 1)).astype(np.int32)
    return indptr, np.array(jacobian.rows, dtype=np.int32)


def dependence(outputs: Sequence[TapeScalar | float], inputs: Sequence[TapeScalar]) -> tuple[np.ndarray, np.ndarray]:
    """The pattern of `jacobian(outputs, inputs)` without writing derivatives: `indptr`, row `indices`; int32.

    It contains the Jacobian's pattern; entries that vanish identically may be in it too.
    """
    columns: list[list[int]] = [[] for _ in inputs]
    if len(inputs):
        tape = inputs[0].tape
        roots = [tape.scalar(output).index for output in outputs]
        seeds = {tape.scalar(variable).index: column for column, variable in enumerate(inputs)}
        masks: dict[int, int] = {}
        for position in active_nodes(tape, roots, seeds):
            mask = 1 << seeds[position] if position in seeds else 0
            for argument in () if position in seeds else tape.nodes[position][1:]:
                mask |= masks.get(argument, 0)
            masks[position] = mask
        for row, root in enumerate(roots):
            mask = masks.get(root, 0)
            while mask:
                lowest = mask & -mask
                columns[lowest.bit_length() - 1].append(row)
                mask ^= lowest
    indptr = np.cumsum([0, *map(len, columns)], dtype=np.int32)
    return indptr, np.array([row for column in columns for row in column], dtype=np.int32)
