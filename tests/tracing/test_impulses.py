"""Impulses of closing constraints and collisions agree with a projection of momenta.

Of all motions that satisfy the constraints, the motion after a plastic impact is closest in kinetic energy to the motion
before it: v+ = v - (1 + e) M^-1 J^T (J M^-1 J^T)^-1 J v (Moreau 1988 for e = 0). Charges are shared by the same rule.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from screwbond.models.bodies import rigid_body

from bondgraph import (
    J0,
    J1,
    TF,
    Automaton,
    Block,
    C,
    Constraint,
    Diode,
    Graph,
    I,
    ModelError,
    R,
    Se,
    StateSpec,
    Switch,
    Transition,
    by_mode,
    compile_model,
    simulate,
)
from screws.inertia import spatial_inertia
from screws.poses import Ad, pose_from_state
from screws.scalars import exp, log, sqrt
from tests.inner.emit import numpy_kernel
from tests.inner.run import Result
from tests.inner.tape import Routine, Tape
from tests.inner.tracing import modewise, solve_pivoted

AT = 0.3


def gate(name: str = "gate", **impact) -> Automaton:
    edge = Transition("off", "on", lambda t: t - AT, ("time",), kind="closes", **impact)
    return Automaton(name, ("off", "on"), "off", (edge,))


class Masses:
    def __init__(self, rng: np.random.Generator, **constraint):
        self.n = int(rng.choice([1, 3]))
        count = int(rng.integers(2, 6))
        rows = int(rng.integers(1, count))
        self.J = rng.normal(size=(rows, count)) * np.where(rng.random(size=(rows, count)) < 0.7, 1.0, 0.0)
        self.J[:, :rows] += 2.0 * np.eye(rows)
        assert np.linalg.matrix_rank(self.J) == rows
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
        for held, row in enumerate(self.J):
            total = J0(f"sum{held}", dimension=self.n)
            for k, factor in enumerate(row):
                if factor:
                    arm = TF(f"arm{held}{k}", factor)
                    self.graph.connect(nodes[k], arm).connect(arm, total)
            self.graph.connect(total, Constraint(f"k{held}", dimension=self.n, **constraint))

    def after(self, restitution: float = 0.0) -> np.ndarray:
        inverse = np.diag(1.0 / self.M)
        gain = inverse @ self.J.T @ np.linalg.inv(self.J @ inverse @ self.J.T)
        return self.v - (1.0 + restitution) * gain @ (self.J @ self.v)

    def found(self, result: Result, at: int = -1) -> np.ndarray:
        return np.array([np.atleast_1d(result[f"{name}.flow"][at]) for name in self.names])

    def energy(self, v: np.ndarray) -> float:
        return float(0.5 * np.sum(self.M[:, None] * v**2))


@pytest.mark.parametrize("seed", range(6))
def test_constraints_that_begin_to_hold_project_the_momenta(seed: int) -> None:
    masses = Masses(np.random.default_rng(seed), automaton="gate", active=["on"], holds="velocity")
    masses.graph.add_automaton(gate())
    result = compile_model(masses.graph).simulate(0.5, progress=False, rtol=1e-10, atol=1e-12)
    assert result.ok, result.failure
    v = masses.after()
    np.testing.assert_allclose(masses.found(result), v, atol=1e-9)
    for name, (k, factor) in masses.dependents.items():
        np.testing.assert_allclose(result[f"{name}.p"][-1], factor * (v[k] if masses.n > 1 else v[k][0]), atol=1e-9)
    assert result.events[0].lost == pytest.approx(masses.energy(masses.v) - masses.energy(v), abs=1e-10)
    assert abs(result.ledger.residual[-1]) < 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_impacts_turn_the_flows_of_constraints_round(seed: int) -> None:
    e = (0.0, 0.4, 1.0)[seed % 3]
    rng = np.random.default_rng(100 + seed)
    masses = Masses(rng, automaton="gate", active=["held"], restitution=e, holds="velocity")
    edge = Transition("off", "on", lambda t: t - AT, ("time",), kind="hit", impact=tuple(f"k{i}" for i in range(len(masses.J))))
    masses.graph.add_automaton(Automaton("gate", ("off", "on", "held"), "off", (edge,)))
    result = compile_model(masses.graph).simulate(0.5, progress=False)
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
    result = compile_model(masses.graph).simulate(AT + 0.2, progress=False, samples=[0.0, AT, AT + 0.2], rtol=1e-9)
    assert result.events[0].lost == 0.0
    np.testing.assert_array_equal(result.events[0].x_before, result.events[0].x_after)
    left = masses.J @ masses.found(result)
    np.testing.assert_allclose(left, masses.J @ masses.v * np.exp(-10.0 * 0.2), atol=1e-7)
    gone = masses.v - masses.found(result)  # along the direction that an impulse would have taken
    np.testing.assert_allclose(gone, (masses.v - masses.after()) * (1.0 - np.exp(-2.0)), atol=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_switches_share_out_charge(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 6))
    graph, capacitance, charge = (Graph("charges").add_automaton(gate()), rng.uniform(0.5, 2.0, count), rng.normal(size=count))
    nodes, scale = [], np.ones(count)
    for k in range(count):
        node = J0(f"n{k}")
        store = C(f"c{k}", capacitance=capacitance[k], initial=charge[k])
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
    result = compile_model(graph).simulate(0.5, progress=False)
    assert result.ok, result.failure
    # behind f2 = n f1, a node sees the charge q/n on the capacitance C/n^2
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


@pytest.mark.parametrize("turned", [False, True])
def test_flywheels_that_are_joined_and_parted_conserve_momentum(turned: bool) -> None:
    """E154 advises a J0 with a switch that is closed while the inertias are apart."""
    edges = (Transition("off", "on", lambda t: t - 0.2, ("time",)), Transition("on", "out", lambda t: t - 0.5, ("time",)))
    graph = Graph("clutch").add_automaton(Automaton("gate", ("off", "on", "out"), "off", edges))
    shaft, second, slip = J1("shaft"), J1("second"), J0("slip")
    parts = [(shaft, I("a", 1.0, initial=10.0)), (second, I("b", 3.0)), (shaft, slip), (slip, second)]
    for tail, head in reversed(parts) if turned else parts:
        graph.connect(tail, head)
    graph.connect(slip, Switch("parted", automaton="gate", closed=["off", "out"]))
    result = simulate(graph, 1.0, progress=False, samples=[0.0, 0.1, 0.3, 0.4, 0.8])
    assert result.ok, result.failure
    np.testing.assert_allclose(result["a.p"], [10.0, 10.0, 2.5, 2.5, 2.5], atol=1e-12)
    np.testing.assert_allclose(result["b.p"], [0.0, 0.0, 7.5, 7.5, 7.5], atol=1e-12)
    assert [e.lost for e in result.events] == pytest.approx([50.0 - 12.5, 0.0], abs=1e-12)
    assert abs(result.ledger.residual[-1]) < 1e-12


def _speed(p, mass):
    return p / sqrt(mass * mass + p * p)


def relativistic(name: str, mass: float, p: float) -> I:
    """Return a relativistic mass with speed of light 1, for which Newton's method overshoots."""
    return I(
        name,
        initial=p,
        output=_speed,
        energy=lambda p, mass: sqrt(mass * mass + p * p) - mass,
        inverse=lambda v, mass: mass * v / sqrt(1.0 - v * v),
        parameters={"mass": mass},
    )


