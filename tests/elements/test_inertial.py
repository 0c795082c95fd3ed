"""Equations of motion of IC elements, from energies alone, agree with closed forms and an independent derivation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from bondgraph import IC, J0, J1, TF, Automaton, Block, C, Constraint, Graph, I, ModelError, R, Se, Sf, Transition, compile_model
from bondgraph.analysis import linearise
from bondgraph.export import c_source, lagrange_equations, latex, mechanical_equations, state_equations
from screws.scalars import array, cos, sin
from tests.inner.assembly import formula_key
from tests.inner.render import diagram

FORMS = ("lagrangian", "hamiltonian")
PERIOD = 2.3678419  # s, for L = 1 m, g = 9.81 m/s^2 from 90 degrees: 4 K(1/2) sqrt(L/g)


def pendulum(form: str, given: str, vector: bool = False, **more: Any) -> Any:
    def angle(q: Any) -> Any:
        return q[0] if vector else q

    energies = {
        "inertia": {"inertia": lambda q, m, L, g: m * L * L},
        "kinetic": {"kinetic": lambda q, v, m, L, g: m * L * L * angle(v) ** 2 / 2},
    }
    return IC(
        "arm",
        **energies[given],
        potential=lambda q, m, L, g: m * g * L * (1.0 - cos(angle(q))),
        form=form,
        position=[np.pi / 2] if vector else np.pi / 2,
        parameters={"m": 2.0, "L": 1.0, "g": 9.81},
        domain="rotation",
        **more,
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("given", ["inertia", "kinetic"])
@pytest.mark.parametrize("vector", [False, True])
def test_pendulum_period_and_energy(form: str, given: str, vector: bool) -> None:
    compiled = compile_model(Graph("pendulum").connect(Se("free"), pendulum(form, given, vector)))
    result = compiled.simulate(5 * PERIOD, rtol=1e-10)
    assert result["arm.q"][-1] == pytest.approx(np.pi / 2, abs=1e-6)
    assert result["arm.energy"] == pytest.approx(2.0 * 9.81, rel=1e-9)
    assert result.ledger.relative_residual < 1e-10


def double(form: str, given: str, own: str = "", **more: Any) -> Any:
    def inertia(q: Any, m: Any) -> Any:
        off = m[1] * cos(q[0] - q[1])
        return array([[m[0] + m[1], off], [off, m[1]]])

    def kinetic(q: Any, v: Any, m: Any) -> Any:
        vx, vy = cos(q[0]) * v[0] + cos(q[1]) * v[1], sin(q[0]) * v[0] + sin(q[1]) * v[1]
        return (m[0] * v[0] ** 2 + m[1] * (vx * vx + vy * vy)) / 2

    def coriolis(q: Any, v: Any, m: Any) -> Any:
        s = m[1] * sin(q[0] - q[1])
        return array([s * v[1] ** 2, -s * v[0] ** 2])

    def acceleration(q: Any, v: Any, e: Any, m: Any) -> Any:
        s, c = sin(q[0] - q[1]), cos(q[0] - q[1])
        a = e[0] - m[1] * s * v[1] ** 2 - (m[0] + m[1]) * 9.81 * sin(q[0])
        b = e[1] + m[1] * s * v[0] ** 2 - m[1] * 9.81 * sin(q[1])
        over = 1.0 / (m[1] * (m[0] + m[1] * s * s))
        return array([(m[1] * a - m[1] * c * b) * over, ((m[0] + m[1]) * b - m[1] * c * a) * over])

    return IC(
        "arms",
        **({"inertia": inertia} if given == "inertia" else {"kinetic": kinetic}),
        potential=lambda q, m: -9.81 * ((m[0] + m[1]) * cos(q[0]) + m[1] * cos(q[1])),
        bias=coriolis if own == "bias" else None,
        acceleration=acceleration if own == "acceleration" else None,
        form=form,
        position=[1.2, -0.4],
        velocity=[0.5, 2.0],
        parameters={"m": [1.3, 0.8]},
        **more,
    )


def textbook(q: np.ndarray, v: np.ndarray, torque: np.ndarray) -> np.ndarray:
    """Return the accelerations of the double pendulum, derived by hand from Newton's equations with rod lengths of 1 m."""
    m1, m2, g, d = 1.3, 0.8, 9.81, q[0] - q[1]
    a = torque[0] - m2 * np.sin(d) * v[1] ** 2 - (m1 + m2) * g * np.sin(q[0])
    b = torque[1] + m2 * np.sin(d) * v[0] ** 2 - m2 * g * np.sin(q[1])
    determinant = m2 * (m1 + m2 * np.sin(d) ** 2)
    return np.array([m2 * a - m2 * np.cos(d) * b, (m1 + m2) * b - m2 * np.cos(d) * a]) / determinant


