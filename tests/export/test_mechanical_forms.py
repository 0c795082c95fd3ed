"""Mechanical, Lagrange's and Hamilton's equations agree with compiled rates, laws of matrices, and `sympy.physics.mechanics`."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import sympy
from screwbond.models import rigid_body
from screwbond.models.delta import DeltaParameters, delta_graph
from sympy.physics.mechanics import LagrangesMethod, dynamicsymbols

from bondgraph import IC, J0, J1, MTF, TF, C, Compiled, Constraint, EulerJunction, Graph, I, ModelError, R, Se, Sf, compile_model
from bondgraph.export import MechanicalEquations, hamilton_equations, lagrange_equations, mechanical_equations, port_hamiltonian
from bondgraph.signals import lowpass
from screws.scalars import absolute, array, cos, sin
from tests.export.numeric import point_of, rates_of, start_of, value_of
from tests.inner.output import typeset

FORMS = ("lagrangian", "hamiltonian")
POINTS = 5


def compiled(graph: Graph) -> Compiled:
    return compile_model(graph, backend="numpy")


def pendulum(form: str = "lagrangian") -> Graph:
    arm = IC(
        "arm",
        inertia=lambda q, m, l, g: m * l * l,
        potential=lambda q, m, l, g: -m * g * l * cos(q),
        form=form,
        parameters={"m": 0.7, "l": 0.5, "g": 9.81},
        position=0.3,
        velocity=0.4,
    )
    graph = Graph("pendulum").connect(rate := J1("rate"), arm).connect(Se("torque", 0.2), rate)
    return graph.connect(rate, R("bearing", 0.1))


def double_pendulum(form: str = "lagrangian") -> Graph:
    arms = IC("arms", kinetic=double_kinetic, potential=double_potential, form=form, position=[0.3, 0.2], velocity=[0.1, -0.2])
    graph = Graph("double pendulum").connect(rates := J1("rates"), arms).connect(Se("torque", [0.1, 0.2]), rates)
    return graph.connect(rates, R("bearing", [0.1, 0.2]))


def double_kinetic(q, v):
    """Return the kinetic energy of masses of 2 and 1.5 kg at the ends of 0.8 m and 0.6 m arms at absolute angles q."""
    return (3.5 * 0.64 * v[0] ** 2 + 1.5 * 0.36 * v[1] ** 2) / 2 + 1.5 * 0.8 * 0.6 * v[0] * v[1] * cos(q[0] - q[1])


def double_potential(q):
    return -9.81 * (3.5 * 0.8 * cos(q[0]) + 1.5 * 0.6 * cos(q[1]))


def cart_pole(form: str = "lagrangian") -> Graph:
    pole = IC(
        "pole",
        inertia=lambda q, M, m, l, g: array([[M + m, m * l * cos(q[1])], [m * l * cos(q[1]), m * l * l]]),
        potential=lambda q, M, m, l, g: m * g * l * cos(q[1]),
        form=form,
        parameters={"M": 1.2, "m": 0.3, "l": 0.6, "g": 9.81},
        position=[0.1, 0.2],
    )
    graph, cart = Graph("cart pole"), J1("cart")
    graph.connect(rates := J1("rates"), pole).connect(Se("push", 0.5), cart)
    graph.connect(rates, pick := TF("pick", np.array([1.0, 0.0]), structural=True)).connect(pick, cart)
    graph.connect(cart, C("spring", stiffness=3.0, initial=0.1))
    return graph.connect(cart, R("rail", effort=lambda f: 0.2 * f + 0.4 * f * absolute(f)))


def four_bar(form: str = "lagrangian") -> Graph:
    graph, crank, rocker = Graph("four-bar"), J1("crank rate"), J1("rocker rate")
    graph.connect(crank, IC("crank", inertia=lambda q: 0.3, potential=lambda q: 2.0 * sin(q), form=form, position=1.0))
    graph.connect(rocker, IC("rocker", inertia=lambda q: 0.5, potential=lambda q: 3.0 * sin(q), form=form, position=1.2))
    coupler = Constraint("coupler", position=apart, coordinates=["crank.q", "rocker.q"], alpha1=6.0, alpha0=9.0, alpha2=0.5)
    graph.connect(crank, coupler.port("1")).connect(rocker, coupler.port("2"))
    return graph.connect(Se("motor", 0.7), crank).connect(rocker, R("bearing", 0.2))


def apart(a, b):
    x, y = 1.0 + 0.6 * cos(b) - 0.3 * cos(a), 0.6 * sin(b) - 0.3 * sin(a)
    return (x * x + y * y - COUPLER) / 2


COUPLER = (1.0 + 0.6 * np.cos(1.2) - 0.3 * np.cos(1.0)) ** 2 + (0.6 * np.sin(1.2) - 0.3 * np.sin(1.0)) ** 2


def slider(form: str = "lagrangian") -> Graph:
    graph, crank, slide = Graph("slider"), J1("crank rate"), J1("slide")
    graph.connect(crank, IC("crank", inertia=lambda q: 0.4, form=form, position=0.5, velocity=1.0)).connect(
        Se("motor", 0.3), crank
    )
    graph.connect(crank, ratio := MTF("ratio", lambda q: -0.3 * sin(q), signals=["crank.q"])).connect(ratio, slide)
    return graph.connect(slide, I("mass", 2.0)).connect(slide, R("guide", 0.6))


def held_masses(form: str = "", holds: str = "position") -> Graph:
    graph, a, b, force, gap = Graph("held"), J1("a"), J1("b"), J0("force"), J1("gap")
    graph.connect(Se("u", 1.0), a).connect(a, I("m1", 1.0)).connect(a, force).connect(force, b).connect(b, I("m2", 3.0))
    graph.connect(b, C("spring", stiffness=4.0, initial=0.2)).connect(a, R("d", 0.3))
    return graph.connect(force, gap).connect(gap, Constraint("hold", holds=holds, alpha1=4.0, alpha0=4.0))


def gyroscope(form: str = "") -> Graph:
    def tilde(p):
        return array([[0.0, p[2], -p[1]], [-p[2], 0.0, p[0]], [p[1], -p[0], 0.0]])

    graph = Graph("body").connect(omega := J1("omega"), I("body", [1.0, 2.0, 3.0], initial=[0.01, 1.0, 0.01]))
    graph.connect(omega, EulerJunction("euler", tilde, signals=["body.p"], dimension=3))
    return graph.connect(Se("torque", [0.1, 0.2, 0.3]), omega).connect(omega, R("air", 0.1 * np.eye(3)))


def spinning_plate(form: str = "") -> Graph:
    def bias(q, v):
        return array([5.0 * v[1], -5.0 * v[0]])

    plate = IC("plate", inertia=lambda q: np.diag([2.0, 3.0]), bias=bias, position=[0.1, 0.2], velocity=[0.3, 0.4])
    return Graph("plate").connect(rates := J1("rates"), plate).connect(rates, R("air", [0.1, 0.2]))


MODELS = {
    "pendulum": pendulum,
    "double pendulum": double_pendulum,
    "cart-pole": cart_pole,
    "four-bar": four_bar,
    "slider": slider,
}
OTHERS = {
    "held masses": held_masses,
    "locked": functools.partial(held_masses, holds="velocity"),
    "gyroscope": gyroscope,
    "spinning plate": spinning_plate,
}
CASES = [(name, form) for name in MODELS for form in FORMS] + [(name, "") for name in OTHERS]


@functools.cache
def model_of(name: str, form: str) -> Compiled:
    return compiled((MODELS | OTHERS)[name](form))


@functools.cache
def mechanics_of(name: str, form: str, numbers: bool = False) -> MechanicalEquations:
    return mechanical_equations(model_of(name, form), numbers=numbers)


def velocities(found: MechanicalEquations, model: Compiled, at: dict[str, float]) -> dict[str, float]:
    n = len(found.v)
    if all(name in at for name in found.v):
        return {name: at[name] for name in found.v}
    p = np.array([at[momentum(name)] for name in found.v])
    own = own_mass(found, model, at)
    return dict(zip(found.v, np.linalg.solve(own, p.reshape(n)), strict=True))


def own_mass(found: MechanicalEquations, model: Compiled, at: dict[str, float]) -> np.ndarray:
    columns = []
    for k in range(len(found.v)):
        columns.append(np.concatenate([np.atleast_1d(m) for m in momenta(model, found, at, np.eye(len(found.v))[k])]))
    return np.array(columns, dtype=float).T


def momenta(model: Compiled, found: MechanicalEquations, at: dict[str, float], v: np.ndarray) -> list[np.ndarray]:
    out, start = [], 0
    for path in dict.fromkeys(name.rpartition(".")[0] for name in found.v):
        element = model.model.elements[path]
        size = sum(name.startswith(f"{path}.") for name in found.v)
        own = v[start : start + size]
        start += size
        numbers = [np.asarray(parameter.value, dtype=float)[()] for parameter in element.parameters.values()]
        if element.kind == "IC":
            q = np.array([value for name, value in at.items() if name.partition("[")[0] == f"{path}.q"])
            out.append(element.law.mechanics.momentum(q, own, *numbers))
        else:
            out.append(numbers[0] * own if np.ndim(numbers[0]) < 2 else numbers[0] @ own)
    return out


def symbols(names) -> list[sympy.Symbol]:
    return [sympy.Symbol(name, real=True) for name in names]


def momentum(velocity: str) -> str:
    path, _, local = velocity.rpartition(".")
    return f"{path}.p{local.removeprefix('v').removeprefix('flow')}"


@pytest.mark.parametrize(
    ("name", "form", "numbers"),
    [(*case, False) for case in CASES] + [(name, form, True) for name, form in CASES if form != "hamiltonian"],
)
def test_accelerations_are_the_compiled_ones(name: str, form: str, numbers: bool) -> None:
    """Where momenta are states, p' = m v' + m' v with the matrix m of the independent inertias."""
    model = model_of(name, form)
    found = mechanics_of(name, form, numbers)
    n = len(found.v)
    matrix, right, rates, M = found.mass_matrix, found.forcing, found.rates, found.M
    for seed in range(POINTS):
        x, m = start_of(model, seed, 0.3)
        at = point_of(model, x, m)
        wanted = rates_of(model, x, m)
        at |= velocities(found, model, at)
        at |= {u: float(value_of(value, at)) for u, value in found.values.items()}
        solved = np.linalg.solve(np.array(value_of(matrix, at), dtype=float), np.ravel(value_of(right, at)).astype(float))
        q_rates = dict(zip(found.q, np.ravel(value_of(rates, at)).astype(float), strict=True))
        size = max(1.0, *map(abs, wanted.values()))
        assert all(abs(rate - wanted[state]) < 1e-12 * size for state, rate in q_rates.items()), seed
        assert np.linalg.eigvalsh(np.array(value_of(M, at), dtype=float)).min() > 0.0
        if found.v[0] in wanted:
            assert max(abs(solved[k] - wanted[v]) for k, v in enumerate(found.v)) < 1e-12 * size, seed
        else:
            v = np.array([at[label] for label in found.v])
            moved = [{key: at[key] + step * q_rates.get(key, 0.0) for key in at} for step in (1e-6, -1e-6)]
            slope = (own_mass(found, model, moved[0]) - own_mass(found, model, moved[1])) / 2e-6
            p_rates = own_mass(found, model, at) @ solved[:n] + slope @ v
            rough = 1e-12 if not np.any(slope) else 1e-8
            assert max(abs(p_rates[k] - wanted[momentum(label)]) for k, label in enumerate(found.v)) < rough * size, seed


