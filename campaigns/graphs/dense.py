"""Independent derivation of the equations: all element relations of a graph as one linear system, solved by SciPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from scipy.sparse import csc_array
from scipy.sparse.linalg import spsolve

from bondgraph.causality.assign import Causality
from bondgraph.model.laws import Gyrator, IdealConstraint, Junction, Resistor, SkewGyrator, Source, Storage, Transformer
from bondgraph.model.model import Bond, Model


def rates_and_power(
    model: Model, states: Mapping[str, np.ndarray], modes: Mapping[str, str] | None = None, causality: Causality | None = None
) -> tuple[dict[str, np.ndarray], float]:
    """Return the rates of all states by element, and the largest violation of power continuity, relative to the largest
    power.

    Each port of each element contributes one vector equation in the efforts and flows of all bonds. Causality is used
    only for a switched junction that is off, to find which variables are then zero.
    """
    system = Relations(model, states, modes or {}, causality)
    for path in model.elements:
        system.relations(path)
    solution = system.solve()
    rates = {
        path: system.sign(bond, path) * solution[system.block(bond, "f" if element.kind == "C" else "e")]
        for path, element in model.elements.items()
        if isinstance(element.law, Storage)
        for bond in model.bonds_at(path)
    }
    return rates, system.worst_power(solution)


def residual_and_power(
    model: Model,
    values: Mapping[str, np.ndarray],
    resolve: Callable[[str], str],
    modes: Mapping[str, str] | None = None,
    causality: Causality | None = None,
) -> tuple[float, float]:
    """Return the largest violations of element relations and of power continuity for given values of all bonds, both relative to
    the largest terms. States may depend on each other here; their rates are not checked."""
    states = {
        path: np.asarray(values[resolve(f"{path}.{element.law.state}")])
        for path, element in model.elements.items()
        if isinstance(element.law, Storage)
    }
    system = Relations(model, states, modes or {}, causality)
    y = np.zeros(system.size)
    for bond in model.bonds:
        for kind, name in (("e", "effort"), ("f", "flow")):
            y[system.block(bond, kind)] = values[resolve(f"{bond.name}:{name}")]
    for path, element in model.elements.items():
        law, bond = element.law, model.bonds_at(path)[0]
        if isinstance(law, IdealConstraint):
            continue  # it relates rates
        if isinstance(law, Resistor) and (law.effort is None or law.flow is None):
            known, free, relation = ("f", "e", law.effort) if law.effort else ("e", "f", law.flow)
            inward = {"e": 1, "f": system.sign(bond, path)}
            result = relation(inward[known] * y[system.block(bond, known)], *system.arguments(path))
            system.equation([(bond, free, np.eye(bond.dimension))], inward[free] * np.asarray(result))
        else:
            system.relations(path)
    right = np.array(system.right)
    sums, sizes = right.copy(), np.abs(right)
    for row, column, value in system.entries:
        sums[row] -= value * y[column]
        sizes[row] = max(sizes[row], abs(value * y[column]))
    return float(np.abs(sums).max() / (1.0 + sizes.max())), system.worst_power(y)


class Relations:
    def __init__(self, model: Model, states, modes, causality) -> None:
        self.model, self.states, self.modes, self.causality = model, states, modes, causality
        self.offsets: dict[str, int] = {}
        self.size = 0
        for bond in model.bonds:
            self.offsets[bond.name] = self.size
            self.size += 2 * bond.dimension
        self.entries: list[tuple[int, int, float]] = []
        self.right: list[float] = []

    def block(self, bond: Bond, kind: str) -> slice:
        start = self.offsets[bond.name] + (bond.dimension if kind == "f" else 0)
        return slice(start, start + bond.dimension)

    def sign(self, bond: Bond, path: str) -> int:
        return 1 if bond.head.element == path else -1

    def equation(self, terms: list[tuple[Bond, str, np.ndarray]], value) -> None:
        """Add the equations sum(matrix @ variable) = `value`."""
        first = len(self.right)
        for bond, kind, factor in terms:
            start = self.block(bond, kind).start
            self.entries += [(first + i, start + j, factor[i, j]) for i, j in zip(*np.nonzero(factor), strict=True)]
        self.right.extend(np.broadcast_to(value, (terms[0][2].shape[0],)))

    def solve(self) -> np.ndarray:
        assert len(self.right) == self.size
        rows, columns, values = zip(*self.entries, strict=True)
        return np.atleast_1d(spsolve(csc_array((values, (rows, columns)), shape=(self.size, self.size)), np.array(self.right)))

    def arguments(self, path: str) -> list[np.ndarray]:
        element = self.model.elements[path]
        signals = [self.states[signal.rpartition(".")[0]] for signal in element.signals]
        return [np.asarray(p.value, dtype=float) for p in element.parameters.values()] + signals

    def active(self, path: str) -> bool:
        law = self.model.elements[path].law
        return law.automaton is None or self.modes[law.automaton] in law.active

    def keeps_power(self, path: str) -> bool:
        return isinstance(self.model.elements[path].law, (Junction, Transformer, Gyrator, SkewGyrator))

    def power(self, solution: np.ndarray, path: str) -> float:
        return sum(
            self.sign(b, path) * solution[self.block(b, "e")] @ solution[self.block(b, "f")] for b in self.model.bonds_at(path)
        )

    def worst_power(self, solution: np.ndarray) -> float:
        most = max(np.abs(solution[self.block(b, "e")] * solution[self.block(b, "f")]).max() for b in self.model.bonds)
        worst = max((abs(self.power(solution, p)) for p in self.model.elements if self.keeps_power(p)), default=0.0)
        return worst / (1e-6 + most)

    def relations(self, path: str) -> None:
        element, bonds = self.model.elements[path], self.model.bonds_at(path)
        law, n = element.law, bonds[0].dimension
        one = np.eye(n)
        if isinstance(law, Storage):
            output = law.output(self.states[path], *self.arguments(path))
            self.equation([(bonds[0], "e" if element.kind == "C" else "f", one)], output)
        elif isinstance(law, Source):
            arguments = self.arguments(path)
            value = law.value(*arguments) if arguments else 0.0
            self.equation([(bonds[0], "e" if element.kind == "Se" else "f", one)], value)
        elif isinstance(law, Resistor):
            name = next(iter(element.parameters))
            matrix = _square(self.arguments(path)[0], n) * self.sign(bonds[0], path)
            left, right = ("e", "f") if name == "resistance" else ("f", "e")
            self.equation([(bonds[0], left, one), (bonds[0], right, -matrix)], 0.0)
        elif isinstance(law, SkewGyrator):
            matrix = np.asarray(law.matrix(*self.arguments(path)), dtype=float) * self.sign(bonds[0], path)
            self.equation([(bonds[0], "e", one), (bonds[0], "f", -matrix)], 0.0)
        elif isinstance(law, Junction):
            self.junction(path, bonds)
        else:
            self.two_port(path, bonds)

    def junction(self, path: str, bonds: tuple[Bond, ...]) -> None:
        law, one = self.model.elements[path].law, np.eye(bonds[0].dimension)
        common, other = ("e", "f") if law.type == 0 else ("f", "e")
        if self.active(path):
            for bond in bonds[1:]:
                self.equation([(bond, common, one), (bonds[0], common, -one)], 0.0)
            self.equation([(bond, other, self.sign(bond, path) * one) for bond in bonds], 0.0)
        else:
            for bond in bonds:
                strong = self.causality.effort_into(bond, path) is (law.type == 0)
                self.equation([(bond, other if strong else common, one)], 0.0)

    def two_port(self, path: str, bonds: tuple[Bond, ...]) -> None:
        law = self.model.elements[path].law
        one, two = bonds if any(e.element == path and e.port == "1" for e in bonds[0].ends) else bonds[::-1]
        n1, n2 = one.dimension, two.dimension
        ratio = np.asarray(law.matrix(*self.arguments(path)), dtype=float)
        shape = (n2, n1) if isinstance(law, Transformer) else (n1, n2)
        ratio = ratio * np.eye(n1) if ratio.ndim == 0 else ratio.reshape(shape)
        s1, s2 = self.sign(one, path), -self.sign(two, path)
        if isinstance(law, Transformer):
            self.equation([(two, "f", s2 * np.eye(n2)), (one, "f", -s1 * ratio)], 0.0)
            self.equation([(one, "e", np.eye(n1)), (two, "e", -ratio.T)], 0.0)
        else:
            self.equation([(one, "e", np.eye(n1)), (two, "f", -s2 * ratio)], 0.0)
            self.equation([(two, "e", np.eye(n2)), (one, "f", -s1 * ratio.T)], 0.0)


def _square(value: np.ndarray, n: int) -> np.ndarray:
    return value * np.eye(n) if value.ndim == 0 else np.diag(value) if value.ndim == 1 else value
