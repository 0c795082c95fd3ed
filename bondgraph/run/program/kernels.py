"""Records of clocks, delays, nonlinear loops and collisions with their kernels, and of kernels whose code is absent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from bondgraph.errors import Problem, RunError

if TYPE_CHECKING:
    from bondgraph.emit.kernel import Kernel
    from bondgraph.run.program.library_ticks import LibraryTick


@dataclass(frozen=True)
class RunClock:
    """Clock with ticks at offset + n period, n = 0, 1, ..., at which states that are held between ticks take new values.

    Parameters
    ----------
    name : name of the element, for messages.
    period, offset : times in s: a float, or the index (int) of a parameter in p; an infinite period means a single tick.
    kernel : x after the tick, (n,).
    library : ticks of a library, which replace the kernel; each run has its own instance.
    """

    name: str
    period: float | int
    offset: float | int
    kernel: Kernel | None = None
    library: LibraryTick | None = None


@dataclass(frozen=True)
class RunDelay:
    """Delay of a signal, whose value at the time t - T is a state.

    Parameters
    ----------
    name : name of the element, for messages.
    place, length : index of the state in x, and index of the delay T (s) in p.
    history : value before the start, or a function of the time; None for the value at the start.
    kernel : x with the signal instead of the state, (n,).
    direct : True if the signal may depend on a delayed signal at the same time, so that its breaks never become smooth.
    """

    name: str
    place: int
    length: int
    history: Callable[[float], float] | float | None
    kernel: Kernel
    direct: bool = True


@dataclass(frozen=True)
class NewtonLoop:
    """Nonlinear algebraic loop: states that hold its unknowns, and the kernel of a Newton iteration.

    Parameters
    ----------
    elements : elements whose relations close the loop, for messages.
    states : indices of the unknowns in x.
    kernel : residuals (k,), then the Newton step (k,), at the unknowns in x.
    steps : number of Newton steps in every evaluation.
    sizes : natural size of each unknown; much smaller values count as zero.
    weights : factors that bring the residuals to comparable sizes.
    """

    elements: tuple[str, ...]
    states: tuple[int, ...]
    kernel: Kernel
    steps: int
    sizes: tuple[float, ...]
    weights: tuple[float, ...]


@dataclass(frozen=True)
class CollisionFriction:
    """Dry friction in a collision.

    Parameters
    ----------
    dimension : number of directions.
    slot : index of its mode in m; mode 0 sticks.
    heading, pace : indices in x of the heading and of the highest speed so far; empty for a single direction.
    """

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
    kernel : with c scalars in all (constraints and f friction elements), n states, k transitions and s powers, gives, per
        unit of impulse, changes of states (n, c), of flows (c, c) and of guards (k, c), energy that sources supply (s, c) and
        friction limits (f, c); then flows (c,) and restitutions (c,).
    constraints : names of the elements, for messages.
    bounces : for each constraint, the transitions that reverse its flow, or close it.
    frictions : dry friction elements that take part.
    """

    kernel: Kernel
    constraints: tuple[str, ...]
    bounces: tuple[tuple[int, ...], ...]
    frictions: tuple[CollisionFriction, ...] = ()


@dataclass(frozen=True)
class UnavailableKernel:
    """Placeholder for a kernel whose code stayed in the process that computed the results; a call raises E158."""

    n_out: int
    sizes: tuple[int, ...]

    def __call__(self, *blocks: object, **more: object) -> NoReturn:
        title, why = ("these values were not computed before pickling", "a pickled result contains its samples, not the code")
        cures = ("compute the values before pickling the result",)
        raise RunError(Problem("E158", title, (f"{why} that computed them",), cures=cures))

    bind = many = __call__
