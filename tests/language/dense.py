"""A second way to the equations: all element relations of a linear graph as one dense system, solved by NumPy."""

from __future__ import annotations

import numpy as np

from bondgraph.graph.laws import Gyrator, Junction, Resistor, SkewGyrator, Source, Storage, Transformer
from bondgraph.graph.model import Model


def rates_and_power(model: Model, states: dict[str, np.ndarray], mode_on: bool = True) -> tuple[dict[str, np.ndarray], float]:
    """Rates of all states (by name) and the largest violation of power continuity at a junction structure element.

    Unknowns are the effort and the flow of every bond; each port of each element contributes one vector equation. Nothing
    is sorted and no causality is used.
    """
    offsets, size = {}, 0
    for bond in model.bonds:
        offsets[bond.name] = (size, size + bond.dimension, bond.dimension)
        size += 2 * bond.dimension
    rows: list[np.ndarray] = []
    right: list[float] = []

    def block(bond, kind: str) -> slice:
        e, f, n = offsets[bond.name]
        start = e if kind == "e" else f
        return slice(start, start + n)

    def equation(n: int, terms: list[tuple[slice, np.ndarray]], value: np.ndarray) -> None:
        matrix = np.zeros((n, size))
        for where, factor in terms:
            matrix[:, where] += factor
        rows.append(matrix)
        right.extend(np.broadcast_to(value, (n,)))

    def sign(bond, path: str) -> int:
        return 1 if bond.head.element == path else -1

    def as_matrix(value, n: int) -> np.ndarray:
        array = np.asarray(value, dtype=float)
        return array * np.eye(n) if array.ndim == 0 else np.diag(array) if array.ndim == 1 else array

    for path, element in model.elements.items():
        law, bonds = element.law, model.bonds_at(path)
        parameters = [np.asarray(p.value, dtype=float) for p in element.parameters.values()]
        if isinstance(law, Storage):
            (bond,) = bonds
            n = bond.dimension
            output = np.broadcast_to(law.output(states[path], *parameters), (n,))
            equation(n, [(block(bond, "e" if element.kind == "C" else "f"), np.eye(n))], output)
        elif isinstance(law, Resistor):
            (bond,) = bonds
            n = bond.dimension
            name, value = next(iter(element.parameters.items()))
            matrix = as_matrix(value.value, n)
            if name == "resistance":
                equation(n, [(block(bond, "e"), np.eye(n)), (block(bond, "f"), -sign(bond, path) * matrix)], np.zeros(n))
            else:
                equation(n, [(block(bond, "f"), np.eye(n)), (block(bond, "e"), -sign(bond, path) * matrix)], np.zeros(n))
        elif isinstance(law, Source):
            (bond,) = bonds
            value = parameters[0] if parameters else np.zeros(())
            equation(bond.dimension, [(block(bond, "e" if element.kind == "Se" else "f"), np.eye(bond.dimension))], value)
        elif isinstance(law, SkewGyrator):
            (bond,) = bonds
            matrix = np.asarray(law.matrix(*parameters), dtype=float)
            equation(
                bond.dimension,
                [(block(bond, "e"), np.eye(bond.dimension)), (block(bond, "f"), -sign(bond, path) * matrix)],
                np.zeros(bond.dimension),
            )
        elif isinstance(law, (Transformer, Gyrator)):
            one, two = bonds if any(e.element == path and e.port == "1" for e in bonds[0].ends) else bonds[::-1]
            n1, n2 = one.dimension, two.dimension
            ratio = np.asarray(law.matrix(*parameters), dtype=float)
            shape = (n2, n1) if isinstance(law, Transformer) else (n1, n2)
            ratio = ratio * np.eye(n1) if ratio.ndim == 0 else ratio.reshape(shape)
            s1, s2 = sign(one, path), -sign(two, path)
            if isinstance(law, Transformer):
                equation(n2, [(block(two, "f"), s2 * np.eye(n2)), (block(one, "f"), -s1 * ratio)], np.zeros(n2))
                equation(n1, [(block(one, "e"), np.eye(n1)), (block(two, "e"), -ratio.T)], np.zeros(n1))
            else:
                equation(n1, [(block(one, "e"), np.eye(n1)), (block(two, "f"), -s2 * ratio)], np.zeros(n1))
                equation(n2, [(block(two, "e"), np.eye(n2)), (block(one, "f"), -s1 * ratio.T)], np.zeros(n2))
        elif isinstance(law, Junction):
            n = bonds[0].dimension
            common, other = ("e", "f") if law.type == 0 else ("f", "e")
            for bond in bonds[1:]:
                equation(n, [(block(bond, common), np.eye(n)), (block(bonds[0], common), -np.eye(n))], np.zeros(n))
            equation(n, [(block(bond, other), sign(bond, path) * np.eye(n)) for bond in bonds], np.zeros(n))
        else:
            raise TypeError(f"no dense relation for {element.kind}")
    matrix = np.concatenate(rows)
    solution, *_ = np.linalg.lstsq(matrix, np.array(right), rcond=None)
    rates = {}
    for path, element in model.elements.items():
        if isinstance(element.law, Storage):
            (bond,) = model.bonds_at(path)
            given = solution[block(bond, "f" if element.kind == "C" else "e")]
            rates[path] = sign(bond, path) * given
    worst = 0.0
    for path, element in model.elements.items():
        if isinstance(element.law, (Junction, Transformer, Gyrator)):
            power = sum(
                sign(b, path) * solution[block(b, "e")] @ solution[block(b, "f")] for b in model.bonds_at(path)
            )
            worst = max(worst, abs(power))
    return rates, worst
