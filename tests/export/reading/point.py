"""Letters, rates and unknowns of a page at a given time, in given states and modes.

Letters are evaluated when needed. Unknowns are letters that no equation gives or that depend on themselves; Newton's method
solves the remaining equations for them. Time derivatives follow the motion, by a complex step, or by differences if nested.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.export.reading.grammar import Node
from tests.export.reading.tokens import Unreadable

if TYPE_CHECKING:
    from tests.export.reading.page import Page

STEP = 1e-30
SPAN = 2e-3
AROUND = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))


class Circular(Exception):
    """A letter that depends on itself."""

    def __init__(self, letter: str):
        super().__init__(letter)
        self.letter = letter


class Nested(Exception): ...


class Point:
    def __init__(self, page: Page, t: Any, x: dict[str, Any], given: Mapping[str, Any], base: tuple[Point, Any] | None = None):
        self.page, self.t, self.x, self.given, self.base = page, t, x, given, base
        self.known: dict[str, Any] = {}
        self.guesses: dict[str, Any] = {}
        self.open: list[str] = []

    def letter(self, letter: str) -> Any:
        if letter in self.guesses:
            return self.guesses[letter]
        if letter in self.known:
            return self.known[letter]
        if letter in self.open:
            raise Circular(letter)
        self.open.append(letter)
        try:
            self.known[letter] = self.value(letter)
        finally:
            self.open.pop()
        return self.known[letter]

    def value(self, letter: str) -> Any:
        page = self.page
        if letter in page.states:
            if self.base is None:
                return self.x[letter]
            before, step = self.base
            return before.letter(letter) + step * before.rate(letter)
        if letter in self.given:
            return self.given[letter]
        if page.names[letter] == "time":
            return self.t
        if self.base is not None and letter in self.base[0].guesses and letter not in page.definitions:
            raise Unreadable(f"a time derivative depends on the unknown {letter}")
        if letter not in page.definitions:
            raise Unreadable(f"no equation gives {letter} ({page.names[letter]})")
        definition = page.definitions[letter]
        try:
            value = definition.node(self)
        except (ValueError, TypeError) as error:
            raise Unreadable(f"{definition.text}: {error}") from error
        if len(definition.letters) > 1:
            if not isinstance(value, tuple) or len(value) != len(definition.letters):
                raise Unreadable(f"{len(definition.letters)} letters have one value: {definition.text}")
            self.known |= {name: page.fitting(name, one) for name, one in zip(definition.letters, value, strict=True)}
            return self.known[letter]
        return page.fitting(letter, value)

    def rate(self, state: str) -> Any:
        rate, size = self.page.states[state].rate, self.page.sizes[state]
        return np.zeros(size)[()] if rate is None else np.reshape(self.letter(rate), size)[()]

    def derivative(self, node: Node) -> Any:
        if self.base is not None and isinstance(self.base[1], complex):
            raise Nested
        try:
            return np.imag(node(self.moved(1j * STEP))) / STEP
        except Nested:
            return sum(weight / SPAN * (node(self.moved(k * SPAN)) - node(self.moved(-k * SPAN))) for k, weight in AROUND)

    def moved(self, step: Any) -> Point:
        return Point(self.page, self.t + step, self.x, self.given, (self, step))

    def solved(self) -> Point:
        """Return this point with the unknowns that satisfy the equations which define no letter."""
        page = self.page
        sought = [name for name in page.unknowns if name in page.torn or name in page.needed]
        if not sought and not page.implicit:
            self.rates()
            return self
        sizes = [int(np.prod(page.sizes[name], dtype=int)) for name in sought]
        ends = np.cumsum(sizes)

        def with_guess(z: np.ndarray) -> Point:
            point = Point(page, self.t, self.x, self.given)
            for name, end, size in zip(sought, ends, sizes, strict=True):
                point.guesses[name] = z[end - size : end].reshape(page.sizes[name])[()] if page.sizes[name] else float(z[end - 1])
            return point

        def residual(z: np.ndarray) -> np.ndarray:
            point = with_guess(z)
            rows = [equation.residual(point) for equation in page.implicit]
            for name in page.torn:
                rows.append(np.ravel(np.asarray(point.guesses[name]) - np.asarray(point.value(name))))
            return np.concatenate(rows)

        point = with_guess(root_of(residual, sum(sizes), not page.torn))
        point.rates()
        return point

    def rates(self) -> dict[str, Any]:
        return {letter: self.rate(letter) for letter, state in self.page.states.items() if state.rate is not None}


def root_of(residual: Callable[[np.ndarray], np.ndarray], count: int, affine: bool) -> np.ndarray:
    """Return a root of residuals by Newton's method from zero, with minimum norm where it is not unique."""
    z = np.zeros(count)
    slopes = size = left = np.zeros(0)
    for round_ in range(100):
        left = residual(z)
        if not affine or round_ == 0:
            around = np.ones(count) if affine else 1e-6 * np.maximum(1.0, np.abs(z))
            columns = [(residual(z + d) - (left if affine else residual(z - d))) for d in np.diag(around)]
            slopes = np.array(columns).T.reshape(len(left), count) / (around if affine else 2.0 * around)
            size = np.abs(slopes).max(axis=1, initial=0.0)
            size = np.maximum(size, 1e-6 * size.max(initial=1e-300))
        step = np.linalg.lstsq(slopes / size[:, None], -left / size, rcond=1e-11)[0]
        z = z + step
        if np.abs(step).max(initial=0.0) <= 1e-13 * max(np.abs(z).max(initial=0.0), 1e-9) or (affine and round_ == 4):
            break
    if (np.abs(residual(z)) > 1e-9 * (size * max(np.abs(z).max(initial=0.0), 1e-9) + np.abs(left))).any():
        raise Unreadable("no values of the unknowns satisfy the remaining equations")
    return z
