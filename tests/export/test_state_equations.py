"""State equations of small models agree with the literature and with the compiled model."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections import Counter

import numpy as np
import pytest
import sympy

from bondgraph import (
    GY,
    J0,
    J1,
    TF,
    X0,
    Automaton,
    C,
    Compiled,
    Constraint,
    Diode,
    EulerJunction,
    Graph,
    I,
    ModelError,
    R,
    Se,
    Sf,
    Switch,
    Transition,
    by_mode,
    compile_model,
)
from bondgraph.export import StateEquations, state_equations
from campaigns.graphs.drawn import random_graph, rigid_graph, switched_graph
from screws.scalars import array, exp, sin, where
from tests.acceptance import entries
from tests.acceptance.suite import SUITE
from tests.inner.export import exact, rational
from tests.inner.output import typeset


def joined(junction, *parts) -> Graph:
    graph = Graph("model")
    for part in parts:
        graph.connect(part, junction) if part.kind in ("Se", "Sf") else graph.connect(junction, part)
    return graph


def compiled(graph: Graph) -> Compiled:
    return compile_model(graph, backend="numpy")


def lines(graph: Graph, **more) -> list[str]:
    return str(state_equations(compiled(graph), **more)).splitlines()


def series(*parts) -> Graph:
    return joined(J1("loop"), *parts)


def node(*parts) -> Graph:
    return joined(J0("node"), *parts)


def geared() -> Graph:
    graph, a, b = Graph("geared"), J1("a"), J1("b")
    graph.connect(a, I("m1", 2.0)).connect(Se("u", 1.0), a).connect(a, gear := TF("gear", 1 / 3)).connect(gear, b)
    return graph.connect(b, I("m2", 5.0)).connect(b, R("d", 7.0))


def looped() -> Graph:
    graph, a, middle, b = Graph("loop"), J1("a"), J0("middle"), J1("b")
    graph.connect(Se("u", 1.0), a).connect(a, R("r2", 2.0)).connect(a, middle).connect(middle, R("r3", 3.0))
    return graph.connect(middle, b).connect(b, R("r5", 5.0)).connect(b, I("i7", 7.0))


def duffing() -> Graph:
    spring = C("c", energy=lambda x: x * x / 2 + x**4 / 4)
    return series(spring, I("m", 1.0))


def relay() -> Graph:
    graph = Graph("switched").add_automaton(
        Automaton("clutch", ("open", "closed"), "closed", (Transition("closed", "open", lambda q: q - 1.0, ("spring.q",)),))
    )
    gate = X0("gate", automaton="clutch", active=["closed"])
    graph.connect(v := J1("v"), I("mass", 2.0, initial=1.0)).connect(v, gate)
    return graph.connect(gate, C("spring", stiffness=3.0, initial=0.3)).connect(gate, R("slip", 5.0))


EXACT = {
    "RC": (series(C("c", capacitance=1.0), R("r", 1.0)), ["c.q' = -c.q"]),
    "RLC on a 0-junction": (node(R("r", 1.0), C("c", capacitance=1.0), I("l", 1.0)), ["c.q' = -c.q - l.p", "l.p' = c.q"]),
    "RLC in series with Se": (
        series(Se("u", 1.0), R("r", 1.0), C("c", capacitance=1.0), I("l", 1.0)),
        ["c.q' = l.p", "l.p' = u.value - c.q - l.p"],
    ),
    "C = 10, R = 100, L = 10 with Sf": (
        node(Sf("u", 1.0), R("r", 100.0), C("c", capacitance=10.0), I("l", 10.0)),
        ["c.q' = u.value - c.q/1000 - l.p/10", "l.p' = c.q/10"],
    ),
    "linear loop": (looped(), ["i7.p' = 3*u.value/5 - 31*i7.p/35"]),
    "effective mass 23/9": (geared(), ["m1.p' = 18*u.value/23 - 7*m1.p/23"]),
    "Duffing": (duffing(), ["c.q' = m.p", "m.p' = -c.q - c.q**3"]),
    "source of time": (
        series(Se("u", lambda t: sin(0.5 * t), signals=["time"]), R("r", 0.1), C("c", capacitance=4.0)),
        ["c.q' = 10*sin(0.5*time) - 2.5*c.q"],
    ),
    "diode": (
        node(Sf("i", 1.0), C("c", capacitance=1.0), R("d", flow=lambda e, v: exp(e / v) - 1, parameters={"v": 0.1})),
        ["c.q' = i.value - exp(10*c.q) + 1"],
    ),
}


@pytest.mark.parametrize("name", EXACT)
def test_equations_are_those_of_the_literature(name: str) -> None:
    graph, wanted = EXACT[name]
    found = lines(graph, numbers=True)
    assert sorted(found) == sorted(wanted)


def test_parameters_are_symbols() -> None:
    assert lines(series(C("c", capacitance=2.0), R("r", 5.0))) == ["c.q' = -c.q/(c.capacitance*r.resistance)"]
    found = state_equations(compiled(looped()))
    r2, r3, r5, i7, u, p = (
        sympy.Symbol(name, real=True)
        for name in ("r2.resistance", "r3.resistance", "r5.resistance", "i7.inertia", "u.value", "i7.p")
    )
    wanted = u * r3 / (r2 + r3) - p * (r2 * r3 + r2 * r5 + r3 * r5) / ((r2 + r3) * i7)
    assert sympy.cancel(found.equations["i7.p"] - wanted) == 0
    assert found.inputs == ("u.value",) and found.states == ("i7.p",)
    assert found.parameters == {"r2.resistance": 2.0, "r3.resistance": 3.0, "r5.resistance": 5.0, "i7.inertia": 7.0}


def test_effective_mass_with_symbols() -> None:
    """If a gear couples two masses, p1' is the fraction m1 / (m1 + n^2 m2) of the net force on m1."""
    found = state_equations(compiled(geared()))
    m1, m2, n, d, u, p = (
        sympy.Symbol(name, real=True) for name in ("m1.inertia", "m2.inertia", "gear.ratio", "d.resistance", "u.value", "m1.p")
    )
    wanted = (u - n**2 * d * p / m1) * m1 / (m1 + n**2 * m2)
    assert sympy.cancel(found.equations["m1.p"] - wanted) == 0


