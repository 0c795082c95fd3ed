"""The same drop of a ball under several laws agrees with closed forms or an independent derivation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from screwbond.models import contact
from screwbond.models.contacts import LAWS, Compliant, ContactLaw, Impact, Maxwell, Rigid, VirtualSpring

from bondgraph import Graph, ModelError, compile_model, simulate
from bondgraph.stepping import stepper
from tests.inner.model import SignalEntry
from tests.inner.models_contacts import contact_intervals
from tests.inner.run import Result
from tests.models.contacts import drops
from tests.models.contacts.drops import COMPLIANT, FALL, HEIGHT, IMPACT, MASS, SPEED, THREE_STATE, VISCOELASTIC, G, dropped, times


def check_compliant(run: Result) -> None:
    """Check that an undamped impact under gravity lasts 2 (pi - atan(v w / g)) / w."""
    omega = np.sqrt(COMPLIANT.normal_stiffness / MASS)
    lasts = 2.0 * (np.pi - np.arctan(SPEED * omega / G)) / omega
    on, off = times(run, "contact on"), times(run, "contact off")
    assert on[:2] == pytest.approx([FALL, 3.0 * FALL + lasts], abs=1e-9)
    assert off[0] - on[0] == pytest.approx(lasts, abs=1e-10)
    assert run["touch.gap"].max() == pytest.approx(HEIGHT, abs=1e-8)
    # Approach the limit of rigid bodies without loss.
    stiffer = simulate(
        dropped(Compliant(normal_stiffness=1e4 * COMPLIANT.normal_stiffness), constrained="v_z"), 1.6, rtol=1e-10, progress=False
    )
    assert times(stiffer, "contact on")[1] - 3.0 * FALL == pytest.approx(lasts / 100.0, rel=1e-2)


def check_impact(run: Result) -> None:
    """Check that bounces occur at FALL (1 + 2 e + 2 e^2 + ...), and that rest follows at the limit."""
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
    """Compare with another integrator of m h'' = k s + c s s' - m g, where s = -h."""
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
    """Compare with another integrator of free fall and of contact, h'' = -a1 h' - a0 h - a2 h^3."""
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
    # At most four bounces, then rest under the weight.
    assert len(times(run, "contact off")) == 4
    assert run["touch.normal force"][-1] == pytest.approx(MASS * G, rel=1e-6)


def check_rigid(graph: Graph) -> None:
    (point,) = graph.freeze().contacts
    assert point.stepped and point.normal is None and point.path == "touch"
    with pytest.raises(ModelError, match="E434") as caught:
        compile_model(graph)
    (problem,) = caught.value.problems
    assert problem.places[0].file == __file__ and 'contact "touch"' in problem.title and "stepper" in problem.cures[0]
    # There is no bounce: it stays where the step in which it lands puts it, under its weight.
    h = 1e-3
    run = stepper(graph, inertia="full").simulate(1.0, step=h, progress=False)
    late = run.t > FALL + 2.0 * h
    assert run.ok and run["touch.gap"].min() > -1e-9 and np.abs(run["touch.kinematics.d'"][late]).max() < 1e-9
    assert np.abs(run["touch.gap"][late]).max() < 1e-9
    assert run["touch.normal force"][late] == pytest.approx(MASS * G, rel=1e-6)
    ((on, off),) = contact_intervals(run, "touch")
    assert abs(on - FALL) <= 2.0 * h and off == run.t[-1]


RUNS = (
    (COMPLIANT, check_compliant),
    (VISCOELASTIC, check_viscoelastic),
    (IMPACT, check_impact),
    (THREE_STATE, check_three_state),
    (Rigid(), check_rigid),
)


@pytest.mark.parametrize(("law", "check"), RUNS, ids=lambda part: type(part).__name__)
def test_the_same_drop_under_each_law(law: ContactLaw, check: Any) -> None:
    graph = dropped(COMPLIANT, constrained=["v_z"])
    parts = graph.parts
    graph.replace("touch", contact("touch", parts["floor"], parts["ball"], constrained=["v_z"], law=law))  # type: ignore[arg-type]
    if law.stepping_only:
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


