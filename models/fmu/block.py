"""FMU as a block: its outputs are states that are held between the ticks of a clock."""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from screwbond.models.fmu.archive import Archive, unpack
from screwbond.models.fmu.description import Variable
from screwbond.models.fmu.library import Instance, ports

from bondgraph import Block
from bondgraph.errors import Problem, RunError, refusal
from bondgraph.model.element import Element
from bondgraph.model.laws import SignalBlock
from screws.similar_names import similar_names

_MOST_LISTED = 8
"""Most names in a message."""


def fmu_block(
    path: str | Path,
    *,
    inputs: Mapping[str, str],
    outputs: Sequence[str],
    period: Any,
    parameters: Mapping[str, float] | None = None,
    name: str | None = None,
) -> Element:
    """Return a block whose states are the outputs of an FMU (FMI 2.0 or 3.0, co-simulation), called at the ticks of a clock.

    At tick k the block sets the inputs, lets the FMU step from k x `period` to the next tick, and holds its outputs until then: a
    controller that is sampled with this period acts as one in the graph does. An FMU with continuous dynamics computes outputs
    for the end of a period; the block has them one period early. Each run and thread has an instance of its own.

    Opening the file unpacks it; a run executes its library, which may do anything: take FMUs that you trust.

    Parameters
    ----------
    path : of the FMU.
    inputs : variables of the FMU -> signals, {"u.value": "error.y"}.
    outputs : variables of the FMU; each is the signal `<name>.<variable>`.
    period : time between ticks, s.
    parameters : values of the FMU's parameters, which become parameters of the block.
    name : of the block, that of the file by default.

    Raises `ModelError` E690 for a file that is no such FMU, E691 for variables that it does not have or that are of another kind;
    a run raises `RunError` E692 with the words of an FMU that fails; E693: functions that need formulas do not take the block.
    """
    archive = unpack(path)
    name, parameters = name or Path(path).stem, dict(parameters or {})
    driven = _variables(archive, inputs, ("input",), "inputs")
    taken = _variables(archive, outputs, ("output", "local"), "outputs")
    tuned = _variables(archive, parameters, ("parameter", "structuralParameter"), "parameters")
    locals_in = {f"in{k}": path for k, path in enumerate(inputs.values())}
    kept = {each.name: 0.0 if math.isnan(each.start) else each.start for each in taken}
    sampled = {f"sampled {each.name}": 0.0 for each in driven}
    following = {state: f"next {state}" for state in (*kept, *sampled, "steps")}
    block = Block(
        name,
        [
            *((following[state], lambda y: y, [state]) for state in kept),
            *((following[state], lambda u: u, [word]) for state, word in zip(sampled, locals_in, strict=True)),
            (following["steps"], lambda k: k + 1.0, ["steps"]),
        ],
        inputs=locals_in,
        states={**kept, **sampled, "steps": 0.0},
        updates=following,
        parameters=parameters,
        units={each.name: each.unit for each in taken},
        period=period,
    )
    external = _Runner(name, archive, taken, driven, tuned)
    return replace(block, law=replace(block.law_as(SignalBlock), external=external.tick))


def _variables(archive: Archive, names: Any, causalities: Sequence[str], argument: str) -> list[Variable]:
    """Return variables by their names; E691 for unknown ones and for others than these causalities."""
    there = archive.description.variables
    if isinstance(names, str):
        title = f"{argument} are {names!r}, where several names are wanted"
        raise refusal("E691", title, f'{argument}=["{names}"]', about=argument)
    for each in names:
        if each not in there:
            what = "does not have"
        elif not there[each].is_scalar:
            what = "has as an array"
        elif there[each].causality not in causalities:
            what = f"has as {there[each].causality}"
        else:
            continue
        fitting = [key for key, one in there.items() if one.causality in causalities]
        likely = similar_names(each, fitting) or fitting[:_MOST_LISTED]
        cure = f"one of {', '.join(likely)}" if likely else "another FMU"
        raise refusal("E691", f'{argument}: "{archive.path.name}" {what} "{each}"', cure, about=argument)
    return [there[each] for each in names]


class _Runner:
    """Steps of an FMU in the runs of a model: an instance for each thread, which begins anew with each run."""

    def __init__(
        self, name: str, archive: Archive, taken: Sequence[Variable], driven: Sequence[Variable], tuned: Sequence[Variable]
    ):
        self._name, self._archive, self._taken, self._driven, self._tuned = name, archive, taken, driven, tuned
        self._of_thread, self._last = threading.local(), lambda: None

    def tick(self, t: float, parameters: list[float], values: list[float]) -> None:
        """Make the step of a tick: `values` are outputs, sampled inputs and the number of the step."""
        count, steps, local = len(self._taken), round(values[-1]), self._of_thread
        if steps == 1:
            *tuned, period, offset = parameters
            self._begin(period, offset + round((t - offset) / period) * period, tuned)
        instance: Instance | None = getattr(local, "instance", None)
        if instance is None or instance.count != steps - 1:
            title = f'the FMU of "{self._name}" cannot go on from t = {t:.9g} s: it is elsewhere'
            raise RunError(Problem("E692", title, ("an FMU keeps its states for itself",), cures=("a run from the start",)))
        instance.set(local.driven, values[count:-1])
        instance.step()
        taken = values[:count]
        instance.get(local.taken, taken)
        values[:count] = taken

    def _begin(self, period: float, start: float, tuned: Sequence[float]) -> None:
        """Begin a run of this thread."""
        local, description = self._of_thread, self._archive.description
        version = description.version
        local.instance = None  # frees the one of the run before
        if description.only_one and self._last() is not None:
            title = f'the FMU of "{self._name}" allows one instance in a process'
            raise RunError(Problem("E692", title, ("another thread has it",), cures=("runs one after the other",)))
        local.driven, local.taken = ports(version, self._driven), ports(version, self._taken)
        local.instance = Instance(self._archive, self._name, period, start)
        self._last = weakref.ref(local.instance)
        local.instance.begin(ports(version, self._tuned), tuned)
