"""Values of a tape at sample states are reused from one matrix to the next."""

import numpy as np
import pytest

import screws.scalars as s
from tests.inner.emit import numpy_kernel
from tests.inner.tape import Routine, Tape
from tests.inner.tape import interpret as reference
from tests.inner.tape import opcodes as op
from tests.inner.tracing import Samples, context

STATES = [(np.array([0.1 * k]), np.array([1.0 + k, -2.0]), np.array([3.0]), np.array([float(k % 2)])) for k in range(5)]


def traced():
    tape = Tape()
    (t,), x, (p,), (m,) = (tape.inputs(name, size) for name, size in (("t", 1), ("x", 2), ("p", 1), ("m", 1)))
    common = s.sin(x[0] * p)
    return tape, {(0, 0): common + t, (1, 0): s.where(s.equal(m, 1.0), common * x[1], 2.0), (1, 1): tape.scalar(4.0)}


@pytest.mark.parametrize("kept", [context.MAX_CACHED_BYTES, 0])
def test_they_are_those_of_the_reference(kept, monkeypatch):
    monkeypatch.setattr(context, "MAX_CACHED_BYTES", kept)
    tape, entries = traced()
    samples = Samples(tape, STATES)
    expected = np.array(
        [numpy_kernel(Routine("f", tape, tuple(tape.blocks.items()), tuple(entries.values())))(*b) for b in STATES]
    )
    for _ in range(2):
        found = samples(entries)
        np.testing.assert_array_equal(np.stack([found[key] for key in entries], axis=1), expected)


def test_known_samples_are_not_recomputed(monkeypatch):
    calls = []
    monkeypatch.setitem(reference.NUMPY_FUNCTIONS, op.SIN, lambda a: calls.append(a) or np.sin(a))
    tape, entries = traced()
    samples = Samples(tape, STATES)
    for _ in range(3):
        samples(entries)
        samples({(0, 0): entries[0, 0] * entries[1, 0]})
    assert len(calls) == 1


def test_samples_that_are_not_finite_do_not_count_unless_all_are_so():
    tape = Tape()
    _, x, _, _ = (tape.inputs(name, size) for name, size in (("t", 1), ("x", 2), ("p", 1), ("m", 1)))
    samples = Samples(tape, STATES)
    assert len(samples({(0, 0): 1.0 / (x[0] - 3.0)})[0, 0]) == 4
    assert np.isnan(samples({(0, 0): s.sqrt(x[1])})[0, 0]).all()


def test_inputs_of_outer_systems_count_as_zero():
    tape, entries = traced()
    w = tape.inputs("w 1", 3)
    np.testing.assert_array_equal(Samples(tape, STATES)({(0, 0): entries[1, 1] + w[2]})[0, 0], np.full(5, 4.0))
