"""Gradients: an energy as a plain formula -> its derivatives with respect to its first argument, for any scalar."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from bondgraph.ops import Op
from bondgraph.tape.scalar import TapeScalar
from screws.scalars import array


def gradient(energy: Op) -> Op:
    """(x, ...) -> d energy / dx, of the shape of x.

    On a tape the tape is differentiated, of SymPy expressions the expression, and floats go through a tape of their own: the
    energy is written once, and what follows from it is conservative by construction.
    """

    def formula(x: Any, *others: Any) -> Any:
        scalars = list(np.asarray(x, dtype=object).flat)
        kinds = [*scalars, *(s for other in others for s in np.asarray(other, dtype=object).flat)]
        if any(isinstance(s, TapeScalar) for s in kinds):
            slopes = _on_tape(energy, x, others)
        elif any(_is_symbolic(s) for s in kinds):
            slopes = _symbolic(energy, x, others)
        else:
            slopes = _in_floats(energy, x, others)
        return array(slopes).reshape(np.shape(x)) if np.shape(x) else slopes[0]

    return Op(
        f"gradient of {energy.name}", formula, r"\nabla_{#1}\left(" + energy.latex + r"\right)" if energy.latex else ""
    )


def _on_tape(energy: Op, x: Any, others: tuple[Any, ...]) -> list[Any]:
    from bondgraph.tape.differentiate import jacobian

    scalars = list(np.asarray(x, dtype=object).flat)
    moving = [k for k, s in enumerate(scalars) if isinstance(s, TapeScalar) and s.value is None]
    sparse = jacobian([energy(x, *others)], [scalars[k] for k in moving])
    slopes: list[Any] = [0.0] * len(scalars)
    for column, value in zip(sparse.columns, sparse.values, strict=True):
        slopes[moving[int(column)]] = value
    return slopes


def _symbolic(energy: Op, x: Any, others: tuple[Any, ...]) -> list[Any]:
    """Differentiated at symbols of its own, which x then replaces."""
    sympy = sys.modules["sympy"]
    places = np.array([sympy.Dummy(f"x{k}", real=True) for k in range(max(np.size(x), 1))], dtype=object)
    at = places.reshape(np.shape(x)) if np.shape(x) else places[0]
    value = sympy.S(energy(at, *others))
    swap = dict(zip(places, np.asarray(x, dtype=object).flat, strict=True))
    return [sympy.diff(value, place).subs(swap) for place in places]


def _in_floats(energy: Op, x: Any, others: tuple[Any, ...]) -> list[Any]:
    from bondgraph.emit.numpy import evaluate
    from bondgraph.tape.differentiate import jacobian
    from bondgraph.tape.routine import Routine
    from bondgraph.tape.scalar import Tape

    tape = Tape()
    size = max(int(np.size(x)), 1)
    inputs = tape.inputs("x", size)
    value = energy(inputs.reshape(np.shape(x)) if np.shape(x) else inputs[0], *others)
    sparse = jacobian([value], list(inputs))
    numbers = evaluate(
        Routine("gradient", tape, (("x", size),), tuple(sparse.values)), np.ravel(np.asarray(x, dtype=float))
    )
    slopes = [0.0] * size
    for column, number in zip(sparse.columns, numbers, strict=True):
        slopes[int(column)] = float(number)
    return slopes


def _is_symbolic(value: Any) -> bool:
    sympy = sys.modules.get("sympy")
    return sympy is not None and isinstance(value, sympy.Basic)
