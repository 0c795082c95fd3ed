"""Random graphs of junctions, storages, resistors, sources and two-ports; most of the graphs have a valid causality."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bondgraph import (
    GY,
    J0,
    J1,
    MGY,
    MTF,
    TF,
    X0,
    X1,
    Automaton,
    C,
    Constraint,
    Element,
    EulerJunction,
    Friction,
    Graph,
    I,
    ModelError,
    R,
    Se,
    Sf,
    Switch,
    assign_causality,
)
from bondgraph.model.laws import InertialField, Storing
from screws.scalars import exp, log, sqrt

SENSIBLE = 0.98
"""Probability that a part or branch suits the causality at its junction."""


def random_graph(rng: np.random.Generator) -> Graph:
    """Draw a tree (sometimes a ring) of junctions, with two-ports on its branches and one-ports at its nodes."""
    return consistent(Draw(rng, int(rng.choice([1, 1, 1, 2, 2, 3, 6]))).graph)


def rigid_graph(rng: np.random.Generator) -> Graph:
    """Draw a linear graph, as `random_graph` does, but with frequent dependent storages and loops, and with ideal constraints."""
    return consistent(Rigid(rng, int(rng.choice([1, 1, 1, 2, 3]))).graph)


def switched_graph(rng: np.random.Generator) -> Graph:
    """Draw a graph, as `rigid_graph` does, with switched constraints, ideal switches and dry friction."""
    return consistent(Switched(rng, int(rng.choice([1, 1, 1, 1, 2, 3]))).graph)


def curved_graph(rng: np.random.Generator) -> Graph:
    """Draw a graph, as `rigid_graph` does, but with nonlinear storages and resistors: loops are solved by Newton's method."""
    return consistent(Curved(rng, int(rng.choice([1, 1, 2]))).graph)


def consistent(graph: Graph) -> Graph:
    """Return the graph with zero start values of its dependent storages."""
    try:
        causality = assign_causality(graph.freeze())
    except ModelError:
        return graph
    for path in causality.derivative:
        part = graph.parts[path]
        own = part.law_as(Storing).follows[1]
        rest = {"start" if isinstance(part.law, InertialField) else "spec": replace(own, initial=0.0 * own.initial)}
        graph.replace(path, replace(part, law=replace(part.law, **rest)))
    return graph


