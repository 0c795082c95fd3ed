"""Port-Hamiltonian forms have the required matrices, the rates of the compiled model, and the forms of the literature."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
import sympy

from bondgraph import (
    GY,
    IC,
    J0,
    J1,
    MGY,
    MTF,
    TF,
    C,
    Compiled,
    Constraint,
    EulerJunction,
    Graph,
    I,
    ModelError,
    R,
    Se,
    Sf,
    compile_model,
)
from bondgraph.export import PortHamiltonian, port_hamiltonian
from campaigns.graphs.drawn import random_graph, rigid_graph
from screws.scalars import absolute, array, cos, sin, tanh
from tests.export.numeric import point_of, rates_of, start_of, value_of
from tests.inner.output import labels_of, typeset


def compiled(graph: Graph) -> Compiled:
    return compile_model(graph, backend="numpy")


def loop(*parts) -> Graph:
    graph, junction = Graph("model"), J1("loop")
    for part in parts:
        graph.connect(part, junction) if part.kind in ("Se", "Sf") else graph.connect(junction, part)
    return graph


def node(*parts) -> Graph:
    graph, junction = Graph("model"), J0("node")
    for part in parts:
        graph.connect(part, junction) if part.kind in ("Se", "Sf") else graph.connect(junction, part)
    return graph


def motor() -> Graph:
    graph, coil, shaft = Graph("motor"), J1("coil"), J1("shaft")
    graph.connect(Se("supply", 5.0), coil).connect(coil, R("winding", 4.0)).connect(coil, I("coil inductance", 0.5))
    graph.connect(coil, machine := GY("machine", 0.2)).connect(machine, shaft)
    return graph.connect(shaft, I("rotor", 0.1)).connect(shaft, R("friction", 0.03)).connect(Se("load", -0.4), shaft)


def geared() -> Graph:
    graph, a, b = Graph("geared"), J1("a"), J1("b")
    graph.connect(a, I("m1", 2.0)).connect(Se("u", 1.0), a).connect(a, gear := TF("gear", 1 / 3)).connect(gear, b)
    return graph.connect(b, I("m2", 5.0)).connect(b, R("d", 7.0)).connect(b, C("c", capacitance=0.5, initial=0.2))


def rigid_body() -> Graph:
    def tilde(p):
        return array([[0.0, p[2], -p[1]], [-p[2], 0.0, p[0]], [p[1], -p[0], 0.0]])

    graph = Graph("body").connect(omega := J1("omega"), I("body", [1.0, 2.0, 3.0], initial=[0.01, 1.0, 0.01]))
    graph.connect(omega, EulerJunction("euler", tilde, signals=["body.p"], dimension=3))
    return graph.connect(Se("torque", [0.1, 0.2, 0.3]), omega).connect(omega, R("air", 0.1 * np.eye(3)))


def modulated() -> Graph:
    graph, shaft, slider = Graph("crank"), J1("shaft"), J1("slider")
    graph.connect(Se("torque", 0.3), shaft).connect(shaft, I("wheel", 2.0)).connect(shaft, C("angle", stiffness=0.7, initial=0.4))
    graph.connect(shaft, crank := MTF("crank", lambda q: 0.2 * cos(q), signals=["angle.q"])).connect(crank, slider)
    push = J0("push")
    graph.connect(slider, push).connect(push, C("rod", stiffness=300.0)).connect(push, end := J1("end"))
    gyrator = MGY("coil", lambda q: 1.0 + 0.1 * sin(q), signals=["angle.q"])
    graph.connect(end, I("mass", 1.5)).connect(end, R("oil", 0.5)).connect(end, gyrator).connect(gyrator, coil := J1("circuit"))
    return graph.connect(coil, I("L", 0.01)).connect(coil, R("winding", 2.0))


def resistive() -> Graph:
    graph, a, middle, b = Graph("resistive"), J1("a"), J0("middle"), J1("b")
    graph.connect(Se("u", 1.0), a).connect(a, R("r2", 2.0)).connect(a, middle).connect(middle, R("r3", 3.0))
    graph.connect(middle, b).connect(b, R("r5", 5.0)).connect(b, I("i7", 7.0)).connect(Sf("i", 0.2), middle)
    return graph


def curved() -> Graph:
    spring = C("c", energy=lambda q, k: k * q * q / 2 + q**4 / 4, parameters={"k": 2.0}, initial=0.3)
    drag = R("drag", effort=lambda f, k: k * f * absolute(f), parameters={"k": 0.4})
    graph = loop(spring, I("m", 1.3, initial=0.5), drag, R("dry", effort=lambda f: 0.2 * tanh(f) + 0.1 * f**3), Se("u", 1.0))
    return graph


def pendulum(form: str = "hamiltonian") -> Graph:
    arm = IC(
        "arm",
        inertia=lambda q, m, g: array([[m * (2.0 + cos(q[1])), 0.3 * m], [0.3 * m, m]]),
        potential=lambda q, m, g: -m * g * (cos(q[0]) + cos(q[0] + q[1])),
        form=form,
        parameters={"m": 0.7, "g": 9.81},
        position=[0.3, 0.2],
        velocity=[0.1, -0.2],
    )
    graph = Graph("pendulum").connect(rates := J1("rates"), arm).connect(Se("torque", [0.1, 0.2]), rates)
    return graph.connect(rates, R("bearing", [0.1, 0.2]))


MODELS = {
    "motor": motor,
    "geared": geared,
    "rigid body": rigid_body,
    "modulated": modulated,
    "resistive": resistive,
    "curved": curved,
    "double pendulum": pendulum,
    "RC": lambda: node(Sf("i", 1.0), C("c", capacitance=2.0), R("r", 5.0)),
}


def values(form: PortHamiltonian, model: Compiled, seed: int) -> tuple[dict[str, float], dict[str, float]]:
    x, m = start_of(model, seed, 0.5)
    numbers = point_of(model, x, m)
    numbers |= {name: float(value_of(value, numbers)) for name, value in form.values.items()}
    return numbers, rates_of(model, x, m)


@pytest.mark.parametrize(("name", "numbers"), [*((name, False) for name in MODELS), ("motor", True), ("modulated", True)])
def test_laws_and_rates(name: str, numbers: bool) -> None:
    model = compiled(MODELS[name]())
    laws_and_rates(model, port_hamiltonian(model, numbers=numbers))


def laws_and_rates(model: Compiled, form: PortHamiltonian) -> None:
    n, k = len(form.states), len(form.inputs)
    assert form.J.shape == form.R.shape == (n, n) and form.G.shape == form.P.shape == (n, k)
    assert sympy.zeros(n, n) == form.J + form.J.T and sympy.zeros(k, k) == form.M + form.M.T
    assert form.R == form.R.T and form.S == form.S.T
    losses = sympy.Matrix.vstack(sympy.Matrix.hstack(form.R, form.P), sympy.Matrix.hstack(form.P.T, form.S))
    rates, conjugates = form.rates, form.conjugates
    for seed in range(5):
        at, wanted = values(form, model, seed)
        whole = np.array(value_of(losses, at), dtype=float)
        assert np.linalg.eigvalsh(whole).min(initial=0.0) > -1e-12 * max(1.0, np.abs(whole).max(initial=0.0))
        found = np.ravel(value_of(rates, at)).astype(float)
        size = max(1.0, *map(abs, wanted.values()))
        assert set(wanted) == set(form.states)
        assert np.abs(found - [wanted[state] for state in form.states]).max() < 1e-12 * size, seed
        ledger(model, form, at, seed, np.ravel(value_of(conjugates, at)).astype(float))


def ledger(model: Compiled, form: PortHamiltonian, at: dict[str, float], seed: int, y: np.ndarray) -> None:
    """Check that H is the sum of the ledger's energies, and u^T y the power that the ledger counts as supplied."""
    x, m = start_of(model, seed, 0.5)
    known = model.evaluate(0.3, x, None, m)
    stored = sum(known[value] for _, value in model.system.energies)
    assert float(value_of(form.H, at)) == pytest.approx(stored, rel=1e-12, abs=1e-12)
    powers = [float(known[p.value]) for p in model.system.powers if p.role == "supplied"]
    scale = 1.0 + sum(map(abs, powers))
    assert y @ [at[name] for name in form.inputs] == pytest.approx(sum(powers), abs=1e-11 * scale)
    flat: dict[str, float] = {}
    for name in {n.partition("[")[0] for n in form.outputs}:
        value = known[model.system.resolve(name)]
        flat |= zip(labels_of(name, np.shape(value)), np.ravel(value), strict=True)
    assert np.abs(y) == pytest.approx(np.abs([flat[name] for name in form.outputs]), rel=1e-11, abs=1e-11)


