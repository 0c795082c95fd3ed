"""The event log that machine code fills grows where an instant needs more rows."""

import numpy as np
import pytest

from bondgraph import J1, Automaton, Graph, I, Op, R, Se, Transition, compile_model
from tests.inner.run import EventHandler, handler

ALIKE = 5


def switched(sections):
    graph = Graph("switched")
    for i in range(sections):
        joint = J1(f"v{i}")
        graph.connect(Se(f"u{i}", 2.0), joint).connect(joint, I(f"m{i}", 1.0))
        graph.connect(joint, R(f"c{i}", effort=lambda f, mode: f * (0.5 + mode), signals=[f"a{i}.mode"]))
        fast = Transition("slow", "fast", Op("fast", lambda p: p - 1.0), (f"m{i}.p",))
        graph.add_automaton(Automaton(f"a{i}", ("slow", "fast"), "slow", (fast,)))
    return graph


@pytest.fixture(scope="module")
def compiled():
    return compile_model(switched(ALIKE))


@pytest.fixture
def laid(monkeypatch):
    rows, lay = [], EventHandler._use_log_rows

    def noted(self, log):
        lay(self, log)
        rows.append((self.table["reserve"], self.table["log_room"]))

    monkeypatch.setattr(EventHandler, "_use_log_rows", noted)
    return rows


def test_the_event_log_grows_at_an_instant_with_many_rows(compiled, laid, monkeypatch):
    """All dampers switch after log(4/3) / 0.5 s."""
    plenty = compiled.simulate(2.0, samples=0.1, progress=False)
    monkeypatch.setattr(handler, "BUFFER_BYTES", 0)
    monkeypatch.setattr(handler, "FREE_BYTES", 0)
    monkeypatch.setattr(handler, "_MIN_ROWS", 1)
    narrow = compile_model(switched(ALIKE)).simulate(2.0, samples=0.1, progress=False)
    assert laid[0][0] > ALIKE and laid[1] == (1, 3)
    assert laid[2:] == [(1, 6)]  # the instant needed five rows, three were free
    assert narrow.statistics.events_in_python == 0
    assert len(plenty.events) == len(narrow.events) == ALIKE
    np.testing.assert_allclose(narrow.events.times, np.log(4.0 / 3.0) / 0.5, rtol=1e-6)
    np.testing.assert_array_equal(narrow.x, plenty.x)


def test_a_wide_log_does_not_reserve_all_that_an_instant_could_need(laid):
    """A thousand automata could need 4,020 rows of 6,006 numbers (0.2 GB) at one instant."""
    made = compile_model(switched(1000))
    made.simulate(0.1, samples=0.1, progress=False)
    width = 4 * 1000 + 6
    assert laid and all(rows * width * 8 < 1.5e8 for _, rows in laid)


def test_a_start_with_more_events_than_free_rows_stays_in_machine_code(compiled, laid, monkeypatch):
    above = {f"m{i}.p": 1.5 for i in range(ALIKE)}
    plenty = compiled.simulate(1.0, initial=above, samples=0.1, progress=False)
    monkeypatch.setattr(handler, "BUFFER_BYTES", 0)
    monkeypatch.setattr(handler, "FREE_BYTES", 0)
    monkeypatch.setattr(handler, "_MIN_ROWS", 1)
    narrow = compile_model(switched(ALIKE)).simulate(1.0, initial=above, samples=0.1, progress=False)
    assert laid[-2:] == [(1, 3), (1, 6)] and narrow.statistics.events_in_python == 0
    assert len(plenty.events) == len(narrow.events) == ALIKE and not narrow.events.times.any()
    np.testing.assert_array_equal(narrow.x, plenty.x)
