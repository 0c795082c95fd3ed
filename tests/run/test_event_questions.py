"""Event handling calls Python only for simultaneous collisions, counts the calls, and ends the run with the error of a failed
call."""

import numpy as np
import pytest

from bondgraph import J0, J1, TF, Automaton, Constraint, Graph, I, Sf, Transition, compile_model
from tests.inner.run import EventHandler, PreparedProgram, handler
from tests.run.test_event_log_growth import ALIKE, switched
from tests.run.test_together import cradle, start

COUNT = 3


@pytest.fixture(scope="module")
def balls():
    return cradle(COUNT)


def struck(compiled, speed=1.0):
    return compiled.simulate(0.2, initial=start(np.ones(COUNT), speed * np.eye(COUNT)[0], [0.1, 0.0]), progress=False)


def test_python_is_called_for_simultaneous_collisions_only(balls):
    run = struck(balls)
    assert run.ok and len(run.events) == run.statistics.events_in_python == 1
    assert len(run.events[0].simultaneous) == 2


def test_machine_code_continues_after_a_callback(balls, monkeypatch):
    speeds = (0.5, 1.0, 2.0)
    alone = [struck(balls, speed) for speed in speeds]
    prepared = balls.prepare_run(0.2, progress=False)
    _, p, m = prepared.start_values()
    monkeypatch.setattr(PreparedProgram, "checked_run_and_end", None)
    ends = prepared.run_many(p[None], np.array([run.x[0] for run in alone]), m[None], threads=1)
    assert ends.ok.all() and ends.events.tolist() == [1, 1, 1]
    np.testing.assert_array_equal(ends.x, [run.x[-1] for run in alone])


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_an_answer_that_fails_ends_the_run_with_its_error(balls, error, monkeypatch):
    expected = struck(balls)

    def fails(*given):
        raise error

    with monkeypatch.context() as replaced:
        replaced.setattr(handler, "collide", fails)
        with pytest.raises(error):
            struck(balls)
    again = struck(balls)
    assert again.events == expected.events and np.array_equal(again.x, expected.x)


def test_a_log_without_memory_for_more_ends_the_run_with_its_error(monkeypatch):
    def fails(self):
        raise MemoryError

    for name in ("BUFFER_BYTES", "FREE_BYTES"):
        monkeypatch.setattr(handler, name, 0)
    monkeypatch.setattr(handler, "_MIN_ROWS", 1)
    monkeypatch.setattr(EventHandler, "_enlarge_log", fails)
    with pytest.raises(MemoryError):
        compile_model(switched(ALIKE)).simulate(2.0, samples=0.1, progress=False)


def test_source_work_in_simultaneous_collisions_is_in_the_account():
    """A plate driven at 1 m/s hits balls of 1 kg and 2 kg at rest, which leave at 1.5 m/s, so the plate transfers 4.5 N s."""
    graph, plate = Graph("plate"), J1("plate", domain="translation")
    graph.connect(Sf("drive", 1.0), plate)
    for i, mass in enumerate((1.0, 2.0)):
        ball, gap, down = J1(f"ball{i}", domain="translation"), J0(f"gap{i}", domain="translation"), TF(f"down{i}", -1.0)
        graph.connect(ball, I(f"m{i}", mass)).connect(ball, gap).connect(plate, down).connect(down, gap)
        graph.connect(gap, Constraint(f"c{i}", initial=0.1, automaton=f"a{i}", active=["rest"], restitution=0.5))
        hits = Transition("free", "free", lambda h: -h, (f"c{i}.h",), impact=(f"c{i}",))
        leaves = Transition("rest", "free", lambda f: -f, (f"c{i}.multiplier",))
        graph.add_automaton(Automaton(f"a{i}", ("free", "rest"), "free", (hits, leaves)))
    run = compile_model(graph).simulate(0.2, progress=False)
    assert run.ok and len(run.events) == 1 and len(run.events[0].simultaneous) == 2
    np.testing.assert_allclose([run["m0.flow"][-1], run["m1.flow"][-1]], 1.5, rtol=1e-9)
    np.testing.assert_allclose([run.events[0].supplied.sum(), run.events[0].lost], [4.5, 1.125], rtol=1e-6)