def test_source_that_sets_a_capacitor_s_effort() -> None:
    """In derivative causality there is no state, and the current of the source is u' C + u / R."""
    graph = node(Se("u", 1.0), C("c", capacitance=1.0), R("r", 1.0))
    C_, R_, u, du = (sympy.Symbol(n, real=True) for n in ("c.capacitance", "r.resistance", "u.value", "u.value'"))
    found = state_equations(compiled(graph), outputs=["u.flow"], varying=["u.value"])
    assert found.equations == {} and sympy.cancel(found.outputs["u.flow"] - (du * C_ + u / R_)) == 0
    assert lines(graph, outputs="u.flow", varying="u.value", numbers=True) == ["u.flow = u.value + u.value'"]
    assert lines(graph, outputs="u.flow", numbers=True) == ["u.flow = u.value"]
    assert r"\dot{e}_{\text{u}}" in found.latex()
    timed = node(Se("u", lambda t: sin(3.0 * t) + 2.0, signals=["time"]), C("c", capacitance=0.5), R("r", 4.0))
    t = sympy.Symbol("time", real=True)
    current = state_equations(compiled(timed), outputs=["u.flow"], numbers=True).outputs["u.flow"]
    assert sympy.expand(current - (sympy.cos(3 * t) * 3 / 2 + sympy.sin(3 * t) / 4 + sympy.Rational(1, 2))) == 0


