"""FMU, opened with the variables that a block sets and reads."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bondgraph.errors import Problem, RunError, refusal
from bondgraph.interchange.fmu.archive import Archive, unpack
from bondgraph.interchange.fmu.description import FmuVariable
from bondgraph.interchange.fmu.instance import FmuInstance
from bondgraph.run.program.library_code import VariableGroup
from screws.names import similar_names

_MAX_LISTED = 8


@dataclass(frozen=True, eq=False)
class FmuUnit:
    """FMU with the variables that a block uses; each run has its own instance."""

    archive: Archive
    input_variables: Sequence[FmuVariable]
    output_variables: Sequence[FmuVariable]
    parameter_variables: Sequence[FmuVariable]
    _living: weakref.WeakSet[FmuInstance] = field(default_factory=weakref.WeakSet, repr=False)

    @property
    def version(self) -> int:
        return self.archive.description.version

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(each.name for each in (*self.output_variables, *self.input_variables))

    @property
    def outputs(self) -> list[VariableGroup]:
        return _groups(self.output_variables, 0)

    @property
    def inputs(self) -> list[VariableGroup]:
        return _groups(self.input_variables, len(self.output_variables))

    def begin(self, element: str, t: float, parameters: Sequence[float]) -> FmuInstance:
        """Return a new instance in initialisation mode; the last two `parameters` are the period and offset of the ticks, s."""
        if self.archive.description.only_one and any(each.address for each in self._living):
            title = f'the FMU of "{element}" allows only one instance per process'
            raise RunError(Problem("E692", title, ("another run is using it",), cures=("run them one after another",)))
        *values, period, offset = parameters
        variables = (*self.output_variables, *self.input_variables)
        groups = [
            (verb, [variables[place] for place in group.places])
            for verb, each in (("Set", self.inputs), ("Get", self.outputs))
            for group in each
        ]
        instance = FmuInstance(self.archive, element, period, offset + round((t - offset) / period) * period, groups)
        self._living.add(instance)
        try:
            instance.begin(dict(zip(self.parameter_variables, values, strict=True)))
        except RunError:
            instance.free()
            raise
        return instance


def _groups(variables: Sequence[FmuVariable], first: int) -> list[VariableGroup]:
    of_kind: dict[str, list[int]] = {}
    for place, variable in enumerate(variables, first):
        of_kind.setdefault(variable.type_name, []).append(place)
    return [VariableGroup(kind, tuple(places)) for kind, places in of_kind.items()]


def open_unit(path: str | Path, inputs: Iterable[str], outputs: Iterable[str], parameters: Iterable[str]) -> FmuUnit:
    """Open an FMU with these variables, by name.

    Raises `ModelError` E690 for a file that is not a suitable FMU, E691 for variables that are missing or unsuitable.
    """
    archive = unpack(path)
    return FmuUnit(
        archive,
        _variables(archive, inputs, ("input",), "inputs"),
        _variables(archive, outputs, ("output", "local"), "outputs"),
        _variables(archive, parameters, ("parameter",), "parameters"),
    )


def _variables(archive: Archive, names: Iterable[str], causalities: Sequence[str], argument: str) -> list[FmuVariable]:
    variables = archive.description.variables
    if isinstance(names, str):
        title = f"{argument} are {names!r}, not a list of names"
        raise refusal("E691", title, f'{argument}=["{names}"]', about=argument)
    names = list(names)
    for each in names:
        if each not in variables:
            what = f'does not have "{each}"'
        elif not variables[each].is_scalar:
            what = f'has "{each}" as an array'
        elif variables[each].causality not in causalities:
            what = f'has "{each}" with causality {variables[each].causality}'
        else:
            continue
        fitting = [key for key, one in variables.items() if one.causality in causalities]
        likely = similar_names(each, fitting) or fitting[:_MAX_LISTED]
        cure = f"one of {', '.join(likely)}" if likely else "another FMU"
        raise refusal("E691", f'{argument}: "{archive.path.name}" {what}', cure, about=argument)
    return [variables[each] for each in names]
