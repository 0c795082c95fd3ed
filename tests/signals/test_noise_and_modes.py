"""Chirp, relay, quantiser, pulse-width modulation, rate limiter and noise agree with closed forms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

from bondgraph import (
    J1,
    Automaton,
    Block,
    C,
    Graph,
    I,
    ModelError,
    Parameter,
    R,
    Se,
    StateSpec,
    Transition,
    compile_model,
    signals,
)
from screws.scalars import cos, maximum, minimum, sin

TURN = 2.0 * np.pi


def run_of(*blocks, until: float, **settings):
    graph = Graph("blocks")
    graph.add(*blocks)
    return compile_model(graph).simulate(until, **settings)


def test_a_chirp_sweeps_from_one_frequency_to_the_other():
    """The angular frequency, the slope of the angle, rises by 3 rad/s per second, from 2 rad/s to 8 rad/s."""
    run = run_of(signals.chirp("c", 2.0, 8.0, 2.0, amplitude=3.0, start=1.0, phase=0.5, offset=-1.0), until=6.0, samples=0.01)
    since = np.clip(run.t - 1.0, 0.0, 2.0)
    angle = 0.5 + 2.0 * since + 1.5 * since**2 + 8.0 * np.maximum(run.t - 3.0, 0.0)
    np.testing.assert_allclose(run["c.y"], -1.0 + 3.0 * np.sin(angle), atol=1e-12)
    whole = run_of(signals.chirp("c", 2.0, 8.0, 2.0, start=1.0), signals.integrator("i", "c.y"), until=6.0)
    area = quad(lambda t: np.sin(2.0 * t + 1.5 * t * t), 0.0, 2.0)[0] + (np.cos(10.0) - np.cos(34.0)) / 8.0
    assert whole["i.y"][-1] == pytest.approx(area, abs=1e-8)


def test_a_relay_switches_at_both_levels():
    """For sin(2 pi t), the relay switches up where the sine rises through 1/2, and down where it falls through -1/4."""
    relay = signals.hysteresis("h", "u.y", -0.25, 0.5, low=-1.0, high=2.0)
    run = run_of(signals.sine("u", omega=TURN), relay, signals.integrator("i", "h.y"), until=2.0)
    up, down = np.arcsin(0.5) / TURN, 0.5 + np.arcsin(0.25) / TURN
    assert [event.kind for event in run.events] == ["h rises", "h falls"] * 2
    np.testing.assert_allclose([event.time for event in run.events], [up, down, 1.0 + up, 1.0 + down], atol=1e-12)
    assert run["i.y"][-1] == pytest.approx(2.0 * (3.0 * (down - up) - 1.0), abs=1e-12)


STARTS = [(2.0, "low", 1.0), (-2.0, "high", 0.0), (0.0, "low", 0.0), (0.0, "high", 1.0)]


@pytest.mark.parametrize("slope", [-0.5, 0.0, 0.5])
@pytest.mark.parametrize(("level", "initial", "expected"), STARTS)
def test_a_relay_starts_where_its_input_says_or_in_its_initial_state(level, initial, expected, slope):
    relay = signals.hysteresis("h", "u.y", -1.0, 1.0, initial=initial)
    assert run_of(signals.ramp("u", slope, offset=level), relay, until=1.0)["h.y"][-1] == expected


def test_a_relay_holds_a_temperature():
    """The duration of each swing is the logarithm of a ratio of temperature differences."""
    graph, room = Graph("thermostat"), J1("room")
    graph.connect(room, I("heat", 1.0, initial=20.0)).connect(room, R("loss", 1.0))
    graph.connect(Se("heater", lambda y: y, signals=["h.y"]), room)
    graph.add(signals.hysteresis("h", "heat.flow", 18.0, 22.0, low=40.0, high=0.0, initial="high"))
    run = compile_model(graph).simulate(2.0)
    first, cooling, heating = np.log(20.0 / 18.0), np.log(22.0 / 18.0), np.log(22.0 / 18.0)
    times = first + np.concatenate([[0.0], np.cumsum(np.resize([heating, cooling], 20))])
    np.testing.assert_allclose([event.time for event in run.events], times[times < 2.0], atol=1e-8)


@pytest.mark.parametrize("duty", [0.3, 1e-4, 0.9999, 0.0, 1.0, 1.7, -1.0])
def test_pulses_have_the_requested_width(duty):
    run = run_of(signals.step("d", after=duty), signals.pwm("p", "d.y", 0.25), signals.integrator("i", "p.y"), until=1.0)
    assert run["i.y"][-1] == pytest.approx(max(min(duty, 1.0), 0.0), abs=1e-13)
    begun = run_of(signals.step("d", start=1.1, before=0.5, after=duty), signals.pwm("p", "d.y", 1.0, low=-1.0), until=1.3)
    assert begun["p.y"][-1] == 1.0


@pytest.mark.parametrize("duty", [lambda t: 0.35 * maximum(t, 0.0), lambda t: 0.35 * t, lambda t: minimum(0.35 * t, 0.5)])
def test_pulses_begin_where_a_duty_leaves_zero(duty):
    course = Block("d", [("y", duty, ["t"])], inputs={"t": "time"})
    run = run_of(course, signals.pwm("p", "d.y", 0.25), signals.integrator("i", "p.y"), until=1.0)
    begins = np.array([0.25, 0.5, 0.75])
    edges = np.sort(np.concatenate([begins, begins + 0.25 * 0.35 * begins]))
    np.testing.assert_allclose([event.time for event in run.events], edges, atol=1e-14)
    assert run["i.y"][-1] == pytest.approx(0.25 * 0.35 * 1.5, abs=1e-13)


def test_full_pulses_have_no_edge_between_them():
    """The end of a pulse and the start of the next differ by rounding error where a period is not a binary fraction."""
    run = run_of(signals.step("d", before=1.0), signals.pwm("p", "d.y", 0.1), until=5.0)
    assert [event.kind for event in run.events] == ["p rises"] and run["p.y"][-1] == 1.0


def test_a_quantiser_takes_the_nearest_level_and_each_change_is_an_event():
    run = run_of(
        signals.sine("u", omega=TURN),
        signals.quantiser("q", "u.y", 0.3),
        signals.integrator("i", "q.y"),
        until=0.25,
        samples=1e-3,
    )
    changes = np.arcsin([0.15, 0.45, 0.75]) / TURN
    np.testing.assert_allclose([event.time for event in run.events], changes, atol=1e-12)
    np.testing.assert_allclose(run["q.y"], 0.3 * np.round(np.sin(TURN * run.t) / 0.3), atol=1e-15)
    assert run["i.y"][-1] == pytest.approx(0.3 * np.sum(0.25 - changes), abs=1e-13)


def test_a_quantiser_falls_and_jumps_over_levels():
    run = run_of(
        signals.step("u", 0.5, -0.3, 3.3),
        signals.quantiser("q", "u.y", 0.25),
        signals.ramp("down", -1.0, offset=1.0),
        signals.quantiser("r", "down.y", 0.5),
        signals.integrator("i", "q.y"),
        until=2.0,
    )
    assert run["i.y"][-1] == pytest.approx(-0.25 * 0.5 + 3.25 * 1.5, abs=1e-12)
    assert [event.time for event in run.events if event.kind == "r falls"] == pytest.approx([0.25, 0.75, 1.25, 1.75], abs=1e-12)
    assert run["r.y"][-1] == -1.0


def test_a_rate_limiter_ramps_up_and_down_to_its_input():
    limiter = signals.sampled_rate_limiter("l", "u.y", -1.0, 2.0, period=0.05)
    tick = np.arange(70)
    run = run_of(signals.pulse("u", 0.14, 1.35, before=-0.2), limiter, until=3.5, samples=(tick + 0.5) * 0.05)
    rising, falling = np.minimum(-0.15 + 0.1 * (tick - 2.0), 1.0), np.maximum(1.0 - 0.05 * (tick - 29.0), -0.2)
    expected = np.where(tick < 3, -0.05 * (tick + 1.0), np.where(tick < 30, rising, falling))
    np.testing.assert_allclose(run["l.y"][np.searchsorted(run.t, (tick + 0.5) * 0.05)], expected, atol=1e-12)


def reference(seed: int, count: int) -> np.ndarray:
    """Return L'Ecuyer's combined generator in Python integers."""
    states, moduli, multipliers = [seed + 1, seed + 1], (2147483563, 2147483399), (40014, 40692)
    numbers = []
    for k in range(8 + count):
        states = [multiplier * state % modulus for multiplier, state, modulus in zip(multipliers, states, moduli, strict=True)]
        if k < 8:
            states = [max(state, 1) for state in states[::-1]]
        else:
            numbers.append((states[0] - states[1]) % (moduli[0] - 1) / moduli[0])
    return np.array(numbers)


PERIOD = 1e-3


def noise_of(count: int, parameters=None, **more) -> np.ndarray:
    times = (np.arange(count) + 0.5) * PERIOD
    run = run_of(signals.noise("n", 2.0, PERIOD, mean=1.0, **more), until=count * PERIOD, samples=times, parameters=parameters)
    return run["n.y"][np.searchsorted(run.t, times)]


def test_noise_is_the_generator_of_its_source():
    u = reference(5, 4000)
    uniform, normal = noise_of(2000, seed=5, distribution="uniform"), noise_of(2000, seed=5)
    np.testing.assert_allclose(uniform, 1.0 + 2.0 * np.sqrt(12.0) * (u[:2000] - 0.5), atol=1e-14)
    np.testing.assert_allclose(normal, 1.0 + 2.0 * np.sqrt(-2.0 * np.log(u[::2])) * np.cos(TURN * u[1::2]), atol=1e-12)


def test_one_seed_gives_the_same_bits_and_another_seed_others():
    first = noise_of(50, seed=1)
    assert first.tolist() == noise_of(50, seed=1).tolist() == noise_of(50, {"n.seed": 1}, seed=8).tolist()
    assert not np.any(first == noise_of(50, seed=2))


@pytest.mark.parametrize("distribution", ["normal", "uniform"])
def test_noise_has_its_mean_and_deviation_and_no_memory(distribution):
    count = 20_000
    z = (noise_of(count, seed=3, distribution=distribution) - 1.0) / 2.0
    error = 4.0 / np.sqrt(count)
    assert abs(z.mean()) < error and abs(z.var() - 1.0) < 1.5 * error
    assert all(abs(np.mean(z[lag:] * z[:-lag])) < error for lag in (1, 2, 7))
    assert np.mean(z**4) == pytest.approx({"normal": 3.0, "uniform": 1.8}[distribution], abs=10.0 * error)


def test_first_numbers_of_neighbouring_seeds_are_unrelated():
    first = np.array([reference(seed, 1)[0] for seed in range(2000)]) - 0.5
    assert abs(np.corrcoef(first[1:], first[:-1])[0, 1]) < 0.1 and first.var() == pytest.approx(1.0 / 12.0, rel=0.1)


def test_noise_drives_a_state_to_the_variance_of_its_power_density():
    """A lowpass of held values is a difference equation, whose variance is S / (2 T) for a density S and small periods."""
    run = run_of(signals.noise("n", 2.0, PERIOD, seed=11), signals.lowpass("l", "n.y", 0.01), until=100.0, samples=0.01)
    decay = np.exp(-PERIOD / 0.01)
    assert run["l.y"][100:].var() == pytest.approx(4.0 * (1.0 - decay) / (1.0 + decay), rel=0.1)


@pytest.mark.parametrize("seed", [-1, 0.5, 2147483398, [1, 2], "one", Parameter([1.0, 2.0])])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(ModelError, match='E182 noise "n" needs a whole number from 0 to 2147483397 as its seed'):
        signals.noise("n", 1.0, PERIOD, seed=seed)


def test_the_advice_on_random_formulas_holds():
    graph, v = Graph("pushed"), J1("v")
    graph.connect(Se("u", lambda noise: noise, signals=["noise.y"]), v).connect(v, I("m", 1.0))
    graph.add(signals.noise("noise", 1.0, period=1e-3, seed=1))
    assert compile_model(graph).simulate(1.0).ok


def test_a_rate_limiter_follows_steps_and_ramps():
    pulse = signals.pulse("u", 1.0, 3.0)
    run = run_of(pulse, signals.rate_limiter("l", "u.y", -2.0, 0.5), until=6.0, samples=0.01)
    expected = np.clip(0.5 * (run.t - 1.0), 0.0, 1.0) - np.clip(2.0 * (run.t - 4.0), 0.0, 1.0)
    np.testing.assert_allclose(run["l.y"], expected, atol=1e-12)
    assert [event.kind for event in run.events] == [
        "l begins rising",
        "l meets its input",
        "l begins falling",
        "l meets its input",
    ]
    run = run_of(signals.ramp("u", 1.0, end=2.0), signals.rate_limiter("l", "u.y", -2.0, 0.5), until=6.0, samples=0.01)
    np.testing.assert_allclose(run["l.y"], np.minimum(0.5 * run.t, 2.0), atol=1e-12)


@pytest.mark.parametrize("slope", [1.0, -3.0])
def test_a_rate_limiter_behind_a_hold_starts_at_its_input(slope):
    """At the first tick, the input has moved from 0 by rounding error of time."""
    blocks = signals.ramp("u", slope), signals.hold("h", "u.y", 0.1), signals.rate_limiter("l", "h.y", -50.0, 50.0)
    run = run_of(*blocks, until=1.0, samples=[0.05 + 0.1 * k for k in range(10)])
    np.testing.assert_allclose(run["l.y"], 0.1 * slope * np.floor(10.0 * run.t + 1e-9), atol=1e-9 * abs(slope))


def test_a_rate_limiter_turns_back_where_a_step_overtakes_it():
    run = run_of(signals.pulse("u", 1.0, 1.0), signals.rate_limiter("l", "u.y", -0.25, 0.5), until=5.0, samples=0.01)
    expected = np.where(run.t < 2.0, 0.5 * np.maximum(run.t - 1.0, 0.0), np.maximum(0.5 - 0.25 * (run.t - 2.0), 0.0))
    np.testing.assert_allclose(run["l.y"], expected, atol=1e-12)


def test_a_rate_limiter_of_a_sine_follows_it_from_where_they_meet():
    """sin t is steeper than 1/2 up to pi/3, so y = t / 2 until sin t = t / 2, then sin t until its slope is -1/2."""
    run = run_of(signals.sine("u"), signals.rate_limiter("l", "u.y", -0.5, 0.5), until=5.0, samples=0.01)
    meets, leaves = brentq(lambda t: np.sin(t) - 0.5 * t, 1.0, 3.0), 2.0 * np.pi / 3.0
    expected = np.where(run.t < meets, 0.5 * run.t, np.sin(run.t))
    expected = np.where(run.t > leaves, np.sin(leaves) - 0.5 * (run.t - leaves), expected)
    np.testing.assert_allclose(run["l.y"], expected, atol=1e-9)
    np.testing.assert_allclose([event.time for event in run.events], [0.0, meets, leaves], atol=1e-9)


def test_rate_limiters_in_series_and_with_a_mechanism():
    graph, body = Graph("row"), J1("body")
    graph.connect(Se("push", 2.0), body).connect(body, I("a", 1.0)).connect(body, I("b", 3.0))
    blocks = [signals.rate_limiter("first", "body.flow", -1.0, 0.4), signals.rate_limiter("second", "first.y", -1.0, 0.1)]
    graph.add(*blocks)
    run = compile_model(graph).simulate(2.0)
    np.testing.assert_allclose(run["first.y"], 0.4 * run.t, atol=1e-12)
    np.testing.assert_allclose(run["second.y"], 0.1 * run.t, atol=1e-12)


def test_a_rate_limiter_in_a_loop_without_delay_is_refused():
    graph = Graph("loop")
    graph.add(signals.summation("e", {"time": 1, "l.y": -1}), signals.rate_limiter("l", "e.y", -1.0, 1.0))
    with pytest.raises(ModelError) as caught:
        compile_model(graph)
    assert caught.value.problems[0].code == "E207"
    assert 'the input of block "l" must be differentiated, but depends on this derivative' in str(caught.value)
    cured, blocks = Graph("loop"), (signals.lowpass("soft", "e.y", 0.1), signals.rate_limiter("l", "soft.y", -1.0, 1.0))
    cured.add(signals.summation("e", {"time": 1, "l.y": -1}), *blocks)
    assert compile_model(cured).simulate(1.0).ok


@pytest.mark.parametrize("step", [0.1, 0.3, 1.0 / 3.0, 0.7, 1e-3 * np.pi])
def test_a_quantiser_stays_within_half_a_step_of_any_wave(step):
    graph = Graph("wave").add(signals.sine("u", 33.0 * step, TURN), signals.quantiser("q", "u.y", step))
    compiled = compile_model(graph)
    for factor in (0.97, 0.98, 0.99, 1.0, -1.01, -1.02):
        run = compiled.simulate(2.0, samples=501, parameters={"u.amplitude": factor * 33.0 * step}, max_step=0.01)
        assert np.abs(run["q.y"] - run["u.y"]).max() < 0.501 * step, factor


@pytest.mark.parametrize("excess", [1e-4, 1e-6, 1e-8])
def test_a_relay_sees_a_crest_much_shorter_than_a_step(excess):
    graph, speed = Graph("swing"), J1("speed")
    graph.connect(speed, C("spring", stiffness=1.0, initial=1.0)).connect(speed, I("mass", 1.0))
    graph.add(signals.hysteresis("h", "spring.q", excess - 1.0, 1.0 - excess))
    run = graph.simulate(40.0)
    times = [event.time for event in run.events]
    turns = np.arange(len(times)) * np.pi
    assert len(times) == 13
    np.testing.assert_allclose(times[1:], turns[1:] - np.arccos(1.0 - excess), atol=1e-5)


MIRRORED = {
    "a sine": (lambda t, a: a * sin(t), lambda t, a: -a * sin(t)),
    "a sum": (lambda t, a: a * sin(t) + 0.3 * a * cos(2.3 * t), lambda t, a: -0.3 * a * cos(2.3 * t) - a * sin(t)),
}


@pytest.mark.parametrize("wave", MIRRORED)
def test_quantisers_of_a_signal_and_its_negative_change_together(wave):
    """The signals differ in rounding, so that one guard may jump just before the other."""
    signal, mirrored = MIRRORED[wave]
    graph = Graph("pair")
    for name, formula in (("u", signal), ("w", mirrored)):
        graph.add(Block(name, [("y", formula, ["t", "a"])], inputs={"t": "time"}, parameters={"a": 1.0}))
        graph.add(signals.quantiser(f"{name} levels", f"{name}.y", 0.1))
    compiled = graph.compile()
    for a in 0.31 + 0.0137 * np.arange(60):
        run = compiled.simulate(15.0, samples=1501, parameters={"u.a": a, "w.a": a}, max_step=0.02)
        for name in ("u", "w"):
            u = run[f"{name}.y"] / 0.1
            clear = np.abs(u % 1.0 - 0.5) > 1e-6
            np.testing.assert_allclose(run[f"{name} levels.y"][clear], 0.1 * np.round(u[clear]), atol=1e-12)


def decaying(rate: float) -> Graph:
    """Return x' = -Q(x) - rate from x = 1.03, where Q is a quantiser; it falls at a constant rate between its edges."""
    graph = Graph("decay").add(signals.quantiser("q", "x.x", 0.1))
    rates = [("r", lambda q, rate: -q - rate, ["q", "rate"])]
    inputs, states = {"q": "q.y"}, {"x": StateSpec(1.03)}
    return graph.add(Block("x", rates, inputs=inputs, states=states, rates={"x": "r"}, parameters={"rate": rate}))


