"""Signal blocks against closed forms, in simulated graphs and one by one, for every kind of scalar."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import signal as control

from bondgraph import (
    GY,
    J1,
    MTF,
    Automaton,
    Block,
    C,
    Compiled,
    Element,
    Graph,
    I,
    ModelError,
    Parameter,
    R,
    Se,
    Transition,
    compile_model,
    signals,
)
from bondgraph.export.latex_lines import latex
from bondgraph.export.symbolic import sympy_statements
from bondgraph.schedule.size import is_large
from screws.scalars import where

ROOT = Path(__file__).parents[2]


def chain(*blocks: Element) -> Graph:
    graph = Graph("chain")
    graph.add(*blocks)
    return graph


def compiled(*blocks: Element) -> Compiled:
    return compile_model(chain(*blocks))


def value(model: Compiled, name: str, t: float = 0.0, parameters=None):
    """One value from the compiled code, checked against the plain formulas in floats."""
    (x, m), p = model.initial(), model.parameters(parameters)
    slot = model.program.layout[name]
    if slot.block == "x":
        out = x
    else:
        assert slot.block == "out"
        out = model.program.outputs(t, x, p, m)
    found = out[slot.start : slot.stop].reshape(slot.shape)[()]
    np.testing.assert_allclose(found, model.evaluate(t, p=p)[model.system.resolve(name)], rtol=1e-13, atol=1e-15)
    return found


def over_time(model: Compiled, name: str, times: np.ndarray) -> np.ndarray:
    return np.array([value(model, name, float(t)) for t in times])


def ramped(**more) -> Element:
    """A signal that equals time."""
    return signals.ramp("t", 1.0, **more)


TIMES = np.linspace(-0.5, 4.5, 51)

# --- signals of time -------------------------------------------------------------------------------------------------


def test_signals_of_time() -> None:
    model = compiled(
        signals.sine("sine", 2.0, 3.0, 0.4, -1.0),
        signals.step("step", 1.0, -2.0, 5.0),
        signals.ramp("ramp", 3.0, 1.0, offset=0.5),
        signals.ramp("hold", 3.0, 1.0, 2.0),
        signals.smooth_step("smooth", 1.0, 2.0, -1.0, 3.0),
    )
    s = np.clip((TIMES - 1.0) / 2.0, 0.0, 1.0)
    for name, wanted in {
        "sine": 2.0 * np.sin(3.0 * TIMES + 0.4) - 1.0,
        "step": np.where(TIMES < 1.0, -2.0, 5.0),
        "ramp": 0.5 + 3.0 * np.maximum(TIMES - 1.0, 0.0),
        "hold": 3.0 * (np.clip(TIMES, 1.0, 2.0) - 1.0),
        "smooth": -1.0 + 4.0 * (6 * s**5 - 15 * s**4 + 10 * s**3),
    }.items():
        np.testing.assert_allclose(over_time(model, f"{name}.y", TIMES), wanted, rtol=1e-13, atol=1e-13)
    assert value(model, "step.y", 1.0) == 5.0


def test_smooth_step_has_two_continuous_derivatives() -> None:
    """Its third difference is bounded at both ends, where that of a step with a jump in y'' would grow as 1 / h."""
    model = compiled(signals.smooth_step("s", 1.0, 2.0))
    for end in (1.0, 3.0):
        for h in (1e-2, 1e-3):
            y = over_time(model, "s.y", end + h * np.arange(-2.0, 3.0))
            assert np.abs(np.diff(y, 2)).max() / h**2 < 60.0 / 8.0 * 2.5 * h


# --- algebra ---------------------------------------------------------------------------------------------------------


def test_gain_sum_and_product() -> None:
    model = compiled(
        ramped(),
        signals.sine("s", 1.0, 2.0),
        signals.gain("k", "t.y", -3.0, unit="V"),
        signals.summation("sum", {"t.y": 1, "s.y": -1, "k.y": 1}),
        signals.product("p", ["t.y", "s.y", "k.y"]),
        signals.summation("minus", {"t.y": -1}),
    )
    for t in (0.3, 1.7):
        s = np.sin(2.0 * t)
        assert value(model, "k.y", t) == pytest.approx(-3.0 * t)
        assert value(model, "sum.y", t) == pytest.approx(t - s - 3.0 * t)
        assert value(model, "p.y", t) == pytest.approx(-3.0 * t * t * s)
        assert value(model, "minus.y", t) == -t
        assert value(model, "k.y", t, {"k.k": 5.0}) == pytest.approx(5.0 * t)
    assert model.program.layout["k.y"].unit == "V"


@pytest.mark.parametrize("k", [2.0, [1.0, 2.0, 3.0], [[1.0, 0.0, 2.0], [0.0, 1.0, -1.0]]])
def test_gain_of_a_vector(k) -> None:
    start = np.array([0.5, -1.0, 2.0])
    graph, v = Graph("vector"), J1("v")
    graph.connect(v, I("m", 1.0, initial=start)).connect(v, R("d", 1.0, dimension=3))
    graph.add(signals.gain("g", "m.p", k), signals.limiter("limited", "m.p", -0.7, 0.7))
    model = compile_model(graph)
    np.testing.assert_allclose(value(model, "g.y"), np.dot(k, start))
    np.testing.assert_allclose(value(model, "limited.y"), np.clip(start, -0.7, 0.7))


def test_limiter_and_dead_zone() -> None:
    model = compiled(ramped(offset=-2.0), signals.limiter("l", "t.y", -1.0, 2.0), signals.dead_zone("d", "t.y", -0.5, 1.0))
    u = np.maximum(TIMES, 0.0) - 2.0
    np.testing.assert_allclose(over_time(model, "l.y", TIMES), np.clip(u, -1.0, 2.0), atol=1e-15)
    np.testing.assert_allclose(over_time(model, "d.y", TIMES), u - np.clip(u, -0.5, 1.0), atol=1e-15)
    assert value(model, "l.y", 4.5, {"l.highest": 0.25}) == 0.25


@pytest.mark.parametrize("count", [2, 3, 12])
def test_table_is_numpy_interp(count: int) -> None:
    random = np.random.default_rng(count)
    points, values = np.sort(random.uniform(-1.0, 4.0, count)), random.normal(size=count)
    model = compiled(ramped(offset=-1.5), signals.table("f", "t.y", points, values))
    times = np.sort(np.concatenate([np.linspace(0.0, 7.0, 40), points[points > -1.5] + 1.5]))
    np.testing.assert_allclose(over_time(model, "f.y", times), np.interp(times - 1.5, points, values), atol=1e-13)
    other = random.normal(size=count)
    assert value(model, "f.y", 2.0, {"f.values": other}) == pytest.approx(np.interp(0.5, points, other))
    assert value(model, "f.y", 9.0) == values[-1]


# --- logic -----------------------------------------------------------------------------------------------------------


def test_truth_table() -> None:
    for a, b, c in itertools.product((0.0, 1.0), repeat=3):
        model = compiled(
            signals.step("a", -1.0, after=a),
            signals.step("b", -1.0, after=b),
            signals.step("c", -1.0, after=c),
            signals.logic("all", "and", ["a.y", "b.y", "c.y"]),
            signals.logic("any", "or", ["a.y", "b.y", "c.y"]),
            signals.logic("none", "not", ["any.y"]),
        )
        assert value(model, "all.y") == float(a and b and c)
        assert value(model, "any.y") == float(a or b or c)
        assert value(model, "none.y") == float(not (a or b or c))


def test_comparator_with_a_number_and_with_a_signal() -> None:
    model = compiled(
        ramped(),
        signals.step("level", 2.0, 1.0, 3.5),
        signals.comparator("above", "t.y", 1.5),
        signals.comparator("higher", "t.y", "level.y"),
    )
    u = np.maximum(TIMES, 0.0)
    np.testing.assert_array_equal(over_time(model, "above.y", TIMES), u > 1.5)
    np.testing.assert_array_equal(over_time(model, "higher.y", TIMES), u > np.where(TIMES < 2.0, 1.0, 3.5))
    assert value(model, "above.y", 1.5) == 0.0  # strictly above
    assert value(model, "above.y", 1.0, {"above.threshold": 0.5}) == 1.0


# --- dynamics --------------------------------------------------------------------------------------------------------


def test_integrator_lowpass_and_derivative_of_a_sine() -> None:
    w, T = 2.0, 0.3
    model = compiled(
        signals.sine("u", 1.0, w),
        signals.integrator("sum", "u.y", 0.5, unit="m"),
        signals.lowpass("low", "u.y", T),
        signals.derivative_filter("slope", "u.y", T),
    )
    run = model.simulate(5.0, rtol=1e-11, samples=0.1)
    t = run.t
    decay, size = np.exp(-t / T), 1.0 + (w * T) ** 2
    low = (np.sin(w * t) - w * T * (np.cos(w * t) - decay)) / size
    np.testing.assert_allclose(run["sum.y"], 0.5 + (1.0 - np.cos(w * t)) / w, atol=1e-8)
    np.testing.assert_allclose(run["low.y"], low, atol=1e-8)
    np.testing.assert_allclose(run["slope.y"], (np.sin(w * t) - low) / T, atol=1e-7)
    np.testing.assert_allclose(run["slope.filtered"], low, atol=1e-8)
    assert model.program.layout["sum.y"].unit == "m"
    slower = model.simulate(5.0, rtol=1e-10, samples=0.1, parameters={"low.time_constant": 3.0})
    size, decay = 1.0 + (3.0 * w) ** 2, np.exp(-t / 3.0)
    wanted = (np.sin(w * t) - 3.0 * w * (np.cos(w * t) - decay)) / size
    np.testing.assert_allclose(slower["low.y"], wanted, atol=1e-7)


def test_integrator_of_a_vector() -> None:
    """The position of a body that slows down: x = v0 (1 - e^-t)."""
    graph, v, start = Graph("vector"), J1("v"), np.array([1.0, -2.0])
    graph.connect(v, I("m", 1.0, initial=start)).connect(v, R("d", 1.0, dimension=2))
    graph.add(signals.integrator("x", "m.flow", dimension=2), signals.lowpass("low", "m.flow", 0.5, dimension=2))
    run = compile_model(graph).simulate(2.0, rtol=1e-10, samples=0.2)
    np.testing.assert_allclose(run["x.y"], np.outer(1.0 - np.exp(-run.t), start), atol=1e-8)
    low = 2.0 * (np.exp(-run.t) - np.exp(-2.0 * run.t))  # y' = 2 (e^-t - y)
    np.testing.assert_allclose(run["low.y"], np.outer(low, start), atol=1e-8)


TRANSFERS = [
    ([1.0], [1.0, 1.0]),
    ([2.0, 1.0], [1.0, 0.5, 4.0]),
    ([3.0], [2.0, 3.0, 5.0, 1.0]),
    ([1.0, 0.0, 9.0], [1.0, 2.0, 9.0]),
    ([5.0, 1.0], [2.0, 4.0]),
    ([1.0], [1.0, 0.0]),
    ([1.0], [1e-4, 0.02, 100.0]),
    ([0.0, 0.0, 4.0], [0.0, 2.0, 3.0]),
    ([0.0], [1.0, 1.0]),
]


@pytest.mark.parametrize(("num", "den"), TRANSFERS)
def test_transfer_function_step_response(num: list[float], den: list[float]) -> None:
    model = compiled(signals.step("u", -1.0, after=1.0), signals.transfer_function("h", "u.y", num, den))
    times = np.linspace(0.0, 6.0, 61)
    above, below = np.trim_zeros(num, "f") or [0.0], np.trim_zeros(den, "f")
    _, wanted = control.step((above, below), T=times) if any(above) else (times, np.zeros(len(times)))
    run = model.simulate(6.0, rtol=1e-10, samples=times)
    np.testing.assert_allclose(run["h.y"], wanted, atol=1e-8 * max(1.0, np.abs(wanted).max()))


def test_transfer_function_is_the_canonical_form_and_keeps_its_coefficients_free() -> None:
    num, den = [3.0, 1.0], [2.0, 4.0, 6.0]
    model = compiled(signals.sine("u"), signals.transfer_function("h", "u.y", num, den, initial=[0.5, -0.25]))
    (x, m), t = model.initial(), 0.8
    for a, b in ((den, num), ([1.0, 7.0, 5.0], [2.0, -3.0])):
        p = model.parameters({"h.den": a, "h.num": b})
        rate = model.program.rates(t, x, p, m)
        np.testing.assert_allclose(rate, [x[1], (np.sin(t) - a[1] * x[1] - a[2] * x[0]) / a[0]], rtol=1e-13)
        assert model.evaluate(t, p=p)["h.y"] == pytest.approx(b[1] * x[0] + b[0] * x[1])


def test_transfer_function_without_poles_is_a_gain() -> None:
    model = compiled(ramped(), signals.transfer_function("h", "t.y", [0.0, 3.0], Parameter([2.0], "s")))
    assert value(model, "h.y", 2.0) == 3.0
    assert not model.system.states
    assert model.program.layout["h.den"].unit == "s"


@pytest.mark.parametrize("gains", [(4.0,), (4.0, 3.0), (4.0, None, 0.5, 0.1), (4.0, 3.0, 0.5, 0.1)])
def test_pid_of_a_step(gains: tuple) -> None:
    """y = kp + ki t + kd / T e^(-t/T) for e = 1."""
    kp, ki, kd, T = (*gains, None, None, None)[:4]
    model = compiled(signals.step("e", -1.0), signals.pid("c", "e.y", *gains))
    assert [s.name for s in model.system.states] == [
        name for name, gain in (("c.integral", ki), ("c.filtered", kd)) if gain is not None
    ]
    run = model.simulate(2.0, rtol=1e-10, samples=0.1)
    wanted = kp + (ki or 0.0) * run.t + (kd / T * np.exp(-run.t / T) if kd else 0.0)
    np.testing.assert_allclose(run["c.y"], wanted, atol=1e-7)


def test_pid_starts_where_it_is_told() -> None:
    pid = signals.pid("c", "e.y", 1.0, 2.0, 3.0, 0.5, initial={"integral": 4.0, "filtered": 1.0})
    assert value(compiled(signals.step("e", -1.0), pid), "c.y") == pytest.approx(1.0 + 2.0 * 4.0)


# --- signals that act on bonds ---------------------------------------------------------------------------------------


def motor(*controller: Element, voltage: str) -> Graph:
    graph, coil, shaft = Graph("drive"), J1("coil"), J1("shaft")
    constant = GY("K", 0.2)
    graph.connect(Se("U", lambda u: u, signals=[voltage]), coil).connect(coil, R("winding", 4.0))
    graph.connect(coil, I("L", 0.5)).connect(coil, constant.port("1")).connect(constant.port("2"), shaft)
    graph.connect(shaft, I("J", 0.1)).connect(shaft, R("b", 0.05))
    graph.add(*controller)
    return graph


@pytest.mark.parametrize(("kp", "ki"), [(3.0, 2.0), (10.0, 8.0)])
def test_pi_speed_control_of_a_motor(kp: float, ki: float) -> None:
    """The closed loop against SciPy: K (kp s + ki) / (s ((L s + R)(J s + b) + K^2) + K (kp s + ki)) times the goal."""
    model = compile_model(
        motor(
            signals.step("goal", -1.0, after=15.0),
            signals.summation("error", {"goal.y": 1, "J.flow": -1}),
            signals.pid("control", "error.y", 3.0, 2.0),
            voltage="control.y",
        )
    )
    times = np.linspace(0.0, 8.0, 81)
    run = model.simulate(8.0, rtol=1e-10, samples=times, parameters={"control.kp": kp, "control.ki": ki})
    plant = np.polyadd(np.polymul([0.5, 4.0], [0.1, 0.05]), [0.2**2])
    loop = 0.2 * np.array([kp, ki])
    _, wanted = control.step((15.0 * loop, np.polyadd(np.polymul(plant, [1.0, 0.0]), loop)), T=times)
    np.testing.assert_allclose(run["J.flow"], wanted, atol=1e-6)
    assert run.ledger.relative_residual < 1e-8


def test_a_closed_loop_without_delay_is_solved_in_place() -> None:
    """y = k (u - y) through a gain and a sum: u k / (1 + k), and no state."""
    model = compiled(ramped(), signals.summation("error", {"t.y": 1, "back.y": -1}), signals.gain("back", "error.y", 4.0))
    assert value(model, "back.y", 3.0) == pytest.approx(3.0 * 4.0 / 5.0)


def test_signals_drive_a_lever_and_a_source() -> None:
    """A mass on a lever whose ratio grows with time, and a limited control force on it: v' = (F - n k q) / m, q' = n v."""
    graph, v = Graph("lever"), J1("v")
    lever = MTF("lever", lambda n: n, signals=["ratio.y"])
    graph.connect(Se("push", lambda u: u, signals=["push limit.y"]), v).connect(v, I("m", 2.0, initial=1.0))
    graph.connect(v, lever).connect(lever, C("k", stiffness=5.0, initial=0.3))
    graph.add(ramped(offset=1.0), signals.table("ratio", "t.y", [1.0, 2.0], [3.0, 7.0]))
    graph.add(signals.gain("stroke", "k.q", 100.0), signals.limiter("push limit", "stroke.y", -4.0, 4.0))
    model = compile_model(graph)
    x, m = model.initial()
    slots = model.program.layout
    for t, n in ((0.0, 3.0), (0.25, 4.0), (0.5, 5.0), (3.0, 7.0)):
        rates = model.program.rates(t, x, model.parameters(), m)
        assert rates[slots["k.q"].start] == pytest.approx(n * 0.5)
        assert rates[slots["m.p"].start] == pytest.approx(4.0 - n * 5.0 * 0.3)
    assert model.simulate(1.0, rtol=1e-9).ledger.relative_residual < 1e-8


def test_blocks_inside_a_nested_graph_read_its_inputs_and_time() -> None:
    part = Graph("part").declare_input("u")
    part.add(signals.sine("s"), signals.summation("sum", {"u": 1, "s.y": 1})).name  # noqa: B018
    graph = Graph("whole")
    graph.add(signals.step("one", -1.0))
    graph.wire("one.y", part, "u")
    assert value(compile_model(graph), "part.sum.y", 0.7) == pytest.approx(1.0 + np.sin(0.7))


def test_an_automaton_switches_at_the_exact_instant_of_a_comparison() -> None:
    """What a comparator cannot do: the crossing of a signal as an event."""
    graph = chain(signals.sine("s", 1.0, 2.0))
    rise = Transition("low", "high", lambda y: y - 0.5, ("s.y",))
    run = compile_model(graph.add_automaton(Automaton("a", ("low", "high"), "low", (rise,)))).simulate(1.0)
    assert [event.time for event in run.events] == pytest.approx([np.arcsin(0.5) / 2.0], abs=1e-9)


# --- text ------------------------------------------------------------------------------------------------------------


def everything() -> Graph:
    return chain(
        signals.sine("wave", symbol="w"),
        signals.step("jump"),
        ramped(),
        signals.ramp("hold", 1.0, 0.0, 2.0),
        signals.smooth_step("smooth"),
        signals.gain("k", "wave.y", 2.0),
        signals.summation("sum", {"wave.y": 1, "k.y": -1}),
        signals.product("times", ["wave.y", "k.y"]),
        signals.limiter("lim", "k.y", -1.0, 1.0),
        signals.dead_zone("dead", "k.y", -1.0, 1.0),
        signals.table("map", "k.y", [0.0, 1.0], [2.0, 3.0]),
        signals.comparator("above", "k.y", 0.5),
        signals.comparator("more", "k.y", "t.y"),
        signals.logic("both", "and", ["above.y", "more.y"]),
        signals.logic("either", "or", ["above.y", "more.y"]),
        signals.logic("neither", "not", ["either.y"]),
        signals.integrator("int", "k.y"),
        signals.lowpass("low", "k.y", 0.1),
        signals.derivative_filter("slope", "k.y", 0.1),
        signals.pid("pid", "k.y", 1.0, 2.0, 3.0, 0.1),
        signals.transfer_function("tf", "k.y", [1.0], [1.0, 2.0, 3.0]),
        signals.transfer_function("ratio", "k.y", [1.0], [2.0]),
    )


def test_every_block_is_written_in_latex() -> None:
    written = latex(everything())
    assert "#" not in written
    for left, right in (("{", "}"), (r"\left(", r"\right)"), (r"\left[", r"\right]")):
        assert written.count(left) == written.count(right)
    assert not re.search(r"_\{\\text\{[^}]*\}\}_", written)  # no second subscript
    assert r"w &= " in written
    assert r"\min\left(\max\left(" in written


def test_every_block_runs_on_symbols() -> None:
    """The right-hand sides of SymPy, with numbers put in, are the values of the plain formulas."""
    import sympy

    model = compile_model(everything(), backend="numpy")
    values, t = model.evaluate(0.4), 0.4
    numbers = {"time": t}
    for name, number in values.items():
        for index in np.ndindex(np.shape(number)):
            key = f"{name}[{', '.join(map(str, index))}]" if index else name
            numbers[key] = float(np.asarray(number)[index])
    for equation in sympy_statements(model):
        sides = [list(side) if isinstance(side, sympy.MatrixBase) else [side] for side in equation.args]
        for left, right in zip(*sides, strict=True):
            found = right.subs({s: numbers[s.name] for s in right.free_symbols})
            assert float(found) == pytest.approx(numbers[left.name], rel=1e-12, abs=1e-15), left


@pytest.mark.parametrize("start", [-2.0, -0.6, 0.3, 0.9, 1.7])
def test_jacobian_of_nonlinear_blocks(start: float) -> None:
    """Exact derivatives with respect to a state, on every piece, against differences."""
    blocks = [
        signals.limiter("lim", "u.y", -1.0, 1.0),
        signals.dead_zone("dead", "u.y", -0.5, 0.5),
        signals.table("map", "u.y", [-1.0, 0.0, 0.5, 1.2], [2.0, 3.0, -1.0, 0.0]),
        signals.comparator("above", "u.y", 0.5),
        signals.product("cube", ["u.y", "u.y", "u.y"]),
        signals.transfer_function("tf", "cube.y", [1.0, 2.0], [3.0, 4.0]),
    ]
    sums = [signals.integrator(f"sum of {b.name}", f"{b.name}.y") for b in blocks]
    model = compiled(signals.integrator("u", "time", start), *blocks, *sums)
    program, p, h = model.program, model.parameters(), 1e-6
    (x, m), (starts, rows) = model.initial(), program.jacobian_pattern
    exact, entries = np.zeros((len(x), len(x))), program.jacobian(0.0, x, p, m)
    for column in range(len(x)):
        at = slice(starts[column], starts[column + 1])
        exact[rows[at], column] = entries[at]
    moved = [(program.rates(0.0, x + d, p, m) - program.rates(0.0, x - d, p, m)) / (2 * h) for d in h * np.eye(len(x))]
    np.testing.assert_allclose(exact, np.transpose(moved), atol=1e-7)
    assert np.count_nonzero(exact) >= 5


def test_many_blocks_are_compiled_as_loops() -> None:
    """A line of lags, long enough for the compiler of large models: at first only the first one moves."""
    count = 1500
    blocks = [signals.step("u", -1.0, after=2.0), signals.lowpass("lag0", "u.y", 0.5)]
    for k in range(1, count):
        blocks += [signals.lowpass(f"lag{k}", f"k{k}.y", 0.5), signals.gain(f"k{k}", f"lag{k - 1}.y", 3.0)]
    model = compiled(*blocks)
    assert is_large(model.system)
    (x, m), layout = model.initial({"lag7.y": 1.0}), model.program.layout
    rates = model.program.rates(0.0, x, model.parameters({"k8.k": 4.0}), m)
    found = {k: rates[layout[f"lag{k}.y"].start] for k in range(count) if rates[layout[f"lag{k}.y"].start]}
    assert found == {0: pytest.approx(4.0), 7: pytest.approx(-2.0), 8: pytest.approx(8.0)}


def test_the_module_lists_its_blocks() -> None:
    kinds = [name for name in signals.__all__ if getattr(signals, name).__doc__]
    assert len(kinds) == len(set(kinds)) == len(signals.__all__) == 24


def test_the_page_lists_every_block_and_its_example_prints_what_it_shows() -> None:
    page = (ROOT / "docs" / "signals.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)\(", page, re.MULTILINE) == list(signals.__all__)
    assert set(re.findall(r"E14\d", page)) == {code for code, _, _ in WRONG}
    codes, texts = (re.findall(rf"^```{kind}\n(.*?)^```", page, re.DOTALL | re.MULTILINE) for kind in ("python", "text"))
    for code, shown in zip(codes, texts, strict=True):
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
        assert done.stdout == shown


# --- errors ----------------------------------------------------------------------------------------------------------

WRONG = [
    ("E140", lambda: signals.summation("s", {}), ('summation "s"', "given: none")),
    ("E140", lambda: signals.product("p", "c.q"), ('product "p"', "'c.q'")),
    ("E140", lambda: signals.logic("l", "and", []), ('logic "l"', "list of inputs")),
    ("E140", lambda: signals.logic("l", "not", ["a.y", "b.y"]), ('"not" has 2 inputs',)),
    ("E141", lambda: signals.summation("s", {"c.q": 2}), ('"c.q" has the sign 2', "gain")),
    ("E142", lambda: signals.lowpass("l", "c.q", 0.0), ('lowpass "l": time_constant must be positive', "given: 0.0")),
    ("E142", lambda: signals.derivative_filter("d", "c.q", -1.0), ('derivative filter "d"',)),
    ("E142", lambda: signals.smooth_step("s", 0.0, 0.0), ('smooth step "s": duration',)),
    ("E142", lambda: signals.pid("c", "c.q", 1.0, 1.0, 1.0, Parameter(0.0, "s")), ('pid "c": filter_time',)),
    ("E143", lambda: signals.pid("c", "c.q", 1.0, kd=1.0), ('pid "c" has kd but no filter_time',)),
    ("E143", lambda: signals.pid("c", "c.q", 1.0, filter_time=1.0), ("has filter_time but no kd",)),
    ("E143", lambda: signals.pid("c", "c.q", 1.0, initial={"integral": 1.0}), ('pid "c" has no state integral',)),
    ("E144", lambda: signals.transfer_function("h", "c.q", [1.0, 0.0], [2.0]), ("not proper", "num has degree 1")),
    ("E145", lambda: signals.transfer_function("h", "c.q", [1.0], [0.0, 0.0]), ('"h": den is zero',)),
    ("E145", lambda: signals.transfer_function("h", "c.q", "s", [1.0]), ("num is no list of coefficients",)),
    ("E145", lambda: signals.transfer_function("h", "c.q", [1.0], 3.0), ("den is no list of coefficients",)),
    (
        "E145",
        lambda: signals.transfer_function("h", "c.q", [1.0], [1.0, 1.0], initial=[1.0, 2.0]),
        ("no start of its state", "x has shape (1,)"),
    ),
    ("E146", lambda: signals.table("f", "c.q", [0.0, 2.0, 2.0], [1.0, 2.0, 3.0]), ("2 is followed by 2, at index 2",)),
    ("E146", lambda: signals.table("f", "c.q", [0.0, float("inf")], [1.0, 2.0]), ("finite and ascending",)),
    ("E147", lambda: signals.table("f", "c.q", [0.0, 1.0], [1.0, 2.0, 3.0]), ("shape (2,)", "shape (3,)")),
    ("E147", lambda: signals.table("f", "c.q", [0.0], [1.0]), ('table "f"',)),
    ("E147", lambda: signals.table("f", "c.q", "ab", [1.0, 2.0]), ("are no numbers",)),
    ("E148", lambda: signals.limiter("l", "c.q", 2.0, 1.0), ('limiter "l": lowest is above highest', "other way")),
    ("E148", lambda: signals.dead_zone("d", "c.q", 2.0, 1.0), ('dead zone "d"',)),
    ("E148", lambda: signals.ramp("r", 1.0, 3.0, 2.0), ('ramp "r": start is above end',)),
    ("E149", lambda: signals.logic("l", "xor", ["a.y", "b.y"]), ("no relation 'xor'", "and, or, not")),
]


@pytest.mark.parametrize(("code", "make", "words"), WRONG, ids=[f"{c}-{i}" for i, (c, _, _) in enumerate(WRONG)])
def test_what_is_no_block_is_refused(code: str, make, words: tuple[str, ...]) -> None:
    with pytest.raises(ModelError) as caught:
        make()
    (problem,) = caught.value.problems
    assert problem.code == code and problem.cures
    for word in (*words, "created at test_signals.py:"):
        assert word in str(problem), str(problem)


@pytest.mark.parametrize(
    ("block", "code"),
    [
        (signals.gain("g", "no.y", 1.0), "E106"),
        (signals.gain("g", "time", float("nan")), "E113"),
        (signals.lowpass("g", "time", "long"), "E113"),
    ],
)
def test_what_a_graph_finds_wrong_in_a_block(block: Element, code: str) -> None:
    with pytest.raises(ModelError) as caught:
        compiled(block)
    assert [p.code for p in caught.value.problems] == [code]


@pytest.mark.parametrize(
    "formula",
    [
        lambda x: where(x, 1.0, 2.0),
        lambda x: where(x - 1.0, 1.0, 2.0),
        lambda x: where((x > 0.0) * (x < 1.0), 1.0, 2.0),
        lambda x: where((x > 0.0) & x, 1.0, 2.0),
        lambda x: where(~x, 1.0, 2.0),
        lambda x: where(1.0, x, 2.0),
    ],
)
def test_a_number_is_no_condition(formula: Callable[[Any], Any]) -> None:
    """It used to mean "not zero"; the element whose formula says so is named."""
    with pytest.raises(ModelError, match=r'(?s)E129.*block "own".*(comparison|bitwise_and|invert)'):
        compiled(Block("own", [("y", formula, ["u"])], inputs={"u": "time"}))


def test_conditions_are_comparisons_and_what_joins_them() -> None:
    """Truths that are known while a formula is recorded are conditions too."""

    def formula(x: Any) -> Any:
        return where((x > 0.0) & ~(x > 2.0) | (x != x), where(bool(1), x, 0.0), where(np.less(1.0, 2.0), 5.0 * x, 0.0))

    values = compiled(Block("own", [("y", formula, ["u"])], inputs={"u": "time"})).simulate(4.0, samples=[1.0, 3.0])
    assert values["own.y"].tolist() == [0.0, 1.0, 15.0]
