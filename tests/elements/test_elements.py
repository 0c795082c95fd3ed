"""Every kind of element against closed forms: rates, signals, arrows, dimensions, parameters and start values."""

from __future__ import annotations

import inspect
import re
from functools import partial

import numpy as np
import pytest

from bondgraph import (
    DOMAINS,
    GY,
    IC,
    J0,
    J1,
    MGY,
    MTF,
    TF,
    Block,
    C,
    Compiled,
    Constraint,
    Domain,
    Element,
    EulerJunction,
    Graph,
    I,
    ModelError,
    Parameter,
    R,
    Se,
    Sf,
    StateSpec,
    compile_model,
    elements,
    signals,
)
from screws.scalars import array, cos, exp, sin


def star(junction: Element, *parts: Element, reverse: bool = False, name: str = "star") -> Graph:
    """All parts at one junction; sources point in, the rest out, or all against that."""
    graph = Graph(name)
    for part in parts:
        inward = (part.kind in ("Se", "Sf")) != reverse
        graph.connect(part, junction) if inward else graph.connect(junction, part)
    return graph


def compiled(graph: Graph) -> Compiled:
    return compile_model(graph, backend="numpy")


def rates(model: Compiled, t: float = 0.0, parameters=None, **initial) -> dict[str, np.ndarray]:
    """Rates of the states by name, from the compiled kernel."""
    x, m = model.initial(initial)
    dx = model.program.rates(t, x, model.parameters(parameters), m)
    slots = model.program.layout
    return {s.name: dx[slots[s.name].start : slots[s.name].stop].reshape(slots[s.name].shape) for s in model.system.states}


def value(model: Compiled, name: str, t: float = 0.0):
    return model.evaluate(t)[model.system.resolve(name)]


# --- scalar circuits -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reverse", [False, True])
def test_capacitor_discharges_through_a_resistor(reverse: bool) -> None:
    model = compiled(star(J1("loop"), C("c", capacitance=0.5, initial=3.0), R("r", 2.0), reverse=reverse))
    assert rates(model)["c.q"] == pytest.approx(-3.0 / (2.0 * 0.5))
    assert value(model, "c.energy") == pytest.approx(9.0)
    assert value(model, "r.power") == pytest.approx(6.0**2 / 2.0)
    assert value(model, "c.power") == pytest.approx(-18.0)


@pytest.mark.parametrize("reverse", [False, True])
def test_resonant_circuit_in_series_and_in_parallel(reverse: bool) -> None:
    parts = lambda: (C("c", capacitance=0.5, initial=3.0), I("l", 4.0, initial=2.0), R("r", 5.0))  # noqa: E731
    series = rates(compiled(star(J1("series"), Se("u", 7.0), *parts(), reverse=reverse)))
    parallel = rates(compiled(star(J0("node"), Sf("i", 7.0), *parts(), reverse=reverse)))
    if not reverse:
        assert series == {"c.q": pytest.approx(0.5), "l.p": pytest.approx(7.0 - 6.0 - 2.5)}
        assert parallel == {"c.q": pytest.approx(7.0 - 0.5 - 6.0 / 5.0), "l.p": pytest.approx(6.0)}
    else:  # what a storage gives to its bond has the bond's sign; what it takes in is counted into it
        assert series == {"c.q": pytest.approx(-0.5), "l.p": pytest.approx(-7.0 + 6.0 - 2.5)}
        assert parallel == {"c.q": pytest.approx(-7.0 + 0.5 - 6.0 / 5.0), "l.p": pytest.approx(-6.0)}


@pytest.mark.parametrize("kind", ["resistance", "conductance"])
@pytest.mark.parametrize("junction", [J0, J1])
def test_a_resistor_works_in_both_causalities(kind: str, junction) -> None:
    r = R("r", **{kind: 4.0})
    storage = C("s", capacitance=0.5, initial=3.0) if junction is J0 else I("s", 0.5, initial=3.0)
    ratio = 4.0 if (kind == "resistance") == (junction is J1) else 0.25
    (rate,) = rates(compiled(star(junction("j"), storage, r))).values()
    assert rate == pytest.approx(-6.0 * ratio)