def test_nested_graphs_have_paths_for_names() -> None:
    part, outer = Graph("part"), Graph("outer")
    part.connect(b := J1("b"), C("c", capacitance=0.5)).connect(b, I("l", 4.0)).expose("port", b)
    outer.connect(a := J1("a"), R("r", 3.0)).connect(a, part.port("port"))
    assert sorted(lines(outer, numbers=True)) == ["part.c.q' = 0.25*part.l.p", "part.l.p' = -2*part.c.q - 0.75*part.l.p"]


def test_ideal_constraint() -> None:
    graph, a, b, gap, force = Graph("held"), J1("a"), J1("b"), J1("gap"), J0("force")
    graph.connect(Se("u", 1.0), a).connect(a, I("m1", 1.0)).connect(a, force).connect(force, b).connect(b, I("m2", 3.0))
    model = compiled(graph.connect(force, gap).connect(gap, Constraint("hold")))
    found = state_equations(model, numbers=True)
    assert set(found.equations) == {"m1.p", "m2.p", "hold.h"}
    agree(model, found, 0)


def test_modes_side_by_side_or_held() -> None:
    model = compiled(relay())
    found = state_equations(model, numbers=True)
    assert str(found).splitlines() == [
        "mass.p' = 0   (clutch: open)",
        "mass.p' = -3*spring.q   (clutch: closed)",
        "spring.q' = 0   (clutch: open)",
        "spring.q' = mass.p/2 - 3*spring.q/5   (clutch: closed)",
    ]
    assert isinstance(found.equations["mass.p"], sympy.Piecewise)
    assert r"\begin{cases} 0 & \text{clutch: open} \\" in found.latex()
    closed = state_equations(model, numbers=True, modes={"clutch": "closed"})
    assert str(closed).splitlines() == ["mass.p' = -3*spring.q", "spring.q' = mass.p/2 - 3*spring.q/5"]
    agree(model, found, 1)


def test_vector_states_by_component() -> None:
    """The rates are Euler's equations of a rigid body with I = (1, 2, 3)."""

    def tilde(p):
        return array([[0.0, p[2], -p[1]], [-p[2], 0.0, p[0]], [p[1], -p[0], 0.0]])

    graph = Graph("body").connect(omega := J1("omega"), I("body", [1.0, 2.0, 3.0], initial=[0.01, 1.0, 0.01]))
    graph.connect(omega, EulerJunction("euler", tilde, signals=["body.p"], dimension=3))
    model = compiled(graph)
    found = state_equations(model, numbers=True)
    assert str(found).splitlines() == [
        "body.p[0]' = -body.p[1]*body.p[2]/6",
        "body.p[1]' = 2*body.p[0]*body.p[2]/3",
        "body.p[2]' = -body.p[0]*body.p[1]/2",
    ]
    assert r"\dot{p}_{\text{body},1} &= - \frac{p_{\text{body},2} p_{\text{body},3}}{6}" in found.latex()
    agree(model, state_equations(model), 2)


def test_conditions_in_a_formula_stay() -> None:
    stop = C("c", output=lambda q: where(q < 0, 0.0, 3.0 * q), energy=lambda q: where(q < 0, 0.0, 1.5 * q * q))
    model = compiled(series(stop, I("m", 2.0), R("r", 1.0)))
    found = state_equations(model)
    agree(model, found, 3)


def test_latex_is_in_the_letters_of_the_literature() -> None:
    graph = Graph("motor")
    coil, shaft = J1("coil"), J1("shaft")
    machine = GY("machine", 0.2, symbols={"matrix": "K_t"})
    graph.connect(Se("supply", 5.0, symbols={"effort": "U"}), coil).connect(coil, R("winding", 4.0))
    graph.connect(coil, I("inductance", 0.5, symbols={"p": r"\lambda"})).connect(coil, machine)
    graph.connect(machine, shaft).connect(shaft, I("rotor", 0.1))
    found = state_equations(compiled(graph))
    assert found._repr_latex_() == typeset(found.latex())
    first, second = found.latex().splitlines()[1:3]
    assert first.startswith(r"\tfrac{d}{dt} \lambda &= U - ") and first.endswith(r"\\")
    assert second.startswith(r"\dot{p}_{\text{rotor}} &= ")


