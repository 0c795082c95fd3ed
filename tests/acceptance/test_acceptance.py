"""The acceptance suite: one table of models whose numbers are known from public tools or in closed form.

Every entry makes its model and returns what it found, what must come out, and how close (absolute, or relative to the
number where it is large).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from scipy.special import ellipk

from bondgraph import (
    GY,
    J0,
    J1,
    TF,
    Automaton,
    Block,
    C,
    Ce,
    Compiled,
    Constraint,
    Diode,
    EulerJunction,
    Friction,
    Graph,
    I,
    ModelError,
    R,
    Re,
    Se,
    Sf,
    StateSpec,
    Switch,
    Transition,
    compile_model,
)
from bondgraph.analysis import linearise, reciprocity, steady_state
from bondgraph.export import state_equations
from bondgraph.run.outcome.result import Result
from screws.scalars import array, cos, exp, minimum, sin

Found = Sequence[tuple[Any, Any, float]]
"""(found, wanted, tolerance) for every number of an entry."""
SUITE: dict[str, Callable[[], Found]] = {}
"""Name of an entry -> the function that works it out."""


def entry(name: str) -> Callable[[Callable[[], Found]], Callable[[], Found]]:
    """Put a function into the table."""

    def put(function: Callable[[], Found]) -> Callable[[], Found]:
        SUITE[name] = function
        return function

    return put


def joined(junction, *parts, name: str = "model") -> Graph:
    """All parts at one junction, sources pointing in."""
    graph = Graph(name)
    for part in parts:
        graph.connect(part, junction) if part.kind in ("Se", "Sf") else graph.connect(junction, part)
    return graph


def compiled(graph: Graph) -> Compiled:
    return compile_model(graph, backend="numpy")


def matrices(graph: Graph, states: Sequence[str], inputs: Sequence[str] = ()) -> np.ndarray:
    """[A B] of x' = A x + B u, rows and columns in the order given."""
    linear = linearise(compiled(graph), inputs)
    place = [linear.states.index(name) for name in states]
    assert len(place) == len(linear.states)
    return np.hstack([linear.A[np.ix_(place, place)], linear.B[place]])


def poles(graph: Graph) -> np.ndarray:
    """Poles at the start, by their real and then their imaginary parts."""
    return np.sort_complex(linearise(compiled(graph)).poles())


def run(graph: Graph, t_end: float, samples: Any = None, **more: Any) -> Result:
    result = compile_model(graph).simulate(t_end, samples=samples, progress=False, **more)
    assert result.ok, result.failure
    assert result.ledger.relative_residual < 1e-7
    return result


def at_end(graph: Graph, t_end: float, *names: str, **more: Any) -> list[float]:
    result = run(graph, t_end, [0.0, t_end], **more)
    return [float(result[name][-1]) for name in names]


# --- linear circuits -------------------------------------------------------------------------------------------------


@entry("RC")
def rc() -> Found:
    return [(matrices(joined(J1("loop"), C("c", capacitance=1.0), R("r", 1.0)), ["c.q"]), [[-1.0]], 1e-14)]


@entry("RLC on a 0-junction")
def rlc() -> Found:
    graph = joined(J0("node"), R("r", 1.0), C("c", capacitance=1.0), I("l", 1.0))
    return [(matrices(graph, ["c.q", "l.p"]), [[-1.0, -1.0], [1.0, 0.0]], 1e-14)]


@entry("RLC in series with Se")
def rlc_series() -> Found:
    graph = joined(J1("loop"), Se("u", 1.0), R("r", 1.0), C("c", capacitance=1.0), I("l", 1.0))
    return [(matrices(graph, ["l.p", "c.q"], ["u.value"]), [[-1.0, -1.0, 1.0], [1.0, 0.0, 0.0]], 1e-14)]


@entry("C = 10, R = 100, L = 10 with Sf")
def rlc_flow() -> Found:
    graph = joined(J0("node"), Sf("u", 1.0), R("r", 100.0), C("c", capacitance=10.0), I("l", 10.0))
    return [(matrices(graph, ["c.q", "l.p"], ["u.value"]), [[-1e-3, -0.1, 1.0], [0.1, 0.0, 0.0]], 1e-14)]


