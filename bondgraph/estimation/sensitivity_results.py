"""Sensitivities of a run: derivatives of every quantity over time by parameters and start values."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

import numpy as np

from bondgraph.compile.compiled import Compiled
from bondgraph.compile.pipeline import Compilable, compiled_form
from bondgraph.errors import UnreliableRunWarning, caller_depth, refusal
from bondgraph.estimation.forward_sensitivities import integrate_sensitivities
from bondgraph.estimation.free_parameters import FreeParameters, free_parameters_of, start_slopes
from bondgraph.estimation.variational import Variational, variational_of
from bondgraph.output.cells import cell, line, table
from bondgraph.run.results.result import Result
from bondgraph.run_arguments import DEFAULTS, Initial, RunSettings, StartValues, spelled_settings, start_of
from screws.renamed import answer_old_names


@answer_old_names
@dataclass(frozen=True, eq=False, repr=False)
class RunSensitivities:
    """Derivatives of all quantities of a run by the varied numbers, at fixed times.

    Parameters
    ----------
    result : the run, the same as without sensitivities.
    labels, units : of the numbers (k,); values : of these (k,).
    S : dx / dp at the samples, (samples, n, k).
    warnings : reasons not to trust them.
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
        """True if the run is ok and there are no doubts."""
        return self.result.ok and not self.warnings

    def __getitem__(self, name: str | tuple[str, str]) -> np.ndarray:
        """Return d name / d p over time, (samples, *shape, k); of a pair (name, varied number), (samples, *shape).

        Raises `ModelError` E251 for an unknown name, KeyError for a number that is not varied.
        """
        quantity, by = (name, None) if isinstance(name, str) else name
        shape = self.result.program.layout[quantity].shape if quantity in self.result.program.layout else ()
        slopes = self.of([quantity]).reshape(len(self.t), *shape, len(self.labels))
        return slopes if by is None else slopes[..., self._index(by)]

    def _index(self, label: str) -> int:
        if label not in self.labels:
            raise KeyError(f"{label!r} is not varied; there are: {', '.join(self.labels)}")
        return self.labels.index(label)

    def of(self, names: str | Sequence[str]) -> np.ndarray:
        """Return the derivatives of several names, each number of them in a row: (samples, numbers, k)."""
        labels, prepared = self.variational.outputs([names] if isinstance(names, str) else list(names))
        count, k = len(self.t), len(self.labels)
        y = np.concatenate([self.result.x, self.S.transpose(0, 2, 1).reshape(count, -1)], axis=1)
        p = self.result.p[: prepared.kernel.sizes[2] - prepared.prepare.n_out]
        out = prepared.kernel.many(self.t, y, prepared.parameters(p), self.result.m)
        return np.ascontiguousarray(out[:, len(labels) :].reshape(count, k, len(labels)).transpose(0, 2, 1))

    def relative(self, name: str) -> np.ndarray:
        """Return p dy/dp over the largest |y| of the run, (samples, *shape, k): the effect of a change of 1 %, in per cent."""
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
    """Run a model, and differentiate the run by parameters and start values: forward sensitivities S' = f_x S + f_p from the tape
    of the model's formulas, with jump conditions at ticks, breaks of time and events.

    Parameters
    ----------
    model : compiled, or a graph.
    names : of parameters, "winding.resistance", and of states with varied start, "rotor.p"; components allowed.
    parameters, initial : as of `simulate`.

    Raises `ModelError` E370 for names, E371 for a start without a derivative, E372 for too large a model; `RunError` E373 for an
    event whose guard only touches zero, E374 for a collision without a derivative, E375 where S cannot be integrated; and as
    `simulate`.
    """
    compiled = compiled_form(model, "run_sensitivities")
    variational = variational_of(compiled, free_parameters_of(compiled, names))
    sensitivities = sensitivities_along(variational, t_end, parameters, initial, settings)
    for text in sensitivities.warnings:
        warnings.warn(f'"{compiled.model.name}": {text}', UnreliableRunWarning, stacklevel=caller_depth())
    return sensitivities


def sensitivities_along(
    variational: Variational,
    t_end: float,
    parameters: Mapping[str, Any] | None,
    initial: Initial | None,
    settings: Mapping[str, Any],
) -> RunSensitivities:
    """Run a model with its sensitivities, with existing kernels, for many runs."""
    compiled = variational.compiled
    starts, changes = by_name(compiled, initial, parameters)
    options: dict[str, Any] = {**DEFAULTS, **settings}
    start, slopes = compiled.initial(starts, changes), start_slopes(compiled, variational.varied, changes, starts)
    result = compiled.simulate(t_end, parameters=changes, initial=starts, **settings)
    longest = options["max_step"] or (t_end - options["t_start"]) / 100.0
    S = integrate_sensitivities(variational, result, (*start, slopes), float(options["rtol"]), float(longest))
    varied: FreeParameters = variational.varied
    return RunSensitivities(result, varied.labels, varied.units, varied.values(result.p, start[0]), S.S, S.warnings, variational)


def by_name(
    compiled: Compiled, initial: Initial | None, parameters: Mapping[str, Any] | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return changes of start values and of parameters, including parameters that were solved for with the start values."""
    begin = start_of(initial)
    solved = begin.parameters if isinstance(begin, StartValues) else {}
    for what, changes in (("initial", begin), ("parameters", parameters)):
        if changes is not None and not isinstance(changes, Mapping):
            raise refusal("E321", f"{what} must be a dictionary of values by name", about=compiled.model.name)
    return dict(begin or {}), {**solved, **dict(parameters or {})}
