"""What a reader of a page computes: by hand, and by a machine that knows nothing but the page; the compiled rates."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

from bondgraph import Compiled, Graph, ModelError, compile_model
from bondgraph.export import document
from bondgraph.run.bound import Bound
from tests.acceptance.test_acceptance import SUITE
from tests.export import retyped_eggs
from tests.export.documented import MODELS
from tests.export.reader import Page, Point
from tests.laws.test_acceptance_models import shown_by


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


@dataclass(frozen=True)
class Read:
    """A compiled model, and its page as the reader understands it."""

    compiled: Compiled
    page: Page

    def point(self, t: float, x: np.ndarray, m: np.ndarray) -> Point:
        """The page at the states and modes of the compiled model."""
        page, slots = self.page, self.compiled.program.layout
        states = {state.letter: shaped(x, slots[state.name]) for state in page.states.values()}
        modes = {letter: float(m[slots[f"{machine.path}.mode"].start]) for letter, machine in page.machines.items()}
        return page.at(t, states, modes)

    def modes(self, most: int) -> list[np.ndarray]:
        """Modes of all state machines: every combination, or so many of them."""
        states = [range(len(names)) for names, _ in self.compiled.system.modes.values()]
        found = list(itertools.islice(itertools.product(*states), 4096))
        picked = np.random.default_rng(2).permutation(len(found))[:most]
        return [np.array(found[k], dtype=float) for k in sorted(picked)]


def read(graph: Graph) -> Read:
    compiled = compile_model(graph, backend="numpy")
    return Read(compiled, Page(document(compiled, style="markdown")))


def shaped(x: np.ndarray, slot: Any) -> Any:
    return x[slot.start : slot.stop].reshape(slot.shape) if slot.shape else float(x[slot.start])


def is_finite(number: Any) -> bool:
    return bool(np.isfinite(number).all())


def a_state(it: Read, rng: np.random.Generator, m: np.ndarray) -> tuple[np.ndarray, float]:
    """States near the start, at which the model is defined, and a time; what a loop seeks is found."""
    program, p, (x0, _) = it.compiled.program, it.compiled.parameters(), it.compiled.initial()
    for _ in range(100):
        x, t = near(x0, rng, 0.05), float(rng.uniform(0.0, 2.0))
        if program.loops:
            x, _ = Bound(program, p).consistent(t, near(x0, rng, 1e-6), m)
        with np.errstate(all="ignore"):
            if is_finite(program.rates(t, x, p, m)) and all(map(is_finite, it.point(t, x, m).rates().values())):
                return x, t
    raise AssertionError("no state at which the rates are numbers")


def same_rates(it: Read, rel: float, states: int = 5, most: int = 16) -> None:
    """Rates of every state, at random states near the start, in the modes."""
    compiled, rng = it.compiled, np.random.default_rng(3)
    p, slots = compiled.parameters(), compiled.program.layout
    for m in it.modes(most):
        for _ in range(states):
            x, t = a_state(it, rng, m)
            found, wanted = it.point(t, x, m), compiled.program.rates(t, x, p, m)
            for letter, rate in found.rates().items():
                slot = slots[it.page.states[letter].name]
                theirs = wanted[slot.start : slot.stop]
                size = max(np.abs(theirs).max(), 1e-6 * np.abs(wanted).max(), 1e-12)
                assert np.abs(np.ravel(rate) - theirs).max() <= rel * size, (letter, t, x, m, rate, theirs)


@pytest.mark.parametrize("name", MODELS)
def test_rates_of_the_page(name: str) -> None:
    it = read(MODELS[name]())
    same_rates(it, 1e-9 if it.page.implicit else 1e-11)


@pytest.mark.parametrize("name", SUITE)
def test_rates_of_the_pages_of_the_acceptance_suite(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for graph in {id(shown.graph): shown.graph for shown in shown_by(name, monkeypatch)}.values():
        try:
            graph.freeze()
            it = read(graph)
        except ModelError:
            continue  # entries that are refused
        same_rates(it, 1e-9 if it.page.implicit or it.page.torn else 1e-11)