@pytest.mark.parametrize(
    ("make", "more", "code"),
    [
        (lambda: clamps(5), {}, "E272"),
        (lambda: clamps(6), {"modes": {"clamp0.lever": "on"}, "numbers": True}, "E272"),
        (lambda: chain(3), {"part": "m9"}, "E275"),
        (lambda: bent(), {}, "E273"),
        (lambda: series(I("m", 1.0), R("r", effort=no_symbols)), {}, "E274"),
        (relay, {"modes": {"clutsh": "open"}}, "E122"),
        (relay, {"modes": {"clutch": "ajar"}}, "E122"),
        (relay, {"outputs": ["mass.effrt"]}, "E251"),
        (relay, {"varying": ["mass.p"]}, "E250"),
    ],
)
def test_refusals_say_why(make, more, code: str) -> None:
    with pytest.raises(ModelError) as caught:
        state_equations(compiled(make()), **more)
    (problem,) = caught.value.problems
    assert problem.code == code and problem.details and problem.cures


def test_advice_for_too_many_combinations_of_modes_works() -> None:
    model = compiled(clamps(5))
    with pytest.raises(ModelError, match="E272") as caught:
        state_equations(model)
    (cure,) = caught.value.problems[0].cures
    modes = dict(re.findall(r'"([^"]+)": "([^"]+)"', cure))
    assert len(modes) == 5
    assert len(state_equations(model, modes=modes).equations) == len(model.system.states)


def test_long_equations_with_few_modes_are_not_called_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bondgraph.export.forms.state_form.MAX_STATEMENTS", 0)
    with pytest.raises(ModelError, match="E272") as caught:
        state_equations(compiled(clamps(1)))
    (problem,) = caught.value.problems
    assert problem.details == ("the equations have 2 combinations of modes; they are too long to be written for each",)


def test_large_models_are_written_too() -> None:
    found = state_equations(compiled(chain(20)))
    assert len(found.equations) == 40 and not found.definitions
    assert "m7.p' = c6.q/c6.capacitance - c7.q/c7.capacitance" in str(found)
    matrices = series(I("m", np.eye(9), initial=np.zeros(9)), R("r", np.eye(9)))
    assert len(state_equations(compiled(matrices)).equations) == 9


def no_symbols(f):
    if isinstance(f, sympy.Basic):
        raise TypeError("a number is required")
    return 2.0 * f


def chain(count: int) -> Graph:
    graph, before = Graph("chain"), Se("push", 1.0)
    for k in range(count):
        mass, force = J1(f"v{k}"), J0(f"f{k}")
        graph.connect(before, mass).connect(mass, I(f"m{k}", 1.0)).connect(mass, force).connect(
            force, C(f"c{k}", capacitance=1.0)
        )
        before = force
    return graph.connect(before, Sf("wall"))


def bent() -> Graph:
    graph, a, b = Graph("bent"), J1("a"), J0("b")
    graph.connect(Se("u", 1.0), a).connect(a, R("straight", 1.0)).connect(a, b)
    return graph.connect(b, R("curved", flow=lambda e: e + e**3)).connect(b, Sf("i", 0.5)).connect(a, C("c", capacitance=1.0))


def agree(model: Compiled, equations: StateEquations, seed: int, positive: bool = False) -> None:
    rng, layout = np.random.default_rng(seed), model.program.layout
    flat, (start, _) = model.parameters(), model.initial()
    for combination in itertools.product(*(range(len(mode.states)) for mode in model.system.modes.values())):
        x, m = rng.normal(size=len(start)), np.array(combination, dtype=float)
        x = np.abs(x) if positive else x
        numbers = {"time": 0.3}
        for name, values in ((n, v) for block in "xpm" for n, v in _values(model, block, x, flat, m)):
            numbers |= values_by_label(name, values)
        rates = model.program.rates(0.3, x, flat, m)
        for name, expression in equations.equations.items():
            place = layout[name.partition("[")[0]]
            offset = int(name.partition("[")[2].rstrip("]") or 0)
            symbols = {s: numbers[s.name] for s in expression.free_symbols}
            found = float(expression.subs(symbols))
            size = 1.0 + np.abs(rates).max(initial=0.0)
            assert found == pytest.approx(rates[place.start + offset], rel=1e-10, abs=1e-11 * size), name