class Draw:
    """Random graph of junctions and branches; each junction has a part that sets its common variable, and other parts that
    use it."""

    linear = False

    def __init__(self, rng: np.random.Generator, dimension: int):
        self.rng, self.n, self.count = rng, dimension, 0
        self.vector = (dimension,) if dimension > 1 else ()
        self.graph = Graph("random").add_automaton(Automaton("relay", ("off", "half", "on"), "on", ()))
        self.states: list[str] = []
        self.junctions = [self.junction() for _ in range(rng.integers(1, 7))]
        for k, junction in enumerate(self.junctions):
            self.join_setter(junction)
            if k:
                self.branch(self.junctions[rng.integers(k)], junction)
        if len(self.junctions) > 2 and rng.random() < 0.15:
            self.branch(self.junctions[0], self.junctions[-1])
        for junction in self.junctions:
            for _ in range(1 if rng.random() < 0.6 else rng.integers(1, 4)):
                self.join(junction, self.other_part(junction))

    def name(self, kind: str) -> str:
        self.count += 1
        return f"{kind}{self.count}"

    def junction(self) -> Element:
        rng, n = self.rng, self.n
        if rng.random() < 0.15:
            kind = X0 if rng.random() < 0.5 else X1
            return kind(self.name("x"), automaton="relay", active=["on", "half"] if rng.random() < 0.5 else ["on"], dimension=n)
        return (J0 if rng.random() < 0.5 else J1)(self.name("j"), dimension=n)

    def join(self, a, b) -> None:
        self.graph.connect(a, b) if self.rng.random() < 0.5 else self.graph.connect(b, a)

    # -- numbers

    def matrix(self):
        rng, n = self.rng, self.n
        return rng.uniform(0.5, 2.0) if n == 1 or rng.random() < 0.5 else rng.normal(size=(n, n))

    def positive(self):
        rng, n = self.rng, self.n
        if n == 1 or rng.random() < 0.3:
            return rng.uniform(0.5, 2.0)
        if rng.random() < 0.3:
            return rng.uniform(0.5, 2.0, n)
        root = rng.normal(size=(n, n))
        return root @ root.T + np.eye(n)

    def numbers(self):
        return self.rng.normal(size=self.vector)

    # -- elements

    def storage(self, kind) -> Element:
        name = self.name(kind.__name__.lower())
        self.states.append(f"{name}.{'q' if kind is C else 'p'}")
        draw = self.rng.random()
        if draw < 0.2 and not self.linear:
            cubic = {"output": lambda x, k: k * x * x * x + x, "parameters": {"k": 0.3}}
            square = (
                (lambda x, k: k * x**4 / 4 + x * x / 2) if self.n == 1 else (lambda x, k: k * (x * x) @ (x * x) / 4 + x @ x / 2)
            )
            return kind(name, energy=square, initial=self.numbers(), dimension=self.n, **cubic)
        if kind is C and draw < 0.6:
            return C(name, stiffness=self.positive(), initial=self.numbers())
        return kind(name, **{"capacitance" if kind is C else "inertia": self.positive()}, initial=self.numbers())

    def join_setter(self, junction: Element) -> None:
        zero, draw = junction.kind.endswith("0"), self.rng.random()
        if draw < 0.8:
            part = self.storage(C if zero else I)
        elif draw < 0.9:
            part = self.source(Se if zero else Sf)
        else:
            part = self.resistor(sets_effort=zero)
        self.join(junction, part)

    def other_part(self, junction: Element) -> Element:
        """Return a part that usually does not set the junction's common variable."""
        zero = junction.kind.endswith("0")
        if self.rng.random() > SENSIBLE:
            zero = not zero
        draw = self.rng.random()
        if draw < 0.35:
            return self.storage(I if zero else C)
        if draw < 0.6:
            return self.source(Sf if zero else Se)
        if draw < 0.75 and self.n > 1 and not zero:
            skew = self.rng.normal(size=(self.n, self.n))
            return EulerJunction(self.name("e"), lambda J: J, parameters={"skew": skew - skew.T}, signals=[], dimension=self.n)
        return self.resistor(sets_effort=not zero)

    def source(self, kind) -> Element:
        name, draw = self.name(kind.__name__.lower()), self.rng.random()
        if draw < 0.2 and self.states:
            follow = {"parameters": {"gain": 0.7}, "signals": [self.states[self.rng.integers(len(self.states))]]}
            return kind(name, lambda gain, x: gain * x, dimension=self.n, **follow)
        return kind(name, dimension=self.n) if draw < 0.3 else kind(name, self.numbers())

    def resistor(self, sets_effort: bool) -> Element:
        name, draw = self.name("r"), self.rng.random() * (0.8 if self.linear else 1.0)
        if draw < 0.4:
            return R(name, self.positive())
        if draw < 0.8:
            return R(name, conductance=self.positive())
        if sets_effort:
            return R(name, effort=lambda f, r: r * f, parameters={"resistance": self.rng.uniform(0.5, 2.0)}, dimension=self.n)
        return R(name, flow=lambda e, g: g * e, parameters={"conductance": self.rng.uniform(0.5, 2.0)}, dimension=self.n)

    def branch(self, a: Element, b: Element) -> None:
        """Connect two junctions: directly or through a transformer if their types differ, otherwise through a gyrator. A
        two-port with a matrix is oriented as causality allows."""
        alike = a.kind[-1] == b.kind[-1]
        if self.rng.random() > SENSIBLE:
            alike = not alike
        if alike:
            one_way = a.kind.endswith("1")
            middle = self.gyrator(one_way)
            self.join(a, middle.port("1"))
            self.join(middle.port("2"), b)
        elif self.rng.random() < 0.4:
            self.join(a, b)
        else:
            first, second = (a, b) if a.kind.endswith("1") else (b, a)
            middle = self.transformer()
            self.join(first, middle.port("1"))
            self.join(middle.port("2"), second)

    def modulated(self, kind) -> Element:
        signal = self.states[self.rng.integers(len(self.states))]
        if self.n == 1:
            return kind(self.name("m"), lambda a, x: a + x * x, parameters={"a": 0.6}, signals=[signal])
        return kind(
            self.name("m"),
            lambda A, x: A * (1 + x @ x),
            parameters={"A": self.rng.normal(size=(self.n, self.n))},
            signals=[signal],
            dimensions=(self.n, self.n),
        )

    def transformer(self) -> Element:
        if self.states and self.rng.random() < 0.3 and not self.linear:
            return self.modulated(MTF)
        matrix = self.matrix()
        return TF(self.name("tf"), matrix, structural=bool(self.rng.random() < 0.3))

    def gyrator(self, matrix: bool) -> Element:
        if matrix and self.states and self.rng.random() < 0.3 and not self.linear:
            return self.modulated(MGY)
        return GY(self.name("gy"), self.matrix() if matrix else self.rng.uniform(0.5, 2.0))