def decaying(t):
    return exp(-t)


@entry("Se = e^-t on a series RC")
def rc_decaying() -> Found:
    graph = joined(J1("loop"), Se("u", decaying, signals=["time"]), C("c", capacitance=1.0), R("r", 1.0))
    result = run(graph, 5.0)
    return [(result["c.q"], result.t * np.exp(-result.t), 1e-9)]


@entry("Se parallel to C and R")
def parallel() -> Found:
    """Derivative causality: the current is C u' + u / R."""
    source = Se("u", lambda t: sin(3.0 * t) + 2.0, signals=["time"])
    model = compiled(joined(J0("node"), source, C("c", capacitance=0.5), R("r", 4.0)))
    times = np.linspace(0.0, 2.0, 5)
    current = [model.evaluate(t)[model.system.resolve("u.flow")] for t in times]
    return [
        (model.causality.derivative, ("c",), 0.0),
        (current, 0.5 * 3.0 * np.cos(3.0 * times) + (np.sin(3.0 * times) + 2.0) / 4.0, 1e-13),
    ]


@entry("RC discharge, R = 2, C = 1, q = 10")
def discharge() -> Found:
    result = run(joined(J1("loop"), R("r", 2.0), C("c", capacitance=1.0, initial=10.0)), 6.0)
    return [(result["c.q"], 10.0 * np.exp(-result.t / 2.0), 1e-8)]


@entry("RLC in two nested graphs")
def nested() -> Found:
    flat = joined(J1("loop"), Se("u", 2.0), R("r", 3.0), C("c", capacitance=0.5), I("l", 4.0))
    left, right, outer = Graph("left"), Graph("right"), Graph("outer")
    left.connect(Se("u", 2.0), a := J1("a")).connect(a, R("r", 3.0)).expose("port", a)
    right.connect(b := J1("b"), C("c", capacitance=0.5)).connect(b, I("l", 4.0)).expose("port", b)
    outer.connect(left.port("port"), right.port("port"))
    states = ["c.q", "l.p"]
    split = matrices(outer, [f"right.{name}" for name in states], ["left.u.value"])
    return [(split, matrices(flat, states, ["u.value"]), 1e-14)]


@entry("Sf = 3 and Sf = sin 2t on RC")
def flow_sources() -> Found:
    out = []
    for source, wanted in ((Sf("i", 3.0), 2.986524), (Sf("i", lambda t: sin(2.0 * t), signals=["time"]), 0.236258)):
        graph = joined(J0("node"), source, C("c", capacitance=1.0, initial=1.0), R("r", 1.0))
        out.append((at_end(graph, 5.0, "c.q"), wanted, 6e-7))
    return out


@entry("Pi filter")
def pi_filter() -> Found:
    """Source across C_a, coil with its resistance, C_b and the load across the far end; all ones."""
    graph, near, branch, far = Graph("pi"), J0("near"), J1("branch"), J0("far")
    graph.connect(Se("u", 1.0), near).connect(near, C("a", capacitance=1.0)).connect(near, branch)
    graph.connect(branch, R("r", 1.0)).connect(branch, I("l", 1.0)).connect(branch, far)
    graph.connect(far, C("b", capacitance=1.0)).connect(far, R("load", 1.0))
    point = steady_state(compiled(graph))
    return [([point[name] for name in ("a.q", "b.q", "l.p")], [1.0, 0.5, 0.5], 1e-9)]


@entry("linear algebraic loop")
def linear_loop() -> Found:
    """Se - 1 (R2) - 0 (R3) - 1 (R5, I7): p' = 0.6 u - (31/35) p."""
    graph, a, node, b = Graph("loop"), J1("a"), J0("node"), J1("b")
    graph.connect(Se("u", 1.0), a).connect(a, R("r2", 2.0)).connect(a, node).connect(node, R("r3", 3.0))
    graph.connect(node, b).connect(b, R("r5", 5.0)).connect(b, I("i7", 7.0))
    return [(matrices(graph, ["i7.p"], ["u.value"]), [[-31 / 35, 0.6]], 1e-14)]