@pytest.mark.parametrize("law", [VISCOELASTIC, VirtualSpring(1e5, 0.5), Maxwell(1e5, 1e3), IMPACT, THREE_STATE], ids=repr)
def test_every_contact_law_describes_itself(law: ContactLaw) -> None:
    graph = dropped(law)
    (point,) = graph.freeze().contacts
    assert (point.path, point.gap, point.gap_rate) == ("touch", "touch.kinematics.d", "touch.kinematics.d'")
    assert point.frames == ("touch.kinematics.H_O1_C1", "touch.kinematics.H_O2_C2") and not point.stepped
    assert point.ignored == (("touch.spring.q",) if law.active_states else ())
    assert {automaton for automaton, _ in point.off} == {"touch.switch"} and ("touch.switch", "free") in point.off
    assert isinstance(point.normal, SignalEntry) and point.normal.index is None and point.friction is None
    assert point.place is not None and point.place.file == drops.__file__


ROUNDING = 1e-14
"""Rounding error of a gap between bodies of about a metre, m."""


@pytest.mark.parametrize("speed", [0.0, 0.5, -0.5])
@pytest.mark.parametrize("law", [IMPACT, THREE_STATE, VISCOELASTIC, VirtualSpring(1e5, 0.5), Maxwell(1e5, 1e3)], ids=repr)
def test_a_start_that_just_touches(law: ContactLaw, speed: float) -> None:
    run = simulate(dropped(law, height=0.0, speed=speed), 0.2, samples=0.01, rtol=1e-10, progress=False)
    assert run.ok and run.ledger.relative_residual < 1e-9
    first = next(event for event in run.events if not event.internal)
    assert first.kind in ("impact", "contact on")
    late = 1e-9 if speed else np.sqrt(2 * ROUNDING / G)
    assert first.time == pytest.approx(0.0 if speed >= 0.0 else 1.0 / G, abs=late)
    if isinstance(law, Impact) and speed == 0.0:
        assert np.abs(run["touch.gap"]).max() < 1e-12 and run["touch.normal force"][1:] == pytest.approx(MASS * G, rel=1e-9)


def test_bodies_that_overlap_where_only_impacts_part_them() -> None:
    compiled = None
    with pytest.raises(ModelError, match='E437 contact "touch" is closed at the start') as caught:
        compiled = compile_model(dropped(Impact(0.8), height=-1e-3)).simulate(0.1, progress=False)
    assert compiled is None and "ThreeState" in caught.value.problems[0].cures[1]
    # The cure: it is pushed out, without pulling.
    run = simulate(dropped(THREE_STATE, height=-1e-3), 1.0, samples=0.01, rtol=1e-9, progress=False)
    assert run.ok and run["touch.normal force"].min() >= 0.0 and run["touch.gap"][-1] > -1e-3
    # A gap that is negative only by rounding is not an overlap.
    assert simulate(dropped(Impact(0.8), height=-1e-14), 0.1, progress=False).ok


def test_a_number_of_a_law_is_a_parameter_of_the_run() -> None:
    bouncing = compile_model(dropped(Impact(0.8)))
    run = bouncing.simulate(1.5, rtol=1e-10, parameters={"touch.normal.restitution": 0.5}, progress=False)
    assert times(run, "impact")[:3] == pytest.approx(FALL * np.array([1.0, 2.0, 2.5]), abs=1e-12)
    sliding = compile_model(dropped(Impact(0.5, friction=0.2), height=0.0, spin=(0.0, 0.0, 0.0), along=1.0))
    run = sliding.simulate(0.4, rtol=1e-10, parameters={"touch.friction cone.coefficient": 0.1}, progress=False)
    assert times(run, "stick") == pytest.approx([2.0 / (7.0 * 0.1 * G)], abs=1e-9)
    yielding = compile_model(dropped(VirtualSpring(1e5, 0.9), height=1e-3, gravity=0.0, speed=1.0))
    run = yielding.simulate(0.1, rtol=1e-11, parameters={"touch.spring.restitution": 0.3}, progress=False)
    assert run["touch.kinematics.d'"][-1] == pytest.approx(0.3, rel=1e-8)