@pytest.mark.parametrize(("name", "form"), CASES)
def test_laws_of_the_matrices(name: str, form: str) -> None:
    """M' - 2 C is skew-symmetric and D symmetric; T + V is the energy of the ledger."""
    model = model_of(name, form)
    found = mechanics_of(name, form)
    q = [sympy.Symbol(s, real=True) for s in found.q]
    rate = dict(zip(q, found.rates, strict=True))
    slope = found.M.applyfunc(lambda e: sympy.Add(*(sympy.diff(e, s) * r for s, r in rate.items())))
    assert found.M == found.M.T
    skew, energy = slope - 2 * found.C, found.T + found.V
    for seed in range(POINTS):
        x, m = start_of(model, seed, 0.3)
        at = point_of(model, x, m)
        at |= velocities(found, model, at)
        S, D = (np.array(value_of(matrix, at), dtype=float) for matrix in (skew, found.D))
        assert np.abs(S + S.T).max() < 1e-12 and np.abs(D - D.T).max() < 1e-12
        assert np.linalg.eigvalsh(D).min() > -1e-12
        known = model.evaluate(0.3, x, None, m)
        stored = sum(known[value] for _, value in model.system.energies)
        assert float(value_of(energy, at)) == pytest.approx(stored, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", ["double pendulum", "four-bar"])
def test_equations_are_those_of_lagranges_method(name: str) -> None:
    """SymPy derives the mass matrix, the forces and the constraint Jacobian from the energies."""
    found = mechanics_of(name, "lagrangian", True)
    q, v = dynamicsymbols("q:2"), dynamicsymbols("q:2", 1)
    if name == "double pendulum":
        kinetic, potential = double_kinetic(q, v), double_potential(q)
        method = LagrangesMethod(kinetic - potential, q)
    else:
        kinetic = (0.3 * v[0] ** 2 + 0.5 * v[1] ** 2) / 2
        potential = 2.0 * sympy.sin(q[0]) + 3.0 * sympy.sin(q[1])
        x, y = 1.0 + 0.6 * sympy.cos(q[1]) - 0.3 * sympy.cos(q[0]), 0.6 * sympy.sin(q[1]) - 0.3 * sympy.sin(q[0])
        method = LagrangesMethod(kinetic - potential, q, hol_coneqs=[(x * x + y * y - COUPLER) / 2])
    method.form_lagranges_equations()
    plain = {**dict(zip(v, sympy.symbols("v:2"), strict=True)), **dict(zip(q, sympy.symbols("q:2"), strict=True))}
    rng = np.random.default_rng(1)
    bare = {**dict.fromkeys(found.u, 0.0)}
    for _ in range(POINTS):
        qs, vs = rng.normal(size=2), rng.normal(size=2)
        at = dict(zip(found.q, qs, strict=True)) | dict(zip(found.v, vs, strict=True)) | bare
        numbers = dict(zip(sympy.symbols("q:2"), qs, strict=True)) | dict(zip(sympy.symbols("v:2"), vs, strict=True))
        M = np.array(method.mass_matrix[:2, :2].subs(plain).subs(numbers), dtype=float)
        assert np.array(value_of(found.M, at), dtype=float) == pytest.approx(M, rel=1e-12, abs=1e-12)
        F = np.array(method.forcing[:2, :].subs(plain).subs(numbers), dtype=float).ravel()
        own = value_of(-found.C * sympy.Matrix([sympy.Symbol(n, real=True) for n in found.v]) - found.grad_V, at)
        assert np.ravel(own).astype(float) == pytest.approx(F, rel=1e-12, abs=1e-12)
        if found.H.rows:
            J = np.array(method.lam_coeffs.subs(plain).subs(numbers), dtype=float)
            assert np.abs(np.array(value_of(found.H, at), dtype=float)) == pytest.approx(np.abs(J), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "form"), [*((name, "hamiltonian") for name in MODELS), ("pendulum", "lagrangian"), ("slider", "lagrangian")]
)
def test_hamiltons_equations_are_the_compiled_ones(name: str, form: str) -> None:
    model = model_of(name, form)
    found = hamilton_equations(model)
    mechanics = found.mechanics
    for seed in range(POINTS):
        x, m = start_of(model, seed, 0.3)
        at, wanted = point_of(model, x, m), rates_of(model, x, m)
        at |= velocities(mechanics, model, at)
        at |= {u: float(value_of(value, at)) for u, value in mechanics.values.items()}
        known = model.evaluate(0.3, x, None, m)
        at |= {name: float(known[model.system.resolve(name)]) for name in mechanics.multipliers}
        v = np.array([at[label] for label in mechanics.v])
        M = np.array(value_of(mechanics.M, at), dtype=float)
        at |= dict(zip(found.p, M @ v, strict=True))
        q_rates = np.ravel(value_of(found.q_rates, at)).astype(float)
        size = max(1.0, *map(abs, wanted.values()))
        assert np.abs(q_rates - [wanted[state] for state in mechanics.q]).max() < 1e-12 * size
        p_rates = np.ravel(value_of(found.p_rates, at)).astype(float)
        stored = sum(known[value] for _, value in model.system.energies)
        assert float(value_of(found.H, at)) == pytest.approx(stored, rel=1e-12, abs=1e-12)
        if form == "hamiltonian" and name != "slider":
            assert np.abs(p_rates - [wanted[p] for p in found.p]).max() < 1e-12 * size