def _values(model: Compiled, block: str, x, p, m):
    names = {"x": [s.name for s in model.system.states], "p": model.system.parameters, "m": model.system.modes}
    given = {"x": x, "p": p, "m": m}
    for name in names[block]:
        slot = model.program.layout[name]
        yield name, np.asarray(given[block][slot.start : slot.stop]).reshape(slot.shape)


def values_by_label(name: str, values) -> dict[str, float]:
    if not np.shape(values):
        return {name: float(values)}
    return {f"{name}[{', '.join(map(str, i))}]": float(values[i]) for i in np.ndindex(*values.shape)}


@pytest.mark.parametrize("draw", [random_graph, rigid_graph])
def test_random_graphs_agree_with_the_compiled_model(draw) -> None:
    seen: Counter[str] = Counter()
    for seed in range(30):
        try:
            model = compiled(draw(np.random.default_rng(seed)))
            if any(value.shape for value in model.system.values.values()):
                continue
            found = state_equations(model, numbers=seed % 2 == 1)
        except ModelError as error:
            seen[error.problems[0].code] += 1
            continue
        agree(model, found, seed)
        seen["implicit" if model.system.unknowns or model.system.loops else "explicit"] += 1
    assert seen["explicit"] > (1 if draw is random_graph else 0)
    assert seen["implicit"] > (0 if draw is random_graph else 2)


def test_random_switched_graphs_agree_in_every_combination_of_modes() -> None:
    seen: Counter[str] = Counter()
    for seed in range(20):
        try:
            model = compiled(switched_graph(np.random.default_rng(seed)))
            if any(value.shape for value in model.system.values.values()):
                continue
            found = state_equations(model, numbers=True)
        except ModelError as error:
            seen[error.problems[0].code] += 1
            continue
        agree(model, found, seed)
        seen["at once" if any(u.algebraic for u in model.system.unknowns) else "differentiated"] += 1
    assert seen["at once"] > 0 and seen["differentiated"] > 1


def test_graphs_of_the_acceptance_suite_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    class EnoughError(Exception): ...

    def stop(*_, **__):
        raise EnoughError

    models: list[Compiled] = []

    def kept(graph, **more):
        models.append(compile_model(graph, **more))
        return models[-1]

    monkeypatch.setattr(entries, "compile_model", kept)
    monkeypatch.setattr(Compiled, "simulate", stop)
    for entry in SUITE.values():
        with contextlib.suppress(EnoughError):
            entry()
    refused = 0
    for seed, model in enumerate(models):
        try:
            amounts = any(element.kind == "Ce" for element in model.model.elements.values())
            agree(model, state_equations(model, numbers=True), seed, positive=amounts)
        except ModelError as error:
            assert error.problems[0].code == "E273"
            refused += 1
    assert len(models) > 30 and refused <= 1


def test_diode_that_yields_at_once() -> None:
    graph, a, node = Graph("coil"), J1("a"), J0("node")
    graph.connect(Se("E", -24.0), a).connect(a, R("on", 1e-3)).connect(a, node)
    model = compiled(graph.connect(node, Diode("D")).connect(node, I("L", 1e-4)))
    found = state_equations(model)
    assert str(found).splitlines() == ["L.p' = E.value - L.p*on.resistance/L.inertia   (D: open)", "L.p' = 0   (D: closed)"]
    agree(model, found, 4)


