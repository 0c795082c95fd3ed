"""One contact, several laws: the same ball, the same drop; each law against closed forms or an independent derivation."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import lambertw

from bondgraph import Graph, ModelError, compile_model, simulate
from bondgraph.model.model import SignalEntry
from bondgraph.run.outcome.result import Result
from bondgraph.stepping import stepper
from models import attach_contact, contact, ground, rigid_body
from models.contacts import LAWS, Compliant, ContactLaw, Impact, Maxwell, Rigid, ThreeState, VirtualSpring, Viscoelastic
from models.contacts.trajectory import contact_intervals
from screws.poses import pose_from_state
from screws.surfaces import Surface, egg, plane, sphere

MASS, RADIUS, HEIGHT, G = 1.0, 0.1, 1.0, 9.81
FALL = np.sqrt(2.0 * HEIGHT / G)
SPEED = G * FALL


def dropped(
    law: ContactLaw,
    *,
    height: float = HEIGHT,
    gravity: float = G,
    speed: float = 0.0,
    along: float = 0.0,
    spin: tuple[float, float, float] = (3.0, 1.0, 2.0),
    **options: Any,
) -> Graph:
    """A ball above the floor."""
    graph, floor = Graph("drop"), ground("floor", surface=plane())
    ball = rigid_body(
        "ball",
        mass=MASS,
        inertia=(0.4 * MASS * RADIUS**2,) * 3,
        surface=sphere(RADIUS),
        position=(0.0, 0.0, RADIUS + height),
        velocity=(along, 0.0, -speed),
        angular_velocity=spin,
        gravity=(0.0, 0.0, -gravity),
    )
    attach_contact(graph, contact("touch", floor, ball, law=law, **options), floor, ball)
    return graph


def times(run: Result, *kinds: str) -> np.ndarray:
    return np.array([event.time for event in run.events if event.kind in kinds])


def check_compliant(run: Result) -> None:
    """Without damping an impact takes 2 (pi - atan(v w / g)) / w, with the weight, and the ball comes back to where it was."""
    omega = np.sqrt(COMPLIANT.normal_stiffness / MASS)
    lasts = 2.0 * (np.pi - np.arctan(SPEED * omega / G)) / omega
    on, off = times(run, "contact on"), times(run, "contact off")
    assert on[:2] == pytest.approx([FALL, 3.0 * FALL + lasts], abs=1e-9)
    assert off[0] - on[0] == pytest.approx(lasts, abs=1e-10)
    assert run["touch.gap"].max() == pytest.approx(HEIGHT, abs=1e-8)
    # Towards the limit of rigid bodies that lose nothing.
    stiffer = simulate(
        dropped(Compliant(normal_stiffness=1e4 * COMPLIANT.normal_stiffness), constrained="v_z"), 1.6, rtol=1e-10, progress=False
    )
    assert times(stiffer, "contact on")[1] - 3.0 * FALL == pytest.approx(lasts / 100.0, rel=1e-2)


def check_impact(run: Result) -> None:
    """Bounces after FALL (1 + 2 e + 2 e^2 + ...), to rounding; rest from the limit of these times on."""
    e = IMPACT.restitution
    found = times(run, "impact")
    expected = FALL * (1.0 + 2.0 * np.cumsum(np.concatenate([[0.0], e ** np.arange(1.0, len(found))])))
    assert len(found) > 20 and np.abs(found - expected).max() < 1e-12
    rest = times(run, "impact: accumulation")
    assert rest == pytest.approx([FALL * (1.0 + e) / (1.0 - e)], rel=1e-7)
    late = run.t > rest[0]
    assert late.any() and np.abs(run["touch.gap"][late]).max() < 1e-12
    assert np.abs(run["touch.normal force"][late] - MASS * G).max() < 1e-9 and not run["touch.normal force"][~late].any()
    assert run.ledger.lost[-1] == pytest.approx(MASS * G * HEIGHT, rel=1e-12)


def check_viscoelastic(run: Result) -> None:
    """By another integrator, with the weight: m h'' = k s + c s s' - m g, s = -h."""
    k, c = VISCOELASTIC.k, VISCOELASTIC.c

    def rate(_: float, y: np.ndarray) -> list[float]:
        return [y[1], -(k * y[0] + c * y[0] * y[1]) / MASS + G]

    def out(_: float, y: np.ndarray) -> float:
        return float(y[0])

    out.terminal, out.direction = True, -1.0  # type: ignore[attr-defined]
    at, speed, begins, ends = FALL, SPEED, [], []
    while at < run.t[-1] and len(begins) < 3:
        begins.append(at)
        found = solve_ivp(rate, (0.0, 1.0), [0.0, speed], method="DOP853", rtol=1e-13, atol=1e-16, events=out)
        ends.append(at + found.t_events[0][0])
        speed = -found.y_events[0][0][1]
        at = ends[-1] + 2.0 * speed / G
    assert times(run, "contact on")[:3] == pytest.approx(begins, abs=1e-9)
    assert times(run, "contact off")[:3] == pytest.approx(ends, abs=1e-9)