@pytest.mark.parametrize("name", MODELS)
def test_lagranges_equations_give_the_same_accelerations(name: str) -> None:
    """By the chain rule, d/dt(dL/dv) = E^T dL/dq + Q is M v' + C v + D v + grad V = H^T lambda + B u."""
    found = lagrange_equations(model_of(name, "lagrangian"))
    mechanics = found.mechanics
    q, v = symbols(mechanics.q), symbols(mechanics.v)
    a = symbols(f"{name}'" for name in mechanics.v)
    rate = dict(zip(q, mechanics.rates, strict=True)) | dict(zip(v, a, strict=True))
    momentum_rate = found.p.applyfunc(lambda e: sympy.Add(*(sympy.diff(e, s) * r for s, r in rate.items())))
    u, multipliers = (sympy.Matrix(len(names), 1, symbols(names)) for names in (mechanics.u, mechanics.multipliers))
    velocity = sympy.Matrix(v)
    difference = (momentum_rate - found.slopes - found.Q) - (
        mechanics.M * sympy.Matrix(a)
        + (mechanics.C + mechanics.D) * velocity
        + mechanics.grad_V
        - mechanics.H.T * multipliers
        - mechanics.B * u
    )
    rng = np.random.default_rng(0)
    for _ in range(POINTS):
        at = {s.name: rng.uniform(0.2, 1.0) for s in difference.free_symbols}
        assert np.abs(np.ravel(value_of(difference, at)).astype(float)).max() < 1e-12


