"""H and f of a step from its elements: springs, dampers, sources, what turns velocities, inertias."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from bondgraph.assembly.draft import effort, flow, into
from bondgraph.model import laws
from bondgraph.stepping.given_velocities import MOMENTUM, OWN_FORCE, is_inertia, turned_by
from bondgraph.stepping.quadratic.layout import Wanted
from bondgraph.stepping.quadratic.values import Sparse, StepValues


def mechanics_of(values: StepValues, wanted: Wanted) -> tuple[Sparse, list[Any]]:
    """H (n, n) and f (n,)."""
    model = values.model
    turning = {other for path, e in model.elements.items() if is_inertia(e.law) for other in turned_by(model, path)}
    sums = _Sums(values, wanted)
    for path, element in model.elements.items():
        law = element.law
        if isinstance(law, laws.Storage) and law.gives == "effort":
            if f"{path}.{law.state}" not in wanted.ignored:
                sums.add_spring(path, law)
        elif isinstance(law, laws.Resistor):
            sums.add_damper(path)
        elif isinstance(law, laws.Source) and law.gives == "effort":
            sums.add_source(path)
        elif isinstance(law, laws.SkewGyrator | laws.Gyrator | laws.Reaction) and wanted.full and path not in turning:
            sums.add_turning(path)
        elif is_inertia(law):
            sums.add_inertia(path, law)
    return sums.program()


class _Sums:
    """K, B, M (n, n) and the force F (n,), by virtual power."""

    def __init__(self, values: StepValues, wanted: Wanted):
        self.values, self.wanted = values, wanted
        self.force: list[Any] = [0.0] * len(values.v)
        self.K, self.B, self.M = (defaultdict[tuple[int, int], Any](lambda: 0.0) for _ in range(3))

    def program(self) -> tuple[Sparse, list[Any]]:
        """H = K + B/h + M/h^2, f = -F."""
        h = self.values.h
        H = {key: self.K[key] + self.B[key] / h + self.M[key] / (h * h) for key in {**self.K, **self.B, **self.M}}
        return H, [-value for value in self.force]

    def push(self, J: Sparse, efforts: Sequence[Any], sign: float) -> None:
        """F += sign J^T efforts."""
        for (i, k), value in J.items():
            self.force[k] = self.force[k] + sign * value * efforts[i]

    def add_spring(self, path: str, law: laws.Storage) -> None:
        """A C; one whose state has a rate of its own, such as a pose, has no stiffness here."""
        values, bond = self.values, self.values.model.bonds_at(path)[0]
        if law.rate is None:
            J, e, sign = values.slopes(values.at(f"{path}.{law.state}'")), values.at(effort(bond)), 1.0
            places = values.system.places[f"{path}.{law.state}"]
            _add_quadratic(self.K, J, values.slopes(e, [values.x[k] for k in places]))
        else:
            J, e, sign = values.slopes(values.at(flow(bond))), values.at(effort(bond)), float(into(bond, path))
        self.push(J, values.resting(e), -sign)

    def add_damper(self, path: str) -> None:
        """An R, by its tangent at the last velocity."""
        values, bond = self.values, self.values.model.bonds_at(path)[0]
        J, e, sign = values.slopes(values.at(flow(bond))), values.at(effort(bond)), float(into(bond, path))
        slopes = values.slopes(e)
        for (i, k), value in J.items():
            for (i2, l), slope in slopes.items():
                if i2 == i:
                    self.B[k, l] = self.B[k, l] + sign * value * slope
        if values.curved(slopes):
            straight = [
                scalar - sum((s * values.v[l] for (i, l), s in slopes.items() if i == row), start=0.0 * scalar)
                for row, scalar in enumerate(e)
            ]
            self.push(J, straight, -sign)
        else:
            self.push(J, values.resting(e), -sign)

    def add_source(self, path: str) -> None:
        """An Se."""
        values, bond = self.values, self.values.model.bonds_at(path)[0]
        e = values.at(effort(bond))
        self.push(values.slopes(values.at(flow(bond))), e if self.wanted.full else values.resting(e), -float(into(bond, path)))

    def add_turning(self, path: str) -> None:
        """What gives efforts that depend on velocities, but no inertia's own."""
        values = self.values
        for bond in values.model.bonds_at(path):
            self.push(values.slopes(values.at(flow(bond))), values.at(effort(bond)), -float(into(bond, path)))

    def add_inertia(self, path: str, law: laws.Law) -> None:
        """An I or an IC, a dependent one too."""
        values = self.values
        J = values.slopes(values.at(flow(values.model.bonds_at(path)[0])))
        if self.wanted.inertia != "ignored":
            for (i, l), slope in values.slopes(values.at(f"{path}{MOMENTUM}")).items():
                for (i2, k), value in J.items():
                    if i2 == i:
                        self.M[k, l] = self.M[k, l] + value * slope
        if self.wanted.full:
            self.push(J, [scalar / values.h for scalar in values.at(f"{path}{MOMENTUM}")], 1.0)
        if isinstance(law, laws.InertialField):
            self.push(J, values.at(f"{path}{OWN_FORCE}"), 1.0)


def _add_quadratic(total: Any, J: Sparse, inner: Sparse) -> None:
    """total += J^T inner J."""
    for (a, b), middle in inner.items():
        for (i, k), left in J.items():
            if i != a:
                continue
            for (j, l), right in J.items():
                if j == b:
                    total[k, l] = total[k, l] + left * middle * right
