"""Gradients: partial derivatives of a plain formula with respect to one argument, for any scalar."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bondgraph.model.ops import Op, sources_of
from bondgraph.tape.differentiate import SparseJacobian, jacobian
from bondgraph.tape.interpret import interpreter
from bondgraph.tape.routine import Routine, listing
from bondgraph.tape.scalar import Tape, TapeScalar
from bondgraph.tape.specialise import substitute
from screws.scalars import array


def gradient(energy: Op) -> Op:
    """Return the operation (x, ...) -> d energy / dx, of the shape of x.

    The energy is written once, so that the law is conservative by construction.
    """

    function = energy.function  # closed over alone, so that equal energies compare as equal formulas

    def formula(x: Any, *others: Any) -> Any:
        slopes = partials(lambda at: [function(at, *others)], x, others)[0]
        return _shaped(array(list(slopes)), x)

    latex = r"\nabla_{#1}\left(" + energy.latex + r"\right)" if energy.latex else ""
    return Op(f"gradient of {energy.name}", formula, latex, sources_of(energy), energy.note)


def partials(formula: Callable[[Any], Sequence[Any]], x: Any, others: Sequence[Any] = ()) -> np.ndarray:
    """Return partial derivatives (m, n) of the m scalars of `formula`(x) with respect to the n of x.

    Other values in the formula, `others`, count as constant, even where they depend on x. Scalars of a tape are differentiated on
    that tape, SymPy expressions symbolically, and floats on a temporary tape. A foreign scalar provides a method
    `__partials__(formula, x, others)`.
    """
    scalars = [*np.asarray(x, dtype=object).flat, *(s for other in others for s in np.asarray(other, dtype=object).flat)]
    tape = next((s.tape for s in scalars if isinstance(s, TapeScalar)), None)
    if tape is not None:
        return _on_tape(tape, formula, x)
    foreign = next((s for s in scalars if hasattr(s, "__partials__")), None)
    if foreign is not None:
        return foreign.__partials__(formula, x, others)
    return _symbolic(formula, x) if any(_is_symbolic(s) for s in scalars) else _in_floats(formula, x)


def _shaped(scalars: np.ndarray, x: Any) -> Any:
    return scalars.reshape(np.shape(x)) if np.shape(x) else scalars[0]


def _on_tape(tape: Tape, formula: Callable[[Any], Sequence[Any]], x: Any) -> np.ndarray:
    """Differentiate at new inputs of the tape, and substitute x for these, so that only x itself varies."""
    inputs, sparse = _differentiated(tape, f"place {len(tape.blocks)}", formula, x)
    actual = [tape.scalar(s).index for s in np.asarray(x, dtype=object).flat]
    slopes = substitute(tape, sparse.values, {p.index: a for p, a in zip(inputs, actual, strict=True)})
    return replace(sparse, values=slopes).dense()


def _in_floats(formula: Callable[[Any], Sequence[Any]], x: Any) -> np.ndarray:
    """Differentiate on a temporary tape, and run it at x."""
    tape = Tape()
    inputs, sparse = _differentiated(tape, "x", formula, x)
    slopes = np.empty(len(sparse.values))
    routine = Routine("gradient", tape, (("x", len(inputs)),), sparse.values)
    interpreter(listing(routine))((np.ravel(np.asarray(x, dtype=float)),), slopes)
    return replace(sparse, values=tuple(slopes)).dense().astype(float)


def _differentiated(tape: Tape, block: str, formula: Callable[[Any], Sequence[Any]], x: Any) -> tuple[np.ndarray, SparseJacobian]:
    """Return a block of inputs of the tape in place of x, and the derivatives of the formula by them."""
    inputs = tape.inputs(block, max(np.size(x), 1))
    return inputs, jacobian(list(formula(_shaped(inputs, x))), list(inputs))


def _symbolic(formula: Callable[[Any], Sequence[Any]], x: Any) -> np.ndarray:
    """Differentiate at new symbols, and substitute x for these."""
    sympy = sys.modules["sympy"]
    symbols = np.array([sympy.Dummy(f"x{k}", real=True) for k in range(max(np.size(x), 1))], dtype=object)
    values = [sympy.S(value) for value in formula(_shaped(symbols, x))]
    swap = dict(zip(symbols, np.asarray(x, dtype=object).flat, strict=True))
    rows = [[sympy.diff(value, symbol).subs(swap) for symbol in symbols] for value in values]
    return np.array(rows, dtype=object)


def _is_symbolic(value: Any) -> bool:
    sympy = sys.modules.get("sympy")
    return sympy is not None and isinstance(value, sympy.Basic)