# --- mechanics and machines ------------------------------------------------------------------------------------------


def motor(graph: Graph) -> Any:
    """R = 4, L = 15e-6, K = 9.54e-3, J = b = 1e-6, U = 5; returns the shaft."""
    coil, shaft, k = J1("coil"), J1("shaft"), GY("k", 9.54e-3)
    graph.connect(Se("u", 5.0), coil).connect(coil, R("winding", 4.0)).connect(coil, I("l", 15e-6))
    graph.connect(coil, k).connect(k, shaft).connect(shaft, I("j", 1e-6)).connect(shaft, R("b", 1e-6))
    return shaft


@entry("DC motor")
def dc_motor() -> Found:
    motor(graph := Graph("motor"))
    model = compiled(graph)
    (speed,) = at_end(graph, 1.0, "shaft.flow")
    return [
        (linearise(model).poles()[0], -266643.9, 2e-7),
        (linearise(model).poles()[1], -23.755, 1e-5),
        (steady_state(model)["shaft.flow"], 502.044, 5e-4),
        (speed, 502.044, 5e-4),
    ]


@entry("DC motor with hoist")
def hoist() -> Found:
    graph = Graph("hoist")
    shaft, drum, rope, load = motor(graph), TF("drum", 0.05), J0("rope"), J1("load")
    graph.connect(shaft, drum).connect(drum, rope).connect(rope, C("stretch", capacitance=1e-6)).connect(rope, load)
    graph.connect(load, I("mass", 5e-3)).connect(Se("weight", -5e-3 * 9.81), load)
    point = steady_state(compiled(graph))
    speed, current = at_end(graph, 12.0, "shaft.flow", "coil.flow")
    return [([point["shaft.flow"], speed], 398.793, 1.5e-6), ([point["coil.flow"], current], 0.298878, 6e-7)]


@entry("two masses")
def two_masses() -> Found:
    """Spring and damper from the wall to the first mass, and from there to the second."""
    graph, v1, v2, force, stretch = Graph("two"), J1("v1"), J1("v2"), J0("force"), J1("stretch")
    graph.connect(v1, I("m1", 2.0)).connect(v1, C("k1", stiffness=250.0)).connect(v1, R("c1", 5.0))
    graph.connect(v1, force).connect(force, v2).connect(v2, I("m2", 1.0)).connect(force, stretch)
    graph.connect(stretch, C("k2", stiffness=400.0)).connect(stretch, R("c2", 15.0))
    wanted = [-11.6728 - 22.5896j, -11.6728 + 22.5896j, -0.82715 - 8.755j, -0.82715 + 8.755j]
    return [(poles(graph), wanted, 6e-5)]


@entry("derivative causality: effective mass")
def effective_mass() -> Found:
    """m1 = 2, v2 = v1 / 3, m2 = 5, b = 7 on side 2: an effort on side 1 moves 23/9; pole -7/23."""
    graph, v1, v2, lever = Graph("lever"), J1("v1"), J1("v2"), TF("lever", 1 / 3)
    graph.connect(Se("u", 1.0), v1).connect(v1, I("m1", 2.0)).connect(v1, lever).connect(lever, v2)
    graph.connect(v2, I("m2", 5.0)).connect(v2, R("b", 7.0))
    model = compiled(graph)
    linear = linearise(model, ["u.value"], ["v1.flow"])
    gain = linear.C @ linear.B  # acceleration at once after a unit effort
    return [(linear.poles(), [-7 / 23], 1e-13), (1.0 / gain, [[23 / 9]], 1e-13)]


@entry("Duffing oscillator")
def duffing() -> Found:
    """H = x^2 / 2 + x^4 / 4 with unit inertia; period from amplitude a: 4 K(m) / sqrt(1 + a^2), m = a^2 / (2 + 2 a^2)."""
    spring = C("x", output=lambda x: x + x**3, energy=lambda x: x**2 / 2 + x**4 / 4, initial=1.5)
    graph = joined(J1("v"), spring, I("m", 1.0))
    law = linearise(compiled(graph), initial={"x.q": 0.5}).A
    period = 4.0 * ellipk(1.5**2 / (2.0 + 2.0 * 1.5**2)) / np.sqrt(1.0 + 1.5**2)
    result = run(graph, 5.0 * period, [0.0, 2.5 * period, 5.0 * period])
    return [(law, [[0.0, 1.0], [-1.75, 0.0]], 1e-14), (result["x.q"], [1.5, -1.5, 1.5], 1e-7)]


