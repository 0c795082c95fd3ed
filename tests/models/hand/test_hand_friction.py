"""The hand does not slip inside the friction cones, and slips where unlimited friction would exceed the ratio mu."""

from __future__ import annotations

import numpy as np
import pytest
from screwbond.models.hand import HandRun, study

from tests.models.hand.hand_runs import again, main_run, slippery_run


def external_events(run: HandRun) -> list[tuple[str, str]]:
    return [(event["kind"], event["where"]) for event in run.events() if not event["internal"]]


@pytest.fixture(scope="module")
def unlimited() -> HandRun:
    return main_run()


@pytest.fixture(scope="module")
def slippery() -> HandRun:
    return slippery_run()


def test_nothing_slips_with_enough_friction(unlimited: HandRun, slippery: HandRun) -> None:
    run = again(slippery, friction=0.5)
    assert external_events(run) == [] and not run.trajectory["slipping"].any()
    for name, tolerance in (("object", 1e-11), ("virtual", 1e-11), ("joints", 1e-9), ("forces", 1e-7)):
        assert np.max(np.abs(run.trajectory[name] - unlimited.trajectory[name])) < tolerance
    left = 0.5 * unlimited.trajectory["normal"] - unlimited.trajectory["tangential"]
    assert np.min(study(run, 91).margin) == pytest.approx(np.min(left), rel=1e-2)


def test_slips_where_the_unlimited_ratio_passes_the_limit(unlimited: HandRun, slippery: HandRun) -> None:
    arrays = unlimited.trajectory
    ratio = arrays["tangential"] / arrays["normal"]
    first = [np.flatnonzero(ratio[:, i] > 0.2) for i in range(3)]
    assert len(first[0]) and not len(first[1]) and not len(first[2])
    k = first[0][0]
    at = np.interp(0.2, ratio[k - 1 : k + 1, 0], arrays["t"][k - 1 : k + 1])
    slip = slippery.events()[0]
    assert (slip["kind"], slip["where"]) == ("slip", "contact 0") and slip["time"] == pytest.approx(at, abs=2e-5)
    before = arrays["t"] < slip["time"]
    assert np.max(np.abs(slippery.trajectory["object"][before] - arrays["object"][before])) < 1e-9


def test_the_run_continues_after_the_object_is_lost(slippery: HandRun) -> None:
    """Once one contact slips, the other two cannot carry its share of the load."""
    kinds = external_events(slippery)
    assert [kind for kind, _ in kinds[:3]] == ["slip"] * 3 and ("object lost", "grasp") in kinds
    assert {where for kind, where in kinds if kind == "contact off"} == {"contact 0", "contact 1", "contact 2"}
    lost = slippery.time_of_loss()
    assert lost == pytest.approx(6.49310, abs=1e-4)
    arrays = slippery.trajectory
    after = arrays["t"] > lost
    assert slippery.result.ok and np.all(arrays["normal"][after] == 0.0)
    velocity = np.diff(arrays["object"][after, 4:], axis=0)
    assert np.max(np.abs(velocity - velocity[0])) < 1e-10 and velocity[0, 2] > 1e-3
    assert np.max(arrays["tangential"] - 0.2 * arrays["normal"]) < 1e-6
    assert slippery.result.ledger.relative_residual < 1e-9


def test_ledger_counts_the_loss_of_the_sliders(slippery: HandRun) -> None:
    ledger = slippery.result.ledger
    work = sum(np.trapezoid(slippery.result[f"contact {i}.friction slider.power"], slippery.result.t) for i in range(3))
    slid = sum(ledger.elements[f"contact {i}.friction slider"][-1] for i in range(3))
    assert slid > 1e-3 and slid == pytest.approx(work, rel=2e-2)


def test_energy_never_rises_while_the_reference_rests(slippery: HandRun) -> None:
    start = {"object.inertia.p": np.array([2e-5, 3e-5, -4e-5, 0.02, 0.01, 0.03])}
    result = slippery.compiled.simulate(0.5, samples=1e-3, initial=start, progress=False)
    kinds = {event.kind for event in result.events if not event.internal}
    stored = result.ledger.stored
    assert {"slip", "stick"} <= kinds and np.all(result.ledger.supplied == 0.0)
    assert stored[0] - stored[-1] > 1e-3 and np.all(np.diff(stored) <= 1e-13)
    assert result.ledger.relative_residual < 1e-9


def lasting(run: HandRun) -> list[float]:
    """Return the times of events, without those of a tip that sticks only for a moment, which depend on rounding."""
    events = [e for e in run.events() if not e["internal"]]
    sticks = [k for k, e in enumerate(events[:-1]) if e["kind"] == "stick" and events[k + 1]["kind"] == "slip"]
    brief = {n for k in sticks for n in (k, k + 1) if events[k + 1]["time"] - events[k]["time"] < 1e-6}
    return [e["time"] for k, e in enumerate(events) if k not in brief]


def test_switching_times_converge_with_the_tolerance(slippery: HandRun) -> None:
    runs = {rtol: again(slippery, rtol=rtol, t_end=6.6) for rtol in (1e-5, 1e-7, 1e-9)}
    times = {rtol: lasting(run) for rtol, run in runs.items()}
    assert len(times[1e-9]) > 6
    errors = [np.max(np.abs(np.array(times[rtol]) - times[1e-9])) for rtol in (1e-5, 1e-7)]
    assert errors[1] < 1e-6 and errors[1] <= errors[0]


def test_sticks_again_when_the_reference_pauses(slippery: HandRun) -> None:
    kinds = [kind for kind, _ in external_events(again(slippery, friction=0.03))]
    assert "stick" in kinds and "object lost" in kinds and kinds.index("slip") < kinds.index("stick")