def test_motor_of_the_literature() -> None:
    form = port_hamiltonian(compiled(motor()), numbers=True)
    assert form.states == ("coil inductance.p", "rotor.p") and form.inputs == ("supply.effort", "load.effort")
    assert sympy.Matrix([[0, -0.2], [0.2, 0]]) == form.J and sympy.eye(2) == form.G
    assert sympy.diag(4, 0.03) == form.R and sympy.zeros(2, 2) == form.P


def test_dependent_storage_has_its_energy_in_H() -> None:
    form = port_hamiltonian(compiled(geared()))
    p, m1, m2, n = (sympy.Symbol(name, real=True) for name in ("m1.p", "m1.inertia", "m2.inertia", "gear.ratio"))
    kinetic = form.H.subs(sympy.Symbol("c.q", real=True), 0)
    assert sympy.simplify(kinetic - (p**2 / (2 * m1) + m2 * (n * p / m1) ** 2 / 2)) == 0
    place = form.states.index("m1.p")
    assert sympy.simplify(form.G[place] - m1 / (m1 + n**2 * m2)) == 0


def test_modulated_structure_depends_on_the_state() -> None:
    form = port_hamiltonian(compiled(modulated()))
    q = sympy.Symbol("angle.q", real=True)
    assert q in form.J.free_symbols and q not in form.R.free_symbols