def check_three_state(run: Result) -> None:
    """By another integrator and a machine of its own: free fall, h'' = -a1 h' - a0 h - a2 h^3, ballistic."""
    law = THREE_STATE

    def force(_: float, y: np.ndarray) -> float:
        return float(G - law.alpha1 * y[1] - law.alpha0 * y[0] - law.alpha2 * y[0] ** 3)

    def rate(_: float, y: np.ndarray) -> list[float]:
        return [y[1], force(0.0, y) - G]

    force.terminal, force.direction = True, -1.0  # type: ignore[attr-defined]
    at, speed, found = FALL, -SPEED, []
    for _ in range(3):
        one = solve_ivp(rate, (0.0, 1.0), [0.0, speed], method="DOP853", rtol=1e-13, atol=1e-16, events=force)
        released, (h, v) = at + one.t_events[0][0], one.y_events[0][0]
        assert h < 0.0 < v
        apart = released + (v - np.sqrt(v * v + 2.0 * G * h)) / G
        speed = np.sqrt(v * v + 2.0 * G * h)
        found += [at, released, apart]
        at, speed = apart + 2.0 * speed / G, -speed
    assert times(run, "contact on", "contact off", "apart")[:9] == pytest.approx(found, abs=1e-9)
    # Facts: four bounces at most, then rest under the weight.
    assert len(times(run, "contact off")) == 4
    assert run["touch.normal force"][-1] == pytest.approx(MASS * G, rel=1e-6)


def check_rigid(graph: Graph) -> None:
    """It is marked, and nothing else: a step gives it its force."""
    (point,) = graph.freeze().contacts
    assert point.stepped and point.normal is None and point.path == "touch"
    with pytest.raises(ModelError, match="E434") as caught:
        compile_model(graph)
    (problem,) = caught.value.problems
    assert problem.places[0].file == __file__ and 'contact "touch"' in problem.title and "stepper" in problem.cures[0]
    # No bounce: it stays where the step takes it in which it lands, under its weight.
    h = 1e-3
    run = stepper(graph, inertia="full").simulate(1.0, step=h, progress=False)
    late = run.t > FALL + 2.0 * h
    assert run.ok and run["touch.gap"].min() > -1e-9 and np.abs(run["touch.kinematics.d'"][late]).max() < 1e-9
    assert np.abs(run["touch.gap"][late]).max() < 1e-9
    assert run["touch.normal force"][late] == pytest.approx(MASS * G, rel=1e-6)
    ((on, off),) = contact_intervals(run, "touch")
    assert abs(on - FALL) <= 2.0 * h and off == run.t[-1]


COMPLIANT, VISCOELASTIC = Compliant(normal_stiffness=1e5), Viscoelastic(1e5, 1e4)
IMPACT, THREE_STATE = Impact(0.8), ThreeState(10.0, 100.0, 1e6)
RUNS = (
    (COMPLIANT, check_compliant),
    (VISCOELASTIC, check_viscoelastic),
    (IMPACT, check_impact),
    (THREE_STATE, check_three_state),
    (Rigid(), check_rigid),
)


@pytest.mark.parametrize(("law", "check"), RUNS, ids=lambda part: type(part).__name__)
def test_the_same_drop_under_each_law(law: ContactLaw, check: Any) -> None:
    """The graph of one contact takes the tail of another; nothing else changes."""
    graph = dropped(COMPLIANT, constrained=["v_z"])
    parts = graph.parts
    graph.replace("touch", contact("touch", parts["floor"], parts["ball"], constrained=["v_z"], law=law))  # type: ignore[arg-type]
    if law.stepped:
        check(graph)
        return
    run = simulate(graph, 5.0, samples=1e-2, rtol=1e-11, progress=False)
    assert run.ok and run.ledger.relative_residual < 1e-9
    check(run)
    for name in ("gap", "normal force", "wrench", "frame", "q1", "q2", "alpha", "switch.mode"):
        assert f"touch.{name}" in run
    assert run["touch.normal force"] == pytest.approx(run["touch.wrench"][:, 5], abs=1e-12)
    assert run["touch.normal force"].min() >= -1e-9 * MASS * G


def test_the_table_of_laws_is_complete() -> None:
    made = (COMPLIANT, VISCOELASTIC, VirtualSpring(1e5, 0.5), Maxwell(1e5, 1e3), IMPACT, THREE_STATE, Rigid())
    assert tuple(map(type, made)) == LAWS and all(isinstance(law, ContactLaw) for law in made)


@cache
def struck(law: ContactLaw, speed: float) -> Result:
    """Without weight: one impact."""
    return simulate(
        dropped(law, height=1e-3, gravity=0.0, speed=speed), 1e-3 / speed + 0.3, rtol=1e-12, samples=3, progress=False
    )


def rebound(law: ContactLaw, speed: float = 1.3) -> float:
    run = struck(law, speed)
    assert run.ok and run.ledger.relative_residual < 1e-10
    v = float(run["touch.kinematics.d'"][-1])
    loss = run.ledger.dissipated[-1] + run.ledger.lost[-1] - run.ledger.supplied[-1]
    assert run.ledger.stored[0] - run.ledger.stored[-1] == pytest.approx(loss, abs=1e-11)
    return v / speed


