"""Impulses where something begins to hold or bodies collide, against the projection of the momenta done by hand.

Of all motions in which the constraints hold, the one after a plastic impact is next to the one before it, measured by the
kinetic energy: v+ = v - (1 + e) M^-1 J^T (J M^-1 J^T)^-1 J v (Moreau 1988 for e = 0). Charges share out alike.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

from bondgraph import (
    J0,
    J1,
    TF,
    X1,
    Automaton,
    C,
    Constraint,
    Graph,
    I,
    ModelError,
    R,
    Result,
    Se,
    Switch,
    Transition,
    compile_model,
)
from screws.scalars import exp, log, sqrt

AT = 0.3
"""Time of the event, s."""


def gate(name: str = "gate", **impact) -> Automaton:
    """off -> on at the time AT."""
    edge = Transition("off", "on", lambda t: t - AT, ("time",), kind="closes", **impact)
    return Automaton(name, ("off", "on"), "off", (edge,))


class Masses:
    """Masses at random, some with others rigidly coupled to them, and switched constraints on sums of their velocities."""

    def __init__(self, rng: np.random.Generator, **constraint):
        self.n = int(rng.choice([1, 3]))
        count, held = int(rng.integers(2, 6)), 0
        self.J = rng.normal(size=(int(rng.integers(1, count)), count)) * (rng.random(size=(1, count)) < 0.8)
        self.J[:, 0] = rng.uniform(0.5, 1.0, len(self.J)) * np.arange(1, len(self.J) + 1)
        self.names = [f"m{k}" for k in range(count)]
        self.v, self.dependents = rng.normal(size=(count, self.n)), {}
        own, self.M = rng.uniform(0.5, 3.0, count), np.zeros(count)
        self.graph = Graph("masses")
        nodes = [J1(f"v{k}", dimension=self.n) for k in range(count)]
        for k, node in enumerate(nodes):
            start = own[k] * self.v[k]
            self.graph.connect(node, I(self.names[k], own[k], initial=start if self.n > 1 else start[0]))
            self.graph.connect(Se(f"free{k}", dimension=self.n), node)
            self.M[k] = own[k]
            if rng.random() < 0.5:
                ratio, mass, name = rng.uniform(0.5, 2.0), rng.uniform(0.5, 2.0), f"d{k}"
                lever, far = TF(f"lever{k}", ratio), J1(f"far{k}", dimension=self.n)
                self.graph.connect(node, lever).connect(lever, far).connect(far, I(name, mass, dimension=self.n))
                self.graph.connect(Se(f"none{k}", dimension=self.n), far)
                self.M[k] += ratio**2 * mass
                self.dependents[name] = (k, ratio * mass)
        for row in self.J:
            total = J0(f"sum{held}", dimension=self.n)
            for k, factor in enumerate(row):
                if factor:
                    arm = TF(f"arm{held}{k}", factor)
                    self.graph.connect(nodes[k], arm).connect(arm, total)
            self.graph.connect(total, Constraint(f"k{held}", dimension=self.n, **constraint))
            held += 1

    def after(self, restitution: float = 0.0) -> np.ndarray:
        """Velocities after the impulse, (masses, n)."""
        inverse = np.diag(1.0 / self.M)
        gain = inverse @ self.J.T @ np.linalg.inv(self.J @ inverse @ self.J.T)
        return self.v - (1.0 + restitution) * gain @ (self.J @ self.v)

    def found(self, result: Result, at: int = -1) -> np.ndarray:
        """Velocities in a run."""
        return np.array([np.atleast_1d(result[f"{name}.flow"][at]) for name in self.names])

    def energy(self, v: np.ndarray) -> float:
        return float(0.5 * np.sum(self.M[:, None] * v**2))


@pytest.mark.parametrize("seed", range(12))
def test_constraints_that_begin_to_hold_project_the_momenta(seed: int) -> None:
    masses = Masses(np.random.default_rng(seed), automaton="gate", active=["on"], holds="velocity")
    masses.graph.add_automaton(gate())
    result = compile_model(masses.graph, backend="numpy").simulate(0.5, progress=False, rtol=1e-10, atol=1e-12)
    assert result.ok, result.failure
    v = masses.after()
    np.testing.assert_allclose(masses.found(result), v, atol=1e-9)
    for name, (k, factor) in masses.dependents.items():
        np.testing.assert_allclose(result[f"{name}.p"][-1], factor * (v[k] if masses.n > 1 else v[k][0]), atol=1e-9)
    assert result.events[0].lost == pytest.approx(masses.energy(masses.v) - masses.energy(v), abs=1e-10)
    assert abs(result.ledger.residual[-1]) < 1e-9


@pytest.mark.parametrize("seed", range(12))
def test_impacts_turn_the_flows_of_constraints_round(seed: int) -> None:
    """Several at once, held in no mode; e = 1 keeps the energy."""
    e = (0.0, 0.4, 1.0)[seed % 3]
    rng = np.random.default_rng(100 + seed)
    masses = Masses(rng, automaton="gate", active=["held"], restitution=e, holds="velocity")
    edge = Transition(
        "off", "on", lambda t: t - AT, ("time",), kind="hit", impact=tuple(f"k{i}" for i in range(len(masses.J)))
    )
    masses.graph.add_automaton(Automaton("gate", ("off", "on", "held"), "off", (edge,)))
    result = compile_model(masses.graph, backend="numpy").simulate(0.5, progress=False)
    assert result.ok, result.failure
    v = masses.after(e)
    np.testing.assert_allclose(masses.J @ v, -e * masses.J @ masses.v, atol=1e-12)  # Newton's law of restitution
    np.testing.assert_allclose(masses.found(result), v, atol=1e-9)
    assert result.events[0].lost == pytest.approx(masses.energy(masses.v) - masses.energy(v), abs=1e-10)
    if e == 1.0:
        assert result.events[0].lost == pytest.approx(0.0, abs=1e-12)


def test_a_smooth_closing_has_no_impulse() -> None:
    masses = Masses(np.random.default_rng(3), automaton="gate", active=["on"], closing="smooth", holds="velocity")
    masses.graph.add_automaton(gate())
    result = compile_model(masses.graph, backend="numpy").simulate(
        AT + 0.2, progress=False, samples=[0.0, AT, AT + 0.2], rtol=1e-9
    )
    assert result.events[0].lost == 0.0
    np.testing.assert_array_equal(result.events[0].x_before, result.events[0].x_after)
    left = masses.J @ masses.found(result)
    np.testing.assert_allclose(left, masses.J @ masses.v * np.exp(-10.0 * 0.2), atol=1e-7)
    gone = masses.v - masses.found(result)  # along the same direction as an impulse would have taken
    np.testing.assert_allclose(gone, (masses.v - masses.after()) * (1.0 - np.exp(-2.0)), atol=1e-7)


@pytest.mark.parametrize("seed", range(8))
def test_switches_share_out_charge(seed: int) -> None:
    """A tree of switches closes at once between capacitors, some of them behind transformers."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 6))
    graph, capacitance, charge = Graph("charges").add_automaton(gate()), rng.uniform(0.5, 2.0, count), rng.normal(size=count)
    nodes, scale = [], np.ones(count)
    for k in range(count):
        node = J0(f"n{k}")
        store = C(f"c{k}", capacitance[k], initial=charge[k])
        if rng.random() < 0.5:
            ratio = TF(f"ratio{k}", rng.uniform(0.5, 2.0))
            graph.connect(node, ratio).connect(ratio, store)
            scale[k] = float(ratio.parameters["ratio"].value) if "ratio" in ratio.parameters else 1.0
        else:
            graph.connect(node, store)
        nodes.append(node)
    joined = {0}
    for k in range(1, count):
        if rng.random() < 0.2 and k < count - 1:
            graph.connect(nodes[k], R(f"open{k}", 1e12))
            continue
        other = int(rng.choice(sorted(joined)))
        line = J1(f"line{k}")
        a, b = (nodes[other], nodes[k]) if rng.random() < 0.5 else (nodes[k], nodes[other])
        graph.connect(a, line).connect(line, b).connect(line, Switch(f"s{k}", automaton="gate", closed=["on"]))
        joined.add(k)
    result = compile_model(graph, backend="numpy").simulate(0.5, progress=False)
    assert result.ok, result.failure
    # what a node sees behind f2 = n f1 is the charge q/n on the capacitance C/n^2
    own, seen = charge / scale, capacitance / scale**2
    together = sorted(joined)
    effort = own[together].sum() / seen[together].sum()
    expected = charge.copy()
    expected[together] = effort * capacitance[together] / scale[together]
    found = np.array([result[f"c{k}.q"][-1] for k in range(count)])
    np.testing.assert_allclose(found, expected, atol=1e-9)
    lost = 0.5 * np.sum(charge**2 / capacitance) - 0.5 * np.sum(expected**2 / capacitance)
    assert result.events[0].lost == pytest.approx(lost, abs=1e-10)
    assert abs(result.ledger.residual[-1]) < 1e-9