def test_a_user_s_relations_and_energies() -> None:
    spring = C("s", output=lambda q, k: k * q**3, energy=lambda q, k: k * q**4 / 4, parameters={"k": 2.0}, initial=0.5)
    mass = I("m", output=lambda p: p / 3, energy=lambda p: p * p / 6, initial=6.0)
    drag = R("d", effort=lambda f, c: c * f * f * f, parameters={"c": Parameter(0.1, "kg s/m^2")})
    leak = R("g", flow=lambda e, g: g * e, parameters={"g": 0.3})
    graph = star(J1("v"), mass, drag)
    graph.connect(graph.parts["v"], node := J0("node"))
    graph.connect(node, spring).connect(node, leak)
    model = compiled(graph)
    force = 2.0 * 0.5**3
    found = rates(model)
    assert found["m.p"] == pytest.approx(-0.1 * 8.0 - force)
    assert found["s.q"] == pytest.approx(2.0 - 0.3 * force)
    assert value(model, "s.energy") == pytest.approx(2.0 * 0.5**4 / 4)
    assert value(model, "m.energy") == pytest.approx(6.0)
    assert rates(model, parameters={"s.k": 4.0})["m.p"] == pytest.approx(-0.8 - 2 * force)


def test_dc_motor() -> None:
    graph = Graph("motor")
    coil, shaft = J1("coil", domain="electrical"), J1("shaft", domain="rotation")
    motor = GY("K", 0.2, domains=("electrical", "rotation"))
    graph.connect(Se("U", 5.0), coil).connect(coil, R("winding", 4.0)).connect(coil, I("L", 0.5, initial=0.3))
    graph.connect(coil, motor.port("1")).connect(motor.port("2"), shaft)
    graph.connect(shaft, I("J", 0.1, initial=0.7)).connect(shaft, R("b", 0.05))
    model = compiled(graph)
    current, speed = 0.3 / 0.5, 0.7 / 0.1
    assert rates(model)["L.p"] == pytest.approx(5.0 - 4.0 * current - 0.2 * speed)
    assert rates(model)["J.p"] == pytest.approx(0.2 * current - 0.05 * speed)
    assert {b.domain.name for b in model.model.bonds} == {"electrical", "rotation"}
    assert model.program.layout["U.flow"].unit == "A"