def test_pendulum_in_all_letters() -> None:
    m, l, g, q, v, p, u, d, lam = (
        sympy.Symbol(n, real=True)
        for n in ("arm.m", "arm.l", "arm.g", "arm.q", "arm.v", "arm.p", "torque.effort", "bearing.resistance", "x")
    )
    found = mechanical_equations(pendulum())
    assert sympy.Matrix([[m * l**2]]) == found.M and found.grad_V == sympy.Matrix([[g * l * m * sympy.sin(q)]])
    assert sympy.Matrix([[d]]) == found.D and sympy.Matrix([[1]]) == found.B and sympy.zeros(1, 1) == found.C
    lagrange, hamilton = lagrange_equations(pendulum()), hamilton_equations(pendulum())
    assert sympy.simplify(lagrange.L - (m * l**2 * v**2 / 2 + m * g * l * sympy.cos(q))) == 0
    assert sympy.simplify(hamilton.p_rates[0] - (u - d * p / (m * l**2) - m * g * l * sympy.sin(q))) == 0
    assert sympy.simplify(hamilton.q_rates[0] - p / (m * l**2)) == 0
    written = port_hamiltonian(pendulum("hamiltonian"))
    assert sympy.simplify(written.H - hamilton.H) == 0
    for record in (found, lagrange, hamilton):
        assert record._repr_latex_() == typeset(record.latex()) and record.latex().startswith("\\begin{align*}")
        assert "arm.q" in str(record)
    assert "arm.q' = arm.p/(arm.m*arm.l**2)" in str(hamilton) or "arm.q' = arm.p/(arm.l**2*arm.m)" in str(hamilton)
    assert lam not in found.M.free_symbols