def plate() -> Any:
    """Two-port H = x^2 / (2 (C + y)) with C = 1."""

    def efforts(z, c):
        x, y = z[0], z[1]
        return array([x / (c + y), -x * x / (2.0 * (c + y) * (c + y))])

    def energy(z, c):
        return z[0] * z[0] / (2.0 * (c + z[1]))

    return C("plate", output=efforts, energy=energy, parameters={"c": 1.0}, initial=[0.3, 0.2])


@entry("two-port storage and moving-plate capacitor")
def moving_plate() -> Found:
    """Efforts of the two-port, their reciprocity, and a run in which electrical becomes mechanical energy."""
    graph, node, v = Graph("microphone"), J0("node"), J1("v")
    both = J0("both", dimension=2)
    charge, gap = TF("charge", [[1.0], [0.0]]), TF("gap", [[0.0], [1.0]])
    graph.connect(both, plate()).connect(node, charge).connect(charge, both).connect(v, gap).connect(gap, both)
    graph.connect(Sf("i", 0.1), node)
    graph.connect(v, I("m", 1.0, initial=0.1)).connect(v, C("k", stiffness=2.0)).connect(v, R("d", 0.3))
    model = compiled(graph)
    efforts = model.evaluate()[model.system.resolve("plate.effort")]
    (found,) = (r for r in reciprocity(model) if r.element == "plate")
    run(graph, 2.0)
    return [(efforts, [0.3 / 1.2, -(0.3**2) / (2 * 1.2**2)], 1e-15), (found.ok, True, 0.0)]


def crossings(signal: str, component: int | None = None) -> Automaton:
    """Marks every sign change of a signal that starts positive."""

    def part(x):
        return x if component is None else x[component]

    fall = Transition("plus", "minus", lambda x: -part(x), (signal,), kind="fall")
    rise = Transition("minus", "plus", part, (signal,), kind="rise")
    return Automaton("mark", ("plus", "minus"), "plus", (fall, rise))


@entry("pendulum from 90 degrees")
def pendulum() -> Found:
    g = 9.81
    angle = C("angle", output=lambda q: g * sin(q), energy=lambda q: g * (1.0 - cos(q)), initial=np.pi / 2)
    graph = joined(J1("w"), angle, I("m", 1.0)).add_automaton(crossings("angle.q"))
    times = [event.time for event in run(graph, 4.5).events]
    return [(times[2] - times[0], 2.3678419, 6e-8)]


@entry("Euler junction")
def euler() -> Found:
    """I = (1, 2, 3), w = (.01, 1, .01): unstable about the middle axis; energy and |h| stay."""

    def turned(h):  # h' = h x w, so that the junction takes w x h
        return array([[0.0, h[2], -h[1]], [-h[2], 0.0, h[0]], [h[1], -h[0], 0.0]])

    inertia = np.array([1.0, 2.0, 3.0])
    body = I("body", inertia, initial=inertia * [0.01, 1.0, 0.01])
    turn = EulerJunction("turn", turned, signals=["body.p"], dimension=3)
    graph = joined(J1("w", dimension=3), body, turn)
    result = run(graph.add_automaton(crossings("body.p", 1)), 20.0, rtol=1e-11)
    momentum = np.linalg.norm(result["body.p"], axis=1)
    return [(result.events[0].time, 10.917, 6e-4), (np.ptp(result["body.energy"]), 0.0, 1e-9), (np.ptp(momentum), 0.0, 1e-9)]


# --- nonlinear relations and chemistry -------------------------------------------------------------------------------