@pytest.mark.parametrize("w0", [0.1, 1.0, 5.0])
def test_restitution_of_the_viscoelastic_law(w0: float) -> None:
    """e = (1 + W0(-exp(w0 + ln(1 - w0) - 1))) / |w0| of Lambert's W, with w0 = -c |v0| / k."""
    k, speed = 1e5, 1.3
    exact = (1.0 + lambertw(-np.exp(-w0 + np.log(1.0 + w0) - 1.0)).real) / w0
    assert rebound(Viscoelastic(k, w0 * k / speed), speed) == pytest.approx(exact, rel=1e-10)


def test_the_viscoelastic_law_never_pulls() -> None:
    """v = k/c is a line that its own motion does not reach; where something pulls faster than that, there is no force."""
    law = Viscoelastic(1e5, 1e6)
    run = simulate(dropped(law, height=1e-3, gravity=0.0, speed=0.5), 0.05, rtol=1e-12, samples=1e-5, progress=False)
    inside = run["touch.gap"] < 0.0
    assert run["touch.normal force"].min() >= 0.0
    assert (run["touch.normal force"][inside][1:-1] > 0.0).all()
    assert run["touch.kinematics.d'"].max() < law.k / law.c
    # A weight upwards, 1000 m/s^2, from within: k s (1 - c/k v) would be negative from v = 0.1 m/s on.
    lifted = simulate(dropped(law, height=-1e-2, gravity=-1e4), 2e-3, rtol=1e-10, samples=1e-5, progress=False)
    inside, rate = lifted["touch.gap"] < 0.0, lifted["touch.kinematics.d'"]
    fast = inside & (rate > 1.01 * law.k / law.c)
    assert fast.any() and not lifted["touch.normal force"][fast].any() and lifted["touch.normal force"].min() >= 0.0
    assert lifted.ledger.relative_residual < 1e-9


@pytest.mark.parametrize("e", [0.2, 0.7, 1.0])
def test_the_virtual_spring(e: float) -> None:
    """A quarter of the period of k, then a quarter of that of k/e^2; it lets go (1 - e^2) v0 / omega deep."""
    law, speed, omega = VirtualSpring(1e5, e), 1.3, np.sqrt(1e5 / MASS)
    assert rebound(law, speed) == pytest.approx(e, rel=1e-9)
    run, start = struck(law, speed), 1e-3 / speed
    (top,), (released,) = times(run, "end of compression"), times(run, "contact off")
    assert top - start == pytest.approx(0.5 * np.pi / omega, rel=1e-8)
    assert released - top == pytest.approx(e * 0.5 * np.pi / omega, rel=1e-8)
    (event,) = (event for event in run.events if event.kind == "contact off")
    depth = -event.x_before[run.program.layout["touch.kinematics.d"].start]
    assert depth == pytest.approx((1.0 - e * e) * speed / omega, abs=1e-10)
    before, after = run.at_events("touch.normal force")
    (place,) = (i for i, event in enumerate(run.events) if event.kind == "end of compression")
    assert before[place] == pytest.approx(speed * omega * MASS, rel=1e-9) and after[place] == pytest.approx(
        before[place], rel=1e-9
    )


@pytest.mark.parametrize("damping", [2e2, 1e3, 1e4])
def test_the_maxwell_model(damping: float) -> None:
    """e = exp(-pi delta / omega_d) at every speed; it lasts pi / omega_d."""
    law, k = Maxwell(1e5, damping), 1e5
    delta = 0.5 * k / damping
    omega = np.sqrt(k / MASS - delta**2)
    for speed in (0.5, 1.3):
        assert rebound(law, speed) == pytest.approx(np.exp(-np.pi * delta / omega), rel=1e-8)
        (released,) = times(struck(law, speed), "contact off")
        assert released - 1e-3 / speed == pytest.approx(np.pi / omega, rel=1e-8)


def test_an_overdamped_maxwell_model_never_lets_go() -> None:
    run = simulate(dropped(Maxwell(1e5, 1e2), height=1e-3, gravity=0.0, speed=0.5), 0.3, rtol=1e-10, progress=False)
    assert [event.kind for event in run.events] == ["contact on"] and run.ok
    assert 0.0 <= -run["touch.kinematics.d'"][-1] < 1e-6 and run.ledger.relative_residual < 1e-9


@pytest.mark.parametrize("e", [0.0, 1.0])
def test_restitution_of_nothing_and_of_all(e: float) -> None:
    run = simulate(dropped(Impact(e)), 3.0, samples=0.01, rtol=1e-10, progress=False)
    assert run.ok and run.ledger.relative_residual < 1e-12
    if e:
        assert times(run, "impact") == pytest.approx([FALL, 3.0 * FALL, 5.0 * FALL], abs=1e-12)
    else:
        assert np.abs(run["touch.gap"][run.t > FALL]).max() < 1e-12


