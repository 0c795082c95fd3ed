"""Where a collision has no derivative: what is known of it in; a refusal in the user's words out, E374."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bondgraph.errors import Problem, RunError
from bondgraph.estimation.jumps.context import Passing, RunKernels
from bondgraph.estimation.jumps.impulse_derivatives import APPROACHES, PUSHES, Degeneracy
from bondgraph.run.events.records import Event

APART = 100.0
"""Times the run's rtol: how far derivatives may be off what they must obey."""

_DIFFER = "the derivatives from both sides differ"
_CURES = ("start values or parameters off the edge", "the run without these numbers varied", "differences of runs to one side")


@dataclass(frozen=True)
class Known:
    """An event in a run; sizes of the states there (n,); how large derivatives along each direction are in these (k,); by which
    part they may be off what they must obey."""

    kernels: RunKernels
    event: Event
    natural: np.ndarray
    shares: np.ndarray
    apart: float

    @staticmethod
    def of(kernels: RunKernels, event: Event, D: np.ndarray) -> Known:
        """By the derivatives D (n, k) before it."""
        natural = natural_sizes(kernels, event)
        acting = natural > 0.0
        shares = np.asarray(np.max(np.abs(D[acting]) / natural[acting, None], axis=0, initial=0.0))
        return Known(kernels, event, natural, shares, APART * kernels.rtol)


def natural_sizes(kernels: RunKernels, event: Event) -> np.ndarray:
    """Sizes of the states (n,): what they have been in the run, or become by their rates around an event."""
    bound = kernels.bound
    around = ((event.x_before, event.m_before), (event.x_after, event.m_after))
    rates = [np.abs(bound.rates(event.since, x, m)) * bound.span for x, m in around]
    return np.maximum(kernels.sizes, np.maximum(*rates))


def came_apart(known: Known, transitions: Sequence[int], at: Passing, D: np.ndarray, dt: np.ndarray) -> None:
    """Refuse a collision whose contacts, of which the first decides the time, are no longer closed together where it moves."""
    for transition in transitions[1:]:
        _, moved = _closed(known, transition, at, D, dt)
        if moved.any():
            raise met_by_chance(known.kernels, known.event, transition, moved)


def rested(known: Known, transition: int, at: Passing, D: np.ndarray, dt: np.ndarray) -> None:
    """Refuse a collision that others set off where its contact was closed before, without moving: another value opens it."""
    closed, moved = _closed(known, transition, at, D, dt)
    if closed and moved.any():
        raise met_by_chance(known.kernels, known.event, transition, moved)


def _closed(known: Known, transition: int, at: Passing, D: np.ndarray, dt: np.ndarray) -> tuple[bool, np.ndarray]:
    """Whether a guard is at zero, and along which directions (k,) it does not stay there."""
    kernels, (n, k) = known.kernels, D.shape
    nothing = np.zeros(k)
    guard, f = kernels.variational.guard(transition), kernels.rates(at)
    value, *off, speed = kernels.values(guard, at, D, dt, f)
    still = kernels.values(guard, at, np.zeros((n, k)), nothing, np.zeros(n))[1 : 1 + k]
    slopes = [kernels.values(guard, at, np.zeros((n, k)), nothing, row)[-1] for row in np.eye(n)]
    size = float(np.abs(slopes) @ known.natural)
    terms = size * known.shares + np.abs(still) + np.abs(speed * dt)
    return abs(value) <= known.apart * size, np.abs(off) > known.apart * terms


def met_by_chance(kernels: RunKernels, event: Event, transition: int, along: np.ndarray) -> RunError:
    """A contact that others act on, and that another value (of those `along`) would have meet at another time than these."""
    name = kernels.bound.program.transitions[transition].name
    why = f'"{name}" is closed at the same time by chance: another value would have it meet sooner or later'
    return _refusal(kernels, event, along, (why,))


def refused(known: Known, edges: Sequence[Degeneracy], names: Sequence[str]) -> RunError:
    """What is at an edge, where `names` are the elements of the scalars of the impact."""
    along = np.any([edge.directions for edge in edges], axis=0)
    whys = dict.fromkeys(edge.kind.value.format(names[edge.place] if edge.place >= 0 else "") for edge in edges)
    return _refusal(known.kernels, known.event, along, (*whys, _DIFFER))


def touches(known: Known, name: str, along: np.ndarray) -> RunError:
    """A contact that touches at no speed and neither approaches nor separates; along some directions it does."""
    return _refusal(known.kernels, known.event, along, (APPROACHES.value.format(name), _DIFFER))


def lets_go(known: Known, name: str, along: np.ndarray) -> RunError:
    """A contact that holds and on which nothing acts; along some directions it is drawn or pressed."""
    return _refusal(known.kernels, known.event, along, (PUSHES.value.format(name), _DIFFER))


def closed(known: Known, transition: int, at: Passing, D: np.ndarray, dt: np.ndarray) -> bool:
    """Whether the guard of a transition is at zero."""
    return _closed(known, transition, at, D, dt)[0]


def _refusal(kernels: RunKernels, event: Event, along: np.ndarray, whys: tuple[str, ...]) -> RunError:
    labels = kernels.variational.varied.labels
    by = ", ".join(f'"{label}"' for label, own in zip(labels, along, strict=True) if own)
    title = f'"{event.kind}" of "{event.name}" at {event.time:.6g} s has no derivative by {by}'
    return RunError(Problem("E374", title, whys, cures=_CURES))


def undecided(event: Event) -> RunError:
    """An event of which no formula gives what it has left."""
    title = f'"{event.kind}" of "{event.name}" at {event.time:.6g} s has no derivative here'
    why = (
        "its impulses follow from curves of storages, or from several collisions in a sequence, and from no single linear problem"
    )
    return RunError(
        Problem("E374", title, (why,), cures=("start values or parameters that take them apart", "differences of runs"))
    )
