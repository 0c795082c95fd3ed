"""Dry friction on a commanded motion, or on springs alone (Prandtl, Jenkin, Iwan), agrees with closed forms."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from bondgraph import GY, J0, J1, TF, C, Compiled, Element, Friction, Graph, I, Se, Sf, compile_model
from screws.scalars import array, cos, sin, where


def commanded(friction: Element, command, mass: float = 0.0) -> Graph:
    graph, v = Graph("slider"), J1("v", domain="translation")
    graph.connect(Sf("command", command, signals="time"), v).connect(v, friction)
    return graph.connect(v, I("mass", mass)) if mass else graph


def swing(t):
    return np.pi * cos(2 * np.pi * t)


def course(t):
    return where(t < 1.0, np.pi * sin(2 * np.pi * t), where(t < 2.0, 0.0 * t, t - 2.0))


def behind_a_lever() -> Graph:
    graph, lever = Graph("lever"), TF("lever", 2.0)
    one, two = J1("one", domain="translation"), J1("two", domain="translation")
    graph.connect(Sf("command", swing, signals="time"), one).connect(one, lever.port("1"))
    return graph.connect(lever.port("2"), two).connect(two, Friction("f", 5.0)).connect(two, I("mass", 3.0))


def behind_a_gyrator() -> Graph:
    graph, gyrator, v = Graph("gyrator"), GY("gyrator", 0.5), J1("v", domain="translation")
    graph.connect(Se("command", swing, signals="time"), gyrator.port("1")).connect(gyrator.port("2"), v)
    return graph.connect(v, Friction("f", 5.0))


@pytest.mark.parametrize(
    ("graph", "work"),
    [
        (lambda: commanded(Friction("f", 10.0), swing), 40.0),
        (lambda: commanded(Friction("f", 10.0, stick_limit=15.0, viscous=2.0), swing, mass=1.0), 40.0 + 2 * np.pi**2),
        (lambda: commanded(Friction("f", 1.0, scale=lambda t: 10.0 + 0.0 * t, signals=["time"]), swing), 40.0),
        (lambda: commanded(Friction("f", 10.0), lambda t: where(sin(np.pi * t + 1.0) > 0.0, 2.0, -2.0)), 40.0),
        (lambda: commanded(Friction("f", 10.0), lambda t: 16.0 * (t - 1.0) ** 3), 80.0),
        (lambda: commanded(Friction("f", 10.0, dimension=2), lambda t: array([0.6 * swing(t), -0.8 * swing(t)])), 40.0),
        (lambda: commanded(Friction("f", 10.0, dimension=2), lambda t: array([2.0 * cos(t), 2.0 * sin(t)]), mass=0.0), 40.0),
        (behind_a_lever, 40.0),
        (behind_a_gyrator, 40.0),
    ],
)
def test_commanded_friction_takes_limit_times_path(graph, work) -> None:
    run = compile_model(graph()).simulate(2.0, progress=False)
    assert run.ok and run.ledger.dissipated[-1] == pytest.approx(work, rel=1e-6) and run.ledger.relative_residual < 1e-9


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e6])
def test_commanded_friction_rests_only_while_the_command_does(unit) -> None:
    graph = commanded(Friction("f", 10.0), lambda t: unit * course(t))
    compiled = compile_model(graph, progress=False)
    run = compiled.simulate(3.0, samples=np.linspace(0.0, 3.0, 301), progress=False)
    rests = (run.t > 1.0) & (run.t < 2.0)
    assert run.ok and run.ledger.dissipated[-1] == pytest.approx(25.0 * unit, rel=1e-9)
    assert 'friction "f": cannot set its flow' in compiled.report()
    assert np.all(run["f.effort"][rests] == 0.0) and np.all(run.indeterminate["f.effort"][rests])
    moves = (run.t > 0.01) & ~rests & (np.abs(run.t - 1.0) > 1e-9) & (np.abs(run.t - 2.0) > 1e-9) & (np.abs(run.t - 0.5) > 1e-9)
    assert np.all(np.abs(run["f.effort"][moves]) == 10.0) and not np.any(run.indeterminate["f.effort"][moves])


def test_a_mass_still_sticks_to_a_commanded_belt() -> None:
    graph, contact, mass = Graph("belt"), J0("contact", domain="translation"), J1("mass", domain="translation")
    graph.connect(Sf("belt", 0.5), contact).connect(contact, mass).connect(contact, Friction("f", 1.0))
    run = graph.connect(mass, I("m", 1.0)).connect(mass, C("spring", stiffness=1.0)).simulate(2.0, progress=False)
    stuck = run["f.mode"] == 0.0
    assert run.ok and np.any(stuck) and np.all(np.abs(run["mass.flow"][stuck] - 0.5) < 1e-12)
    assert "f.effort" not in run.indeterminate


def jenkin(arrow: int = 1, limits=(1.0,), stiffness: float = 4.0, unit: float = 1.0, **friction) -> Compiled:
    graph, hand = Graph("jenkin"), J1("hand", domain="translation")
    graph.connect(Sf("command", lambda t: unit * cos(t), signals="time"), hand)
    for k, limit in enumerate(limits):
        node, slider = J0(f"node{k}", domain="translation"), J1(f"slider{k}", domain="translation")
        graph.connect(hand, node).connect(node, C(f"spring{k}", stiffness=stiffness * (k + 1)))
        part = Friction(f"f{k}", limit * unit, **friction)
        graph.connect(node, slider).connect(slider, part) if arrow > 0 else graph.connect(slider, node).connect(part, slider)
    return compile_model(graph, progress=False)


jenkin_of_one = functools.cache(jenkin)


def play(x: np.ndarray, stiffness: float, limit: float) -> np.ndarray:
    """Return the force of an elastoplastic element along a path, exact if the path turns at samples."""
    force = np.zeros(len(x))
    for i in range(1, len(x)):
        force[i] = np.clip(force[i - 1] + stiffness * (x[i] - x[i - 1]), -limit, limit)
    return force


T = np.concatenate([[0.0], np.linspace(0.5 * np.pi, 6.5 * np.pi, 1201)])


@pytest.mark.parametrize("arrow", [1, -1])
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e5])
def test_a_slider_behind_a_spring_gives_the_hysteresis_loop(arrow, unit) -> None:
    """The force saturates at the limit F, and a cycle of amplitude a costs 4 F (a - F / k)."""
    run = jenkin(arrow, unit=unit).simulate(T[-1], samples=T, progress=False, rtol=1e-9)
    assert run.ok and len(run.events) in (13, 14) and run.ledger.relative_residual < 1e-9
    np.testing.assert_allclose(run["spring0.effort"] / unit, play(np.sin(T), 4.0, 1.0), atol=1e-8)
    assert np.abs(run["spring0.effort"]).max() <= unit * (1.0 + 1e-12)
    turns = np.isclose((T / np.pi - 0.5) % 2.0, 0.0) | np.isclose((T / np.pi - 0.5) % 2.0, 2.0)
    np.testing.assert_allclose(np.diff(run.ledger.dissipated[turns][1:]) / unit**2, 4.0 * (1.0 - 0.25), rtol=1e-8)


def test_sliders_side_by_side_add_up() -> None:
    run = jenkin(limits=(0.5, 1.0, 3.0)).simulate(T[-1], samples=T, progress=False, rtol=1e-9)
    x = np.sin(T)
    total = sum(play(x, 4.0 * (k + 1), limit) for k, limit in enumerate((0.5, 1.0, 3.0)))
    assert run.ok and run.ledger.relative_residual < 1e-9
    np.testing.assert_allclose(-run["command.effort"] * np.sign(-run["command.effort"] @ total), total, atol=1e-7)


def test_a_slider_that_breaks_loose_jumps_to_the_limit_of_slip() -> None:
    """The spring immediately releases (Fs^2 - F^2) / (2 k), which is lost."""
    run = jenkin(stick_limit=1.5).simulate(1.5, samples=np.linspace(0.0, 1.5, 151), progress=False, rtol=1e-9)
    (event,) = run.events
    assert event.time == pytest.approx(np.arcsin(1.5 / 4.0), abs=1e-9) and run.ledger.relative_residual < 1e-9
    np.testing.assert_allclose(run["spring0.effort"][run.t > event.time], 1.0, rtol=1e-12)
    slid = np.sin(1.5) - 1.5 / 4.0
    losses = run.ledger.supplied[-1] - run.ledger.stored[-1] + run.ledger.stored[0]
    assert losses == pytest.approx(slid + (1.5**2 - 1.0) / 8.0, rel=1e-7)


@pytest.mark.parametrize("given", [0.0, 0.3])
def test_viscous_friction_behind_a_spring(given) -> None:
    run = jenkin_of_one(viscous=given).simulate(T[-1], parameters={"f0.viscous": 0.3}, samples=T, progress=False, rtol=1e-9)

    def rate(t, force):
        return 4.0 * (np.cos(t) - np.sign(force) * np.maximum(np.abs(force) - 1.0, 0.0) / 0.3)

    expected = solve_ivp(rate, (0.0, T[-1]), [0.0], rtol=1e-9, atol=1e-11, t_eval=T, max_step=0.02).y[0]
    assert run.ok and run.ledger.relative_residual < 1e-9
    np.testing.assert_allclose(run["spring0.effort"], expected, atol=1e-6)


@pytest.mark.parametrize("pace", [2.2, 3.0])
def test_a_limit_that_varies_behind_a_spring(pace) -> None:
    compiled = jenkin(scale=lambda t: 1.0 + 0.3 * sin(pace * t), signals=["time"])
    run = compiled.simulate(T[-1], samples=T, progress=False, rtol=1e-9)
    force, limit = run["spring0.effort"], 1.0 + 0.3 * np.sin(pace * T)
    assert run.ok and run.ledger.relative_residual < 1e-9 and np.all(np.abs(force) < limit + 1e-6)
    assert np.diff([event.time for event in run.events]).min() > 1e-3
    slides = run["f0.mode"] != 0.0
    assert np.any(slides) and np.all(np.abs(np.abs(force[slides]) - limit[slides]) < 1e-6)
