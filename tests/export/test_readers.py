"""What a reader of a page computes: by hand, and by a machine that knows nothing but the page; the compiled rates."""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import numpy as np
import pytest

from bondgraph import Compiled, compile_model
from tests.export import retyped_eggs
from tests.export.documented import MODELS


def near(numbers: Any, rng: np.random.Generator, size: float = 0.05) -> np.ndarray:
    """Numbers near these, none of them zero."""
    given, moved = np.asarray(numbers, dtype=float), rng.uniform(-size, size, np.shape(numbers))
    return np.where(given == 0.0, 0.2 * moved, given * (1.0 + moved))


@pytest.mark.parametrize("modes", list(itertools.product((0.0, 1.0), repeat=3)))
def test_the_rolling_eggs_as_retyped_from_the_page(modes: tuple[float, ...]) -> None:
    """With the page's numbers, then with others, since some of the page's are zero or the same for both eggs."""
    compiled, given, rng = eggs(), retyped_eggs.NUMBERS, np.random.default_rng(1)
    (x0, _), m = compiled.initial(), np.array(modes)
    assert list(given) == list(compiled.system.parameters)
    for k in range(40):
        x = near(x0, rng)
        numbers = given if k < 20 else {name: near(number, rng) for name, number in given.items()}
        p = compiled.parameters(numbers)
        found, wanted = retyped_eggs.rates(x, numbers, m), compiled.program.rates(0.0, x, p, m)
        for state in compiled.system.states:
            mine, theirs = (rates[places(compiled, state.name)] for rates in (found, wanted))
            assert np.abs(mine - theirs).max() <= 1e-12 * np.abs(theirs).max(), state.name


@cache
def eggs() -> Compiled:
    return compile_model(MODELS["rolling eggs"](), backend="numpy")


def places(compiled: Compiled, name: str) -> slice:
    slot = compiled.program.layout[name]
    return slice(slot.start, slot.stop)
