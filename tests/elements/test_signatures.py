"""Signatures of elements and signal blocks contain every argument, and messages name unknown arguments."""

from __future__ import annotations

import inspect
import re
from functools import partial

import pytest

from bondgraph import GY, IC, J0, TF, C, Constraint, I, R, Se, elements, signals


@pytest.mark.parametrize(
    "make",
    [
        partial(C, "c", stifness=1.0),
        partial(I, "m", inertai=1.0),
        partial(R, "r", resistence=1.0),
        partial(IC, "arm", inertai=lambda q: 1.0),
        partial(Constraint, "stop", positon=lambda q: q),
        partial(Se, "push", 1.0, dimenson=3),
        partial(J0, "node", dimenson=3),
        partial(TF, "gear", 2.0, domain="rotation"),
        partial(GY, "motor", 2.0, symbol="r"),
        partial(signals.pid, "pid", "e", 1.0, kd=1.0, filter_tim=0.1),
        partial(signals.sine, "sine", frequency=1.0),
        partial(signals.lowpass, "lag", "u", 1.0, dimenson=2),
        partial(signals.sampled_pid, "pid", "e", 1.0, period=0.1, measurment="y"),
    ],
)
def test_an_unknown_argument_is_named(make) -> None:
    """A mistyped keyword is reported, instead of the argument that is missing because of it."""
    word, own = list(make.keywords)[-1], re.escape(f"{make.func.__name__}()")
    with pytest.raises(TypeError, match=f"^E317 {own} got an unexpected keyword argument '{word}'"):
        make()


@pytest.mark.parametrize("module", [elements, signals])
def test_signatures_contain_every_keyword(module) -> None:
    """Help and completion show no `**`, because shared keywords are spelled out."""
    functions = {name: value for name in module.__all__ if inspect.isfunction(value := getattr(module, name))}
    assert len(functions) > 15
    for name, function in functions.items():
        kinds = {parameter.kind for parameter in inspect.signature(function).parameters.values()}
        assert inspect.Parameter.VAR_KEYWORD not in kinds, name
    assert inspect.signature(J0).parameters["dimension"].default is None
    assert inspect.signature(signals.gain).parameters["unit"].default == ""
    with pytest.raises(TypeError, match="try: dimension="):
        J0("node", dimensoin=3)