@entry("diode, resistor and capacitor in series")
def diode() -> Found:
    """f = Is (exp(e / nVt) - 1): a nonlinear loop with R; Is = 1e-12, nVt = .0258563, R = 100, C = 1e-6, Se = 1."""
    values = {"saturation": 1e-12, "thermal": 0.0258563}
    part = R("diode", flow=lambda e, i, v: i * (exp(e / v) - 1.0), parameters=values)
    graph = joined(J1("loop"), Se("u", 1.0), R("r", 100.0), part, C("c", capacitance=1e-6))
    result = run(graph, 1e-3, [0.0, 1e-3])
    return [(result["loop.flow"][0], 4.266602e-3, 6e-10), (result["c.effort"][-1], 0.538769, 6e-7)]


@entry("A + B <=> C")
def association() -> Found:
    graph, reaction, reactants = Graph("association"), Re("r"), J1("reactants")
    graph.connect(Ce("A", initial=1.0), reactants).connect(Ce("B", initial=2.0), reactants)
    graph.connect(reactants, reaction.port("1")).connect(reaction.port("2"), Ce("C", initial=3.0))
    model = compiled(graph)
    written = str(state_equations(model).equations["C.q"])
    return [(written == "A.q*B.q - C.q", True, 0.0), (at_end(graph, 3.0, "A.q", "B.q", "C.q"), [1.23607, 2.23607, 2.76393], 6e-6)]


@entry("reaction cycle X-Y-Z")
def cycle() -> Found:
    """k = r = (1, 2, 3): x' = -4x + 2y + 9z, y' = x - 6y + 6z, z' = 3x + 4y - 15z."""
    graph, nodes = Graph("cycle"), [J0(f"node {name}") for name in "XYZ"]
    for k, (name, node) in enumerate(zip("XYZ", nodes, strict=True)):
        reaction = Re(f"r{k + 1}", k + 1.0)
        graph.connect(node, Ce(name, k + 1.0, initial=1.0)).connect(node, reaction.port("1"))
        graph.connect(reaction.port("2"), nodes[(k + 1) % 3])
    model = compiled(graph)
    wanted = [[-4.0, 2.0, 9.0], [1.0, -6.0, 6.0], [3.0, 4.0, -15.0]]
    equations = state_equations(model, numbers=True).equations
    symbols = sorted(equations["X.q"].free_symbols, key=str)
    written = [[float(equations[f"{name}.q"].coeff(symbol)) for symbol in symbols] for name in "XYZ"]
    A = linearise(model).A
    order = [model.program.layout[f"{name}.q"].start for name in "XYZ"]
    return [(A[np.ix_(order, order)], wanted, 1e-13), (written, wanted, 0.0)]


@entry("A <=> 2B")
def dissociation() -> Found:
    """From (1, 0): the potential of what is not there is large and negative, its exponential is zero."""
    reaction, two = Re("r"), TF("two", 2.0)
    graph = Graph("dissociation").connect(Ce("A", initial=1.0), reaction.port("1"))
    graph.connect(reaction.port("2"), two).connect(two, Ce("B", initial=0.0))
    result = compile_model(graph).simulate(1.0, samples=[0.0, 1.0], progress=False)
    return [([result["A.q"][-1], result["B.q"][-1]], [0.61969, 0.76062], 6e-6)]


# --- switching -------------------------------------------------------------------------------------------------------


@entry("bouncing ball")
def bouncing() -> Found:
    """h = 1, e = .8: .451524, 1.173961; the bounces accumulate at 4.063713, which is reported; the contact closes, and the run
    goes on at rest."""
    floor = Constraint("floor", initial=1.0, automaton="contact", active=["resting"], restitution=0.8)
    graph = joined(J1("v"), Se("weight", -9.81), I("ball", 1.0), floor)
    bounce = Transition("free", "free", lambda h: -h, ("floor.h",), impact=("floor",), accumulates="resting")
    graph.add_automaton(Automaton("contact", ("free", "resting"), "free", (bounce,)))
    result = run(graph, 5.0)
    limit = next(event for event in result.events if event.accumulation is not None)
    return [
        ([event.time for event in result.events[:2]], [0.451524, 1.173961], 6e-7),
        (limit.accumulation, 4.063713, 3e-7),
        (result.t[-1], 5.0, 1e-12),
        ([result["floor.h"][-1], result["ball.p"][-1], result["floor.multiplier"][-1]], [0.0, 0.0, 9.81], 1e-9),
    ]


