"""Routines -> kernels: machine code, or NumPy as the reference."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bondgraph.errors import refusal
from bondgraph.tape.garbage_collection import paused_collection
from bondgraph.tape.routine import Routine, reachable, select_outputs, steps_of
from bondgraph.tape.specialise import Code, SpecialisedRoutine
from bondgraph.tracing.routines import Pattern

if TYPE_CHECKING:
    from bondgraph.emit.kernel import Kernel, LaneKernels
    from bondgraph.run.program import Slot
    from bondgraph.schedule.build import Scheduled
    from bondgraph.schedule.memory_layout import Schedule

BACKENDS = ("auto", "llvm", "numpy")

HASTY = frozenset({"outputs", "collisions"})
"""Large routines that not every run needs, and few times: compiled at their first use, without an optimiser."""

DEFERRED = HASTY | {"closing_matrix"}
"""All that are compiled at their first use."""

INTERPRETED = frozenset({"closures"})
"""Routines that are evaluated for many samples at once, or seldom: not worth a compiler."""


def kernels_of(routines: Mapping[str, Code] | Scheduled, backend: str) -> dict[str, Kernel]:
    """Kernels by name, in machine code or interpreted; E123 for an unknown backend."""
    if backend not in BACKENDS:
        raise refusal("E123", f'backend "{backend}" is unknown', about="compile", why=f"known: {', '.join(BACKENDS)}", places=())
    if not isinstance(routines, Mapping):
        from bondgraph.schedule.build import kernels_in_loops

        return kernels_in_loops(routines, _is_compiled(backend))
    from bondgraph.emit.numpy import numpy_kernel, preset_kernel

    wanted = {name: r for name, r in routines.items() if r.outputs or name in ("rates", "prepare")}
    if _is_compiled(backend):
        from bondgraph.emit.kernel import DeferredKernel
        from bondgraph.emit.llvm import QUICK, compile_routines

        now = [routine for name, routine in wanted.items() if name not in DEFERRED | INTERPRETED]
        library = compile_routines(now)
        kernels: dict[str, Kernel] = {routine.name: library.kernel(routine.name) for routine in now}

        def alone(name: str) -> Kernel:
            return compile_routines([wanted[name]], quick=0 if name in HASTY else QUICK).kernel(name)

        for name in DEFERRED & set(wanted):
            make = functools.partial(alone, name)
            width = functools.partial(len, wanted[name].outputs)
            kernels[name] = DeferredKernel(name, wanted[name].sizes, width, make)
        return kernels | {name: numpy_kernel(wanted[name]) for name in INTERPRETED & set(wanted)}
    found = {name: numpy_kernel(routine) for name, routine in wanted.items() if not isinstance(routine, SpecialisedRoutine)}
    presets = {name: routine for name, routine in wanted.items() if isinstance(routine, SpecialisedRoutine)}
    return found | {name: preset_kernel(routine, found[routine.shared.name]) for name, routine in presets.items()}


def outputs_of(routines: Mapping[str, Code] | Scheduled, backend: str, slots: Sequence[Slot]) -> tuple[Kernel, tuple[int, ...]]:
    """A kernel of the outputs in these slots alone, and where it gives each of them."""
    if not isinstance(routines, Mapping):
        from bondgraph.schedule.build import select_in_loops

        return select_in_loops(routines, [slot.start for slot in slots], _is_compiled(backend))
    places = [place for slot in slots for place in range(slot.start, slot.stop)]
    own = select_outputs(routines["outputs"].reference, "chosen", places)
    starts = tuple(itertools.accumulate((slot.size for slot in slots[:-1]), initial=0))
    if _is_compiled(backend):
        from bondgraph.emit.llvm import compile_routines

        return compile_routines([own], quick=0).kernel(own.name), starts
    from bondgraph.emit.numpy import numpy_kernel

    return numpy_kernel(own), starts


def autonomous(routines: Mapping[str, Code] | Scheduled) -> bool:
    """Whether no rate depends on the time."""
    if not isinstance(routines, Mapping):
        return routines.autonomous
    rates = routines["rates"].reference
    tape = rates.tape
    time = {scalar.index for scalar in tape.inputs("t", tape.blocks["t"])}
    return time.isdisjoint(reachable(tape, [tape.scalar(rate).index for rate in rates.outputs]))


STEPPED = ("rates", "powers", "rates_and_powers")
LOOKED_AT = ("rates", "powers", "energies", "closing_matrix")
"""Routines that runs side by side need for their steps; and those by which they are looked at when they are done: one in lanes,
since they have much in common."""

WIDEST = 20_000
"""Steps of these up to which they are made for runs side by side."""


def lanes_of(routines: Mapping[str, Code] | Scheduled, backend: str, lanes: int) -> LaneKernels | None:
    """The kernels of so many runs side by side, if these can have the bits of runs alone; else None.

    For straight lines of steps in machine code, which are optimised alike: none in which a run alone may branch. Where nothing
    moves there is nothing to be done side by side.
    """
    if not isinstance(routines, Mapping) or not _is_compiled(backend) or not routines["rates"].outputs:
        return None
    from bondgraph.emit.kernel import AT_SAMPLE, LaneKernels
    from bondgraph.emit.lanes import may_branch
    from bondgraph.emit.llvm import compile_in_lanes

    own = {name: routine for name, routine in routines.items() if name in STEPPED + LOOKED_AT and routine.outputs}
    straight = {name: routine for name, routine in own.items() if isinstance(routine, Routine)}
    several = straight.values()
    if len(straight) < len(own) or sum(map(steps_of, several)) > WIDEST or any(map(may_branch, several)):
        return None
    stepped = [straight[name] for name in STEPPED if name in straight]
    looked_at = tuple(output for name in LOOKED_AT if name in straight for output in straight[name].outputs)
    library = compile_in_lanes([*stepped, replace(stepped[0], name=AT_SAMPLE, outputs=looked_at)], lanes)
    return LaneKernels(lanes, library.addresses, library)


def _is_compiled(backend: str) -> bool:
    """Whether machine code is made; an explicit "llvm" says itself what is missing."""
    from bondgraph.emit.machine import have_llvm

    return backend == "llvm" or (backend == "auto" and have_llvm())


@paused_collection()
def jacobian_of(
    differentiate: Callable[[], tuple[Routine | Schedule | None, Pattern]], backend: str
) -> tuple[Kernel | None, Pattern]:
    """The kernel of the Jacobian, None without nonzeros, and its pattern."""
    found, pattern = differentiate()
    if isinstance(found, Routine):
        return (kernels_of({"jacobian": found}, backend)["jacobian"] if found.outputs else None), pattern
    if found is None:
        return None, pattern
    from bondgraph.schedule.build import jacobian_in_loops

    return jacobian_in_loops(found, _is_compiled(backend)), pattern


@paused_collection()
def couplings_of(
    routines: Mapping[str, Code] | Scheduled, jacobian: Callable[[], tuple[Kernel | None, Pattern]], backend: str
) -> tuple[Kernel | None, Pattern]:
    """The derivatives of the rates as error control asks for them, a few dozen times in a run: not worth a compiler. What
    has no straight line of steps, or no machine code at all, takes those of `jacobian`."""
    if not isinstance(routines, Mapping) or not _is_compiled(backend):
        return jacobian()
    from bondgraph.emit.interpreter.steps import derivatives

    kernel, pattern = derivatives(routines["rates"].reference, "x", "couplings")
    return kernel if kernel.n_out else None, pattern