@pytest.mark.parametrize("p", [(0.3, -0.1), (5.0, 0.0), (30.0, -4.0), (-8.0, 20.0)])
@pytest.mark.parametrize("coupled", [False, True])
def test_curved_storages_collide_exactly(p: tuple[float, float], coupled: bool) -> None:
    """Relativistic masses that stick together have equal speeds, and their total momentum is conserved."""
    graph, a, b, gap = Graph("collision").add_automaton(gate()), J1("a"), J1("b"), J0("gap")
    graph.connect(a, relativistic("m1", 1.0, p[0])).connect(b, relativistic("m2", 2.0, p[1]))
    start = 0.0
    if coupled:
        v = float(_speed(p[1], 2.0))
        start = 0.5 * v / np.sqrt(1 - v * v)
        graph.connect(b, relativistic("m3", 0.5, 0.0))
    graph.connect(a, gap).connect(gap, b).connect(gap, Constraint("hook", automaton="gate", active=["on"], holds="velocity"))
    result = compile_model(graph).simulate(0.5, progress=False)
    assert result.ok, result.failure

    def total(v: float) -> float:
        return (1.0 + 2.0 + 0.5 * coupled) * v / np.sqrt(1.0 - v * v) - (p[0] + p[1] + start)

    v = brentq(total, -1.0 + 1e-15, 1.0 - 1e-15, xtol=1e-15)
    names = ["m1", "m2", *(["m3"] if coupled else [])]
    np.testing.assert_allclose([result[f"{name}.flow"][-1] for name in names], v, rtol=1e-8)
    assert sum(result[f"{name}.p"][-1] for name in names) == pytest.approx(p[0] + p[1] + start, rel=1e-9)
    assert result.events[0].lost > 0.0
    assert abs(result.ledger.residual[-1]) < 1e-8


