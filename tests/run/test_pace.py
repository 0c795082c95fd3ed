"""Many runs are executed in pieces, which threads share and after which an interrupt takes effect."""

from __future__ import annotations

import itertools
import os
import signal
import threading

import numpy as np
import pytest

from tests.inner.run import StructureCache, Workspace, prepare, workers, workspace
from tests.run.problems import oscillator
from tests.run.test_prepared import points


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_is_heard_after_a_piece_and_spoils_nothing(threads, monkeypatch):
    prepared, (p, x) = prepare(oscillator(), 1.0, samples=[1.0], progress=False), points(400)
    expected = prepared.run_many(p, x, [], threads=threads, lanes=1).x
    prepared = prepare(oscillator(), 1.0, samples=[1.0], progress=False)
    clock, done = itertools.count(), list[slice]()
    monkeypatch.setattr(workers, "perf_counter", lambda: float(next(clock)))
    many = Workspace.many

    def interrupted(space, blocks, runs, *given):
        many(space, blocks, runs, *given)
        done.append(runs)
        if len(done) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        if len(done) > 3:
            threading.Event().wait(0.01)  # lets the other threads start

    monkeypatch.setattr(Workspace, "many", interrupted)
    with pytest.raises(KeyboardInterrupt):
        prepared.run_many(p, x, [], threads=threads, lanes=1)
    assert sum(piece.stop - piece.start for piece in done) < 200
    monkeypatch.undo()
    np.testing.assert_array_equal(prepared.run_many(p, x, [], threads=threads, lanes=1).x, expected)


@pytest.mark.parametrize("lanes", [1, 4])
def test_an_interrupt_is_heard_within_a_long_run_and_spoils_nothing(lanes, monkeypatch):
    p, x = points(6)
    expected = prepare(oscillator(), 300.0, samples=[300.0], progress=False).run_many(p, x, [], threads=1, lanes=lanes)
    asked = list[int]()

    class Heard(threading.Event):
        def is_set(self):
            asked.append(1)
            if len(asked) == 7:
                os.kill(os.getpid(), signal.SIGINT)
            return super().is_set()

    monkeypatch.setattr(workspace, "STEPS", 20)
    prepared = prepare(oscillator(), 300.0, samples=[300.0], progress=False)
    with monkeypatch.context() as context, pytest.raises(KeyboardInterrupt):
        context.setattr(workers, "Event", Heard)
        prepared.run_many(p, x, [], threads=1, lanes=lanes)
    assert 7 <= len(asked) < 10
    found = prepared.run_many(p, x, [], threads=1, lanes=lanes)
    for name in ("x", "steps", "rejected", "rates", "integrals"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert found.steps.min() > 500 and found.ok.all()


def taken(pieces, seconds, clock):
    found = []
    for piece in pieces:
        found.append(piece.stop - piece.start)
        clock[0] += found[-1] * seconds
    return found


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(workers, "perf_counter", lambda: now[0])
    return now


def test_chunk_sizes_follow_run_times_and_cancellation(clock):
    told, called_off = workers.RunDuration(), threading.Event()
    seconds = workers.MAX_CALL_SECONDS / 100.5
    assert taken(workers.WorkQueue(997, 8, told, called_off).remaining_chunks(), seconds, clock) == [
        8,
        100,
        100,
        100,
        100,
        100,
        100,
        100,
        100,
        100,
        89,
    ]
    pieces = workers.WorkQueue(1000, 8, told, called_off).remaining_chunks()
    assert next(pieces) == slice(0, 100)
    called_off.set()
    assert list(pieces) == []


def test_short_runs_are_left_to_one_thread_and_long_ones_are_shared(clock):
    short = workers.WorkQueue(400, 1, workers.RunDuration(), threading.Event())
    assert taken(short.first_chunks(), 1e-5, clock) == [1, 1, 2, 4, 8, 16, 32, 64, 128] and short.share(2) == 1
    assert taken(short.remaining_chunks(), 1e-5, clock) == [144]
    long = workers.WorkQueue(400, 1, workers.RunDuration(), threading.Event())
    assert taken(long.first_chunks(), 1e-2, clock) == [1, 1] and long.share(3) == 3
    counts = taken(long.remaining_chunks(), 1e-2, clock)
    assert counts[0] == 30 and counts == sorted(counts, reverse=True) and counts[-1] == 1 and sum(counts) == 398
    slow = workers.WorkQueue(400, 1, workers.RunDuration(), threading.Event())
    assert taken(slow.first_chunks(), 1.0, clock) == [1] and taken(slow.remaining_chunks(), 1.0, clock) == [1] * 399
    many = workers.WorkQueue(100_000, 32, workers.RunDuration(), threading.Event())
    assert taken(many.first_chunks(), 1e-5, clock)[-1] == 128 and many.share(64) == 64
    assert min(taken(many.remaining_chunks(), 1e-5, clock)[:-1]) >= workers.MIN_CALL_SECONDS / 1e-5 - 1.0, (
        "Python's overhead is small compared with a call"
    )


@pytest.mark.parametrize("lanes", [1, 4])
def test_an_interrupt_of_several_runs_is_raised_once(lanes, monkeypatch):
    prepared, (p, x) = prepare(oscillator(), 1.0, samples=[1.0], progress=False), points(12)
    structure, calls = StructureCache.structure, list[int]()

    def none(own, found):
        if found.any():
            calls.append(len(calls))
            raise MemoryError(f"call {calls[-1]}")
        return structure(own, found)

    with monkeypatch.context() as context, pytest.raises(MemoryError, match=r"^call 0$"):
        context.setattr(StructureCache, "structure", none)
        prepared.run_many(p, x, [], threads=1, lanes=lanes)
    expected = prepare(oscillator(), 1.0, samples=[1.0], progress=False).run_many(p, x, [], threads=1, lanes=1)
    np.testing.assert_array_equal(prepared.run_many(p, x, [], threads=1, lanes=lanes).x, expected.x)
