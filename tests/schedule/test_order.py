"""Equal formulas are recognised, and calls are grouped into batches."""

from __future__ import annotations

import numpy as np

from screws.surfaces import ellipsoid, plane, sphere
from tests.inner.assembly import formula_key
from tests.inner.model import Op, combine, constant
from tests.inner.schedule import Call, Kind, batches, needed
from tests.inner.tape import Listing
from tests.inner.tape import opcodes as op

A, B = (Kind(Listing(((op.INPUT, 0, 0),), (0,)), (1,)) for _ in range(2))


def scaled(factor):
    return Op("scaled", lambda x: factor * x)


def test_equal_formulas_have_equal_keys() -> None:
    assert formula_key(scaled(2.0)) == formula_key(scaled(2.0))
    assert formula_key(scaled(2.0)) != formula_key(scaled(3.0))
    assert formula_key(scaled(2)) != formula_key(scaled(2.0))
    assert formula_key(scaled(0.0)) != formula_key(scaled(-0.0))
    assert formula_key(constant(np.eye(2))) == formula_key(constant(np.eye(2)))
    assert formula_key(constant(np.eye(2))) != formula_key(constant(2 * np.eye(2)))
    assert formula_key(combine((1, -1))) != formula_key(combine((1, 1)))
    assert formula_key(Op("f", lambda x: x)) != formula_key(Op("f", lambda x: -x))
    first, second = (Op("f", lambda x, k=k: k * x) for k in (1.0, 2.0))
    assert formula_key(first) != formula_key(second)


def test_frozen_records_are_compared_by_their_fields() -> None:
    assert formula_key(scaled(sphere(0.1))) == formula_key(scaled(sphere(0.1)))
    assert formula_key(scaled(sphere(0.1))) != formula_key(scaled(sphere(0.2)))
    assert formula_key(scaled(sphere(0.1))) != formula_key(scaled(ellipsoid((0.1, 0.1, 0.1))))
    assert formula_key(Op("point", sphere(0.1).point)) == formula_key(Op("point", sphere(0.1).point))
    assert formula_key(Op("point", sphere(0.1).point)) != formula_key(Op("point", plane().point))


def test_mutable_values_are_compared_by_identity() -> None:
    for one, other in (([1.0], [1.0]), ({1: 2.0}, {1: 2.0})):
        assert formula_key(scaled(one)) != formula_key(scaled(other))
        assert formula_key(scaled(one)) == formula_key(scaled(one))


def test_levels_share_batches() -> None:
    calls = [call for k in range(5) for call in (Call(A, (k,), (10 + k,)), Call(B, (10 + k,), (20 + k,)))]
    found = batches(calls, {})
    assert [(batch.calls[0].kind, len(batch.calls), batch.parallel) for batch in found] == [(A, 5, True), (B, 5, True)]


def test_a_recurrence_is_one_batch_in_order() -> None:
    calls = [Call(A, (k,), (k + 1,)) for k in range(6)]
    (batch,) = batches(calls[::-1], {})
    assert [call.ins[0] for call in batch.calls] == list(range(6))
    assert not batch.parallel


def test_only_needed_statements_are_kept() -> None:
    calls = [Call(A, (0,), (1,)), Call(A, (0,), (2,)), Call(B, (1,), (3,))]
    assert needed(calls, [3]) == [calls[0], calls[2]]