@pytest.mark.parametrize("rate", [0.013, 0.21, 0.5])
def test_a_quantised_state_that_drives_itself_passes_every_level(rate: float) -> None:
    run = decaying(rate).simulate(8.0)
    time, x, level = 0.0, 1.03, 1.0
    while time < 8.0 and level + rate > 1e-9:
        edge = time + (x - (level - 0.05)) / (level + rate)
        if edge > 8.0:
            break
        time, x, level = edge, level - 0.05, level - 0.1
    assert run.ok
    assert run["x.x"][-1] == pytest.approx(x - (level + rate) * (8.0 - time), abs=1e-8)
    assert run["q.y"][-1] == pytest.approx(level, abs=1e-12)


@pytest.mark.parametrize("step", [0.1, 0.3])
def test_a_quantiser_of_a_state_and_one_of_its_formula_agree(step: float) -> None:
    graph, speed = Graph("swing"), J1("speed")
    graph.connect(speed, C("spring", stiffness=1.0)).connect(speed, I("mass", 1.0, initial=1.0))
    graph.add(signals.sine("u"), signals.quantiser("of formula", "u.y", step), signals.quantiser("of state", "spring.q", step))
    run = graph.simulate(12.0, samples=1201)
    clear = np.abs((run["u.y"] / step) % 1.0 - 0.5) > 1e-4
    assert len(run.events) > 12.0 / step / 3.0
    np.testing.assert_allclose(run["of state.y"][clear], step * np.round(run["u.y"][clear] / step), atol=1e-12)
    np.testing.assert_allclose(run["of state.y"][clear], run["of formula.y"][clear], atol=1e-12)