@pytest.mark.parametrize(
    ("form", "given", "own"),
    [
        *((form, given, "") for form in FORMS for given in ("inertia", "kinetic")),
        ("lagrangian", "inertia", "bias"),
        ("lagrangian", "inertia", "acceleration"),
        ("lagrangian", "kinetic", "acceleration"),
    ],
)
@pytest.mark.parametrize("reverse", [False, True])
def test_double_pendulum_against_newton(form: str, given: str, own: str, reverse: bool) -> None:
    torque, joint = np.array([0.7, -1.1]), J1("joint", dimension=2)
    graph, arms = Graph("double"), double(form, given, own)
    graph.connect(Se("motors", torque), joint)
    graph.connect(arms, joint) if reverse else graph.connect(joint, arms)
    compiled = compile_model(graph, backend="numpy")
    q, v = np.array([1.2, -0.4]), np.array([0.5, 2.0])
    expected = textbook(q, v, torque)  # a reversed arrow changes none of these
    values = compiled.evaluate()
    assert values[compiled.system.resolve("arms.flow")] == pytest.approx(v, rel=1e-14)
    step = 1e-6
    x, m = compiled.initial()
    dx = compiled.program.rates(0.0, x, compiled.parameters(), m)
    if form == "lagrangian":
        found = dx[2:]
    else:  # v along the motion, by differences
        there = [compiled.evaluate(x=x + s * dx)[compiled.system.resolve("arms.v")] for s in (-step, step)]
        found = (np.asarray(there[1]) - np.asarray(there[0])) / (2 * step)
    assert dx[:2] == pytest.approx(v, rel=1e-14)
    assert found == pytest.approx(expected, rel=1e-12 if form == "lagrangian" else 1e-7)


@pytest.mark.parametrize("form", FORMS)
def test_double_pendulum_conserves_and_absorbs_energy(form: str) -> None:
    joint = J1("joint", dimension=2)
    graph = Graph("double").connect(joint, double(form, "kinetic")).connect(joint, R("bearings", resistance=[0.1, 0.2]))
    graph.connect(Se("motors", effort=lambda t: array([sin(t), cos(2 * t)]), signals=["time"]), joint)
    ledger = compile_model(graph).simulate(6.0, rtol=1e-10).ledger
    assert ledger.relative_residual < 1e-9
    assert abs(ledger.supplied[-1]) > 0.1
    assert ledger.dissipated[-1] > 0.1


@pytest.mark.parametrize("form", FORMS)
def test_a_rigidly_coupled_inertia_follows_and_a_constraint_stops(form: str) -> None:
    shaft = J1("shaft")
    graph = Graph("loaded").connect(shaft, pendulum(form, "kinetic")).connect(shaft, I("rotor", 3.0))
    compiled = compile_model(graph)
    assert compiled.causality.derivative == ("rotor",)
    result = compiled.simulate(2.0, rtol=1e-10)
    assert result.ledger.relative_residual < 1e-9
    v = result["arm.v"]
    assert (2.0 + 3.0) * v**2 / 2 == pytest.approx(2.0 * 9.81 * np.cos(result["arm.q"]), rel=1e-7, abs=1e-6)

    shaft = J1("shaft")
    held = compile_model(Graph("held").connect(shaft, pendulum(form, "inertia")).connect(Constraint("hand"), shaft))
    assert held.evaluate()[held.system.resolve("hand.effort")] == pytest.approx(2.0 * 9.81, rel=1e-12)


