"""Reaction networks as SBML, and their rates as Python functions of concentrations for SciPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp

Sides = tuple[Mapping[str, int], Mapping[str, int]]


@dataclass(frozen=True)
class Network:
    """Network of reactions, each with two sides and a rate law as a formula and as a function."""

    species: Mapping[str, float]
    parameters: Mapping[str, float]
    reactions: Mapping[str, tuple[Sides, str, Callable[..., float]]]
    size: float = 1.0
    held: Sequence[str] = ()
    functions: Mapping[str, str] = ()  # type: ignore[assignment]

    def text(self) -> str:
        import libsbml

        document = libsbml.SBMLDocument(3, 2)
        model = document.createModel()
        model.setId("network")
        cell = model.createCompartment()
        cell.setId("cell"), cell.setSize(self.size), cell.setConstant(True), cell.setSpatialDimensions(3)
        for name, formula in dict(self.functions).items():
            function = model.createFunctionDefinition()
            function.setId(name), function.setMath(libsbml.parseL3Formula(formula))
        for name, value in self.species.items():
            one = model.createSpecies()
            one.setId(name), one.setCompartment("cell"), one.setInitialConcentration(value), one.setHasOnlySubstanceUnits(False)
            one.setBoundaryCondition(name in self.held), one.setConstant(False)
        for name, value in self.parameters.items():
            parameter = model.createParameter()
            parameter.setId(name), parameter.setValue(value), parameter.setConstant(True)
        for name, (sides, law, _) in self.reactions.items():
            reaction = model.createReaction()
            reaction.setId(name), reaction.setReversible(True)
            for side, create in zip(sides, (reaction.createReactant, reaction.createProduct), strict=True):
                for species, count in side.items():
                    reference = create()
                    reference.setSpecies(species), reference.setStoichiometry(count), reference.setConstant(True)
            reaction.createKineticLaw().setMath(libsbml.parseL3Formula(law))
        return libsbml.writeSBMLToString(document)

    def concentrations(self, end: float) -> dict[str, float]:
        names = list(self.species)

        def rates(_: float, y: np.ndarray) -> np.ndarray:
            values, change = dict(zip(names, y, strict=True)), np.zeros(len(names))
            for (taken, made), _, law in self.reactions.values():
                speed = law(**self.parameters, **values) / self.size
                for sign, side in ((-1, taken), (1, made)):
                    for name, count in side.items():
                        change[names.index(name)] += 0.0 if name in self.held else sign * count * speed
            return change

        solved = solve_ivp(rates, (0.0, end), list(self.species.values()), "DOP853", rtol=1e-12, atol=1e-14)
        return dict(zip(names, solved.y[:, -1].tolist(), strict=True))


def _bind(S: float, E: float, ES: float, kf: float, kr: float, **_: float) -> float:
    return 0.5 * (kf * S * E - kr * ES)


def _make(A: float, B: float, C: float, kf: float, kr: float) -> float:
    return 3.0 * (kf * A * A * B - kr * C * C)


NETWORKS = {
    "michaelis": Network(
        {"S": 10.0, "E": 1.0, "ES": 0.0, "P": 0.0},
        {"kf": 2.0, "kr": 1.0, "kcat": 0.5},
        {
            "bind": (({"S": 1, "E": 1}, {"ES": 1}), "cell*(kf*S*E - kr*ES)", _bind),
            "make": (({"ES": 1}, {"E": 1, "P": 1}), "cell*kcat*ES", lambda ES, kcat, **_: 0.5 * kcat * ES),
        },
        size=0.5,
    ),
    "triangle": Network(
        {"A": 1.0, "B": 0.5, "C": 0.1},
        {"k1": 2.0, "k2": 1.0, "k3": 3.0, "k4": 1.5, "k5": 0.5, "k6": 2.0},
        {
            "ab": (({"A": 1}, {"B": 1}), "k1*A - k2*B", lambda A, B, k1, k2, **_: k1 * A - k2 * B),
            "bc": (({"B": 1}, {"C": 1}), "k3*B - k4*C", lambda B, C, k3, k4, **_: k3 * B - k4 * C),
            "ca": (({"C": 1}, {"A": 1}), "k5*C - k6*A", lambda A, C, k5, k6, **_: k5 * C - k6 * A),
        },
    ),
    "synthesis": Network(
        {"A": 1.0, "B": 2.0, "C": 0.25},
        {"kf": 2.0, "kr": 1.0},
        {"make": (({"A": 2, "B": 1}, {"C": 2}), "cell*(kf*A^2*B - kr*C^2)", _make)},
        size=3.0,
    ),
    "chemostats": Network(
        {"F": 2.0, "X": 0.1, "W": 0.5},
        {"k1": 1.0, "k2": 0.4, "k3": 0.7, "k4": 0.2},
        {
            "feed": (({"F": 1}, {"X": 1}), "k1*F - k2*X", lambda F, X, k1, k2, **_: k1 * F - k2 * X),
            "waste": (({"X": 2}, {"W": 1}), "k3*X^2 - k4*W", lambda X, W, k3, k4, **_: k3 * X**2 - k4 * W),
        },
        held=("F", "W"),
    ),
    "brusselator": Network(
        {"A": 1.0, "B": 2.5, "X": 1.2, "Y": 1.8},
        {"k": 1.0},
        {
            "source": (({"A": 1}, {"X": 1}), "k*A", lambda A, k, **_: k * A),
            "turn": (({"X": 2, "Y": 1}, {"X": 3}), "k*X^2*Y", lambda X, Y, k, **_: k * X * X * Y),
            "swap": (({"B": 1, "X": 1}, {"Y": 1}), "k*B*X", lambda B, X, k, **_: k * B * X),
            "sink": (({"X": 1}, {}), "k*X", lambda X, k, **_: k * X),
        },
        held=("A", "B"),
    ),
    "gene": Network(
        {"M": 0.2, "P": 0.1},
        {"V": 1.5, "K": 0.4, "d": 0.3},
        {
            "transcribe": (({}, {"M": 1}), "hill(P, V, K, 3)", lambda P, V, K, **_: V / (1 + (P / K) ** 3)),
            "decay": (({"M": 1}, {}), "d*M*exp(-0.1*M)", lambda M, d, **_: d * M * np.exp(-0.1 * M)),
            "translate": (({}, {"P": 1}), "piecewise(M, M < 5, 5) * sqrt(4)", lambda M, **_: 2 * M),
            "lose": (({"P": 1}, {}), "d*P + ln(1 + P)", lambda P, d, **_: d * P + np.log(1 + P)),
        },
        functions={"hill": "lambda(x, v, k, n, v/(1 + (x/k)^n))"},
    ),
}