@entry("bullet and wood")
def bullet() -> Found:
    """m = 1, 1; v = 1, 0; gap .2: as the gap closes a constraint begins to hold, which is a plastic impact: both .5 at
    t = .2, loss .25 J."""
    graph, bullet, wood, gap = Graph("shot"), J1("bullet v"), J1("wood v"), J0("gap")
    graph.connect(bullet, I("bullet", 1.0, initial=1.0)).connect(wood, I("wood", 1.0))
    graph.connect(wood, gap).connect(gap, bullet)
    graph.connect(gap, Constraint("hold", initial=0.2, automaton="contact", active=["together"]))
    hit = Transition("apart", "together", lambda h: -h, ("hold.h",), kind="impact")
    graph.add_automaton(Automaton("contact", ("apart", "together"), "apart", (hit,)))
    result = run(graph, 1.0)
    (event,) = result.events
    return [
        (event.time, 0.2, 1e-9),
        ([result["bullet v.flow"][-1], result["wood v.flow"][-1]], 0.5, 1e-9),
        (event.lost, 0.25, 1e-9),
    ]


@entry("clutch")
def clutch() -> Found:
    """J = 1, 2; w = 10, 0; T = 5 until the speeds agree: 1.33333 s, 3.33333 rad/s, 33.3333 J."""
    graph, a, b, slip = Graph("clutch"), J1("a"), J1("b"), J0("slip")
    graph.connect(a, I("drive", 1.0, initial=10.0)).connect(a, slip).connect(slip, b).connect(b, I("load", 2.0))
    graph.connect(slip, Friction("plates", 5.0, initial="forward"))
    result = run(graph, 3.0)
    (event,) = result.events
    return [
        (event.time, 1.33333, 6e-6),
        ([result["a.flow"][-1], result["b.flow"][-1]], 3.33333, 6e-6),
        (result["a.flow"][-1] - result["b.flow"][-1], 0.0, 1e-14),
        (result.ledger.dissipated[-1], 33.3333, 6e-5),
    ]


@entry("clutch that locks at once")
def rigid_clutch() -> Found:
    """The same clutch closed without any slip: an impulse that conserves momentum leaves the same speed and the same loss."""
    graph, a, b, slip = Graph("clutch"), J1("a"), J1("b"), J0("slip")
    graph.connect(a, I("drive", 1.0, initial=10.0)).connect(a, slip).connect(slip, b).connect(b, I("load", 2.0))
    graph.connect(slip, Constraint("plates", holds="velocity", automaton="lever", active=["locked"]))
    lock = Transition("open", "locked", lambda t: t - 1.0, ("time",))
    graph.add_automaton(Automaton("lever", ("open", "locked"), "open", (lock,)))
    result = run(graph, 3.0)
    (event,) = result.events
    speeds = [result["a.flow"][-1], result["b.flow"][-1]]
    return [(event.time, 1.0, 1e-12), (speeds, 10.0 / 3.0, 1e-12), (event.lost, 100.0 / 3.0, 1e-12)]


@entry("stick-slip")
def stick_slip() -> Found:
    """m = k = 1, belt .2, Fs = 1, Fk = .5: slip pi + 2 atan(.2 / .5) s, stick 2 * .5 / .2 s, the stick state exact."""
    graph, v, relative, belt = Graph("belt"), J1("v"), J0("relative"), 0.2
    graph.connect(v, I("m", 1.0, initial=belt)).connect(v, C("k", capacitance=1.0, initial=0.5))
    graph.connect(Sf("belt", belt), relative).connect(relative, v)
    graph.connect(relative, Friction("friction", 0.5, stick_limit=1.0))
    result = run(graph, 30.0)
    times = [event.time for event in result.events]
    assert [event.kind for event in result.events][:2] == ["friction slips", "friction sticks"]
    sticking = result["friction.mode"] == 0.0
    return [(np.diff(times)[:4], [3.902605, 5.0, 3.902605, 5.0], 6e-7), (np.ptp(result["v.flow"][sticking]), 0.0, 1e-14)]