def test_a_rigid_body_in_space() -> None:
    """With twists as velocities, the body has a mass matrix, gyroscopic terms and weight; the pose follows q' = E v."""
    body = rigid_body("stone", mass=2.0, inertia=(1.0, 2.0, 3.0), gravity=(0.0, 0.0, -9.81), angular_velocity=(0.3, -0.2, 0.5))
    model = compiled(Graph("flight").add(body))
    found = mechanical_equations(model, numbers=True)
    assert sympy.diag(1, 2, 3, 2, 2, 2) == found.M and len(found.q) == 7
    for seed in range(POINTS):
        x, m = start_of(model, seed, 0.3)
        at, wanted = point_of(model, x, m), rates_of(model, x, m)
        at |= velocities(found, model, at)
        solved = np.linalg.solve(np.diag([1.0, 2, 3, 2, 2, 2]), np.ravel(value_of(found.forcing, at)).astype(float))
        size = max(1.0, *map(abs, wanted.values()))
        for k, (label, inertia) in enumerate(zip(found.v, (1, 2, 3, 2, 2, 2), strict=True)):
            assert abs(inertia * solved[k] - wanted[momentum(label)]) < 1e-12 * size
        rates = np.ravel(value_of(found.rates, at)).astype(float)
        assert np.abs(rates - [wanted[state] for state in found.q]).max() < 1e-12 * size