def test_a_curved_capacitor_shares_its_charge_exactly() -> None:
    """With the energy cosh q, a single linear step would miss the solution."""
    law = {
        "output": lambda q: (exp(q) - exp(-q)) / 2,
        "energy": lambda q: (exp(q) + exp(-q)) / 2 - 1.0,
        "inverse": lambda e: log(e + sqrt(e * e + 1.0)),
    }
    graph, a, b, line = Graph("cosh").add_automaton(gate()), J0("a"), J0("b"), J1("line")
    graph.connect(a, C("bent", initial=3.0, **law)).connect(b, C("straight", capacitance=2.0, initial=-0.5))
    graph.connect(a, line).connect(line, b).connect(line, Switch("s", automaton="gate", closed=["on"]))
    result = compile_model(graph).simulate(0.5, progress=False)
    q = brentq(lambda q: np.sinh(q) - (2.5 - q) / 2.0, 0.0, 3.0, xtol=1e-15)
    assert result["bent.q"][-1] == pytest.approx(q, abs=1e-9)
    assert result["bent.q"][-1] + result["straight.q"][-1] == pytest.approx(2.5, abs=1e-12)
    assert result.events[0].lost == pytest.approx(np.cosh(3.0) - np.cosh(q) + (0.25 - (2.5 - q) ** 2) / 4.0, abs=1e-8)


@pytest.mark.parametrize("ratio", [1.5, 4.0, 20.0, -3.0])
def test_a_capacitor_without_an_inverse_follows_through_an_impulse(ratio: float) -> None:
    def run(**more) -> Result:
        edge = Transition("low", "high", lambda t: t - 0.5, "time")
        graph, a, b = Graph("gear").add_automaton(Automaton("gear", ("low", "high"), "low", edge)), J0("a"), J0("b")
        lever = TF("lever", by_mode("gear", {"low": 1.0, "high": ratio}))
        bent = C("bent", output=lambda q: (exp(q) - exp(-q)) / 2, energy=lambda q: (exp(q) + exp(-q)) / 2 - 1.0, **more)
        graph.connect(a, C("straight", capacitance=1.0, initial=2.0)).connect(a, R("leak", 1.0)).connect(a, lever.port("1"))
        compiled = compile_model(graph.connect(lever.port("2"), b).connect(b, bent))
        assert compiled.causality.derivative == ("bent",)
        return compiled.simulate(1.0, rtol=1e-9, samples=[0.0, 0.4, 0.6, 1.0], progress=False)

    wanted, found = run(inverse=lambda e: log(e + sqrt(e * e + 1.0))), run()
    for name in ("straight.q", "bent.q"):
        np.testing.assert_allclose(found[name], wanted[name], rtol=1e-10)
    assert found.events[0].lost == pytest.approx(wanted.events[0].lost, rel=1e-9)
    assert found.ledger.relative_residual < 1e-9