@pytest.mark.parametrize("law", [VISCOELASTIC, VirtualSpring(1e5, 0.5), Maxwell(1e5, 1e3), IMPACT, THREE_STATE], ids=repr)
def test_a_contact_says_what_it_is_whatever_its_law(law: ContactLaw) -> None:
    graph = dropped(law)
    (point,) = graph.freeze().contacts
    assert (point.path, point.gap, point.gap_rate) == ("touch", "touch.kinematics.d", "touch.kinematics.d'")
    assert point.frames == ("touch.kinematics.H_O1_C1", "touch.kinematics.H_O2_C2") and not point.stepped
    assert point.ignored == (("touch.spring.q",) if law.acting else ())
    assert {automaton for automaton, _ in point.off} == {"touch.switch"} and ("touch.switch", "free") in point.off
    assert isinstance(point.normal, SignalEntry) and point.normal.index is None and point.friction is None
    assert point.place is not None and point.place.file == __file__


def head_on(law: ContactLaw, surface1: Surface, surface2: Surface, *, swapped: bool = False, turned: bool = False) -> Result:
    """Two free bodies that meet, the first at rest; seen from a world that is turned, or with the bodies exchanged."""
    q = np.array([0.5, 0.5, -0.5, 0.5]) if turned else np.array([1.0, 0.0, 0.0, 0.0])
    w, x, y, z = q
    R = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    graph = Graph("two")
    one = rigid_body("one", mass=0.3, inertia=(2e-4, 3e-4, 2.5e-4), surface=surface1, quaternion=q)
    two = rigid_body(
        "two",
        mass=0.2,
        inertia=(2e-4, 1e-4, 2.5e-4),
        surface=surface2,
        position=R @ np.array([0.005, 0.008, 0.2]),
        velocity=R @ np.array([0.0, 0.0, -1.0]),
        angular_velocity=R @ np.array([1.0, -2.0, 0.5]),
        quaternion=q,
    )
    pair = (two, one) if swapped else (one, two)
    attach_contact(graph, contact("touch", *pair, constrained="v_z" if law.carried else None, law=law), *pair)
    run = simulate(graph, 0.3, samples=3, rtol=1e-11, progress=False)
    assert run.ok and run.ledger.relative_residual < 1e-9, run.failure
    return run


EGG = egg(0.035, 0.084, 0.010425531914893621)


@pytest.mark.parametrize(
    "law",
    [
        Compliant(normal_stiffness=5e4),
        Viscoelastic(5e4, 5e4),
        VirtualSpring(5e4, 0.6),
        Maxwell(5e4, 2e2),
        Impact(0.6),
        Impact(0.6, friction=0.2),
    ],
    ids=repr,
)
def test_eggs_on_eggs_do_not_know_the_world_nor_their_order(law: ContactLaw) -> None:
    """Twists in the bodies' own axes after an impact of two free eggs; momentum is kept."""
    run, turned, swapped = (head_on(law, EGG, EGG), head_on(law, EGG, EGG, turned=True), head_on(law, EGG, EGG, swapped=True))
    assert {"impact", "contact on"} & {event.kind for event in run.events}
    # A deformation shifts the point of action by the depth, some 1e-3 m, when the bodies are exchanged.
    close = 1e-9 if isinstance(law, Impact) else 2e-3
    for body in ("one", "two"):
        assert turned[f"{body}.twist"][-1] == pytest.approx(run[f"{body}.twist"][-1], abs=1e-8)
        assert swapped[f"{body}.twist"][-1] == pytest.approx(run[f"{body}.twist"][-1], abs=close * 10.0)


def rolled(
    law: ContactLaw, constrained: Any, tilt: float, exchanged: bool = False, height: float = 0.05, **motion: Any
) -> Result:
    """A ball that falls on a slope of this angle, whose axis x points down."""
    graph, floor = Graph("roll"), ground("floor", surface=plane())
    ball = rigid_body(
        "ball",
        mass=MASS,
        inertia=(0.4 * MASS * RADIUS**2,) * 3,
        surface=sphere(RADIUS),
        position=(0.0, 0.0, RADIUS + 0.05),
        gravity=(G * np.sin(tilt), 0.0, -G * np.cos(tilt)),
        **motion,
    )
    pair = (ball, floor) if exchanged else (floor, ball)
    attach_contact(graph, contact("touch", *pair, law=law, constrained=constrained), *pair)
    run = simulate(graph, 2.0, samples=0.01, rtol=1e-10, progress=False)
    assert run.ok and run.ledger.relative_residual < 1e-10
    return run


def in_world(run: Result) -> tuple[np.ndarray, np.ndarray]:
    """Angular velocity and velocity of the ball at the end."""
    H = np.asarray(pose_from_state(run["ball.pose"][-1]), dtype=float)
    twist = run["ball.twist"][-1]
    return H[:3, :3] @ twist[:3], H[:3, :3] @ twist[3:]


