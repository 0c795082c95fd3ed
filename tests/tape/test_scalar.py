import numpy as np
import pytest

import screws.scalars as s
from benchmarks.front_end import calls
from tests.inner.tape import Routine, Tape, TapeScalar, TraceError, listing
from tests.inner.tape import opcodes as op


@pytest.fixture
def traced():
    tape = Tape()
    return tape, *tape.inputs("x", 3)


def test_equal_expressions_are_one_node(traced):
    tape, a, b, _ = traced
    first = s.sin(a * b) + (a - b)
    count = len(tape)
    second = (a - b) + s.sin(b * a)
    assert second.index == first.index and len(tape) == count


def test_opposite_differences_share(traced):
    _, a, b, _ = traced
    square = (a - b) * (a - b)
    assert ((b - a) * (b - a)).index == square.index
    assert (-(a - b) * (b - a)).index == square.index


def test_quotients_share_one_reciprocal(traced):
    tape, a, b, c = traced
    names = [step[0] for step in listing(Routine("f", tape, (("x", 3),), (a / c, b / c))).steps]
    alone = [step[0] for step in listing(Routine("f", tape, (("x", 3),), (a / c,))).steps]
    assert (names.count(op.RECIPROCAL), names.count(op.DIVIDE), names.count(op.MULTIPLY)) == (1, 0, 2)
    assert (alone.count(op.RECIPROCAL), alone.count(op.DIVIDE)) == (0, 1)


@pytest.mark.parametrize(
    "formula, same",
    [
        (lambda a, b: a * 1, lambda a, b: a),
        (lambda a, b: a + 0, lambda a, b: a),
        (lambda a, b: 0.0 - a, lambda a, b: -a),
        (lambda a, b: a - 0.0, lambda a, b: a),
        (lambda a, b: -(a * -1.0), lambda a, b: a),
        (lambda a, b: a * -1, lambda a, b: -a),
        (lambda a, b: a + (-b), lambda a, b: a - b),
        (lambda a, b: -a + b, lambda a, b: b - a),
        (lambda a, b: -a - b, lambda a, b: -(a + b)),
        (lambda a, b: -a * -b, lambda a, b: a * b),
        (lambda a, b: a * -b, lambda a, b: -(a * b)),
        (lambda a, b: -2.0 * a, lambda a, b: -(2.0 * a)),
        (lambda a, b: 2.0 * (3.0 * a), lambda a, b: 6.0 * a),
        (lambda a, b: a + a, lambda a, b: 2.0 * a),
        (lambda a, b: a + -3.0, lambda a, b: a - 3.0),
        (lambda a, b: a - -3.0, lambda a, b: 3.0 + a),
        (lambda a, b: a / 4.0, lambda a, b: 0.25 * a),
        (lambda a, b: 1.0 / (1.0 / a), lambda a, b: a),
        (lambda a, b: s.sqrt(a) * s.sqrt(a), lambda a, b: a),
        (lambda a, b: s.sqrt(a * a), lambda a, b: s.absolute(a)),
        (lambda a, b: s.sin(-a), lambda a, b: -s.sin(a)),
        (lambda a, b: s.cos(-a), lambda a, b: s.cos(a)),
        (lambda a, b: s.minimum(b, a), lambda a, b: s.minimum(a, b)),
        (lambda a, b: s.where(a < b, a, a), lambda a, b: a),
        (lambda a, b: s.where(s.less(1.0, 2.0), a, b), lambda a, b: a),
        (lambda a, b: s.where(a < b, s.where(a < b, a, 5.0), b), lambda a, b: s.where(a < b, a, b)),
        (lambda a, b: s.where(~(a < b), a, b), lambda a, b: s.where(a < b, b, a)),
        (lambda a, b: a**3, lambda a, b: a * (a * a)),
    ],
)
def test_identities(traced, formula, same):
    _, a, b, _ = traced
    assert formula(a, b).index == same(a, b).index


@pytest.mark.parametrize(
    "formula, value",
    [
        (lambda a: a * 0, 0.0),
        (lambda a: a - a, 0.0),
        (lambda a: a**0, 1.0),
        (lambda a: a.tape.scalar(2.0) * 3 + 1, 7.0),
        (lambda a: s.sin(a.tape.scalar(0.5)), np.sin(0.5)),
        (lambda a: s.less(a, a), 0.0),
        (lambda a: a == a, 1.0),
        (lambda a: (a < 1.0) & False, 0.0),
    ],
)
def test_constants_fold(traced, formula, value):
    assert formula(traced[1]).value == value


def test_branching_is_refused(traced):
    _, a, b, _ = traced
    with pytest.raises(TraceError, match=r"branches on a traced value.*use where"):
        min(a, b)
    with pytest.raises(TraceError, match="has no number yet"):
        float(a)
    assert bool(a.tape.scalar(2.0) < 3.0)


def test_tapes_do_not_mix(traced):
    other = Tape().inputs("x", 1)[0]
    with pytest.raises(TraceError, match="two tapes"):
        traced[1] + other
    with pytest.raises(TraceError, match="another"):
        Routine("f", traced[0], (), (other,))


def test_unknown_operands_are_left_to_their_class(traced):
    class Foreign:
        def __radd__(self, other):
            return "foreign"

        def __scalar_function__(self, name, arguments):
            return name

    assert traced[1] + Foreign() == "foreign"
    assert s.minimum(traced[1], Foreign()) == "minimum"
    with pytest.raises(TypeError):
        traced[1] + "1"


def test_arrays(traced):
    tape, a, b, c = traced
    v = s.array([a, b, c])
    assert (np.eye(3) @ v)[1].index == b.index
    assert (np.float64(2.0) * v)[0].index == (2 * a).index
    assert (v - v)[2].value == 0.0
    assert isinstance(s.cos(v)[0], TapeScalar)
    assert tape.inputs("x", 3)[1].index == b.index
    with pytest.raises(TraceError, match='"x" has 3'):
        tape.inputs("x", 4)


def test_dead_code_is_dropped(traced):
    tape, a, b, c = traced
    s.exp(c) * b
    steps = listing(Routine("f", tape, (("x", 3),), (a + b, 2.0)))
    assert len(steps.steps) == 4 and steps.outputs == (2, 3)


def test_blocks_of_a_routine():
    tape = Tape()
    x, p = tape.inputs("x", 2), tape.inputs("p", 1)
    with pytest.raises(TraceError, match='needs the input block "p"'):
        listing(Routine("f", tape, (("x", 2),), (x[0] * p[0],)))
    with pytest.raises(TraceError, match="has 2 inputs, not 3"):
        Routine("f", tape, (("x", 3),), ())
    with pytest.raises(TraceError, match="cannot be called"):
        Routine("a b", tape, (), ())


def test_tracing_is_fast():
    def traced(nodes: int) -> None:
        tape = Tape()
        x = list(tape.inputs("x", 100))
        while len(tape) < nodes:
            x = [a * b - 0.5 * c for a, b, c in zip(x, [*x[1:], x[0]], [*x[7:], *x[:7]], strict=True)]

    assert calls(lambda: traced(50_000)) < 7 * 50_000