def docking(holds: str = "velocity") -> Graph:
    graph = Graph("docking").add_automaton(gate())
    chaser = rigid_body(
        "chaser",
        mass=2.0,
        inertia=[0.3, 0.5, 0.4],
        position=[-1.0, 0.2, 0.1],
        quaternion=[0.8, 0.0, 0.6, 0.0],
        velocity=[0.5, 0.1, -0.2],
        angular_velocity=[0.4, -0.3, 0.8],
        centre_of_mass=[0.1, 0.0, -0.05],
    )
    target = rigid_body(
        "target",
        mass=5.0,
        inertia=[1.0, 2.0, 1.5],
        position=[0.5, -0.3, 0.0],
        velocity=[-0.1, 0.0, 0.05],
        angular_velocity=[-0.2, 0.5, 0.1],
    )
    relative = J0("relative", dimension=6, domain="screw", frame="0")
    latch = Constraint("latch", automaton="gate", active=["on"], dimension=6, holds=holds, domain="screw", frame="0")
    graph.connect(chaser.world, relative).connect(relative, target.world).connect(relative, latch)
    return graph


def test_docking_conserves_momentum_about_the_origin_of_the_world() -> None:
    result = compile_model(docking()).simulate(2.0, progress=False, rtol=1e-10, atol=1e-12)
    assert result.ok, result.failure
    names = ("chaser", "target")

    def wrench_like(k: int, name: str) -> np.ndarray:
        H_0_b = np.asarray(pose_from_state(result[f"{name}.pose"][k]), dtype=float)
        return np.linalg.inv(np.asarray(Ad(H_0_b), dtype=float)).T @ result[f"{name}.inertia.p"][k]

    totals = np.array([sum(wrench_like(k, name) for name in names) for k in range(0, len(result.t), 7)])
    np.testing.assert_allclose(totals, np.broadcast_to(totals[0], totals.shape), atol=1e-7)
    event = result.events[0]
    assert event.lost > 0.01 and event.time == pytest.approx(AT)
    # the pair moves as one body, with the twist of its momenta about the origin
    inertia = np.zeros((6, 6))
    k = int(np.searchsorted(result.t, AT)) + 1
    twists = []
    for name in names:
        H_0_b = np.asarray(pose_from_state(result[f"{name}.pose"][k]), dtype=float)
        back = np.linalg.inv(np.asarray(Ad(H_0_b), dtype=float))
        M_b = inertia_of(name)
        inertia += back.T @ M_b @ back
        twists.append(np.asarray(Ad(H_0_b), dtype=float) @ result[f"{name}.twist"][k])
    T_0_0_pair = np.linalg.solve(inertia, totals[0])
    np.testing.assert_allclose(twists, [T_0_0_pair, T_0_0_pair], atol=1e-6)
    assert abs(result.ledger.residual[-1]) < 1e-7


def inertia_of(name: str) -> np.ndarray:
    if name == "chaser":
        return np.asarray(spatial_inertia(2.0, np.diag([0.3, 0.5, 0.4]), np.array([0.1, 0.0, -0.05])), dtype=float)
    return np.asarray(spatial_inertia(5.0, np.diag([1.0, 2.0, 1.5]), np.zeros(3)), dtype=float)


def boost(diode: str, current: float, voltage: float) -> Graph:
    """Return a boost converter of 12 V and 50 kHz with duty cycle one half, whose diode is independent of the transistor."""
    edges = (
        Transition("off", "on", lambda s: s - 1.0, ("clock.s",), resets=(("clock.s", lambda: 0.0, ()),)),
        Transition("on", "off", lambda s: s - 0.5, ("clock.s",)),
    )
    graph = Graph("boost").add_automaton(Automaton("gate", ("off", "on"), "on", edges))
    graph.add(Block("clock", [("r", lambda: 5e4, [])], states={"s": StateSpec(0.0)}, rates={"s": "r"}))
    coil, node, series, out = J1("coil"), J0("node"), J1("series"), J0("out")
    graph.connect(Se("u", 12.0), coil).connect(coil, I("L", 1e-4, initial=1e-4 * current)).connect(coil, node)
    graph.connect(node, Switch("transistor", automaton="gate", closed=["on"]))
    graph.connect(node, series).connect(series, Diode("diode", initial=diode)).connect(series, out)
    graph.connect(out, C("C", capacitance=1e-4, initial=1e-4 * voltage)).connect(out, R("load", 10.0))
    return graph


