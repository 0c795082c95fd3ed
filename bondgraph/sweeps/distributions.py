"""Probability distributions of swept numbers, sampled by run: a value depends on seed, name and run only.

Any object with a method `rvs(random_state=)` is a distribution, as the frozen ones of `scipy.stats`.

>>> one, again = (float(Draws(1)("spring.stiffness", 7, normal(50.0, 2.0))) for _ in range(2))
>>> one == again
True
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from bondgraph.errors import refusal
from bondgraph.quantities import real


@runtime_checkable
class Distribution(Protocol):
    """Object that random numbers are drawn from."""

    def rvs(self, *, random_state: np.random.Generator) -> Any:
        """Draw a value."""


@dataclass(frozen=True, repr=False)
class Drawn:
    """Distribution of numbers, built by `uniform`, `loguniform` or `normal`."""

    kind: str
    numbers: tuple[Any, Any]

    def __repr__(self) -> str:
        return f"{self.kind}({self.numbers[0]!r}, {self.numbers[1]!r})"

    def rvs(self, *, random_state: np.random.Generator) -> Any:
        """Draw a value."""
        return DISTRIBUTIONS[self.kind].draw(random_state, *map(np.asarray, self.numbers))


@dataclass(frozen=True)
class Family:
    """Distributions of one kind: `draw` a value, whether two parameters `fits`, and names of these."""

    draw: Callable[[np.random.Generator, Any, Any], Any]
    fits: Callable[[np.ndarray, np.ndarray], bool]
    needs: str
    words: tuple[str, str]


DISTRIBUTIONS: Mapping[str, Family] = {
    "uniform": Family(
        lambda random, low, high: random.uniform(low, high),
        lambda low, high: bool(np.all(low <= high) and np.all(np.isfinite(high - low))),
        "low <= high, and a finite distance between them",
        ("low", "high"),
    ),
    "loguniform": Family(
        lambda random, low, high: np.exp(random.uniform(np.log(low), np.log(high))),
        lambda low, high: bool(np.all(low > 0.0) and np.all(low <= high)),
        "0 < low <= high",
        ("low", "high"),
    ),
    "normal": Family(
        lambda random, mean, deviation: random.normal(mean, deviation),
        lambda mean, deviation: bool(np.all(deviation >= 0.0)),
        "deviation >= 0",
        ("mean", "deviation"),
    ),
}
"""Families by kind."""


def uniform(low: Any, high: Any) -> Drawn:
    """Return the uniform distribution from `low` to `high`; numbers, or arrays for independent components. E368 where low >
    high."""
    return _checked("uniform", low, high)


def loguniform(low: Any, high: Any) -> Drawn:
    """Return the log-uniform distribution, for numbers of unknown size; E368 where not 0 < low <= high."""
    return _checked("loguniform", low, high)


def normal(mean: Any, deviation: Any) -> Drawn:
    """Return the Gaussian distribution with a standard deviation; E368 where that is negative."""
    return _checked("normal", mean, deviation)


def _checked(kind: str, *numbers: Any) -> Drawn:
    family, (a, b) = DISTRIBUTIONS[kind], [real(each) for each in numbers]
    if a is None or b is None or not _fit(family, a, b):
        shown = ", ".join(map(repr, numbers))
        why = f"it needs finite {' and '.join(family.words)} with {family.needs}"
        raise refusal("E368", f"{kind}({shown}) is no distribution", about=kind, why=why)
    return Drawn(kind, (_plain(a), _plain(b)))


def _fit(family: Family, a: np.ndarray, b: np.ndarray) -> bool:
    try:
        np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        return False
    with np.errstate(over="ignore"):
        return bool(np.isfinite(a).all() and np.isfinite(b).all()) and family.fits(a, b)


def _plain(array: np.ndarray) -> Any:
    return array.tolist() if array.ndim else float(array)


@dataclass(frozen=True)
class Draws:
    """Random numbers of a sweep by its seed: every name and run has its own stream.

    So a run can be repeated alone; another varied name, another order or more runs leave all values unchanged.
    """

    seed: int

    def __call__(self, name: str, run: int, distribution: Distribution) -> np.ndarray:
        """Draw the value of a name in a run, as floats."""
        word = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "little")
        random = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(run, word)))
        value = real(distribution.rvs(random_state=random))
        return np.array(math.nan) if value is None else value