def test_text_picture_and_linearisation_of_an_ic() -> None:
    compiled = compile_model(Graph("pendulum").connect(Se("torque", 0.0), pendulum("lagrangian", "kinetic")))
    written = state_equations(compiled)
    assert str(written).splitlines()[1].startswith("arm.v' = torque.value/(arm.L**2*arm.m) - arm.g*sin(arm.q)/arm.L")
    assert r"M(" in latex(compiled)
    assert ">IC<" in diagram(compiled.model).svg
    assert "ARM_V" in c_source(compiled).header
    np.testing.assert_allclose(linearise(compiled, initial=np.zeros(2)).A, [[0.0, 1.0], [-9.81, 0.0]], rtol=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_a_source_moves_an_ic(form: str) -> None:
    """A pendulum driven at the speed t^2 turns by t^3 / 3 from pi / 2, and needs the torque 2 m L^2 t + m g L sin(q)."""
    joint = J1("joint")
    graph = Graph("driven").connect(Sf("motor", lambda t: t * t, signals=["time"]), joint)
    compiled = compile_model(graph.connect(joint, pendulum(form, "kinetic")))
    assert compiled.causality.derivative == ("arm",)
    result = compiled.simulate(2.0, rtol=1e-10)
    np.testing.assert_allclose(result["arm.q"], np.pi / 2 + result.t**3 / 3, rtol=1e-10)
    wanted = 2.0 * 2.0 * result.t + 2.0 * 9.81 * np.sin(result["arm.q"])
    np.testing.assert_allclose(result["arm.effort"], wanted, rtol=1e-8, atol=1e-8)
    assert result.ledger.relative_residual < 1e-9


@pytest.mark.parametrize("form", FORMS)
def test_two_mechanisms_of_one_lever_move_as_their_common_lagrangian(form: str) -> None:
    """With v_b = 2 v_a, SciPy integrates the motion with T = (m_a + 4 m_b) v^2 / 2 and q_b - 0.1 = 2 (q_a - 0.3)."""

    def mass(q: Any) -> Any:
        return 1.0 + 0.3 * cos(q), 2.0 + 0.5 * sin(0.1 + 2.0 * (q - 0.3))

    a, b, lever = J1("a side"), J1("b side"), TF("lever", 2.0)
    one = IC("a", inertia=lambda q: 1.0 + 0.3 * cos(q), potential=lambda q: 1.5 * q * q, position=0.3, velocity=0.7, form=form)
    other = IC("b", inertia=lambda q: 2.0 + 0.5 * sin(q), potential=lambda q: 9.81 * cos(q), position=0.1, form=form)
    graph = Graph("pair").connect(a, one).connect(a, lever.port("1")).connect(lever.port("2"), b)
    compiled = compile_model(graph.connect(b, other).connect(b, R("drag", 0.2)))
    assert compiled.causality.derivative == ("b",)

    def rates(t: float, y: np.ndarray) -> list[float]:
        q, v = y
        (ma, mb), slope = mass(q), -0.3 * np.sin(q) + 8.0 * 0.5 * np.cos(0.1 + 2.0 * (q - 0.3))
        force = -3.0 * q + 2.0 * 9.81 * np.sin(0.1 + 2.0 * (q - 0.3)) - 4.0 * 0.2 * v
        return [v, (force - slope * v * v / 2) / (ma + 4.0 * mb)]

    wanted = solve_ivp(rates, (0.0, 5.0), [0.3, 0.7], rtol=1e-11, atol=1e-12).y[:, -1]
    result = compiled.simulate(5.0, rtol=1e-10)
    assert [result["a.q"][-1], result["a.v"][-1]] == pytest.approx(wanted, rel=1e-8)
    assert result.ledger.relative_residual < 1e-9


def test_a_dependent_ic_uses_the_given_bias() -> None:
    """The force (-v2, v1), normal to the motion, does no work and is not in the energies; at v = (3, 7) the force is (-7, 3)."""
    arm = IC("arm", inertia=lambda q: 1.0, bias=lambda q, v: array([-v[1], v[0]]), position=[0.0, 0.0])
    env = compile_model(Graph("moved").connect(Sf("hand", [3.0, 7.0]), arm)).evaluate()
    np.testing.assert_allclose(env["arm.effort"], [-7.0, 3.0], rtol=1e-14)
    other = IC(
        "arm", kinetic=lambda q, v: v @ v, acceleration=lambda q, v, e: (e - array([-v[1], v[0]])) / 2, position=[0.0, 0.0]
    )
    env = compile_model(Graph("moved").connect(Sf("hand", [3.0, 7.0]), other)).evaluate()
    np.testing.assert_allclose(env["arm.effort"], [-7.0, 3.0], rtol=1e-14)


@pytest.mark.parametrize("own", ["bias", "acceleration"])
def test_mechanical_equations_use_the_given_coriolis_forces(own: str) -> None:
    """C(q, v) v equals the user's h; Lagrange's equations are refused, because they use only the energies."""
    graph = Graph("double").connect(Se("motors", [0.0, 0.0]), double("lagrangian", "inertia", own))
    found = mechanical_equations(graph)
    at = dict(zip([*found.q, *found.v, "arms.m[0]", "arms.m[1]"], [1.2, -0.4, 0.5, 2.0, 1.3, 0.8], strict=True))
    numbers = {symbol: at[symbol.name] for symbol in found.C.free_symbols}
    h = np.array(found.C.subs(numbers), dtype=float) @ [0.5, 2.0]
    assert h == pytest.approx(0.8 * np.sin(1.6) * np.array([2.0**2, -(0.5**2)]), rel=1e-12)
    with pytest.raises(ModelError, match="E278"):
        lagrange_equations(graph)


@pytest.mark.parametrize("form", FORMS)
def test_a_start_velocity_that_does_not_follow_is_refused(form: str) -> None:
    joint = J1("joint")
    graph = Graph("driven").connect(Sf("motor", 1.0), joint).connect(joint, pendulum(form, "inertia", velocity=2.0))
    with pytest.raises(ModelError, match="E213") as refused:
        compile_model(graph)
    assert "its flow is set by" in str(refused.value)
    assert compile_model(
        Graph("driven").connect(Sf("motor", 2.0), J := J1("joint")).connect(J, pendulum(form, "inertia", velocity=2.0))
    )


def test_refusals() -> None:
    with pytest.raises(ModelError, match="E110"):
        IC("arm", inertia=lambda q: 1.0, kinetic=lambda q, v: v * v)
    with pytest.raises(ModelError, match=r'E110 IC "arm" in Hamiltonian form cannot use bias[\s\S]*try: form="lagrangian"'):
        IC("arm", inertia=lambda q: 1.0, bias=lambda q, v: 0.0, form="hamiltonian")
    with pytest.raises(ModelError, match="E110"):
        IC("arm", inertia=lambda q: 1.0, acceleration=lambda q, v, e: e, form="hamiltonian")
    with pytest.raises(ModelError, match=r"E110 .* cannot use both bias and acceleration"):
        IC("arm", inertia=lambda q: 1.0, acceleration=lambda q, v, e: e, bias=lambda q, v: 0.0)
    with pytest.raises(ModelError, match="depends on signals"):
        IC("arm", inertia=lambda q, s: s, form="hamiltonian", velocity=1.0, signals=["s.y"])
    with pytest.raises(ModelError, match="inertia has shape"):
        compile_model(Graph("g").connect(Se("e"), IC("arm", inertia=lambda q: np.eye(3), position=[0.0, 1.0])))
    with pytest.raises(ModelError, match="E128"):
        compile_model(Graph("g").connect(Se("e"), IC("arm", inertia=lambda q: 1.0, position=[0.0, 1.0], velocity=[1, 2, 3])))


def test_a_gradient_is_partial_where_a_signal_depends_on_the_state() -> None:
    """With V = s q^2 / 2 and the signal s = q, the effort is s q = q^2, not the total derivative 3 q^2 / 2."""
    graph, v = Graph("spring"), J1("v")
    graph.connect(v, C("spring", energy=lambda q, s: s * q**2 / 2, signals=["gauge.y"], initial=0.5))
    graph.connect(v, I("mass", 1.0))
    graph.add(Block("gauge", [("y", lambda q: q, ["q"])], inputs={"q": "spring.q"}))
    compiled = compile_model(graph)
    x, m = compiled.initial()
    assert compiled.program.rates(0.0, x, compiled.parameters(), m)[1] == pytest.approx(-0.25, rel=1e-14)


def test_two_mechanisms_coupled_by_a_constraint_move_as_one() -> None:
    """Two pendulums of different periods, coupled by a constraint at a 0-junction, move like one pendulum with the sums of
    inertia and weight."""

    def arm(name: str, m: float, weight: float) -> Any:
        numbers = {"m": m, "w": weight}
        return IC(name, inertia=lambda q, m, w: m, potential=lambda q, m, w: -w * cos(q), position=1.0, parameters=numbers)

    tie, one, two = J0("tie"), J1("one"), J1("two")
    graph = Graph("pair").connect(one, arm("a", 1.0, 9.0)).connect(two, arm("b", 2.0, 3.0))
    graph.connect(one, tie).connect(tie, turn := TF("equal", 1.0)).connect(turn, two)
    graph.connect(tie, Constraint("teeth"))
    result = compile_model(graph).simulate(3.0, rtol=1e-10)
    assert result["a.q"] == pytest.approx(result["b.q"], abs=1e-8)
    whole = Graph("one").connect(shared := J1("shaft"), arm("both", 3.0, 12.0)).connect(Se("free", 0.0), shared)
    assert result["a.q"] == pytest.approx(compile_model(whole).simulate(3.0, rtol=1e-10)["both.q"], abs=1e-7)
    assert result.ledger.relative_residual < 1e-9


@pytest.mark.parametrize("form", FORMS)
def test_a_pendulum_bounces_off_a_stop(form: str) -> None:
    """After an impact with restitution 0.8 at the lowest point, the pendulum keeps 0.64 of its energy and swings back."""
    hit = Transition("free", "free", lambda q: -q, ("arm.q",), impact=("stop",))
    joint, stop = J1("joint"), Constraint("stop", automaton="contact", active=["on"], restitution=0.8)
    graph = Graph("bell").add_automaton(Automaton("contact", ("free", "on"), "free", (hit,)))
    result = compile_model(graph.connect(joint, pendulum(form, "inertia")).connect(stop, joint)).simulate(1.0, rtol=1e-9)
    (event,) = result.events
    assert event.time == pytest.approx(PERIOD / 4.0, rel=1e-6)
    assert event.lost == pytest.approx(0.36 * 2.0 * 9.81, rel=1e-8)
    assert result["arm.v"][-1] > 0.0


@pytest.mark.parametrize("form", FORMS)
def test_a_dependent_mechanism_takes_part_in_an_impulse(form: str) -> None:
    """Two mechanisms on one lever are hooked to a mass; M v_a + 2 m v_m is conserved, and v_m = 2 v_a afterwards."""
    hook = Transition("off", "on", lambda t: t - 0.3, "time")
    graph = Graph("hit").add_automaton(Automaton("gate", ("off", "on"), "off", hook))
    a, b, mass, gap, lever = J1("a side"), J1("b side"), J1("mass"), J0("gap"), TF("lever", 2.0)
    one = IC("a", inertia=lambda q: 1.0 + q * q / 2, potential=cos, position=0.3, velocity=0.7, form=form)
    other = IC("b", inertia=lambda q: 0.7 + 0.3 * q * q, potential=cos, position=0.1, form=form)
    graph.connect(a, one).connect(a, lever.port("1")).connect(lever.port("2"), b).connect(b, other)
    graph.connect(mass, I("m", 2.0, initial=-1.0)).connect(b, gap).connect(gap, mass)
    graph.connect(gap, Constraint("hook", automaton="gate", active=["on"], holds="velocity"))
    result = compile_model(graph).simulate(1.0, rtol=1e-10)
    va, qa, qb, p = (result.at_events(name) for name in ("a.v", "a.q", "b.q", "m.p"))
    inertia = 1.0 + qa[0] ** 2 / 2 + 4.0 * (0.7 + 0.3 * qb[0] ** 2)
    np.testing.assert_allclose(inertia * (va[1] - va[0]) + 2.0 * (p[1] - p[0]), 0.0, atol=1e-12)
    np.testing.assert_allclose(p[1] / 2.0, 2.0 * va[1], rtol=1e-12)
    assert result.ledger.relative_residual < 1e-9


def test_many_alike_share_one_kernel() -> None:
    arms = [pendulum("hamiltonian", "kinetic") for _ in range(2)]
    first, second = (arm.law for arm in arms)
    for name in ("flow", "rate", "energy"):
        assert formula_key(getattr(first, name)) == formula_key(getattr(second, name))