@pytest.mark.parametrize("exchanged", [False, True], ids=["ball second", "ball first"])
@pytest.mark.parametrize("law", [Impact(0.5), ThreeState(50.0, 1000.0)], ids=lambda law: type(law).__name__)
def test_what_is_held_rolls_over_all_poles(law: ContactLaw, exchanged: bool) -> None:
    """5/7 of what slides, from the first impact on; the ball changes its chart dozens of times while it rests on the slope."""
    tilt = 0.3
    run = rolled(law, ["v_x", "v_y", "v_z"], tilt, exchanged)
    charts = [event for event in run.events if event.internal]
    assert len(charts) > 20 and contact_intervals(run, "touch")[-1][1] == run.t[-1]
    omega, v = in_world(run)
    landed = np.sqrt(2.0 * 0.05 / (G * np.cos(tilt)))
    if isinstance(law, Impact):
        # An impulse at the contact point keeps the angular momentum about it; so does flight, but for the weight.
        assert v[0] == pytest.approx(5.0 / 7.0 * G * np.sin(tilt) * 2.0, rel=1e-9)
        assert abs(run["touch.gap"][-1]) < 1e-10
    assert 5.0 / 7.0 * G * np.sin(tilt) * 2.0 - v[0] < G * np.sin(tilt) * landed
    assert v + np.cross(omega, [0.0, 0.0, -RADIUS]) == pytest.approx(np.zeros(3), abs=1e-8 if law == Impact(0.5) else 1e-4)


@pytest.mark.parametrize("law", [Impact(0.5), ThreeState(50.0, 1000.0)], ids=lambda law: type(law).__name__)
def test_what_is_free_slides_and_what_is_held_keeps_its_momentum(law: ContactLaw) -> None:
    """A spinning ball that drops: nothing changes; (5 v + 2 r w) / 7 where v_x, v_y are held; with omega_z it does not turn."""
    motion = {"velocity": (1.0, 0.3, 0.0), "angular_velocity": (3.0, 1.0, 2.0)}
    omega, v = in_world(rolled(law, ["v_z"], 0.0, **motion))
    assert omega == pytest.approx([3.0, 1.0, 2.0], abs=1e-9) and v[:2] == pytest.approx([1.0, 0.3], abs=1e-9)
    omega, v = in_world(rolled(law, ["v_x", "v_y", "v_z"], 0.0, **motion))
    close = 1e-9 if isinstance(law, Impact) else 2e-3  # a smooth impact acts some depth above the lowest point
    assert v[:2] == pytest.approx([(5.0 + 2.0 * RADIUS) / 7.0, (1.5 - 6.0 * RADIUS) / 7.0], abs=close)
    assert omega[2] == pytest.approx(2.0, abs=1e-9)
    omega, _ = in_world(rolled(law, "rolling", 0.0, **motion))
    assert omega[2] == pytest.approx(0.0, abs=1e-9)


UNITS = {
    Compliant(normal_stiffness=1e5, normal_damping=10.0): Compliant(normal_stiffness=1e8, normal_damping=1e4),
    Viscoelastic(1e5, 1e4): Viscoelastic(1e8, 1e4),
    VirtualSpring(1e5, 0.5): VirtualSpring(1e8, 0.5),
    Maxwell(1e5, 1e3): Maxwell(1e8, 1e6),
    Impact(0.8): Impact(0.8),
    ThreeState(10.0, 100.0, 1e6): ThreeState(10.0, 100.0, 1.0),
}
"""Laws in kg and m, and the same in g and mm (forces in microNewton)."""


@pytest.mark.parametrize("law", UNITS, ids=lambda law: type(law).__name__)
def test_a_ball_in_grams_and_millimetres_bounces_as_one_in_kilograms_and_metres(law: ContactLaw) -> None:
    def events(law: ContactLaw, unit: float) -> list[float]:
        graph, floor = Graph("drop"), ground("floor", surface=plane())
        ball = rigid_body(
            "ball",
            mass=unit * MASS,
            inertia=(0.4 * unit * MASS * (unit * RADIUS) ** 2,) * 3,
            surface=sphere(unit * RADIUS),
            position=(0.0, 0.0, unit * 0.3),
            velocity=(unit * 0.5, 0.0, 0.0),
            gravity=(0.0, 0.0, -unit * G),
        )
        attach_contact(graph, contact("touch", floor, ball, law=law, constrained="v_z"), floor, ball)
        run = simulate(graph, 0.8, samples=0.01, rtol=1e-10, progress=False)
        assert run.ok and run.ledger.relative_residual < 1e-9
        return [event.time for event in run.events if not event.internal]

    mine, theirs = events(law, 1.0), events(UNITS[law], 1e3)
    # The virtual spring bounces on without end, its ever smaller bounces by what rounding makes of them.
    count = 12 if isinstance(law, VirtualSpring) else len(mine)
    assert len(mine[:count]) == len(theirs[:count]) >= 2 and mine[:count] == pytest.approx(theirs[:count], abs=1e-8)


@pytest.mark.parametrize("speed", [0.0, 0.5, -0.5])
@pytest.mark.parametrize("law", [IMPACT, THREE_STATE, VISCOELASTIC, VirtualSpring(1e5, 0.5), Maxwell(1e5, 1e3)], ids=repr)
def test_a_start_that_just_touches(law: ContactLaw, speed: float) -> None:
    """At rest it stays, inwards it bounces at once, outwards it flies first."""
    run = simulate(dropped(law, height=0.0, speed=speed), 0.2, samples=0.01, rtol=1e-10, progress=False)
    assert run.ok and run.ledger.relative_residual < 1e-9
    first = next(event for event in run.events if not event.internal)
    assert first.kind in ("impact", "contact on")
    assert first.time == pytest.approx(0.0 if speed >= 0.0 else 1.0 / G, abs=1e-9)
    if isinstance(law, Impact) and speed == 0.0:
        assert np.abs(run["touch.gap"]).max() < 1e-12 and run["touch.normal force"][1:] == pytest.approx(MASS * G, rel=1e-9)


