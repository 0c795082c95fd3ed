"""Values requested separately equal values computed together."""

from __future__ import annotations

import functools
import pickle

import numpy as np
import pytest

from bondgraph import Compiled, compile_model
from examples import rolling_eggs
from tests.inner.run import MAX_REQUESTS, Result, outputs
from tests.inner.schedule import is_large
from tests.schedule.graphs import bouncing, chain

LARGE = 400


MODELS = {
    "a chain": lambda: chain(3, cubic=True),
    "bounces": lambda: bouncing(3),
    "a chain in loops": lambda: chain(LARGE),
    "charts": lambda: rolling_eggs.build()[0],
}


@functools.cache
def compiled_of(name: str) -> Compiled:
    return compile_model(MODELS[name](), progress=False)


@pytest.fixture(params=MODELS)
def compiled(request: pytest.FixtureRequest) -> Compiled:
    return compiled_of(request.param)


def alone(compiled: Compiled, monkeypatch: pytest.MonkeyPatch) -> tuple[Result, Result]:
    whole, single = (compiled.simulate(0.2, samples=0.04, progress=False) for _ in range(2))
    assert whole._outputs.all.shape == (len(whole.t), compiled.program.outputs.n_out)
    monkeypatch.setattr(outputs, "MAX_EAGER_NUMBERS", 0)
    return whole, single


def equal(compiled: Compiled, name: str, one: np.ndarray, other: np.ndarray) -> None:
    """Compare bit for bit, or to 1e-11 for large models, whose loops fuse products and sums differently."""
    if not is_large(compiled.system):
        np.testing.assert_array_equal(other, one, err_msg=f"{compiled.model.name}: {name}")
        return
    size = max(np.abs(one).max(initial=0.0), 1.0)
    np.testing.assert_allclose(other, one, rtol=1e-11, atol=1e-12 * size, err_msg=f"{compiled.model.name}: {name}")


def test_some_of_the_values_alone(compiled: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, single = alone(compiled, monkeypatch)
    names = list(compiled.program.layout.names("out"))
    for name in names[:: max(len(names) // 12, 1)]:
        equal(compiled, name, whole[name], single[name])
    assert "all" not in vars(single._outputs)


def test_many_values_in_one_request_and_in_any_order(compiled: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, single = alone(compiled, monkeypatch)
    names = list(compiled.program.layout.names("out"))
    some = names[1 :: max(len(names) // 40, 3)][::-1]
    single.to_dataframe(some)
    assert single._outputs._requests == 1
    for name in some:
        equal(compiled, name, whole[name], single[name])


def test_components_and_sides_of_events(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = compiled_of("bounces")
    whole, single = (compiled.simulate(0.5, samples=0.1, progress=False) for _ in range(2))
    assert whole.events
    before = whole.at_events("m1.flow")
    monkeypatch.setattr(outputs, "MAX_EAGER_NUMBERS", 0)
    for one, other in zip(before, single.at_events("m1.flow"), strict=True):
        equal(compiled, "m1.flow", one, other)
    body = compiled_of("charts")
    run = body.simulate(0.01, samples=0.005, progress=False)
    name = next(name for name in body.program.layout.names("out") if body.program.layout[name].shape == (6,))
    np.testing.assert_array_equal(run[f"{name}[2]"].ravel(), run[name][:, 2])


def test_after_many_requests_all_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = compiled_of("a chain in loops")
    assert is_large(compiled.system)
    _, single = alone(compiled, monkeypatch)
    names = compiled.program.layout.names("out")
    for name in names[: MAX_REQUESTS + 1]:
        single[name]
    assert "all" in vars(single._outputs)


def test_a_copy_in_another_process_has_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = compile_model(chain(3), progress=False)
    whole, single = alone(compiled, monkeypatch)
    assert len(single["m1.flow"]) == 6
    sent = pickle.loads(pickle.dumps(single))  # noqa: S301 - our own
    for name in compiled.program.layout.names("out"):
        np.testing.assert_array_equal(sent[name], whole[name])