@entry("ideal rectifier")
def rectifier() -> Found:
    """10 sin(100 pi t) through an ideal diode on C = 200e-6 and R = 100: closed, C follows the source."""
    graph, loop, out = Graph("rectifier"), J1("loop"), J0("out")
    graph.connect(Se("mains", lambda t: 10.0 * sin(100.0 * np.pi * t), signals=["time"]), loop)
    graph.connect(loop, Diode("diode", initial="closed")).connect(loop, out)
    graph.connect(out, C("c", capacitance=200e-6, nominal=1e-3)).connect(out, R("load", 100.0))
    result = run(graph, 0.05)
    off, on = result.events[:2]
    assert [off.kind, on.kind] == ["diode opens", "diode closes"]
    return [
        ([off.time, on.time], [5.502392e-3, 21.466345e-3], 6e-10),
        ([off.x_before[0] / 200e-6, on.x_before[0] / 200e-6], [9.875705, 4.445445], 6e-7),
    ]


@entry("ideal boost converter")
def boost() -> Found:
    """12 V, 100e-6 H, 100e-6 F, 10 Ohm, 50 kHz, D = .5, in continuous conduction: two ideal switches that take turns.
    Periodic: (4.196961 A, 24.109746 V) at switch-on, (5.396961, 23.869850) at switch-off."""
    half = 0.5 / 50e3
    graph, coil, node, rail, out = Graph("boost"), J1("coil"), J0("node"), J1("rail"), J0("out")
    graph.connect(Se("battery", 12.0), coil).connect(coil, I("l", 100e-6, initial=100e-6 * 4.0, nominal=1e-4))
    graph.connect(coil, node).connect(node, Switch("transistor", automaton="switch", closed=["closed"]))
    graph.connect(node, rail).connect(rail, Switch("diode", automaton="switch", closed=["open"])).connect(rail, out)
    graph.connect(out, C("c", capacitance=100e-6, initial=100e-6 * 24.0, nominal=1e-3)).connect(out, R("load", 10.0))
    graph.add(Block("clock", [("s'", lambda: 1.0, [])], states={"s": StateSpec(0.0, half)}, rates={"s": "s'"}))
    again = (("clock.s", lambda: 0.0, ()),)
    turn = [
        Transition(a, b, lambda s: s - half, ("clock.s",), again, kind=b) for a, b in (("closed", "open"), ("open", "closed"))
    ]
    graph.add_automaton(Automaton("switch", ("closed", "open"), "closed", tuple(turn)))
    result = run(graph, 1500 * 2 * half, 2)
    before = {name: result.at_events(name)[0] for name in ("coil.flow", "out.effort")}
    kinds = [event.kind for event in result.events]
    last = {kind: max(k for k, one in enumerate(kinds) if one == kind) for kind in ("open", "closed")}
    found = {kind: [before["coil.flow"][k], before["out.effort"][k]] for kind, k in last.items()}
    return [(found["closed"], [4.196961, 24.109746], 6e-7), (found["open"], [5.396961, 23.86985], 6e-7)]


def landing(alpha1: float) -> Graph:
    """The ball of Bortoff 2020, section 2: contact by a constraint that a machine of three states switches."""
    ground = Constraint(
        "ground", alpha1=alpha1, alpha0=100.0, alpha2=1e6, initial=1.0, automaton="contact", active=["contact"], closing="smooth"
    )
    graph = joined(J1("v"), Se("weight", -9.81), I("ball", 1.0), ground)
    transitions = (
        Transition("free", "contact", lambda h: -h, ("ground.h",), kind="touch"),
        Transition("contact", "ballistic", lambda force: -force, ("ground.multiplier",), kind="let go"),
        Transition("ballistic", "free", lambda h: h, ("ground.h",), kind="off"),
        Transition("ballistic", "contact", lambda h, v: minimum(-h, -v), ("ground.h", "ground.h'"), kind="back"),
    )
    return graph.add_automaton(Automaton("contact", ("free", "contact", "ballistic"), "free", transitions))


