"""Steps with inertia agree with closed forms."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from screwbond.models import Impact, Rigid, attach_contact, attach_planar_contact, contact, ground, planar_body, rigid_body

from bondgraph import J1, C, Graph, I, ModelError, R, RunEndedWarning, Se, Sf, simulate
from bondgraph.run_arguments import StartValues
from bondgraph.signals import square
from bondgraph.stepping import WORLD, Pairs, TouchingBody, stepper
from screws.surfaces import parametric, plane, sphere

RADIUS, MU, SPEED, GRAVITY = 0.1, 0.5, 1.0, 9.81


def ball(height: float = RADIUS, speed: float = SPEED, spin: float = 0.0) -> Graph:
    graph = Graph("ball")
    body = rigid_body(
        "ball",
        mass=1.0,
        inertia=(0.4 * RADIUS**2,) * 3,
        surface=sphere(RADIUS),
        position=(0.0, 0.0, height),
        velocity=(speed, 0.0, 0.0),
        angular_velocity=(0.0, spin, 0.0),
        gravity=(0.0, 0.0, -GRAVITY),
    )
    floor = ground("floor", surface=plane())
    touch = contact("touch", floor, body, law=Rigid(friction=MU))
    attach_contact(graph, touch, floor, body)
    return graph


class Balls:
    def __init__(self, names: Sequence[str], friction: float, restitution: float):
        self.bodies = tuple(TouchingBody(name, f"{name}.pose", f"{name}.world twist.flow") for name in names)
        self.friction, self.restitution = friction, restitution

    def __call__(self, poses: np.ndarray) -> Pairs:
        p = poses[:, :3, 3]
        low = p * (1.0, 1.0, 0.0)
        up = np.tile([0.0, 0.0, 1.0], (len(p), 1))
        first, second = np.triu_indices(len(p), 1)
        apart = p[second] - p[first]
        length = np.linalg.norm(apart, axis=1)
        n = apart / length[:, None]
        count = len(p) + len(first)
        return Pairs(
            np.concatenate([np.full(len(p), WORLD), first]),
            np.concatenate([np.arange(len(p)), second]),
            np.concatenate([low, p[first] + RADIUS * n]),
            np.concatenate([p - RADIUS * up, p[second] - RADIUS * n]),
            np.concatenate([up, n]),
            np.concatenate([p[:, 2] - RADIUS, length - 2.0 * RADIUS]),
            np.full(count, self.friction),
            np.full(count, self.restitution),
        )


def balls(count: int, velocities: Sequence[float], height: float, gravity: float) -> Graph:
    graph = Graph("balls")
    for k in range(count):
        body = rigid_body(
            f"ball {k}",
            mass=1.0,
            inertia=(0.4 * RADIUS**2,) * 3,
            position=(2.0 * RADIUS * k, 0.0, height),
            velocity=(velocities[k], 0.0, 0.0),
            gravity=(0.0, 0.0, -gravity),
        )
        graph.add(body)
    return graph


def test_a_sliding_ball_starts_to_roll() -> None:
    result = stepper(ball(), inertia="full").simulate(0.4, step=1e-3)
    x = result["ball.pose"][:, 4]
    assert (x[-1] - x[-2]) / 1e-3 == pytest.approx(5.0 / 7.0 * SPEED, abs=1e-10)
    (rolls,) = (event.time for event in result.events if event.kind == "stick")
    assert rolls == pytest.approx(2.0 * SPEED / (7.0 * MU * GRAVITY), abs=1e-3)
    assert np.abs(result["touch.gap"]).max() < 1e-11  # its centre moves straight, the spin rotates in the world
    assert result["touch.normal force"][-1] == pytest.approx(GRAVITY, abs=1e-8)
    ledger = result.ledger
    assert ledger.dissipated[-1] == pytest.approx(0.5 * 2.0 / 7.0 * SPEED**2, rel=1e-9)
    assert ledger.relative_residual < 1e-9


def test_the_same_ball_with_candidates_in_place_of_coordinates() -> None:
    made = stepper(balls(1, [SPEED], RADIUS, GRAVITY), inertia="full", candidates=Balls(["ball 0"], MU, 0.0))
    result = made.simulate(0.4, step=1e-3)
    x = result["ball 0.pose"][:, 4]
    assert (x[-1] - x[-2]) / 1e-3 == pytest.approx(5.0 / 7.0 * SPEED, abs=1e-8)
    assert result.ledger.elements["pairs.friction"][-1] > 0.0 and result.ledger.relative_residual < 1e-9


@pytest.mark.parametrize("speed, spin", [(0.0, 0.0), (0.0, 20.0)])
def test_a_dropped_ball_does_not_bounce(speed: float, spin: float) -> None:
    result = stepper(ball(0.3, speed, spin), inertia="full").simulate(0.5, step=1e-3)
    landed = result.t > np.sqrt(0.4 / GRAVITY) + 2e-3
    assert np.abs(result["touch.gap"][landed]).max() < 1e-11
    x = result["ball.pose"][:, 4]
    assert (x[-1] - x[-2]) / 1e-3 == pytest.approx(2.0 / 7.0 * RADIUS * spin, abs=1e-8)  # it rolls with the remaining spin


@pytest.mark.parametrize("e", [0.5, 1.0])
def test_restitution_gives_the_apex_in_the_limit(e: float) -> None:
    made = stepper(ball(0.3, 0.0), inertia="full", restitution=e)
    falls = np.sqrt(0.4 / GRAVITY)
    errors = []
    for h in (1e-3, 2.5e-4):
        result = made.simulate(falls * (1.0 + 2.0 * e), step=h)
        errors.append(abs(result["touch.gap"][result.t > 1.01 * falls].max() - 0.2 * e**2))
    assert errors[0] < 1e-3 and errors[1] < max(0.5 * errors[0], 1e-9)


@pytest.mark.parametrize("count, after", [(3, (-1 / 3, 2 / 3, 2 / 3)), (5, (-0.6, 0.4, 0.4, 0.4, 0.4))], ids=["three", "five"])
def test_cradles_strike_together(count: int, after: Sequence[float]) -> None:
    graph = balls(count, [1.0] + [0.0] * (count - 1), 1.0, 0.0)
    made = stepper(graph, inertia="full", candidates=Balls([f"ball {k}" for k in range(count)], 0.0, 1.0))
    result = made.simulate(5e-3, step=1e-3)
    np.testing.assert_allclose([result[f"ball {k}.twist"][-1, 3] for k in range(count)], after, atol=1e-9)
    assert result.ledger.relative_residual < 1e-12
    assert result.ledger.stored[-1] == pytest.approx(0.5, rel=1e-9)


HALF_WIDTH, HALF_HEIGHT = 0.1, 0.3


def rocking() -> Graph:
    graph = Graph("block")
    inertia = (HALF_WIDTH**2 + HALF_HEIGHT**2) / 3.0
    block = planar_body("block", mass=1.0, inertia=inertia, place=(0.0, HALF_HEIGHT, 0.0), gravity=GRAVITY)
    for name, side in (("left", -1.0), ("right", 1.0)):
        attach_planar_contact(graph, name, (block, (side * HALF_WIDTH, -HALF_HEIGHT)), (None, (0.0, 1.0), 0.0), friction=5.0)
    return graph


def test_a_block_that_rocks_loses_speed_as_housner_says() -> None:
    """The speed ratio is 1 - 3/2 sin^2 of the angle between a diagonal and the height (Housner 1963); the block rotates clockwise
    onto its right corner."""
    spin = -0.5
    velocity = (-spin * HALF_HEIGHT, spin * HALF_WIDTH, spin)  # the left corner is at rest
    start = {"block.inertia.v": velocity}
    result = stepper(rocking(), inertia="full").simulate(1e-4, step=1e-5, initial=start)
    flow = result["block.inertia.flow"]
    share = 1.0 - 1.5 * HALF_WIDTH**2 / (HALF_WIDTH**2 + HALF_HEIGHT**2)
    assert share == pytest.approx(0.85)
    assert flow[1, 2] / spin == pytest.approx(share, abs=1e-3)


def on_a_wedge(slope: float, height: float) -> Graph:
    graph, drive = Graph("wedge"), J1("drive", dimension=3)
    wedge = planar_body("wedge", mass=1.0, inertia=1.0, place=(0.3, 0.1, slope))
    block = planar_body("block", mass=1.0, inertia=0.1, place=(0.0, height, 0.2), gravity=GRAVITY)
    graph.connect(Sf("rest", (0.0, 0.0, 0.0)), drive).connect(drive, wedge.port("motion"))
    attach_planar_contact(graph, "touch", (block, (0.05, -0.1)), (wedge, (0.2, 1.0), 0.05))
    return graph


def test_the_gap_of_a_planar_contact_follows_the_start_places() -> None:
    changed, built = stepper(on_a_wedge(0.0, 0.0), inertia="full"), stepper(on_a_wedge(0.4, 0.7), inertia="full")
    start = {"wedge.position.y": (0.3, 0.1, 0.4), "block.position.y": (0.0, 0.7, 0.2)}
    results = [made.simulate(0.5, step=1e-3, initial=initial) for made, initial in ((changed, start), (built, None))]
    for name in ("touch.gap", "block.place"):
        np.testing.assert_allclose(results[0][name], results[1][name], rtol=1e-9, atol=1e-12)


def test_many_free_turns_keep_momentum_in_the_world() -> None:
    graph = Graph("free")
    body = rigid_body("body", mass=1.0, inertia=(1.0, 2.0, 3.0), angular_velocity=(1.0, 2.0, 0.5), velocity=(1.0, 0.0, 0.0))
    graph.add(body)
    exact = simulate(graph, 2.0, rtol=1e-10)
    steps = stepper(graph, inertia="full").simulate(2.0, step=0.02)
    np.testing.assert_allclose(steps["body.twist"][-1], exact["body.twist"][-1], atol=1e-6)
    np.testing.assert_allclose(steps["body.pose"][-1], exact["body.pose"][-1], atol=1e-6)


def test_steps_end_at_the_breaks_of_a_source() -> None:
    """A search of all step times for each of 100,000 breaks would take hours."""
    graph, x = Graph("cart"), J1("x", domain="translation")
    graph.add(square("pull", period=1e-3, start=0.25))
    graph.connect(Se("force", lambda y: y, signals=["pull.y"]), x).connect(x, I("mass", 1.0))
    made = stepper(graph, inertia="full")
    times = np.array(made._times(50.0, 1e-3 / 1.5, made.steps.compiled.parameters()))
    breaks = 0.25 + 0.5e-3 * np.arange(99_500)
    near = np.searchsorted(times, breaks)
    assert np.minimum(np.abs(times[near] - breaks), np.abs(times[near - 1] - breaks)).max() < 1e-11
    assert np.diff(times).min() == pytest.approx(1e-3 / 6.0)  # no break is listed next to an equal time


def test_a_graph_without_inertia_moves_as_commanded() -> None:
    graph, x = Graph("press"), J1("x", domain="translation")
    graph.connect(Sf("command", 1.0), x).connect(x, C("spring", stiffness=2.0))
    made = stepper(graph)
    assert made.report().splitlines()[1] == "0 unknowns, of which springs, resistors and inertia determine 0"
    run = made.simulate(1.0, step=0.1, progress=False)
    assert run.ok and run["spring.effort"][-1] == pytest.approx(2.0) and run.ledger.relative_residual < 1e-12
    before, command = made.gradients(made.step(h=0.1))
    np.testing.assert_allclose((before, command), ([[1.0]], [[0.1]]))
    graph, x = Graph("cart"), J1("x", domain="translation")
    graph.connect(x, I("mass", 1.0)).connect(x, C("spring", stiffness=1.0, initial=1.0))
    still = stepper(graph, inertia="full").simulate(1.0, step=0.1, progress=False)
    assert (run.statistics.rates, still.statistics.rates) == (80, 40)  # without sources, only the bodies move in a step


def test_parameters_that_come_with_start_values_are_those_of_the_steps() -> None:
    graph, x = Graph("press"), J1("x", domain="translation")
    graph.connect(Se("push", 2.0), x).connect(x, C("spring", stiffness=1.0)).connect(x, R("damper", resistance=4.0))
    made, names = stepper(graph), {"spring.stiffness": 5.0}
    begins = ({"initial": StartValues({"spring.q": 0.1}, names)}, {"initial": {"spring.q": 0.1}, "parameters": names})
    np.testing.assert_array_equal(*(made.simulate(1.0, step=0.1, progress=False, **each)["spring.q"] for each in begins))


def test_single_steps_change_charts_as_a_run_does() -> None:
    """The ball rolls past the poles of its chart six times."""
    made = stepper(ball(spin=SPEED / RADIUS), "full")
    run = made.simulate(1.0, step=0.01, progress=False)
    step = made.step(h=0.01)
    for _ in range(99):
        step = made.step(step, h=0.01)
    assert sum(event.kind.startswith("chart") for event in run.events) == 6
    np.testing.assert_allclose(step.state[:13], run.x[-1, :13], rtol=1e-9, atol=1e-9)


def test_steps_end_at_the_edge_of_a_surface() -> None:
    """A ball that slides along a trough without friction leaves its formula at the same time as with impacts."""

    def slides(law: Impact | Rigid) -> Graph:
        trough = ground("trough", surface=parametric(lambda u, v: (u, v, v * v), (-0.2, 0.2), (-0.2, 0.2), inside=(0, 0, -0.05)))
        start = {"position": (0.0, 0.0, 0.05), "velocity": (1.0, 0.0, 0.0), "gravity": (0.0, 0.0, -GRAVITY)}
        body = rigid_body("ball", mass=1.0, inertia=(4e-3,) * 3, surface=sphere(0.05), **start)
        return attach_contact(Graph("slides"), contact("touch", trough, body, law=law))

    with pytest.warns(RunEndedWarning, match="E320 the nearest point leaves the range of surface 1"):
        reference = simulate(slides(Impact(0.0)), 1.0, progress=False)
    made = stepper(slides(Rigid()), "full")
    with pytest.warns(RunEndedWarning, match="E320") as warned:
        run = made.simulate(1.0, step=0.01, progress=False)
    assert warned[0].filename == __file__
    assert run.t[-1] == pytest.approx(reference.t[-1], abs=0.011)
    step = made.step(h=0.15)
    with pytest.raises(ModelError, match="E320"):
        made.step(made.step(step, h=0.15), h=0.15)