@pytest.mark.parametrize("cases", [16, 1])
def test_a_diode_answers_the_impulse_of_a_switch(cases: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The transistor interrupts the coil's current, so the diode closes; with one case, pivots are chosen at run time."""
    monkeypatch.setattr(modewise, "MAX_CASES", cases)
    compiled = compile_model(boost("open", 4.196961, 24.109746))
    result = compiled.simulate(50 * 2e-5 - 1e-9, progress=False, rtol=1e-10, atol=1e-13)
    assert result.ok, result.failure
    assert [e.lost for e in result.events] == pytest.approx([0.0] * len(result.events), abs=1e-12)
    # at t = 0 and multiples of 20 us the transistor closes: the current is smallest, the voltage largest
    assert result["L.flow"][-1] == pytest.approx(4.196961, abs=1e-3)
    assert result["C.effort"][-1] == pytest.approx(24.109746, abs=1e-3)
    assert abs(result.ledger.residual[-1]) < 1e-12


@pytest.mark.parametrize("order", [range(5), (4, 2, 0, 3, 1)])
@pytest.mark.parametrize("clamped", [False, True])
@pytest.mark.parametrize("shunt", [None, 0.76])
def test_a_capacitor_is_not_shorted_through_a_diode_that_conducts(shunt: float | None, clamped: bool, order) -> None:
    """The impulse would reverse the diode's current, so the diode opens, and the source charges the capacitor until a diode
    conducts at 0 V."""
    inside, capacitance, start = 0.05, 0.2, -0.6
    graph, a, b = Graph("shorted"), J0("a"), J0("b")
    late = Transition("open", "closed", lambda t: t - 0.1, "time")
    graph.add_automaton(Automaton("A", ("open", "closed"), "open", late))
    parts = [
        (a, b, [R("inside", inside), Se("V", 1.0)]),
        (b, a, [Diode("D")]),
        (None, b, [Switch("S", automaton="A", closed="closed")]),
        (None, a, [C("C", capacitance=capacitance, initial=capacitance * start)]),
        (b, a, [R("shunt", shunt)] if shunt else []),
    ]
    for k in order:
        tail, head, elements = parts[k]
        arm = J1(f"arm{k}")
        if elements:
            graph.connect(arm, head)
            for part in elements:
                graph.connect(*((part, arm) if part.kind == "Se" else (arm, part)))
            if tail is not None:
                graph.connect(tail, arm)
    if clamped:
        arm = J1("clamp")
        graph.connect(arm, a).connect(arm, Diode("clamp diode"))
    run = graph.simulate(0.2, samples=0.001, rtol=1e-9, progress=False)
    assert run.ok, run.failure
    resistance, drive = (inside, 1.0) if shunt is None else (inside * shunt / (inside + shunt), shunt / (inside + shunt))
    free = drive + (start - drive) * np.exp(-(run.t - 0.1) / (resistance * capacitance))
    expected = np.where(run.t <= 0.1, start, np.minimum(free, 0.0))
    inner = np.abs(run.t - 0.1) > 1e-9
    np.testing.assert_allclose(run["C.effort"][inner], expected[inner], rtol=0.0, atol=1e-7)
    np.testing.assert_allclose(run["S.effort"][run.t > 0.1 + 1e-9], 0.0, rtol=0.0, atol=1e-12)


def test_pivots_are_found_wherever_they_are() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 5, 8):
        tape = Tape()
        a = tape.inputs("a", n * n)
        b = tape.inputs("b", n)
        w = solve_pivoted({(i, j): a[n * i + j] for i in range(n) for j in range(n) if (i + j) % 3 or n < 3}, list(b))
        routine = Routine("solve", tape, (("a", n * n), ("b", n)), tuple(w))
        for _ in range(20):
            A = np.array([[1.0 if (i + j) % 3 or n < 3 else 0.0 for j in range(n)] for i in range(n)])
            A *= rng.normal(size=(n, n)) * 10.0 ** rng.integers(-6, 6, size=(n, 1)) * (rng.random((n, n)) < 0.8)
            if np.linalg.matrix_rank(A / (np.abs(A).max(axis=1, keepdims=True) + 1e-300)) < n:
                continue
            right = rng.normal(size=n)
            found = numpy_kernel(routine)(A.ravel(), right)
            np.testing.assert_allclose(
                A @ found / np.abs(A).max(axis=1), right / np.abs(A).max(axis=1), atol=1e-9 * (1.0 + np.abs(found).max())
            )