def test_bodies_that_overlap_where_only_impacts_part_them() -> None:
    compiled = None
    with pytest.raises(ModelError, match='E437 contact "touch" is closed at the start') as caught:
        compiled = compile_model(dropped(Impact(0.8), height=-1e-3)).simulate(0.1, progress=False)
    assert compiled is None and "ThreeState" in caught.value.problems[0].cures[1]
    # The cure: it is pressed out, without pulling.
    run = simulate(dropped(THREE_STATE, height=-1e-3), 1.0, samples=0.01, rtol=1e-9, progress=False)
    assert run.ok and run["touch.normal force"].min() >= 0.0 and run["touch.gap"][-1] > -1e-3
    # A gap that only rounding makes negative is no overlap.
    assert simulate(dropped(Impact(0.8), height=-1e-14), 0.1, progress=False).ok


REFUSED: list[tuple[Any, dict[str, Any], str, str]] = [
    (Viscoelastic(1e5, 1e4), {"constrained": "rolling"}, "E435", "omega_z, v_x, v_y"),
    (Maxwell(1e5, 1e4), {"constrained": ["v_x"]}, "E435", "v_x"),
    (Impact(0.5), {"constrained": ["v_x", "v_y"]}, "E435", "without v_z"),
    (Rigid(), {"constrained": ["v_x", "v_y", "v_z"]}, "E435", "v_x, v_y"),
    (Rigid(0.5), {"constrained": "rolling"}, "E435", "omega_z"),
    (Viscoelastic(0.0, 1e4), {}, "E436", "k = 0.0"),
    (Viscoelastic(None, 1e4), {}, "E436", "k = None"),
    (Viscoelastic(1e5, -1.0), {}, "E436", "c = -1.0"),
    (VirtualSpring(1e5, 0.0), {}, "E436", "restitution = 0.0"),
    (VirtualSpring(float("inf"), 0.5), {}, "E436", "k = inf"),
    (Maxwell(1e5, "much"), {}, "E436", "c = 'much'"),
    (Impact(-0.1), {}, "E436", "restitution = -0.1"),
    (Impact(1.1), {}, "E436", "restitution = 1.1"),
    (Impact(float("nan")), {}, "E436", "restitution = nan"),
    (Impact(True), {}, "E436", "restitution = True"),
    (ThreeState(-1.0, 25.0), {}, "E436", "alpha1 = -1.0"),
    (ThreeState(10.0, 25.0, (1.0, 2.0)), {}, "E436", "alpha2"),
    (Rigid(-0.5), {}, "E490", "friction = -0.5"),
    (Impact, {}, "E438", "law = Impact"),
    ("impact", {}, "E438", "law = 'impact'"),
    (0.8, {}, "E438", "law = 0.8"),
    (Impact(0.5), {"normal_stiffness": 1e5}, "E438", "normal_stiffness beside it"),
    (Compliant(normal_stiffness=1e5), {"friction": 0.3}, "E438", "friction beside it"),
    (Compliant(), {"constrained": "v_z"}, "E422", "normal_stiffness = None"),
    (Impact(0.5, friction=-0.3), {}, "E490", "friction = -0.3"),
    (ThreeState(10.0, 25.0, friction=0.3), {"constrained": ["v_z"]}, "E491", "v_x, v_y is free"),
    (ThreeState(10.0, 25.0, friction="much"), {}, "E490", "'much'"),
    (None, {"constrained": "v_z"}, "E422", "normal_stiffness = None"),
]


@pytest.mark.parametrize(("law", "options", "code", "words"), REFUSED, ids=[f"{code} {words}" for *_, code, words in REFUSED])
def test_laws_that_cannot_be(law: Any, options: dict[str, Any], code: str, words: str) -> None:
    ball = rigid_body("ball", mass=1.0, inertia=(1.0,) * 3, surface=sphere(0.1))
    with pytest.raises(ModelError) as caught:
        contact("touch", ground("floor", surface=plane()), ball, law=law, **options)
    problem = caught.value.problems[0]
    assert problem.code == code and words in problem.title and '"touch"' in problem.title and problem.cures
    assert problem.places[0].file == __file__