@pytest.mark.parametrize("height", [1e-2, 1e-5, 1e-9])
def test_a_quantiser_sees_crests_far_shorter_than_a_step(height: float) -> None:
    """The sine passes the edge of a level of 2 by this height, four times up and three times down within four periods."""
    run = run_of(signals.sine("u", omega=TURN), signals.quantiser("q", "u.y", 2.0 / (1.0 + height)), until=4.0, samples=101)
    crest = np.arccos(1.0 / (1.0 + height)) / TURN
    times = [0.25 + 0.5 * k + side * crest for k in range(8) for side in (-1.0, 1.0)]
    np.testing.assert_allclose([event.time for event in run.events], times, atol=1e-8)


def levels_potential(x, step):
    """Return the integral of a quantiser of this step from 0 to x."""
    n = np.floor(np.abs(x) / step + 0.5)
    return step * n * (np.abs(x) - 0.5 * n * step)


@pytest.mark.parametrize("by_hand", [False, True])
@pytest.mark.parametrize("step", [0.07, 0.3])
@pytest.mark.parametrize("beyond", [1e-3, 1e-5])
def test_a_quantised_spring_keeps_its_energy(by_hand: bool, step: float, beyond: float) -> None:
    """The turning points lie just beyond an edge. An automaton whose reset moves its guard's zero acts like the quantiser: its
    resets are no bounces."""
    rates = [("a", lambda q: -q, ["q"]), ("speed", lambda v: v, ["v"])]
    states = {"x": StateSpec(3.5 * step * (1.0 + beyond)), "v": StateSpec(0.0)}
    graph = Graph("spring").add(Block("x", rates, inputs={"q": "q.y"}, states=states, rates={"x": "speed", "v": "a"}))
    if by_hand:
        up = Transition("on", "on", lambda x, y: x - y - step / 2, ["x.x", "q.y"], [("q.y", lambda y: y + step, ["q.y"])])
        down = Transition("on", "on", lambda x, y: y - x - step / 2, ["x.x", "q.y"], [("q.y", lambda y: y - step, ["q.y"])])
        levels = Block("q", [], states={"y": StateSpec(4.0 * step)})
        graph.add(replace(levels, automaton=Automaton("q", ("on",), "on", (up, down))))
    else:
        graph.add(signals.quantiser("q", "x.x", step))
    run = graph.simulate(20.0, samples=501)
    energy = run["x.v"] ** 2 / 2.0 + levels_potential(run["x.x"], step)
    np.testing.assert_allclose(energy, energy[0], rtol=1e-6)
    assert len(run.events) > 20
