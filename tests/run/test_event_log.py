"""Events of a result form a frozen sequence that behaves like a tuple of `Event`."""

import copy
import pickle

import numpy as np
import pytest

from examples.bouncing_ball import with_restitution
from tests.inner.compile import compile_model
from tests.inner.run import Log


@pytest.fixture(scope="module")
def run():
    return compile_model(with_restitution()).simulate(6.0, samples=0.01, progress=False)


def test_it_is_a_sequence(run):
    events = run.events
    assert len(events) > 50 and events[0].time == events.times[0] and events[-1] is events[len(events) - 1]
    assert [event.kind for event in events] == events.kinds and next(reversed(events)) is events[-1]
    assert [event.time for event in events[3:9:2]] == events.times[3:9:2].tolist()
    with pytest.raises(IndexError):
        events[len(events)]
    with pytest.raises(TypeError):
        events[0] = events[1]
    with pytest.raises(ValueError, match="read-only"):
        events.times[0] = 0.0


def test_its_arrays_are_those_of_its_events(run):
    events = run.events
    for name in ("since", "supplied", "lost"):
        np.testing.assert_array_equal(getattr(events, name), [getattr(event, name) for event in events])
    for side, before in enumerate((True, False)):
        word = "before" if before else "after"
        for own, name in ((events.x, "x"), (events.m, "m"), (events.energies, "energies")):
            np.testing.assert_array_equal(own[side], [getattr(event, f"{name}_{word}") for event in events])
    limits = [event for event in events if event.accumulation is not None]
    assert [event.kind for event in limits] == ["bounces: accumulation"] and events.internal.tolist() == [False] * len(events)


def test_energy_lost_at_events_follows_from_their_states(run):
    """A ball of 1 kg with the restitution e = 0.8 loses the fraction 1 - e^2 of its impact energy."""
    p = run.program.layout["ball.p"].start
    hits = run.events[:-1]
    np.testing.assert_allclose(
        hits.lost, 0.5 * 0.36 * hits.x[0][:, p] ** 2 / run.p[run.program.layout["ball.inertia"].start], rtol=1e-9
    )


def test_copies_are_equal_and_stand_alone(run):
    for other in (copy.deepcopy(run.events), pickle.loads(pickle.dumps(run.events))):  # noqa: S301
        assert other == run.events and other[2].lost == run.events[2].lost
    assert run.events == run.events[:] and run.events != run.events[1:] and run.events[:0] == ()


def test_an_event_is_found_in_its_run_and_of_another_it_is_taken_as_it_is(run):
    event, part = run.events[4], copy.deepcopy(run.events[4])
    assert run.events.index_of(event) == 4 and run.events.index_of(part) is None
    for own in (event, part, 4):
        np.testing.assert_array_equal(run.at_event(own, "ball.p"), [side[4] for side in run.at_events("ball.p")])


def test_a_log_grows_and_forgets(run):
    log = Log(run.program, 0.0)
    rows = np.arange(40.0 * log.layout.width).reshape(40, -1)
    for row in rows:
        log.take(row[None])
    np.testing.assert_array_equal(log.rows, rows)
    log.until(rows[7, 0])
    np.testing.assert_array_equal(log.rows, rows[:8])


def test_account_counts_an_event_after_its_own_time(run):
    lost = run.ledger.lost
    expected = [sum(event.lost for event in run.events if event.time < time) for time in run.t]
    np.testing.assert_allclose(lost, expected, rtol=1e-13)