def test_a_number_of_a_law_is_a_parameter_of_the_run() -> None:
    """Restitution, stiffness and damping change without another compilation."""
    bouncing = compile_model(dropped(Impact(0.8)))
    run = bouncing.simulate(1.5, rtol=1e-10, parameters={"touch.normal.restitution": 0.5}, progress=False)
    assert times(run, "impact")[:3] == pytest.approx(FALL * np.array([1.0, 2.0, 2.5]), abs=1e-12)
    sliding = compile_model(dropped(Impact(0.5, friction=0.2), height=0.0, spin=(0.0, 0.0, 0.0), along=1.0))
    run = sliding.simulate(0.4, rtol=1e-10, parameters={"touch.friction cone.coefficient": 0.1}, progress=False)
    assert times(run, "stick") == pytest.approx([2.0 / (7.0 * 0.1 * G)], abs=1e-9)
    yielding = compile_model(dropped(VirtualSpring(1e5, 0.9), height=1e-3, gravity=0.0, speed=1.0))
    run = yielding.simulate(0.1, rtol=1e-11, parameters={"touch.spring.restitution": 0.3}, progress=False)
    assert run["touch.kinematics.d'"][-1] == pytest.approx(0.3, rel=1e-8)


SPIN = {"velocity": (1.0, 0.3, 0.0), "angular_velocity": (3.0, -2.0, 2.0)}
SLIP = np.array([1.0 + 2.0 * RADIUS, 0.3 + 3.0 * RADIUS])
"""Velocity of the lowest point."""
ROLLS = np.array([1.0, 0.3]) - 2.0 / 7.0 * SLIP
"""Of the ball once it rolls."""
LANDED, LANDS = np.sqrt(2.0 * 0.05 / G), np.sqrt(2.0 * 0.05 * G)


def test_a_ball_with_spin_slips_and_then_rolls_after_a_smooth_impact() -> None:
    """It rolls as 7/2 mu times the normal impulse, m (g t + h' + v0), has used up its slip."""
    mu, alpha1, alpha0 = 0.2, 20.0, 100.0
    run = rolled(ThreeState(alpha1, alpha0, friction=mu), None, 0.0, **SPIN)
    (stuck,) = times(run, "stick") - LANDED
    # The double pole at -10: h' = -v0 (1 - 10 t) exp(-10 t).
    rate = -LANDS * (1.0 - 10.0 * stuck) * np.exp(-10.0 * stuck)
    assert 3.5 * mu * (G * stuck + rate + LANDS) == pytest.approx(np.hypot(*SLIP), rel=1e-7)
    omega, v = in_world(run)
    assert v[:2] == pytest.approx(ROLLS, abs=1e-9) and omega[2] == pytest.approx(2.0, abs=1e-9)
    assert v[:2] + np.cross(omega, [0.0, 0.0, -RADIUS])[:2] == pytest.approx(np.zeros(2), abs=1e-9)
    assert np.abs(run["touch.friction slip"][run.t > LANDED + stuck]).max() < 1e-9
    # 2/7 of the energy of the slip is all that friction takes.
    assert run.ledger.elements["touch.friction"][-1] == pytest.approx(MASS / 7.0 * SLIP @ SLIP, rel=1e-6)
    (point,) = dropped(ThreeState(alpha1, alpha0, friction=mu)).freeze().contacts
    assert point.friction == "touch.friction cone.coefficient" and ("touch.friction", "off") in point.off and len(point.slip) == 2


@pytest.mark.parametrize("mu", [0.05, 0.2, 0.6])
@pytest.mark.parametrize("e", [0.0, 0.5])
def test_a_ball_with_spin_slips_and_then_rolls_after_impacts(e: float, mu: float) -> None:
    """Every impact takes at most 7/2 mu (1 + e) v of the slip; what is left as it rests goes in 2 u / (7 mu g)."""
    run = rolled(Impact(e, friction=mu), None, 0.0, **SPIN)
    impulses = LANDS * ((1.0 + e) / (1.0 - e) if e else 1.0)
    left = np.hypot(*SLIP) - 3.5 * mu * impulses
    stuck, rests = times(run, "stick"), times(run, "impact: accumulation")[0]
    if left > 0.0:
        assert stuck[-1] - rests == pytest.approx(2.0 * left / (7.0 * mu * G), rel=1e-6)
    else:
        # An impact has stopped it: it rests sticking.
        assert np.abs(run["touch.friction slip"][run.t > rests + 1e-6]).max() < 1e-9
    omega, v = in_world(run)
    assert v[:2] == pytest.approx(ROLLS, abs=1e-8) and omega[2] == pytest.approx(2.0, abs=1e-9)
    assert run.ledger.relative_residual < 1e-9


RUBBING = (Impact(0.5, friction=0.3), ThreeState(50.0, 1000.0, friction=0.3))


@pytest.mark.parametrize("law", RUBBING, ids=lambda law: type(law).__name__)
@pytest.mark.parametrize("tilt", [0.3, 1.0])
def test_a_ball_on_a_slope_rolls_or_slips(law: ContactLaw, tilt: float) -> None:
    """It rolls with 5/7 g sin where mu > 2/7 tan, else slips with g (sin - mu cos), whatever chart it is in."""
    slips = 2.0 / 7.0 * np.tan(tilt) > 0.3
    run = rolled(law, None, tilt)
    late = run.t > 1.5
    H = np.array([np.asarray(pose_from_state(row), dtype=float) for row in run["ball.pose"][late]])
    v = np.einsum("kij,kj->ki", H[:, :3, :3], run["ball.twist"][late, 3:])[:, 0]
    slope = np.polyfit(run.t[late], v, 1)[0]
    expected = G * (np.sin(tilt) - 0.3 * np.cos(tilt)) if slips else 5.0 / 7.0 * G * np.sin(tilt)
    assert slope == pytest.approx(expected, rel=1e-6)
    assert (run["touch.friction.mode"][-1] == 0.0) == (not slips)