class Rigid(Draw):
    linear = True

    def join_setter(self, junction: Element) -> None:
        """Connect one or two storages, sometimes one with a constraint, or else a resistor."""
        zero, draw = junction.kind.endswith("0"), self.rng.random()
        if draw < 0.7:
            self.join(junction, self.storage(C if zero else I))
        if 0.4 < draw < 0.65:
            self.join(junction, self.storage(C if zero else I))
        elif not zero and draw < 0.15:
            self.join(junction, Constraint(self.name("k"), dimension=self.n, initial=self.numbers() / 10, closing="smooth"))
        elif draw >= 0.7:
            self.join(junction, self.resistor(sets_effort=zero))

    def branch(self, a: Element, b: Element) -> None:
        """Connect two junctions; half of the time, connect junctions of the same type rigidly, so that their storages depend
        on each other."""
        if a.kind[-1] == b.kind[-1] and self.rng.random() < 0.5:
            if self.rng.random() < 0.5:
                return self.join(a, b)
            lever = TF(self.name("tf"), self.rng.uniform(0.5, 2.0))
            self.join(a, lever.port("1"))
            return self.join(lever.port("2"), b)
        super().branch(a, b)


class Switched(Rigid):
    def junction(self) -> Element:
        return super().junction() if self.rng.random() < 0.3 else (J0, J1)[self.rng.integers(2)](self.name("j"), dimension=self.n)

    def active(self) -> list[str]:
        return [["on"], ["on", "half"], ["off"]][self.rng.integers(3)]

    def other_part(self, junction: Element) -> Element:
        draw, one = self.rng.random(), junction.kind.endswith("1")
        if draw < 0.15 and self.n == 1:
            return Switch(self.name("s"), automaton="relay", closed=self.active())
        if draw < 0.25 and one:
            holds = "position" if self.rng.random() < 0.6 else "velocity"
            return Constraint(
                self.name("k"),
                automaton="relay",
                active=self.active(),
                dimension=self.n,
                initial=self.numbers() / 10,
                holds=holds,
                closing="impulse" if self.rng.random() < 0.7 else "smooth",
            )
        if draw < 0.36 and one and self.n == 1:
            start = ("stick", "forward", "backward")[self.rng.integers(3)]
            return Friction(
                self.name("f"),
                self.rng.uniform(0.1, 0.5),
                stick_limit=self.rng.uniform(0.5, 1.0),
                viscous=self.rng.uniform(0.0, 0.3),
                initial=start,
            )
        return super().other_part(junction)


def sinh(x):
    return (exp(x) - exp(-x)) / 2


def asinh(y):
    return log(y + sqrt(y * y + 1.0))


def cosh_less_one(x):
    """Return the integral of `sinh` from zero, summed over components."""
    total = (exp(x) + exp(-x)) / 2 - 1.0
    return total if np.ndim(x) == 0 else sum(total)


class Curved(Rigid):
    def storage(self, kind) -> Element:
        name = self.name(kind.__name__.lower())
        self.states.append(f"{name}.{'q' if kind is C else 'p'}")
        start, law = self.numbers() / 2, {"output": sinh, "energy": cosh_less_one}
        if self.rng.random() < 0.6:
            law["inverse"] = asinh
        return kind(name, initial=start, dimension=self.n, **law)

    def resistor(self, sets_effort: bool) -> Element:
        name, r = self.name("r"), {"r": self.rng.uniform(0.5, 2.0)}
        law = {"effort": lambda f, r: r * f + f * f * f} if sets_effort else {"flow": lambda e, r: r * e + e * e * e}
        return R(name, parameters=r, dimension=self.n, **law)