def test_laws_active_in_one_mode_only() -> None:
    graph, coil, node, tie = Graph("clamp"), J1("coil"), J0("node"), J1("tie")
    graph.add_automaton(Automaton("lever", ("off", "on"), "off", ()))
    graph.connect(Se("u", 3.0), coil).connect(coil, I("L", 2.0)).connect(coil, R("r", 0.5)).connect(coil, node)
    graph.connect(node, Constraint("hold")).connect(node, tie).connect(tie, R("lead", effort=lambda f: 4.0 * f))
    model = compiled(graph.connect(tie, Switch("s", automaton="lever", closed=["on"])))
    assert {u.element for u in model.system.unknowns if u.algebraic} == {"hold", "s"}
    found = state_equations(model)
    assert "L.p' = -L.p*hold.alpha1 - L.inertia*hold.alpha0*hold.h" in str(found), "open: differentiated"
    assert "hold.h' = -hold.alpha0*hold.h/hold.alpha1" in str(found), "closed: without a derivative"
    for equations in (found, state_equations(model, numbers=True)):
        agree(model, equations, 5)


def clamps(count: int) -> Graph:
    outer = Graph("clamps")
    for k in range(count):
        graph, coil, node, tie = Graph(f"clamp{k}"), J1("coil"), J0("node"), J1("tie")
        graph.add_automaton(Automaton("lever", ("off", "on"), "off", ()))
        graph.connect(Se("u", 3.0), coil).connect(coil, I("L", 2.0)).connect(coil, R("r", 0.5)).connect(coil, node)
        graph.connect(node, Constraint("hold")).connect(node, tie).connect(tie, R("lead", effort=lambda f: 4.0 * f))
        outer.add(graph.connect(tie, Switch("s", automaton="lever", closed=["on"])))
    return outer


def test_source_with_a_value_for_each_mode() -> None:
    graph, v = Graph("supply"), J1("v")
    graph.add_automaton(Automaton("x", ("low", "high"), "low", ()))
    graph.connect(Se("u", by_mode("x", {"low": 1.0, "high": 2.0})), v).connect(v, I("m", 1.0)).connect(v, R("r", 3.0))
    model = compiled(graph)
    found = state_equations(model)
    assert found.inputs == ("u.value in low", "u.value in high")
    agree(model, found, 6)
    agree(model, state_equations(graph, numbers=True), 7)


def test_numbers_are_exact_where_they_are_short() -> None:
    assert rational(0.1) == sympy.Rational(1, 10) and rational(1 / 3) == sympy.Rational(1, 3)
    assert rational(15e-6) == sympy.Rational(15, 10**6) and rational(9.81) == sympy.Rational(981, 100)
    assert float(rational(np.pi)) == np.pi and rational(np.nan) is sympy.nan and rational(-np.inf) == -sympy.oo
    x = sympy.Symbol("x")
    assert exact(0.5 * x**2.0) == x**2 / 2


def test_numbers_are_written_as_they_were_given() -> None:
    """Quotients are written as fractions of integers, and products of decimals as decimals."""
    fall = series(Se("weight", lambda m: -9.81 * m, signals=["m.inertia"]), I("m", 0.3), R("r", 0.25))
    assert lines(fall, numbers=True) == ["m.p' = -5*m.p/6 - 2.943"]
    assert lines(fall) == ["m.p' = -m.p*r.resistance/m.inertia - 9.81*m.inertia"]
    assert lines(series(C("c", capacitance=7.0), R("r", 3.0)), numbers=True) == ["c.q' = -c.q/21"]
    assert lines(series(C("c", capacitance=0.7), R("r", 3.0)), numbers=True) == ["c.q' = -10*c.q/21"]
    root = series(C("c", output=lambda q: q**0.5, energy=lambda q: q**1.5 / 1.5), R("r", 0.5))
    assert lines(root, numbers=True) == ["c.q' = -2*sqrt(c.q)"]


def test_long_numbers_are_decimals() -> None:
    assert lines(series(C("c", capacitance=1.0), R("r", np.pi)), numbers=True) == [f"c.q' = {-1 / np.pi:.15f}*c.q"]