def test_a_switched_junction_that_joins_two_inertias_conserves_momentum() -> None:
    """X1 gives the second flywheel the first one's speed; open, it gives none, and what is held then is lost."""
    edges = (Transition("off", "on", lambda t: t - 0.2, ("time",)), Transition("on", "off", lambda t: t - 0.5, ("time",)))
    graph, clutch = Graph("clutch").add_automaton(Automaton("gate", ("off", "on"), "off", edges)), None
    clutch = X1("clutch", automaton="gate", active=["on"])
    shaft = J1("shaft")
    graph.connect(Se("none"), shaft).connect(shaft, I("a", 1.0, initial=10.0))
    node = J0("node")
    graph.connect(shaft, node).connect(node, clutch).connect(clutch, I("b", 3.0)).connect(node, C("twist", 1e-2))
    compile_model(graph, backend="numpy")  # with a spring between: independent, nothing to share
    graph = Graph("clutch").add_automaton(Automaton("gate", ("off", "on"), "off", edges))
    clutch = X1("clutch", automaton="gate", active=["on"])
    shaft = J1("shaft")
    split = J0("split")
    graph.connect(Se("none"), shaft).connect(shaft, I("a", 1.0, initial=10.0)).connect(shaft, split)
    graph.connect(split, clutch).connect(clutch, I("b", 3.0))
    with pytest.raises(ModelError):
        compile_model(graph)
