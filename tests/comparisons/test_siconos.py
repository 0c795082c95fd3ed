"""Siconos' tutorials give the same results for the same systems.

Parameters and results are from siconos-tutorials (Acary, Bremond, Perignon and others), `examples/mechanics`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from bondgraph import J0, J1, TF, Graph, I, Se, compile_model
from bondgraph.stepping import stepper
from tests.comparisons.mechanisms import slider_crank, woodpecker
from tests.comparisons.public_cases import touch
from tests.inner.compile import Compiled

PUBLISHED = json.loads((Path(__file__).parent / "siconos.json").read_text())


def column(masses: Sequence[float], gaps: Sequence[float], restitution: float, gravity: float, ceiling: float | None) -> Compiled:
    graph = Graph("column")
    nodes = [J1(f"v{k}", domain="translation") for k in range(len(masses))]
    for k, mass in enumerate(masses):
        graph.connect(Se(f"weight{k}", -gravity * mass), nodes[k]).connect(nodes[k], I(f"m{k}", mass))
    for k, gap in enumerate(gaps):
        opening = J0(f"gap{k}", domain="translation")
        graph.connect(nodes[k], opening)
        if k:
            graph.connect(opening, nodes[k - 1])
        touch(graph, opening, f"c{k}", gap, restitution)
    if ceiling is not None:
        turned = TF("down", -1.0)
        graph.connect(nodes[-1], turned)
        touch(graph, turned, "top", ceiling, restitution)
    return compile_model(graph)


def velocities(run, index: int, mass: float) -> tuple[float, float]:
    event, slot = run.events[index], run.program.layout["m0.p"].start
    return event.x_before[slot] / mass, event.x_after[slot] / mass


@pytest.mark.parametrize(
    ("table", "model", "initial", "t_end"),
    [
        ("BouncingBallED", (([1.0], [1.0 - 0.1 + 0.1]), 0.9, 9.81, None), 0.0, 7.0),
        ("BouncingBallED-TwoContacts", (([1.0], [1.0]), 0.8, 10.0, 0.5), 10.0, 5.0),
    ],
)
def test_impacts_of_a_ball(table, model, initial, t_end):
    """Each impact agrees with Siconos' event-driven run, whose times are printed to 1e-15 s but accurate to about 1e-10 s."""
    (masses, gaps), restitution, gravity, ceiling = model
    (published,) = PUBLISHED[table].values()
    compiled = column(masses, gaps, restitution, gravity, ceiling)
    run = compiled.simulate(t_end, initial={"m0.p": initial}, rtol=1e-10, progress=False)
    assert run.ok and len(run.events) >= 8
    for index, (time, before, after) in enumerate(published[: len(run.events)]):
        assert run.events[index].time == pytest.approx(time, abs=1e-8)
        np.testing.assert_allclose(velocities(run, index, 1.0), (before, after), atol=1e-7)


@pytest.mark.parametrize("how", ["simultaneous", "sequential"])
def test_a_column_of_beads(how):
    """Simultaneous and sequential impacts agree, since each returning bead hits an equal bead that is still falling."""
    radius, mass = 0.005, 4 / 3 * 3.14159265 * 0.005**3 * 7780
    (published,) = PUBLISHED["BeadColumnED_NewtonLaw"].values()
    published = np.array(published)
    compiled = column([mass] * 10, [0.05, *[0.0] * 9], 1.0, 9.81, None)
    run = compiled.simulate(published[-1, 0], samples=np.append(0.0, published[:, 0]), rtol=1e-10, impacts=how, progress=False)
    assert run.ok
    heights = radius + 2 * radius * np.arange(10) + np.cumsum([run[f"c{k}.h"] for k in range(10)], axis=0).T[1:]
    np.testing.assert_allclose(heights, published[:, 1:11], atol=1e-9)
    np.testing.assert_allclose(np.array([run[f"m{k}.flow"] for k in range(10)]).T[1:], published[:, 11:], atol=1e-8)


def test_a_slider_with_play_in_its_guide():
    """Siconos' slider penetrates the guide by 1.2 um, so results agree only to 1e-3 over the first impacts, and the
    crank angle at the next sample to 1 %."""
    (published,) = PUBLISHED["SliderCrankD1MinusLinearOSI"].values()
    times = np.array([row[0] for row in published])
    compiled = compile_model(slider_crank(0.1))
    run = compiled.simulate(times[-1], samples=np.append(0.0, times), rtol=1e-9, progress=False)
    assert run.ok
    q, v = run["mechanism.q"][1:], run["mechanism.v"][1:]
    found = np.column_stack([q[:, 0] / (2.0 * np.pi), q[:, 1], v[:, :2]])
    expected = np.array(published)[:, 1:]
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-5)
    np.testing.assert_allclose(found[1:3], expected[1:3], rtol=1e-3)
    assert found[3, 0] == pytest.approx(expected[3, 0], rel=0.01)
    assert np.abs(q[:, 2]).max() < 1e-9  # the slider hits with both corners simultaneously, and does not rotate
    assert run.statistics.steps < 20_000  # rounding errors in that symmetry do not shorten the steps


def test_a_woodpecker_on_its_pole():
    """The trajectory agrees with Siconos' within the first-order errors of both schemes."""
    (published,) = PUBLISHED["Woodpecker"].values()
    published = np.array(published)
    steps = stepper(woodpecker(), inertia="full", friction="coulomb", restitution={"beak": 0.5})
    errors = []
    for step in (1e-4, 2e-5):
        run = steps.simulate(0.3, step=step, progress=False)
        assert run.ok
        q = np.array([np.interp(published[:, 0], run.t, run["place.q"][:, k]) for k in range(3)]).T
        errors.append(np.abs(q - published[:, 1:4]).max(axis=0))
    assert np.all(errors[1] < (3e-4, 1e-2, 6e-3)), errors
    assert np.all(errors[1] < 0.5 * errors[0]), errors
    kinds = {(event.name, event.kind) for event in run.events}
    assert {("beak", "slip"), ("lower edge", "stick"), ("lower edge", "slip"), ("upper edge", "slip")} <= kinds
