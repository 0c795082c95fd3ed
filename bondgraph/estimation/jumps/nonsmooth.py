"""Refusals (E374) of collisions without a derivative, where the derivatives from both sides of an edge differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bondgraph.errors import Problem, RunError
from bondgraph.estimation.jumps.context import RunKernels, SensitivityState
from bondgraph.estimation.jumps.impulse_derivatives import APPROACHES, PUSHES, Degeneracy
from bondgraph.run.events.records import Event

TOLERANCE = 100.0
"""Largest residual of an equation that derivatives obey, in units of the run's rtol."""

_DIFFER = "the derivatives from both sides differ"
_CURES = ("start values or parameters off the edge", "the run without these numbers varied", "differences of runs to one side")


@dataclass(frozen=True)
class EventScales:
    """Event of a run with its scales: sizes of the states (n,), of derivatives along each direction in these (k,), and the
    relative tolerance of equations for the derivatives."""

    kernels: RunKernels
    event: Event
    natural: np.ndarray
    shares: np.ndarray
    tolerance: float

    @staticmethod
    def of(kernels: RunKernels, event: Event, D: np.ndarray) -> EventScales:
        """Return the scales of an event by the derivatives D (n, k) before it."""
        natural = natural_sizes(kernels, event)
        acting = natural > 0.0
        shares = np.asarray(np.max(np.abs(D[acting]) / natural[acting, None], axis=0, initial=0.0))
        return EventScales(kernels, event, natural, shares, TOLERANCE * kernels.rtol)


def natural_sizes(kernels: RunKernels, event: Event) -> np.ndarray:
    """Return sizes of the states (n,): their largest values in the run, or their changes by the rates around an event."""
    bound = kernels.bound
    around = ((event.x_before, event.m_before), (event.x_after, event.m_after))
    rates = [np.abs(bound.rates(event.since, x, m)) * bound.span for x, m in around]
    return np.maximum(kernels.sizes, np.maximum(*rates))


def refuse_separating(
    context: EventScales, transitions: Sequence[int], at: SensitivityState, D: np.ndarray, dt: np.ndarray
) -> None:
    """Refuse a collision whose contacts do not stay closed together as the time of the first one moves."""
    for transition in transitions[1:]:
        _, moved = _closed(context, transition, at, D, dt)
        if moved.any():
            raise coincidence_refusal(context.kernels, context.event, transition, moved)


def refuse_opening(context: EventScales, transition: int, at: SensitivityState, D: np.ndarray, dt: np.ndarray) -> None:
    """Refuse a triggered collision whose contact was closed before at zero speed: another value opens it."""
    at_zero, moved = _closed(context, transition, at, D, dt)
    if at_zero and moved.any():
        raise coincidence_refusal(context.kernels, context.event, transition, moved)


def _closed(
    context: EventScales, transition: int, at: SensitivityState, D: np.ndarray, dt: np.ndarray
) -> tuple[bool, np.ndarray]:
    """Return True if a guard is at zero, and along which directions (k,) it does not stay there."""
    kernels, (n, k) = context.kernels, D.shape
    nothing = np.zeros(k)
    guard, f = kernels.variational.guard(transition), kernels.rates(at)
    value, *off, speed = kernels.values(guard, at, D, dt, f)
    still = kernels.values(guard, at, np.zeros((n, k)), nothing, np.zeros(n))[1 : 1 + k]
    slopes = [kernels.values(guard, at, np.zeros((n, k)), nothing, row)[-1] for row in np.eye(n)]
    size = float(np.abs(slopes) @ context.natural)
    terms = size * context.shares + np.abs(still) + np.abs(speed * dt)
    return abs(value) <= context.tolerance * size, np.abs(off) > context.tolerance * terms


def coincidence_refusal(kernels: RunKernels, event: Event, transition: int, along: np.ndarray) -> RunError:
    """Return the refusal of a contact that meets at the same time as others by chance: another value (`along`) separates them."""
    name = kernels.bound.program.transitions[transition].name
    why = f'"{name}" is closed at the same time by chance: another value would have it meet sooner or later'
    return _refusal(kernels, event, along, (why,))


def edge_refusal(context: EventScales, edges: Sequence[Degeneracy], names: Sequence[str]) -> RunError:
    """Return the refusal of an impact at some edges; `names` are the elements of its scalars."""
    along = np.any([edge.directions for edge in edges], axis=0)
    whys = dict.fromkeys(edge.kind.value.format(names[edge.scalar] if edge.scalar >= 0 else "") for edge in edges)
    return _refusal(context.kernels, context.event, along, (*whys, _DIFFER))


def touching_refusal(context: EventScales, name: str, along: np.ndarray) -> RunError:
    """Return the refusal of a contact that touches at zero speed, and approaches or separates along some directions."""
    return _refusal(context.kernels, context.event, along, (APPROACHES.value.format(name), _DIFFER))


def held_refusal(context: EventScales, name: str, along: np.ndarray) -> RunError:
    """Return the refusal of a held contact without a force, which is drawn or pressed along some directions."""
    return _refusal(context.kernels, context.event, along, (PUSHES.value.format(name), _DIFFER))


def closed(context: EventScales, transition: int, at: SensitivityState, D: np.ndarray, dt: np.ndarray) -> bool:
    """Return True if the guard of a transition is at zero."""
    return _closed(context, transition, at, D, dt)[0]


def _refusal(kernels: RunKernels, event: Event, along: np.ndarray, whys: tuple[str, ...]) -> RunError:
    labels = kernels.variational.varied.labels
    by = ", ".join(f'"{label}"' for label, varies in zip(labels, along, strict=True) if varies)
    title = f'"{event.kind}" of "{event.name}" at {event.time:.6g} s has no derivative by {by}'
    return RunError(Problem("E374", title, whys, cures=_CURES))


def unknown_refusal(event: Event) -> RunError:
    """Return the refusal of an event whose state afterwards no formula gives."""
    title = f'"{event.kind}" of "{event.name}" at {event.time:.6g} s has no derivative here'
    why = (
        "its impulses follow from curves of storages, or from several collisions in a sequence, and from no single linear problem"
    )
    return RunError(
        Problem("E374", title, (why,), cures=("start values or parameters that take them apart", "differences of runs"))
    )
