"""Independent equations in descriptor form: N y' + M y = b with all bond variables and ALL storage states as unknowns y.

Linear graphs only. Nothing is sorted, no state is eliminated and no derivative is taken: dependences follow numerically. The
finite generalised eigenvalues of (N, M) are the poles of the graph, counted with their multiplicity.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from bondgraph.causality.assign import Causality
from bondgraph.model.laws import IdealConstraint, IdealSwitch, Storage
from bondgraph.model.model import Bond, Model
from campaigns.graphs.dense import Relations, _square


class Descriptor(Relations):
    """Matrices N, M and b of a model in one combination of modes.

    `algebraic` names constraints and switches whose vanishing variable needs no time derivative, since the variable depends on
    the efforts and flows themselves: they satisfy a1 f + a0 h = 0, without f'.
    """

    def __init__(self, model: Model, modes: Mapping[str, str], causality: Causality, algebraic: Collection[str] = ()):
        self.algebraic = frozenset(algebraic)
        super().__init__(model, {}, modes, causality)
        self.held: dict[str, int] = {}
        """Index in y of the start of the state of each storage or constraint."""
        self.moving: list[tuple[int, int, float]] = []
        for path, element in model.elements.items():
            law = element.law
            if isinstance(law, Storage) or (isinstance(law, IdealConstraint) and law.stores_position):
                self.held[path] = self.size
                self.size += model.bonds_at(path)[0].dimension
        for path in model.elements:
            self.relations(path)
        assert len(self.right) == self.size
        self.N, self.M, self.b = (np.zeros((self.size, self.size)), np.zeros((self.size, self.size)), np.array(self.right))
        for matrix, entries in ((self.N, self.moving), (self.M, self.entries)):
            for row, column, value in entries:
                matrix[row, column] += value

    def state(self, path: str) -> slice:
        return slice(self.held[path], self.held[path] + self.model.bonds_at(path)[0].dimension)

    def relations(self, path: str) -> None:
        element, bond = self.model.elements[path], self.model.bonds_at(path)[0]
        n, sign = bond.dimension, self.sign(bond, path)
        if isinstance(element.law, Storage):
            output, given = ("e", "f") if element.kind == "C" else ("f", "e")
            ((name, value),) = ((k, _square(np.asarray(v.value, dtype=float), n)) for k, v in element.parameters.items())
            self.rows(
                [
                    (self.block(bond, output), np.eye(n)),
                    (self.state(path), -value if name == "stiffness" else -np.linalg.inv(value)),
                ]
            )
            self.rows([(self.block(bond, given), -sign * np.eye(n))], [(self.state(path), np.eye(n))])
        elif isinstance(element.law, IdealConstraint):
            self.constraint(path, bond)
        elif isinstance(element.law, IdealSwitch):
            closed = self.modes[element.law.automaton] in element.law.active
            variable = self.block(bond, "e" if closed else "f")
            asked = closed == self.causality.effort_into(bond, path)  # else the switch's own output vanishes
            a1 = float(element.parameters["alpha1"].value)
            moving = asked and path not in self.algebraic
            self.rows([(variable, a1 * np.eye(n))], [(variable, np.eye(n))] if moving else [])
        elif element.signals and element.kind in ("Se", "Sf"):
            gain, source = float(element.parameters["gain"].value), element.signals[0].rpartition(".")[0]
            self.rows([(self.block(bond, element.kind[1]), np.eye(n)), (self.state(source), -gain * np.eye(n))])
        else:
            super().relations(path)

    def constraint(self, path: str, bond: Bond) -> None:
        element, n, sign = self.model.elements[path], bond.dimension, self.sign(bond, path)
        law, one = element.law, np.eye(bond.dimension)
        number = {name: float(parameter.value) for name, parameter in element.parameters.items()}
        flow, effort = self.block(bond, "f"), self.block(bond, "e")
        position = [(self.state(path), number["alpha0"] * one)] if law.stores_position else []
        if law.stores_position:
            self.rows([(flow, -sign * one)], [(self.state(path), one)])
        if self.active(path):
            second = [] if path in self.algebraic else [(flow, sign * one)]
            self.rows([(flow, sign * number["alpha1"] * one), *position], second)
        elif law.released is None:
            self.rows([(effort, one)])
        else:
            forward = 1.0 if self.modes[law.automaton] == "forward" else -1.0
            self.rows([(effort, one), (flow, -sign * number["viscous"] * one)])
            self.right[-n:] = [forward * number["limit"]] * n

    def rows(self, still: list[tuple[slice, np.ndarray]], moving: list[tuple[slice, np.ndarray]] = ()) -> None:
        """Add the equations sum(matrix @ y[part]) + sum(matrix @ y'[part]) = 0."""
        first = len(self.right)
        for entries, terms in ((self.entries, still), (self.moving, moving)):
            for part, factor in terms:
                entries += [(first + i, part.start + j, factor[i, j]) for i, j in zip(*np.nonzero(factor), strict=True)]
        self.right.extend(np.zeros(still[0][1].shape[0]))

    def determinant(self, s: complex) -> tuple[complex, float]:
        """Return det(s N + M), as its phase and the logarithm of its magnitude."""
        phase, size = np.linalg.slogdet(s * self.N + self.M)
        return complex(phase), float(size)

    def is_singular(self) -> bool:
        """Return True if s N + M is singular at two values of s, and so for every s: the graph has no unique solution."""
        worst = [np.linalg.svd(_scaled(s * self.N + self.M), compute_uv=False) for s in (0.7 + 1.1j, -1.3 + 0.4j)]
        return all(values[-1] < 1e-10 * values[0] for values in worst)


def _scaled(matrix: np.ndarray) -> np.ndarray:
    return matrix / np.abs(matrix).max(axis=1, keepdims=True)
