"""Rates that a human and a machine compute from a page alone agree with the compiled rates."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

from bondgraph import Compiled, Graph, ModelError, compile_model
from bondgraph.export import document
from tests.acceptance.suite import SUITE
from tests.export import documented, retyped_eggs
from tests.export.documented import MODELS
from tests.export.reading.page import Page
from tests.export.reading.point import Point
from tests.inner.run import Bound
from tests.laws.test_acceptance_models import shown_by


def near(numbers: Any, rng: np.random.Generator, size: float = 0.05) -> np.ndarray:
    given, moved = np.asarray(numbers, dtype=float), rng.uniform(-size, size, np.shape(numbers))
    return np.where(given == 0.0, 0.2 * moved, given * (1.0 + moved))


@pytest.mark.parametrize("modes", list(itertools.product((0.0, 1.0), repeat=3)))
def test_the_rolling_eggs_as_retyped_from_the_page(modes: tuple[float, ...]) -> None:
    """Other values are used too, because some of the page's values are zero or the same for both eggs."""
    compiled, given, rng = documented.compiled("rolling eggs"), retyped_eggs.NUMBERS, np.random.default_rng(1)
    (x0, _), m = compiled.initial(), np.array(modes)
    assert list(given) == list(compiled.system.parameters)
    for k in range(10):
        x = near(x0, rng)
        numbers = given if k < 5 else {name: near(number, rng) for name, number in given.items()}
        p = compiled.parameters(numbers)
        found, wanted = retyped_eggs.rates(x, numbers, m), compiled.program.rates(0.0, x, p, m)
        for state in compiled.system.states:
            mine, theirs = (rates[places(compiled, state.name)] for rates in (found, wanted))
            assert np.abs(mine - theirs).max() <= 1e-12 * np.abs(theirs).max(), state.name


def places(compiled: Compiled, name: str) -> slice:
    slot = compiled.program.layout[name]
    return slice(slot.start, slot.stop)


@dataclass(frozen=True)
class Read:
    compiled: Compiled
    page: Page

    def point(self, t: float, x: np.ndarray, m: np.ndarray) -> Point:
        page, slots = self.page, self.compiled.program.layout
        states = {state.letter: shaped(x, slots[state.name]) for state in page.states.values()}
        modes = {letter: float(m[slots[f"{machine.path}.mode"].start]) for letter, machine in page.machines.items()}
        return page.at(t, states, modes)

    def modes(self, most: int) -> list[np.ndarray]:
        states = [range(len(mode.states)) for mode in self.compiled.system.modes.values()]
        found = list(itertools.islice(itertools.product(*states), 4096))
        picked = np.random.default_rng(2).permutation(len(found))[:most]
        return [np.array(found[k], dtype=float) for k in sorted(picked)]


def read(graph: Graph) -> Read:
    compiled = compile_model(graph, backend="numpy")
    return Read(compiled, Page(document(compiled, style="markdown", digits=17)))


def shaped(x: np.ndarray, slot: Any) -> Any:
    return x[slot.start : slot.stop].reshape(slot.shape) if slot.shape else float(x[slot.start])


def is_finite(number: Any) -> bool:
    return bool(np.isfinite(number).all())


def a_state(it: Read, rng: np.random.Generator, m: np.ndarray) -> tuple[float, np.ndarray, Point]:
    program, p, (x0, _) = it.compiled.program, it.compiled.parameters(), it.compiled.initial()
    for _ in range(100):
        x, t = near(x0, rng, 0.05), float(rng.uniform(0.0, 2.0))
        if program.loops:
            x, _ = Bound(program, p).consistent(t, near(x0, rng, 1e-6), m)
        with np.errstate(all="ignore"):
            point = it.point(t, x, m)
            if is_finite(program.rates(t, x, p, m)) and all(map(is_finite, point.rates().values())):
                return t, x, point
    raise AssertionError("no state has finite rates")


def same_rates(it: Read, states: int, most: int) -> None:
    compiled, rng, rel = it.compiled, np.random.default_rng(3), 1e-7 if it.page.implicit else 1e-11
    p, slots = compiled.parameters(), compiled.program.layout
    for m in it.modes(most):
        for _ in range(states):
            t, x, point = a_state(it, rng, m)
            wanted = compiled.program.rates(t, x, p, m)
            for letter, rate in point.rates().items():
                slot = slots[it.page.states[letter].name]
                theirs = wanted[slot.start : slot.stop]
                size = max(np.abs(theirs).max(), 1e-6 * np.abs(wanted).max(), 1e-12)
                assert np.abs(np.ravel(rate) - theirs).max() <= rel * size, (letter, t, x, m, rate, theirs)
            same_jumps(it, point, t, x, m)
            for law in it.page.energy if not it.page.unreadable else ():
                (stored, moved) = (side(point) for side in law.cases[0])
                size = sum(abs(float(point.letter(letter))) for letter in it.page.powers(law))
                assert abs(float(stored) - float(moved)) <= 1e-6 * size + 1e-12, (law.text, t, x, m, stored, moved)