def test_nonlinear_dissipation_is_a_matrix_of_the_state() -> None:
    form = port_hamiltonian(compiled(curved()))
    p = sympy.Symbol("m.p", real=True)
    assert p in form.R.free_symbols and not form.R.has(sympy.zoo, sympy.nan)


def test_text_and_latex() -> None:
    form = port_hamiltonian(compiled(resistive()), numbers=True)
    assert str(form).splitlines()[0] == "x' = (J - R) grad H + (G - P) u, y = (G + P)^T grad H + (M + S) u"
    assert form._repr_latex_() == typeset(form.latex()) and r"\nabla H" in form.latex()
    assert r"J &= \left[\begin{matrix}" in port_hamiltonian(compiled(motor())).latex()


def refused() -> dict[str, tuple[Graph, str]]:
    apart, a, b, force = Graph("held"), J1("a"), J1("b"), J0("force")
    apart.connect(Se("u", 1.0), a).connect(a, I("m1", 1.0)).connect(a, force).connect(force, b).connect(b, I("m2", 3.0))
    apart.connect(force, gap := J1("gap")).connect(gap, Constraint("hold"))
    return {
        "constraint": (apart, "hold"),
        "Lagrangian field": (pendulum("lagrangian"), "arm"),
        "active": (loop(I("m", 1.0), R("cushion", effort=lambda f: 1.0 + f)), "cushion"),
        "other states": (loop(I("m", 1.0), C("plates", energy=lambda q, p: q * q * (1.0 + p * p), signals=["m.p"])), "plates"),
    }


@pytest.mark.parametrize("name", refused())
def test_refusals_name_the_element(name: str) -> None:
    graph, element = refused()[name]
    model = compiled(graph)
    with pytest.raises(ModelError, match="E277") as caught:
        port_hamiltonian(model)
    (problem,) = caught.value.problems
    assert f'"{element}"' in problem.title and problem.details and problem.cures


MOSTLY_SMALL = (0, 1, 3, 5, 6, 8, 9, 11)
"""The first twelve seeds, without those of the largest graphs, which take SymPy long."""


@pytest.mark.parametrize(
    ("draw", "seeds"), [pytest.param(random_graph, MOSTLY_SMALL, marks=pytest.mark.thorough), (rigid_graph, range(15))]
)
def test_random_graphs(draw, seeds: Sequence[int]) -> None:
    seen: Counter[str] = Counter()
    for seed in seeds:
        try:
            model = compiled(draw(np.random.default_rng(seed)))
            form = port_hamiltonian(model, numbers=True)
        except ModelError as error:
            seen[error.problems[0].code] += 1
            continue
        laws_and_rates(model, form)
        seen["dependent" if model.system.unknowns else "loops" if model.system.loops else "explicit"] += 1
    assert seen["dependent"] + seen["loops"] + seen["explicit"] > 5 and sum(seen.values()) == len(seeds), seen