@pytest.mark.parametrize("first", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_chain_of_transformers_in_both_causalities_and_all_arrows(first: tuple[int, int]) -> None:
    """v2 = 2 v1, v3 = 3 v2: a mass m at the end weighs 36 m at the start."""
    for spring_at_end in (False, True):
        graph = Graph("chain")
        a, b = TF("a", 2.0), TF("b", 3.0)
        j1, j2, j3 = J1("1"), J1("2"), J1("3")
        for one, two, flip in (
            (j1, a.port("1"), first[0]),
            (a.port("2"), j2, first[1]),
            (j2, b.port("1"), 0),
            (b.port("2"), j3, first[0]),
        ):
            graph.connect(two, one) if flip else graph.connect(one, two)
        # A reversed arrow at one port of a transformer turns the flow beyond it round.
        sign = (-1) ** (first[0] + first[1] + first[0])
        graph.connect(j3 if spring_at_end else j1, C("k", stiffness=10.0, initial=0.5))
        graph.connect(j1 if spring_at_end else j3, I("m", 4.0, initial=8.0))
        found = rates(compiled(graph))
        ratio = 6.0 if spring_at_end else 1 / 6.0
        assert found["k.q"] == pytest.approx(sign * ratio * 2.0)
        assert found["m.p"] == pytest.approx(-sign * ratio * 5.0)


@pytest.mark.parametrize("arrows", [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("effort_in", [False, True])
def test_gyrator_in_both_causalities_and_all_arrows(arrows: tuple[int, int], effort_in: bool) -> None:
    graph, gyrator = Graph("g"), GY("g", 2.0)
    left, right = (J0, J0) if effort_in else (J1, J1)
    j1, j2 = left("left"), right("right")
    graph.connect(gyrator.port("1"), j1) if arrows[0] else graph.connect(j1, gyrator.port("1"))
    graph.connect(j2, gyrator.port("2")) if arrows[1] else graph.connect(gyrator.port("2"), j2)
    kind, name, one = (C, "q", {"capacitance": 1.0}) if effort_in else (I, "p", {"inertia": 1.0})
    graph.connect(j1, kind("s", **one, initial=3.0)).connect(j2, kind("t", **one, initial=5.0))
    sign = 1 if effort_in else (-1) ** sum(arrows)  # an arrow turns the flow round, never the effort
    found, ratio = rates(compiled(graph)), 0.5 if effort_in else 2.0
    assert found[f"s.{name}"] == pytest.approx(-sign * ratio * 5.0)
    assert found[f"t.{name}"] == pytest.approx(sign * ratio * 3.0)


# --- vector bonds ----------------------------------------------------------------------------------------------------

RNG = np.random.default_rng(5)


def spd(n: int) -> np.ndarray:
    root = RNG.normal(size=(n, n))
    return root @ root.T + np.eye(n)


@pytest.mark.parametrize("n", [2, 3, 6])
@pytest.mark.parametrize("reverse", [False, True])
def test_vector_oscillator(n: int, reverse: bool) -> None:
    K, M, D, q, p, u = spd(n), spd(n), spd(n), RNG.normal(size=n), RNG.normal(size=n), RNG.normal(size=n)
    parts = Se("u", u), C("k", stiffness=K, initial=q), I("m", M, initial=p), R("d", D)
    model = compiled(star(J1("v"), *parts, reverse=reverse))
    v = np.linalg.solve(M, p)
    sign = -1 if reverse else 1
    np.testing.assert_allclose(rates(model)["k.q"], sign * v)
    np.testing.assert_allclose(rates(model)["m.p"], sign * (u - K @ q) - D @ v)
    assert value(model, "m.energy") == pytest.approx(p @ v / 2)
    assert value(model, "d.power") == pytest.approx(v @ D @ v)


@pytest.mark.parametrize("n", [2, 3])
def test_vector_node_with_matrices_in_flow_causality(n: int) -> None:
    Cm, G, Rm, q, p, M, i = (
        spd(n),
        spd(n),
        spd(n),
        RNG.normal(size=n),
        RNG.normal(size=n),
        np.arange(1.0, n + 1),
        RNG.normal(size=n),
    )
    parts = Sf("i", i), C("c", capacitance=Cm, initial=q), R("g", conductance=G), R("r", Rm), I("l", M, initial=p)
    found = rates(compiled(star(J0("node"), *parts)))
    e = np.linalg.solve(Cm, q)
    np.testing.assert_allclose(found["c.q"], i - G @ e - np.linalg.solve(Rm, e) - p / M)
    np.testing.assert_allclose(found["l.p"], e)


def test_scalar_parameters_serve_every_component() -> None:
    graph = star(J1("v", dimension=3), C("k", stiffness=4.0), I("m", 2.0, initial=[1.0, 2.0, 3.0]), R("d", 0.5))
    model = compiled(graph)
    np.testing.assert_allclose(rates(model)["k.q"], [0.5, 1.0, 1.5])
    np.testing.assert_allclose(rates(model, **{"k.q": [1.0, 1.0, 0.0]})["m.p"], [-4.25, -4.5, -0.75])


@pytest.mark.parametrize("structural", [False, True])
@pytest.mark.parametrize(
    "matrix", [[0.0, 1.0, 0.0], [[0.0, 1.0, 0.0]], [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], np.arange(9.0).reshape(3, 3)]
)
def test_transformer_by_row_selection_and_matrix(matrix, structural: bool) -> None:
    N = np.atleast_2d(matrix)
    p, M = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0])
    n2 = N.shape[0]
    q = RNG.normal(size=n2) if n2 > 1 else 0.7
    graph, pick = Graph("pick"), TF("pick", matrix, structural=structural)
    v = J1("v")
    graph.connect(v, I("m", M, initial=p)).connect(v, pick.port("1")).connect(pick.port("2"), C("k", stiffness=5.0, initial=q))
    found = rates(compiled(graph))
    np.testing.assert_allclose(np.atleast_1d(found["k.q"]), N @ (p / M))
    np.testing.assert_allclose(found["m.p"], -N.T @ (5.0 * np.atleast_1d(q)))


def test_a_column_spreads_one_flow() -> None:
    graph, spread = Graph("spread"), TF("spread", [[1.0], [2.0]])
    v = J1("v")
    graph.connect(v, I("m", 2.0, initial=3.0)).connect(v, spread).connect(spread, C("k", stiffness=1.0, initial=[0.1, 0.2]))
    found = rates(compiled(graph))
    np.testing.assert_allclose(found["k.q"], [1.5, 3.0])
    assert found["m.p"] == pytest.approx(-0.5)


def test_a_matrix_transformer_has_one_causality_only() -> None:
    """A spring on its port 1 and a mass on its port 2 both become dependent, and each needs the rate of what the other gives."""
    graph, t = Graph("wrong way"), TF("t", np.eye(2))
    spring = C("k", output=lambda q: q, energy=lambda q: q @ q / 2, initial=[1.0, 2.0])
    mass = I("m", output=lambda p: p, energy=lambda p: p @ p / 2, dimension=2)
    graph.connect(spring, t.port("1")).connect(t.port("2"), mass)
    with pytest.raises(ModelError, match="E207"):
        compiled(graph)


def test_gyrator_with_a_rectangular_matrix() -> None:
    r = RNG.normal(size=(3, 2))
    graph, g = Graph("g"), GY("g", r)
    graph.connect(a := J1("a"), I("one", 2.0, initial=[1.0, 2.0, 3.0]))
    graph.connect(a, g.port("1")).connect(g.port("2"), b := J1("b")).connect(b, I("two", 4.0, initial=[5.0, 6.0]))
    found = rates(compiled(graph))
    np.testing.assert_allclose(found["one.p"], -r @ np.array([5.0, 6.0]) / 4)
    np.testing.assert_allclose(found["two.p"], r.T @ np.array([1.0, 2.0, 3.0]) / 2)


def test_euler_junction_takes_no_power() -> None:
    """Euler's equations: p' = -omega x p, so |p| and the energy stay."""
    moment, p = np.array([1.0, 2.0, 3.0]), np.array([0.3, -0.5, 0.7])

    def tilde(p):
        return array([[0.0, -p[2], p[1]], [p[2], 0.0, -p[0]], [-p[1], p[0], 0.0]])

    euler = EulerJunction("euler", lambda p: -tilde(p), signals=["body.p"], dimension=3)
    for reverse in (False, True):
        model = compiled(star(J1("omega"), I("body", moment, initial=p), euler, reverse=reverse))
        np.testing.assert_allclose(rates(model)["body.p"], np.cross(p, p / moment))
        assert value(model, "euler.effort") @ value(model, "euler.flow") == pytest.approx(0.0, abs=1e-15)
        assert rates(model)["body.p"] @ p == pytest.approx(0.0, abs=1e-15)


# --- signals ---------------------------------------------------------------------------------------------------------


def test_sources_follow_time_and_parameters() -> None:
    source = Se("u", lambda a, t: a * exp(-t), parameters={"a": 2.0}, signals=["time"])
    model = compiled(star(J1("loop"), source, C("c", capacitance=1.0), R("r", 1.0)))
    assert rates(model, 0.5)["c.q"] == pytest.approx(2.0 * np.exp(-0.5))
    assert rates(model, 0.5, {"u.a": 4.0})["c.q"] == pytest.approx(4.0 * np.exp(-0.5))
    flow = Sf("f", lambda t: array([sin(t), cos(t)]), signals=["time"], dimension=2)
    np.testing.assert_allclose(
        rates(compiled(star(J0("n"), flow, C("c", capacitance=1.0, dimension=2))), 0.3)["c.q"], [np.sin(0.3), np.cos(0.3)]
    )


def test_modulation_by_a_state() -> None:
    """A lever whose ratio depends on the spring's own stretch, and a gyrator that depends on it too."""
    graph = Graph("modulated")
    v, lever = J1("v"), MTF("lever", lambda k, q: k * cos(q), parameters={"k": 3.0}, signals=["spring.q"])
    turn = MGY("turn", lambda q: 1 + q * q, signals=["spring.q"])
    graph.connect(v, I("m", 2.0, initial=1.0)).connect(v, lever).connect(lever, C("spring", stiffness=5.0, initial=0.4))
    graph.connect(v, turn).connect(turn, I("wheel", 0.5, initial=0.2))
    found, n, r = rates(compiled(graph)), 3.0 * np.cos(0.4), 1.16
    assert found["spring.q"] == pytest.approx(n * 0.5)
    assert found["m.p"] == pytest.approx(-n * 5.0 * 0.4 - r * 0.4)
    assert found["wheel.p"] == pytest.approx(r * 0.5)


def test_modulated_matrix_with_given_dimensions() -> None:
    graph, v = Graph("m"), J1("v")
    turn = MTF("turn", lambda a: array([[cos(a), -sin(a)], [sin(a), cos(a)]]), signals=["angle.a"], dimensions=(2, 2))
    angle = Block(
        "angle", [("rate", lambda w: w, ["w"])], parameters={"w": 1.5}, states={"a": StateSpec(0.3)}, rates={"a": "rate"}
    )
    graph.connect(v, I("m", 2.0, initial=[1.0, 2.0])).connect(v, turn).connect(turn, C("k", stiffness=1.0, initial=[0.5, 0.6]))
    graph.add(angle)
    found, c, s = rates(compiled(graph)), np.cos(0.3), np.sin(0.3)
    turned = np.array([[c, -s], [s, c]])
    np.testing.assert_allclose(found["k.q"], turned @ [0.5, 1.0])
    np.testing.assert_allclose(found["m.p"], -turned.T @ [0.5, 0.6])
    assert found["angle.a"] == pytest.approx(1.5)


def test_blocks_chain_signals_and_integrate() -> None:
    graph = star(J1("v"), I("m", 2.0, initial=4.0), Se("force", lambda u: -u, signals=["gain.y"]))
    graph.add(
        Block(
            "position",
            [("rate", lambda v: v, ["v"])],
            inputs={"v": "m.flow"},
            states={"x": StateSpec(0.5, unit="m")},
            rates={"x": "rate"},
        )
    )
    graph.add(Block("error", [("e", lambda x, r: x - r, ["x", "goal"])], inputs={"x": "position.x"}, parameters={"goal": 0.1}))
    graph.add(
        Block(
            "gain", [(("twice", "y"), lambda e, k: (2 * e, k * e), ["e", "k"])], inputs={"e": "error.e"}, parameters={"k": 30.0}
        )
    )
    model = compiled(graph)
    found = rates(model)
    assert found["position.x"] == pytest.approx(2.0)
    assert found["m.p"] == pytest.approx(-30.0 * 0.4)
    assert value(model, "gain.twice") == pytest.approx(0.8)
    assert model.program.layout["position.x"].unit == "m"


def test_two_elements_without_a_junction() -> None:
    (rate,) = rates(compiled(Graph("pair").connect(C("c", capacitance=2.0, initial=3.0), R("r", 4.0)))).values()
    assert rate == pytest.approx(-1.5 / 4.0)


def test_a_graph_without_states() -> None:
    model = compiled(star(J1("j"), Se("u", 3.0), R("r", 2.0)))
    assert value(model, "r.flow") == pytest.approx(1.5)
    assert len(model.initial()[0]) == 0


# --- run-time inputs -------------------------------------------------------------------------------------------------


def circuit() -> Compiled:
    return compiled(star(J1("loop"), Se("u", 1.0), C("c", capacitance=0.5, initial=3.0), R("r", 2.0)))


def test_parameters_stay_inputs_of_the_compiled_code() -> None:
    model = circuit()
    before = model.program.rates
    assert rates(model)["c.q"] == pytest.approx((1.0 - 6.0) / 2.0)
    assert rates(model, parameters={"r.resistance": 5.0, "u.value": 2.0, "c.capacitance": 1.0})["c.q"] == pytest.approx(-0.2)
    assert rates(model, **{"c.q": 0.0})["c.q"] == pytest.approx(0.5)
    assert model.program.rates is before


@pytest.mark.parametrize(
    ("code", "use"),
    [
        ("E121", lambda m: m.parameters({"c.q": 1.0})),
        ("E122", lambda m: m.initial({"r.resistance": 1.0})),
        ("E124", lambda m: m.parameters({"r.resistance": [1.0, 2.0]})),
        ("E124", lambda m: m.parameters({"r.resistance": float("nan")})),
        ("E124", lambda m: m.initial({"c.q": [1.0]})),
        ("E123", lambda m: compile_model(m.model, backend="fortran")),
    ],
)
def test_wrong_run_time_inputs_are_refused(code: str, use) -> None:
    with pytest.raises(ModelError) as caught:
        use(circuit())
    assert [p.code for p in caught.value.problems] == [code]


def test_start_values_that_follow_from_others() -> None:
    graph = star(J1("v"), C("k", stiffness=2.0), I("m", 3.0, initial=1.0))
    graph.start(lambda stiffness, p: (10.0 * stiffness + p,), ["k.stiffness", "m.p"], ["k.q"])
    model = compiled(graph)
    assert model.initial()[0].tolist() == [21.0, 1.0] or model.initial()[0].tolist() == [1.0, 21.0]
    assert rates(model, **{"m.p": 4.0})["m.p"] == pytest.approx(-48.0)
    assert rates(model, **{"k.q": 0.5})["m.p"] == pytest.approx(-1.0)  # a given value is not computed again


def test_backends_agree() -> None:
    graph = star(
        J1("v"), C("k", stiffness=spd(3), initial=RNG.normal(size=3)), I("m", spd(3), initial=RNG.normal(size=3)), R("d", spd(3))
    )
    numbers = [compile_model(graph, backend=backend) for backend in ("numpy", "llvm")]
    one, two = (m.program.rates(0.0, m.initial()[0], m.parameters(), m.initial()[1]) for m in numbers)
    np.testing.assert_allclose(one, two, rtol=1e-13)


# --- domains ---------------------------------------------------------------------------------------------------------

SI = {
    "": {},
    "V": {"W": 1, "A": -1},
    "A": {"A": 1},
    "C": {"A": 1, "s": 1},
    "Wb": {"W": 1, "A": -1, "s": 1},
    "N": {"W": 1, "s": 1, "m": -1},
    "m": {"m": 1},
    "s": {"s": 1},
    "rad": {},
    "Pa": {"W": 1, "s": 1, "m": -3},
    "K": {"K": 1},
    "J": {"W": 1, "s": 1},
    "W": {"W": 1},
    "mol": {"mol": 1},
}
"""Units as powers of W, A, m, s, K and mol."""


def powers(unit: str) -> dict[str, int]:
    """A unit such as `J s/mol` or `m^3/s` in powers of base units."""
    found: dict[str, int] = {}
    for sign, part in zip((1, -1), unit.split("/"), strict=False):
        for factor in part.split():
            name, _, exponent = factor.partition("^")
            for base, power in SI[name].items():
                found[base] = found.get(base, 0) + sign * power * int(exponent or 1)
    return {base: power for base, power in found.items() if power}


def together(*units: str) -> dict[str, int]:
    total = [powers(unit) for unit in units]
    found = {base: sum(part.get(base, 0) for part in total) for part in total for base in part}
    return {base: power for base, power in found.items() if power}


REAL = [domain for domain in DOMAINS.values() if domain.name not in ("generic", "screw")]


@pytest.mark.parametrize("domain", REAL, ids=lambda d: d.name)
def test_units_of_a_domain_make_power_and_energy(domain: Domain) -> None:
    assert together(domain.effort_unit, domain.flow_unit) == powers("W")
    assert together(domain.flow_unit, "s") == powers(domain.displacement_unit)
    assert together(domain.effort_unit, "s") == powers(domain.momentum_unit)
    model = compiled(star(J1("v"), C("c", capacitance=2.0, domain=domain.name), R("r", 1.0)))
    assert model.program.layout["c.q"].unit == domain.displacement_unit
    assert model.program.layout["r.effort"].unit == domain.effort_unit


def test_a_bond_between_two_domains_is_refused_for_every_pair_of_them() -> None:
    assert {d.name for d in DOMAINS.values()} >= {
        "electrical",
        "translation",
        "rotation",
        "hydraulic",
        "thermal",
        "chemical",
        "screw",
    }
    for one in DOMAINS:
        for other in DOMAINS:
            if one == other:
                continue
            with pytest.raises(ModelError, match=r"E10[35] "):
                star(J1("v"), C("c", capacitance=2.0, domain=one), R("r", 1.0, domain=other)).freeze()
            gyrated = Graph("gyrated").connect(C("c", capacitance=2.0, domain=one), GY("turn", 1.0, domains=(one, other)))
            if "screw" not in (one, other):
                gyrated.connect(gyrated.parts["turn"], C("d", capacitance=1.0, domain=other)).freeze()


def test_relations_declared_passive_are_tried() -> None:
    """Those that take power pass, a diode's exponential and a skew part too; one that gives some in one direction is found."""

    def freeze(part, size: int = 1) -> None:
        junction = J1("v", dimension=size)
        Graph("g").connect(junction, part).connect(junction, I("m", 1.0, dimension=size)).freeze()

    freeze(R("r", effort=lambda f, a: a * f * f * f, parameters={"a": 2.0}, passive=True))
    freeze(R("r", flow=lambda e: 1e-12 * (exp(e / 0.025) - 1.0), passive=True))
    freeze(R("r", effort=lambda f: array([f[0] + 3.0 * f[1], 0.5 * f[1] - 3.0 * f[0]]), dimension=2, passive=True), 2)
    with pytest.raises(ModelError, match="E153"):
        freeze(R("r", effort=lambda f: array([f[0] - 3.0 * f[1], 0.5 * f[1]]), dimension=2, passive=True), 2)


@pytest.mark.parametrize(
    "make",
    [
        partial(C, "c", stifness=1.0),
        partial(I, "m", inertai=1.0),
        partial(R, "r", resistence=1.0),
        partial(IC, "arm", inertai=lambda q: 1.0),
        partial(Constraint, "stop", positon=lambda q: q),
        partial(Se, "push", 1.0, dimenson=3),
        partial(J0, "node", dimenson=3),
        partial(TF, "gear", 2.0, domain="rotation"),
        partial(GY, "motor", 2.0, symbol="r"),
        partial(signals.pid, "pid", "e", 1.0, kd=1.0, filter_tim=0.1),
        partial(signals.sine, "sine", frequency=1.0),
        partial(signals.lowpass, "lag", "u", 1.0, dimenson=2),
        partial(signals.sampled_pid, "pid", "e", 1.0, period=0.1, measurment="y"),
    ],
)
def test_an_argument_that_does_not_exist_is_named(make) -> None:
    """Whoever mistypes a word is told that word and of which function, and not what is missing without it."""
    word, own = list(make.keywords)[-1], re.escape(f"{make.func.__name__}()")
    with pytest.raises(TypeError, match=f"^{own} got an unexpected keyword argument '{word}'"):
        make()


@pytest.mark.parametrize("module", [elements, signals])
def test_every_keyword_stands_in_the_signature(module) -> None:
    """What help and completion show has no `**`: keywords that functions share are spelled out."""
    functions = {name: value for name in module.__all__ if inspect.isfunction(value := getattr(module, name))}
    assert len(functions) > 15
    for name, function in functions.items():
        kinds = {parameter.kind for parameter in inspect.signature(function).parameters.values()}
        assert inspect.Parameter.VAR_KEYWORD not in kinds, name
    assert inspect.signature(J0).parameters["dimension"].default is None
    assert inspect.signature(signals.gain).parameters["unit"].default == ""
    with pytest.raises(TypeError, match="Did you mean 'dimension'"):
        J0("node", dimensoin=3)
