"""Gradients: a plain formula -> its partial derivatives with respect to one argument, for any scalar."""

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
    """(x, ...) -> d energy / dx, of the shape of x.

    The energy is written once, and what follows from it is conservative by construction.
    """

    function = energy.function  # closed over by itself, so that equal energies are known as the same formula

    def formula(x: Any, *others: Any) -> Any:
        slopes = partials(lambda at: [function(at, *others)], x, others)[0]
        return _shaped(array(list(slopes)), x)

    latex = r"\nabla_{#1}\left(" + energy.latex + r"\right)" if energy.latex else ""
    return Op(f"gradient of {energy.name}", formula, latex, sources_of(energy), energy.note)


def partials(formula: Callable[[Any], Sequence[Any]], x: Any, others: Sequence[Any] = ()) -> np.ndarray:
    """Partial derivatives (m, n) of the m scalars of `formula`(x) with respect to the n of x.

    What the formula holds besides x counts as constant, even where it depends on x; `others` lists it. On a tape the tape is
    differentiated, of SymPy expressions the expression, and floats go through a tape of their own. A foreign scalar takes part by
    a method `__partials__(formula, x, others)`.
    """
    held = [*np.asarray(x, dtype=object).flat, *(s for other in others for s in np.asarray(other, dtype=object).flat)]
    tape = next((s.tape for s in held if isinstance(s, TapeScalar)), None)
    if tape is not None:
        return _on_tape(tape, formula, x)
    foreign = next((s for s in held if hasattr(s, "__partials__")), None)
    if foreign is not None:
        return foreign.__partials__(formula, x, others)
    return _symbolic(formula, x) if any(_is_symbolic(s) for s in held) else _in_floats(formula, x)


def _shaped(scalars: np.ndarray, x: Any) -> Any:
    return scalars.reshape(np.shape(x)) if np.shape(x) else scalars[0]


def _on_tape(tape: Tape, formula: Callable[[Any], Sequence[Any]], x: Any) -> np.ndarray:
    """Differentiated at inputs of its own, which x then replaces: so only x itself moves."""
    places, sparse = _differentiated(tape, f"place {len(tape.blocks)}", formula, x)
    actual = [tape.scalar(s).index for s in np.asarray(x, dtype=object).flat]
    moved = substitute(tape, sparse.values, {p.index: a for p, a in zip(places, actual, strict=True)})
    return replace(sparse, values=moved).dense()


def _in_floats(formula: Callable[[Any], Sequence[Any]], x: Any) -> np.ndarray:
    """Differentiated on a tape of its own, which is run at x."""
    tape = Tape()
    places, sparse = _differentiated(tape, "x", formula, x)
    slopes = np.empty(len(sparse.values))
    routine = Routine("gradient", tape, (("x", len(places)),), sparse.values)
    interpreter(listing(routine))((np.ravel(np.asarray(x, dtype=float)),), slopes)
    return replace(sparse, values=tuple(slopes)).dense().astype(float)


def _differentiated(tape: Tape, block: str, formula: Callable[[Any], Sequence[Any]], x: Any) -> tuple[np.ndarray, SparseJacobian]:
    """A block of inputs of the tape in the place of x, and the derivatives of the formula by them."""
    places = tape.inputs(block, max(np.size(x), 1))
    return places, jacobian(list(formula(_shaped(places, x))), list(places))


def _symbolic(formula: Callable[[Any], Sequence[Any]], x: Any) -> np.ndarray:
    """Differentiated at symbols of its own, which x then replaces."""
    sympy = sys.modules["sympy"]
    places = np.array([sympy.Dummy(f"x{k}", real=True) for k in range(max(np.size(x), 1))], dtype=object)
    values = [sympy.S(value) for value in formula(_shaped(places, x))]
    swap = dict(zip(places, np.asarray(x, dtype=object).flat, strict=True))
    rows = [[sympy.diff(value, place).subs(swap) for place in places] for value in values]
    return np.array(rows, dtype=object)


def _is_symbolic(value: Any) -> bool:
    sympy = sys.modules.get("sympy")
    return sympy is not None and isinstance(value, sympy.Basic)
