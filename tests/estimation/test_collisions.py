"""Sensitivities through collisions that are one problem of impulses: friction, several contacts at once, restitution; against
complex steps through closed forms, and against differences of runs in several strides."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from bondgraph import J0, J1, TF, Constraint, Friction, Graph, I, compile_model
from bondgraph.estimation import run_sensitivities
from tests.estimation.differences import differences
from tests.run.test_friction_in_collisions import GRAVITY, HEIGHT, MASS, RADIUS, ball, contact, plate

EXACT, TIGHT = 1e-8, {"rtol": 1e-12, "progress": False}


def agree(found, wanted, within=EXACT):
    assert np.max(np.abs(found - wanted)) <= within * np.max(np.abs(wanted))


def bounced(times, numbers):
    """Height, speed along the floor and spin of a ball of spin w at these times, through its bounces, in complex numbers too: in
    each, friction takes the slip or has mu times the impulse of the floor, both signs of slip."""
    mu, e, mass, inertia, w, v, h, weight = numbers
    rows, t, p, at = [], 0.0 * mu, 0.0 * mu, list(times)
    while True:
        hit = (p + np.sqrt(p * p - 2.0 * weight * MASS * h)) / -weight
        while at and at[0] <= (t + hit).real:
            s = at.pop(0) - t
            rows.append([h + (p * s + weight * s * s / 2.0) / MASS, v, w])
        if not at:
            return np.array(rows)
        p = p + weight * hit
        slip, most = v + RADIUS * w, -mu * (1.0 + e) * p
        taken = slip / (1.0 / mass + RADIUS**2 / inertia)
        if abs(taken.real) > most.real:
            taken = most * np.sign(slip.real)
        t, h, p, v, w = t + hit, 0.0 * h, -e * p, v - taken / mass, w - RADIUS * taken / inertia


@pytest.mark.parametrize("spin", [5.0, 40.0, -80.0])
def test_a_ball_with_spin_against_complex_steps(spin):
    """It sticks at the first bounce, or at a later one, or slides on."""
    names = ("rubs.limit", "floor.restitution", "m.inertia", "J.inertia", "J.p", "m.p", "floor.h", "weight.value")
    inertia, times = 0.4 * MASS * RADIUS**2, np.linspace(0.0, 0.7, 12)
    start = {"J.p": inertia * spin, "m.p": 0.2}
    found = run_sensitivities(
        ball(1), names, 0.7, samples=times, initial=start, parameters={"rubs.stick_limit": 1.0, "rubs.limit": 0.2}, **TIGHT
    )
    assert found.ok and len(found.result.events) >= 4
    for j, name in enumerate(names):
        numbers = np.array([0.2, 0.5, MASS, inertia, inertia * spin, 0.2, HEIGHT, -MASS * GRAVITY], dtype=complex)
        numbers[j] += 1e-30j
        mu, e, mass, J, spun, pushed, h, weight = numbers
        wanted = bounced(times, (mu, e, mass, J, spun / J, pushed / mass, h, weight)).imag / 1e-30
        for k, quantity in enumerate(("floor.h", "m.flow", "w.flow")):
            if np.any(wanted[:, k]):
                agree(found[quantity, name], wanted[:, k])
            else:
                assert np.abs(found[quantity, name]).max() <= EXACT * np.abs(wanted).max()


@functools.cache
def rod(restitution=0.975):
    """A rod that strikes the floor with its end, askew."""
    graph, w = Graph("rod"), J1("w", domain="rotation")
    x, y = J1("x", domain="translation"), J1("y", domain="translation")
    graph.connect(x, I("mx", 1.0)).connect(y, I("my", 1.0)).connect(w, I("J", 1.0 / 3.0))
    up, along = J0("up", domain="translation"), J0("along", domain="translation")
    graph.connect(y, up).connect(w, arm := TF("arm", -np.cos(0.92))).connect(arm, up)
    graph.connect(x, along).connect(w, stem := TF("stem", np.sin(0.92))).connect(stem, along)
    graph.connect(up, Constraint("floor", initial=0.1, automaton="on floor", active=["rest"], restitution=restitution))
    graph.add_automaton(contact("floor"))
    graph.connect(along, Friction("rubs", 0.91, stick_limit=2.0, scale=lambda n: n, signals=["floor.multiplier"]))
    return compile_model(graph)


CASES = {
    "in a plane": (
        lambda: ball(2, 0.7),
        {"J.p": [0.24, -0.64], "m.p": [1.0, -0.4]},
        ("rubs.limit", "J.inertia[1]", "J.p[0]", "floor.h"),
        ("m.flow[0]", "m.flow[1]", "w.flow[0]"),
        0.6,
    ),
    "two ends one after the other": (
        lambda: plate(0.3, 0.5, offset=0.1, h=(0.2, 0.23)),
        {"mx.p": 2.0},
        ("rubs left.limit", "J.inertia", "left.h", "right.restitution"),
        ("x.flow", "y.flow", "w.flow"),
        0.3,
    ),
    "two ends at once": (
        lambda: plate(0.1, 0.5),
        {"mx.p": 2.0},
        ("rubs left.limit", "my.inertia", "mx.p", "left.restitution", "weight.value"),
        ("x.flow",),
        0.3,
    ),
    "less restitution, for no energy is gained": (
        rod,
        {"my.p": -1.0, "mx.p": 0.51},
        ("J.inertia", "mx.p"),
        ("x.flow", "y.flow", "w.flow"),
        0.11,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_against_differences_of_runs(case):
    make, initial, names, outputs, t_end = CASES[case]
    compiled = make()
    rubs = {name: 2.0 for name in compiled.parameters if name.endswith(".stick_limit")}
    settings = {**TIGHT, "samples": t_end * np.array([0.2, 0.45, 0.7, 0.87, 1.0])}
    found = run_sensitivities(compiled, names, t_end, initial=initial, parameters=rubs, **settings)
    assert found.ok and found.result.events
    for name in names:
        wanted = differences(compiled, name, t_end, outputs, 1e-2, rubs, initial, **settings)
        agree(np.stack([found[output, name] for output in outputs], axis=-1), wanted)


def pendulum():
    """A double pendulum whose tip strikes a wall with friction, also at rest against it: in the coordinates of its angles."""
    from tests.estimation.striking import double_pendulum

    return double_pendulum()
