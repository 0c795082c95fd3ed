"""Sensitivities of a run: a model, what is varied and how it runs in; derivatives of every quantity over time out."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

import numpy as np

from bondgraph.compile.compiled import Compiled
from bondgraph.compile.pipeline import Compilable, compiled_form
from bondgraph.errors import UnreliableRunWarning, caller_depth, refusal
from bondgraph.estimation.forward_sensitivities import followed
from bondgraph.estimation.free_parameters import VariedNumbers, start_slopes, varied_by
from bondgraph.estimation.variational import Variational, variational_of
from bondgraph.output.cells import cell, line, table
from bondgraph.run.results.result import Result
from bondgraph.run_arguments import DEFAULTS, Initial, RunSettings, StartValues, spelled_settings, start_of
from screws.renamed import answer_old_names


@answer_old_names
@dataclass(frozen=True, eq=False, repr=False)
class RunSensitivities:
    """Derivatives of everything in a run by numbers that are varied, at fixed times.

    Parameters
    ----------
    result : the run, the same as without sensitivities.
    labels, units : of the numbers (k,); values : of these (k,).
    S : dx / dp at the samples, (samples, n, k).
    warnings : why they cannot be trusted.
    """

    result: Result
    labels: tuple[str, ...]
    units: tuple[str, ...]
    values: np.ndarray
    S: np.ndarray = field(repr=False)
    warnings: tuple[str, ...]
    variational: Variational = field(repr=False)

    @property
    def t(self) -> np.ndarray:
        """Sample times (samples,), s."""
        return self.result.t

    @property
    def ok(self) -> bool:
        """Whether the run is and nothing is in doubt."""
        return self.result.ok and not self.warnings

    def __getitem__(self, name: str | tuple[str, str]) -> np.ndarray:
        """d name / d p over time, (samples, *shape, k); of a pair (name, number that is varied), (samples, *shape).

        Raises `ModelError` E251 for an unknown name, KeyError for a number that is not varied.
        """
        wanted, by = (name, None) if isinstance(name, str) else name
        shape = self.result.program.layout[wanted].shape if wanted in self.result.program.layout else ()
        found = self.of([wanted]).reshape(len(self.t), *shape, len(self.labels))
        return found if by is None else found[..., self._place(by)]

    def _place(self, label: str) -> int:
        if label not in self.labels:
            raise KeyError(f"{label!r} is not varied; there are: {', '.join(self.labels)}")
        return self.labels.index(label)

    def of(self, names: str | Sequence[str]) -> np.ndarray:
        """The same of several names, each number of them in a row: (samples, numbers, k)."""
        labels, prepared = self.variational.outputs([names] if isinstance(names, str) else list(names))
        count, k = len(self.t), len(self.labels)
        y = np.concatenate([self.result.x, self.S.transpose(0, 2, 1).reshape(count, -1)], axis=1)
        own = self.result.p[: prepared.kernel.sizes[2] - prepared.prepare.n_out]
        out = prepared.kernel.many(self.t, y, prepared.parameters(own), self.result.m)
        return np.ascontiguousarray(out[:, len(labels) :].reshape(count, k, len(labels)).transpose(0, 2, 1))

    def relative(self, name: str) -> np.ndarray:
        """p dy/dp over the largest |y| of the run, (samples, *shape, k): what a change of one per cent does, in per cent."""
        largest = np.max(np.abs(self.result[name]), initial=0.0)
        return np.asarray(self[name] * self.values / (largest or np.nan))

    def __repr__(self) -> str:
        end = "ok" if self.ok else "in doubt"
        return f'RunSensitivities("{self.result.program.name}", by {", ".join(self.labels)}, {len(self.t)} samples, {end})'

    def _repr_html_(self) -> str:
        rows = [(label, f"{value:.6g}", unit) for label, value, unit in zip(self.labels, self.values, self.units, strict=True)]
        return cell(line("sensitivities of a run", self.result.program.name), table(("varied", "value", "unit"), rows))


@spelled_settings
def run_sensitivities(
    model: Compilable,
    names: str | Sequence[str],
    t_end: float,
    *,
    parameters: Mapping[str, Any] | None = None,
    initial: Initial | None = None,
    **settings: Unpack[RunSettings],
) -> RunSensitivities:
    """Run a model, and differentiate the run by parameters and start values: S' = f_x S + f_p from the tape of the model's own
    formulas, integrated along, with what ticks, breaks of time and events make of S.

    Parameters
    ----------
    model : compiled, or a graph.
    names : of parameters, "winding.resistance", and of states, "rotor.p", whose start is varied; components allowed.
    parameters, initial : as of `simulate`.

    Raises `ModelError` E370 for names, E371 for a start without a derivative, E372 for a model that is too large; `RunError` E373
    for an event that only touches, E374 for such a collision, E375 where S cannot be integrated; and as `simulate`.
    """
    compiled = compiled_form(model, "run_sensitivities")
    variational = variational_of(compiled, varied_by(compiled, names))
    found = sensitivities_along(variational, t_end, parameters, initial, settings)
    for text in found.warnings:
        warnings.warn(f'"{compiled.model.name}": {text}', UnreliableRunWarning, stacklevel=caller_depth())
    return found


def sensitivities_along(
    variational: Variational,
    t_end: float,
    parameters: Mapping[str, Any] | None,
    initial: Initial | None,
    settings: Mapping[str, Any],
) -> RunSensitivities:
    """The same with kernels that are there, for many runs."""
    compiled = variational.compiled
    begun, changed = by_name(compiled, initial, parameters)
    given: dict[str, Any] = {**DEFAULTS, **settings}
    start, slopes = compiled.initial(begun, changed), start_slopes(compiled, variational.varied, changed, begun)
    result = compiled.simulate(t_end, parameters=changed, initial=begun, **settings)
    longest = given["max_step"] or (t_end - given["t_start"]) / 100.0
    S = followed(variational, result, (*start, slopes), float(given["rtol"]), float(longest))
    varied: VariedNumbers = variational.varied
    return RunSensitivities(result, varied.labels, varied.units, varied.values(result.p, start[0]), S.S, S.warnings, variational)


def by_name(
    compiled: Compiled, initial: Initial | None, parameters: Mapping[str, Any] | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Changes of start values and of parameters, those that were found with the start values among them."""
    begin = start_of(initial)
    found = begin.parameters if isinstance(begin, StartValues) else {}
    for what, given in (("initial", begin), ("parameters", parameters)):
        if given is not None and not isinstance(given, Mapping):
            raise refusal("E321", f"{what} must be a dictionary of values by name", about=compiled.model.name)
    return dict(begin or {}), {**found, **dict(parameters or {})}