def test_laws_with_friction_stand_for_each_other() -> None:
    """A ball lies on a slope on which it sticks: what is left of mu N before it slips, with each law."""
    stiff = {"normal_stiffness": 1e6, "normal_damping": 1e3, "tangential_stiffness": 1e6, "tangential_damping": 1e3}
    tilt, left = 0.3, []
    for law in (Compliant(**stiff, friction=0.3), Impact(0.5, friction=0.3), ThreeState(50.0, 1000.0, friction=0.3)):
        run = rolled(law, ["v_x", "v_y", "v_z"], tilt)
        left.append(run["touch.friction excess"][-1])
        assert np.abs(run["touch.friction slip"][-1]).max() < 1e-12
    assert left == pytest.approx([2.0 / 7.0 * MASS * G * np.sin(tilt) - 0.3 * MASS * G * np.cos(tilt)] * 3, rel=1e-3)
    graph = dropped(Compliant(**stiff, friction=0.3), constrained=["v_x", "v_y", "v_z"])
    for law in (Impact(0.5, friction=0.3), ThreeState(50.0, 1000.0, friction=0.3)):
        graph.replace("touch", contact("touch", graph.parts["floor"], graph.parts["ball"], law=law))  # type: ignore[arg-type]
        assert graph.freeze().contacts[0].friction == "touch.friction cone.coefficient"


def test_friction_of_a_ball_that_drops_straight_does_nothing() -> None:
    for law in (Impact(0.5, friction=0.3), ThreeState(20.0, 100.0, friction=0.3)):
        omega, v = in_world(rolled(law, None, 0.0))
        assert np.abs(np.concatenate([omega, v[:2]])).max() < 1e-9


@pytest.mark.parametrize("height", [0.0, 1e-12, 1e-6])
@pytest.mark.parametrize("law", [Impact(0.5, friction=0.2), ThreeState(20.0, 100.0, friction=0.2)], ids=repr)
def test_a_ball_that_lies_and_slides_rolls_after_two_sevenths(law: ContactLaw, height: float) -> None:
    """2 v / (7 mu g), also where bounces of all sizes, down to none, come before."""
    graph = dropped(law, height=height, spin=(0.0, 0.0, 0.0), along=1.0)
    run = simulate(graph, 0.4, samples=0.01, rtol=1e-10, progress=False)
    assert run.ok and run.ledger.relative_residual < 1e-9
    assert times(run, "stick") == pytest.approx([2.0 / (7.0 * 0.2 * G)], abs=1e-9 + 0.2 * np.sqrt(2.0 * height / G))
    assert in_world(run)[1][0] == pytest.approx(5.0 / 7.0, abs=1e-9)


FRICTION = 0.1
RUBBING = (
    Compliant(normal_stiffness=1e6, normal_damping=300.0, tangential_stiffness=1e6, tangential_damping=300.0, friction=FRICTION),
    Impact(0.0, friction=FRICTION),
    ThreeState(20.0, 100.0, 1e6, friction=FRICTION),
    Rigid(friction=FRICTION),
)


def test_laws_with_friction_take_each_others_place() -> None:
    """A ball that falls with spin slides, then rolls with what keeps its angular momentum about the floor, under every law."""
    graph, floor, radius = Graph("spin"), ground("floor", surface=plane()), 0.1
    inertia, spin = 0.4 * 0.5 * radius**2, (3.0, 20.0, 0.0)
    start = {"position": (0.0, 0.0, radius + 0.02), "angular_velocity": spin, "gravity": (0.0, 0.0, -9.81)}
    ball = rigid_body("ball", mass=0.5, inertia=(inertia,) * 3, surface=sphere(radius), **start)
    touch = contact("touch", floor, ball, constrained=["v_x", "v_y", "v_z"], law=RUBBING[0])
    attach_contact(graph, touch, floor, ball)
    for law in (*RUBBING[1:], *RUBBING):
        graph.replace("touch", contact("touch", floor, ball, constrained=["v_x", "v_y", "v_z"], law=law))
        if law.stepped:
            run = stepper(graph, inertia="full", facets="cone").simulate(1.0, step=5e-3, progress=False)
        else:
            run = simulate(graph, 1.0, samples=0.01, progress=False)
        assert run.ok, law
        np.testing.assert_allclose(run["ball.twist"][-1, :2], np.array(spin[:2]) * 2.0 / 7.0, atol=1e-3, err_msg=repr(law))
        # While it slips the force is at its limit, or what springs would do beyond it; while it sticks something is left.
        excess, late = run["touch.friction excess"], run.t > 0.9
        assert (isinstance(law, Compliant) or excess.max() < 1e-6) and excess[late].max() < -0.4, law
        assert np.abs(run["touch.friction slip"][late]).max() < 1e-6, law
