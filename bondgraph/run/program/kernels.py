"""Bind kernels to their purpose: clock ticks, nonlinear loops, collisions, and kernels whose code is absent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from bondgraph.errors import Problem, RunError

if TYPE_CHECKING:
    from bondgraph.emit.kernel import Kernel


@dataclass(frozen=True)
class RunClock:
    """Ticks at offset + n period, n = 0, 1, ..., at which states that are held between them take new values.

    Parameters
    ----------
    name : the element in the user's words.
    period, offset : in s: a float, or the index (int) of a number in p; an infinite period is one tick only.
    kernel : x after the tick, (n,).
    """

    name: str
    period: float | int
    offset: float | int
    kernel: Kernel | None = None


@dataclass(frozen=True)
class NewtonLoop:
    """A nonlinear algebraic loop: states that hold its unknowns, and what a Newton iteration needs.

    Parameters
    ----------
    elements : the elements whose relations close the loop, for messages.
    states : indices into x of the unknowns.
    kernel : residuals (k,), then the Newton step (k,), at the unknowns in x.
    steps : how many of them every evaluation takes.
    near : size of the guess of each unknown where the loop was found regular; far below that is zero.
    """

    elements: tuple[str, ...]
    states: tuple[int, ...]
    kernel: Kernel
    steps: int
    near: tuple[float, ...] = ()


@dataclass(frozen=True)
class CollisionFriction:
    """Dry friction in a collision: its count of directions, the place of its mode (0: it sticks), and, where it has several
    directions, the places in x at which it notes heading and pace."""

    name: str
    dimension: int
    slot: int
    heading: tuple[int, ...] = ()
    pace: tuple[int, ...] = ()


@dataclass(frozen=True)
class Collisions:
    """Constraints that may collide at the same time.

    Parameters
    ----------
    kernel : for c scalars of them and of f frictions, n states, k transitions and s powers: states per unit of impulse (n, c),
        flows per impulse (c, c), what an impulse adds to guards (k, c), what sources give per impulse (s, c), limits of friction
        per impulse (f, c), flows (c,), restitutions (c,).
    constraints : the elements in the user's words.
    bounces : of each constraint the transitions that turn its flow round, or bring it to hold.
    frictions : dry friction, which takes part.
    """

    kernel: Kernel
    constraints: tuple[str, ...]
    bounces: tuple[tuple[int, ...], ...]
    frictions: tuple[CollisionFriction, ...] = ()


@dataclass(frozen=True)
class UnavailableKernel:
    """A kernel whose code was left behind where its results were computed: how many numbers it gave, and no way to ask again."""

    n_out: int
    sizes: tuple[int, ...]

    def __call__(self, *blocks: object, **more: object) -> NoReturn:
        title, why = (
            "these values were not computed before the result was pickled",
            "a result takes its samples along, not the code",
        )
        cures = ("what is asked for, computed where the run was made",)
        raise RunError(Problem("E158", title, (f"{why} that computed them",), cures=cures))

    bind = many = __call__