def same_jumps(it: Read, point: Point, t: float, x: np.ndarray, m: np.ndarray) -> None:
    program, p = it.compiled.program, it.compiled.parameters()
    guards = program.guards(t, x, p, m) if program.guards is not None else ()
    rows = {machine.path: (machine, iter(machine.moves)) for machine in it.page.machines.values()}
    for number, edge in enumerate(program.transitions):
        machine, moves = rows[edge.name]
        move = next(moves)
        assert machine.states[move.source] == edge.source, (edge, move)
        if edge.error is None:
            assert machine.states[move.target] == edge.target, (edge, move)
        if m[edge.slot] != edge.source:
            continue
        if move.guard is not None:
            assert float(move.guard(point)) == pytest.approx(guards[number], rel=1e-7, abs=1e-9), (edge, move)
        if "impulse" not in move.what:
            same_jump(it, point, move.resets, x, program.resets[number], (t, x, p, m))
    assert all(next(moves, None) is None for _, moves in rows.values())
    for clock in program.clocks:
        same_jump(it, point, it.page.clocks[clock.name], x, clock.kernel, (t, x, p, m))
    assert len(it.page.clocks) == len(program.clocks)


def same_jump(it: Read, point: Point, sets: Any, x: np.ndarray, kernel: Any, blocks: tuple[Any, ...]) -> None:
    after = x.copy()
    for letter, node in sets:
        slot = it.compiled.program.layout[it.page.states[letter].name]
        after[slot.start : slot.stop] = np.ravel(np.broadcast_to(node(point), slot.shape) if slot.shape else node(point))
    np.testing.assert_allclose(after, x if kernel is None else kernel(*blocks), rtol=1e-9, atol=1e-12)


@cache
def read_once(name: str) -> Read:
    return Read(documented.compiled(name), Page(documented.page(name)))


READ = [name for name in MODELS if name != "own"]


@pytest.mark.thorough
@pytest.mark.parametrize("name", READ)
def test_the_page_is_the_model(name: str) -> None:
    it = read_once(name)
    heavy = len(it.page.states) > 20 or it.page.implicit
    same_rates(it, 2 if heavy else 5, 4 if it.page.implicit else 16)


@pytest.mark.parametrize("name", SUITE)
def test_pages_of_the_acceptance_suite_are_the_models(name: str) -> None:
    for graph in {id(shown.graph): shown.graph for shown in shown_by(name)}.values():
        try:
            graph.freeze()
            it = read(graph)
        except ModelError:
            continue  # entries that show a refusal
        assert not it.page.doubts and not it.page.unreadable
        same_rates(it, 2, 8)


@pytest.mark.parametrize("name", READ)
def test_nothing_on_a_page_can_be_read_in_two_ways(name: str) -> None:
    page = read_once(name).page
    assert not page.doubts and not page.unreadable


MISTAKES = {
    "rate": (r"\dot{p} = -e_{3}-e_{4}+e_{7}", r"\dot{p} = -e_{3}+e_{4}+e_{7}"),
    "law": ("e_{3} = K\\,q", "e_{3} = K\\,q^{2}"),
    "value": ("| `mass.inertia` | kg | $2$ |", "| `mass.inertia` | kg | $2.001$ |"),
    "energy": (r"= P_{7} - P_{4}$", r"= P_{7}$"),
    "function": (r"+ \hat{\mathsf{K}}\,\mathsf{s}_{1}", r"- \hat{\mathsf{K}}\,\mathsf{s}_{1}"),
    "clock": (r"$y_{6} := y^{+}$; ", ""),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_reader_meets_mistakes(mistake: str) -> None:
    right, wrong = MISTAKES[mistake]
    compiled, text = documented.compiled("sampled"), documented.page("sampled")
    assert text.count(right) == 1
    with pytest.raises(AssertionError):
        same_rates(Read(compiled, Page(text.replace(right, wrong))), 5, 16)


def test_the_reader_meets_mistakes_of_guards_and_resets() -> None:
    compiled, text = documented.compiled("switched"), documented.page("switched")
    for right, wrong in (("$q - 1$", "$q + 1$"), ("$q := 0$", "$q := 1$")):
        assert text.count(right) == 1
        with pytest.raises(AssertionError):
            same_rates(Read(compiled, Page(text.replace(right, wrong))), 5, 16)