@entry("ball on a constraint, a1 = 0")
def growing() -> Found:
    """The height grows by 0.0138852 m a bounce, exactly constant; the fifth contact from 4.3116 to 4.3620 s."""
    result = run(landing(0.0), 12.0, rtol=1e-11)
    touches = [event for event in result.events if event.kind == "touch"]
    slot = result.program.layout
    heights = [e.x_before[slot["ground.h"].start] + e.x_before[slot["ball.p"].start] ** 2 / 2.0 / 9.81 for e in touches]
    fifth = [event.time for event in result.events if event.kind == "let go"][4]
    return [(np.diff(heights), 0.0138852, 5e-8), (np.ptp(np.diff(heights)), 0.0, 1e-9), (fifth, 4.3620, 5e-5)]


@entry("ball on a constraint, a1 = 10 and 20")
def settling() -> Found:
    """Four bounces at a1 = 10, two at 20, then rest with the multiplier at m g."""
    found: Found = []
    for alpha1, bounces in ((10.0, 4), (20.0, 2)):
        result = run(landing(alpha1), 8.0)
        kinds = [event.kind for event in result.events]
        found += [(kinds.count("let go"), bounces, 0.0), (kinds[-1], "touch", 0.0)]
        found += [(result["ground.multiplier"][-1], 9.81, 1e-8), (result["ground.h"][-1], 0.0, 1e-8)]
    return found


# --- errors ----------------------------------------------------------------------------------------------------------


def refused(graph: Graph, code: str, *words: str) -> Found:
    """The code, and which of the words (bonds, elements, cures) the message lacks."""
    with pytest.raises(ModelError) as caught:
        compiled(graph)
    text = str(caught.value)
    return [([p.code for p in caught.value.problems], [code], 0.0), ([w for w in words if w not in text], [], 0.0)]


@entry("error: two Se on a 0-junction")
def two_efforts() -> Found:
    graph = joined(J0("node"), Se("a", 1.0), Se("b", 2.0), R("r", 1.0))
    return refused(graph, "E203", 'Se "a" and Se "b"', "a -> node, b -> node", "an I or R between them", "Sf in place")


@entry("error: two Sf on a 1-junction")
def two_flows() -> Found:
    graph = joined(J1("loop"), Sf("a", 1.0), Sf("b", 2.0), R("r", 1.0))
    return refused(graph, "E203", 'Sf "a" and Sf "b"', "a -> loop, b -> loop", "a C or R between them", "Se in place")


@entry("error: unconnected R")
def unconnected() -> Found:
    graph = joined(J1("loop"), C("c", capacitance=1.0), I("l", 1.0))
    graph.add(R("alone", 1.0))
    return refused(graph, "E104", 'R "alone"', "connect it to a junction, or remove the element")


@entry("error: redundant loop of ideal constraints")
def redundant() -> Found:
    """Three bodies, each held to the two others: the third constraint follows from the first two."""
    graph = Graph("triangle")
    bodies = [J1(f"v{k}") for k in range(3)]
    for k, body in enumerate(bodies):
        graph.connect(body, I(f"m{k}", 1.0))
    for k in range(3):
        force, gap = J0(f"f{k}"), J1(f"g{k}")
        graph.connect(bodies[k], force).connect(force, bodies[(k + 1) % 3]).connect(force, gap)
        graph.connect(gap, Constraint(f"hold{k}"))
    return refused(graph, "E208", "redundant constraints", 'constraint "hold', "leave one of them out")


@entry("error: a mode without valid causality")
def shorted() -> Found:
    """A switch that shorts a source when it closes."""
    graph = joined(J0("node"), Se("u", 1.0), R("r", 1.0), Switch("short", automaton="lever", closed=["on"]))
    graph.add_automaton(Automaton("lever", ("off", "on"), "off", ()))
    return refused(graph, "E212", 'mode "on" of "lever"', 'Sw "short"', "an R (a resistance) in series")


@pytest.mark.parametrize("name", SUITE)
def test_entry(name: str) -> None:
    for found, wanted, tolerance in SUITE[name]():
        if tolerance == 0.0:
            assert found == wanted
        else:
            np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)