def refused() -> dict[str, tuple[Graph, str]]:
    maxwell, v, f = Graph("maxwell"), J1("v"), J0("f")
    maxwell.connect(Se("u", 1.0), v).connect(v, I("m", 1.0)).connect(v, f).connect(f, C("c", capacitance=1.0)).connect(
        f, R("r", 1.0)
    )
    driven, w, g = Graph("driven"), J1("w"), J0("g")
    driven.connect(w, I("m", 1.0)).connect(w, g).connect(g, C("c", capacitance=1.0)).connect(Sf("shaker", 0.3), g)
    filtered, x = Graph("filtered"), J1("x")
    filtered.connect(x, I("m", 1.0)).connect(x, C("c", capacitance=1.0))
    filtered.connect(x, Se("motor", effort=lambda y: -y, signals=["lag.y"])).add(lowpass("lag", "c.q", 0.5))
    return {"damper behind a spring": (maxwell, "r"), "flow source": (driven, "shaker"), "filter": (filtered, "lag")}


@pytest.mark.parametrize("name", refused())
def test_refusals_name_the_element(name: str) -> None:
    graph, element = refused()[name]
    with pytest.raises(ModelError, match="E278") as caught:
        mechanical_equations(compiled(graph))
    (problem,) = caught.value.problems
    assert f'"{element}"' in problem.title and problem.details and problem.cures
    assert ("the rate of its state" in problem.details[0]) == (name == "filter")


def turntable() -> Graph:
    plate = IC("plate", inertia=lambda q: np.diag([2.0, 3.0]), position=[0.1, 0.2])
    spin = EulerJunction("spin", lambda: array([[0.0, 5.0], [-5.0, 0.0]]), dimension=2)
    return Graph("turntable").connect(rates := J1("rates"), plate).connect(rates, spin)


@pytest.mark.parametrize(("graph", "element"), [(held_masses(), "m1"), (gyroscope(), "body"), (turntable(), "spin")])
def test_velocities_without_coordinates_and_gyrators_have_no_lagrangian(graph: Graph, element: str) -> None:
    for function in (lagrange_equations, hamilton_equations):
        with pytest.raises(ModelError, match="E278") as caught:
            function(compiled(graph))
        assert f'"{element}"' in str(caught.value)


def test_delta_robot_of_nine_coordinates_and_six_constraints() -> None:
    model = compiled(delta_graph(DeltaParameters.fit()))
    found = mechanical_equations(model)
    assert found.M.shape == (9, 9) and found.H.shape == (6, 9) and len(found.multipliers) == 6
    matrix, right = found.mass_matrix, found.forcing
    for seed in range(POINTS):
        x, m = start_of(model, seed, 0.1)
        at, wanted = point_of(model, x, m), rates_of(model, x, m)
        at |= {u: float(value_of(value, at)) for u, value in found.values.items()}
        solved = np.linalg.solve(np.array(value_of(matrix, at), dtype=float), np.ravel(value_of(right, at)).astype(float))
        size = max(map(abs, wanted.values()))
        assert max(abs(solved[k] - wanted[v]) for k, v in enumerate(found.v)) < 1e-12 * size, seed
        known = model.evaluate(0.3, x, None, m)
        multipliers = np.concatenate([known[f"closure {k}.multiplier"] for k in (2, 3)])
        assert solved[9:] == pytest.approx(multipliers, rel=1e-9, abs=1e-9 * np.abs(multipliers).max())


def test_energy_forms_state_the_velocities_that_constraints_hold() -> None:
    graph, a, b, slip = Graph("clutch"), J1("a"), J1("b"), J0("slip")
    graph.connect(a, IC("A", inertia=lambda q: 2.0)).connect(b, IC("B", inertia=lambda q: 1.0))
    graph.connect(a, slip).connect(slip, b).connect(slip, Constraint("lock", holds="velocity", alpha1=3.0))
    va, vb, pa, pb = sympy.symbols("A.v B.v A.p B.p", real=True)
    lagrange, hamilton = lagrange_equations(graph, numbers=True), hamilton_equations(graph, numbers=True)
    assert (*lagrange.conditions,) == (va - vb,) and sympy.simplify(hamilton.conditions[0] - (pa / 2 - pb)) == 0
    assert str(lagrange).endswith("\n0 = A.v - B.v") and str(hamilton).splitlines()[-1].startswith("0 = ")