def test_starts_for_a_run_that_contradict_are_refused() -> None:
    graph, shaft = Graph("shaft"), J1("shaft")
    graph.connect(shaft, I("a", 1.0, initial=2.0)).connect(shaft, I("b", 3.0)).connect(shaft, R("r", 0.1))
    compiled = compile_model(graph)
    (path,) = compiled.causality.derivative
    other = "a" if path == "b" else "b"
    agree = {"a.p": 1.0, "b.p": 3.0}
    result = compiled.simulate(0.1, initial=agree, progress=False, samples=[0.0, 0.1])
    assert result["a.p"][0] == pytest.approx(1.0) and result["b.p"][0] == pytest.approx(3.0)
    for wrong in ({**agree, f"{path}.p": 7.0}, {f"{path}.p": 7.0}):
        with pytest.raises(ModelError) as caught:
            compiled.simulate(0.1, initial=wrong, progress=False)
        assert [problem.code for problem in caught.value.problems] == ["E213"]
    result = compiled.simulate(0.1, initial={f"{other}.p": agree[f"{other}.p"]}, progress=False, samples=[0.0, 0.1])
    assert result[f"{path}.p"][0] == pytest.approx(agree[f"{path}.p"])


def test_a_mode_that_does_not_hold_at_the_start_is_refused() -> None:
    """The transistor shorts the capacitor through the diode."""
    with pytest.raises(ModelError) as caught:
        compile_model(boost("closed", 4.2, 24.1)).simulate(1e-5, progress=False)
    assert [problem.code for problem in caught.value.problems] == ["E214"]
    compiled = compile_model(boost("open", 4.2, 24.1))
    for _ in range(2):  # whatever started, or was refused, before
        with pytest.raises(ModelError) as caught:
            compiled.simulate(1e-5, initial={"diode": "closed"}, progress=False)
        assert [problem.code for problem in caught.value.problems] == ["E214"]
        assert compiled.simulate(1e-5, progress=False).ok
    result = compiled.simulate(1e-5, initial={"diode": "closed", "gate": "off"}, progress=False)
    assert result.ok, result.failure


def test_source_work_includes_impulses() -> None:
    """A battery that charges a capacitor through a switch supplies e dq; the part that the capacitor does not store is lost."""
    graph, line, node = Graph("charging").add_automaton(gate()), J1("line"), J0("node")
    graph.connect(Se("battery", 5.0), line).connect(line, node).connect(line, Switch("s", automaton="gate", closed=["on"]))
    graph.connect(node, C("c", capacitance=2.0, initial=1.0)).connect(node, R("load", 1e9))
    result = compile_model(graph).simulate(0.5, progress=False)
    assert result.ok, result.failure
    (event,) = result.events
    assert event.lost == pytest.approx(5.0 * 9.0 - (100.0 - 1.0) / 4.0, rel=1e-7)
    assert result.ledger.supplied[-1] == pytest.approx(45.0, rel=1e-7)
    assert result.ledger.relative_residual < 1e-12
