"""Estimation: a model, numbers that are not known and data in; the numbers for which the runs fit the data best, out.

Least squares of (y(p) - data) / sigma by a trust-region method (Branch, Coleman, Li), with the Jacobian of the run itself
(`courses`), in numbers that are scaled by their bounds or their sizes.

References
----------
M. A. Branch, T. F. Coleman, Y. Li, "A subspace, interior, and conjugate gradient method for large-scale bound-constrained
minimization problems", SIAM J. Sci. Comput. 21 (1999). Y. Bard, "Nonlinear parameter estimation", Academic Press (1974).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

import numpy as np

from bondgraph.compile.changes import mapping_of
from bondgraph.compile.compiled import Compiled
from bondgraph.compile.pipeline import Compilable, compiled_form
from bondgraph.errors import ModelError, RoundingWarning, RunEndedWarning, ScrewbondError, UnreliableRunWarning, refusal
from bondgraph.estimation.estimate_result import Estimate
from bondgraph.estimation.experiments import Experiment, Measured, Trial, refuse_given, trials_of
from bondgraph.estimation.free_parameters import VariedNumbers, varied_by, with_values
from bondgraph.estimation.identifiability import Fit, estimate_of
from bondgraph.estimation.losses import LOSSES, MARGIN, Loss
from bondgraph.estimation.sensitivity_results import RunSensitivities, by_name, sensitivities_along
from bondgraph.estimation.variational import Variational, variational_of
from bondgraph.output.progress import Progress
from bondgraph.quantities import real
from bondgraph.run.settings import known
from bondgraph.run_arguments import SETTINGS, RunSettings, spelled_settings

CLOSE = 1e-8
"""Part of the sum of squares, and of the numbers, by which a last step changes them."""

MOST = 100
"""Runs of all experiments, at most."""

LARGE = 1e75
"""How large residuals and their parts of the noise may be: a sum of their squares is a number, and the square of that."""

ROUNDS, SETTLED = 6, 1e-2
"""Fits, at most, with noise that is estimated anew from what is left, and part by which it may then still change."""


@spelled_settings
def estimate(
    model: Compilable,
    unknown: Mapping[str, Any],
    data: Measured | Experiment | Sequence[Experiment | Measured],
    *,
    loss: str = "linear",
    **settings: Unpack[RunSettings],
) -> Estimate:
    """Find parameters and start values from measured courses, with what the data tell of them.

    Parameters
    ----------
    model : compiled, or a graph.
    unknown : names of parameters and of states whose start is not known, components allowed, with (low, high), (low, begin,
        high) or the number to begin with. A search between bounds begins with what the model has, if that lies inside; one
        without bounds keeps to what the model allows (a resistance is not negative).
    data : {"rotor.flow": (t, y, sigma)}; sigma is the standard deviation of the noise, and is estimated from what is left
        where it is not given. Several experiments are a list of `Experiment`.
    loss : "linear", least squares; "soft_l1" or "huber" where outliers are among the data: beyond 1.345 sigma they count as
        their size, not its square.

    Raises `RunError` E322 for settings that no run has; `ModelError` E321 for what is no dictionary, E370 for names, E376 for
    data and E377 for bounds that do not fit, E378 where the run to begin with fails, E380 for a loss that there is not.
    """
    compiled = compiled_form(model, "estimate")
    unknown = mapping_of(compiled.model.name, "unknown", unknown, '"spring.stiffness": (10.0, 100.0)')
    if loss not in LOSSES:
        title, why = f"there is no loss {loss!r}", f"there are: {', '.join(LOSSES)}"
        raise refusal("E380", title, 'loss="soft_l1"', about=compiled.model.name, why=why, places=())
    known(settings, SETTINGS)
    names = list(unknown)
    varied = varied_by(compiled, names)
    variational = variational_of(compiled, varied)
    trials = trials_of(compiled, data)
    refuse_given(compiled, unknown, trials)
    own = varied.values(compiled.parameters(), compiled.initial()[0])
    _refuse_arrays(compiled, unknown)
    low, begin, high = _ranges(compiled.model.name, unknown, varied.labels, own)
    low = np.where(np.isinf(low) & (begin > 0.0), [_least(compiled, varied, j) for j in range(len(varied))], low)
    settings.pop("samples", None)
    with Progress(f'estimating "{compiled.model.name}"', MOST, settings.get("progress", True)) as bar:
        search = _Search(variational, trials, {**settings, "progress": False}, bar, LOSSES[loss])
        search.refuse_start(begin)
        channels = [channel for trial in trials for channel in trial.channels]
        noise = [np.full(c.y.shape, _spread(c.y)) if c.sigma is None else c.sigma for c in channels]
        search.refuse_sizes(begin, noise)
        open_noise = [c.sigma is None for c in channels]
        at, message = begin, ""
        for _ in range(ROUNDS):
            at, message = search.minimum(at, low, high, noise)
            left, found = search.looked(at), []
            parts = np.split(left.residuals, np.cumsum([n.size for n in noise])[:-1])
            share = 1.0 - min(len(varied) / left.residuals.size, 0.9)
            for part, old, channel in zip(parts, noise, channels, strict=True):
                is_open = channel.sigma is None
                found.append(np.full(old.shape, max(LOSSES[loss].scale(part, share), channel.rounding)) if is_open else old)
            changes = [np.max(np.abs(new / old - 1.0)) for new, old in zip(found, noise, strict=True)]
            noise = found
            if max(changes) <= SETTLED or (sum(open_noise) < 2 and not LOSSES[loss].robust):
                break
        looked = search.looked(at)
    scatter = tuple((rows, is_open) for rows, is_open in zip(noise, open_noise, strict=True))
    seen = looked.residuals, looked.slopes
    return estimate_of(Fit(varied, trials, looked.runs, at, low, high, *seen, scatter, message, search.failed, LOSSES[loss]))


@dataclass(frozen=True)
class Looked:
    """What was seen at some numbers: residuals (rows,) without the noise, their derivatives (rows, k), the runs."""

    residuals: np.ndarray
    slopes: np.ndarray
    runs: tuple[RunSensitivities, ...] = ()


@dataclass
class _Search:
    """Runs of all experiments at one set of numbers after the other; the last is kept, for it is asked for twice."""

    variational: Variational
    trials: tuple[Trial, ...]
    settings: Mapping[str, Any]
    bar: Progress
    loss: Loss
    runs: int = 0
    failed: dict[str, int] = field(default_factory=dict)
    """First line of why runs inside the search failed -> how often."""
    _kept: tuple[bytes, Looked] | None = None

    def refuse_start(self, numbers: np.ndarray) -> None:
        """E378 where the experiments cannot be run at the start of the search."""
        try:
            self._look(numbers)
        except ScrewbondError as failure:
            title = "the run to begin with fails, so that there is nowhere to search from"
            cures = ("numbers to begin with for which the model runs: (low, begin, high)",)
            said = str(failure).splitlines()
            raise refusal("E378", title, *cures, about=self.variational.compiled.model.name, why=said) from failure

    def refuse_sizes(self, numbers: np.ndarray, noise: Sequence[np.ndarray]) -> None:
        """E376 where what data are off the run to begin with, over the noise, has no square."""
        channels = [channel for trial in self.trials for channel in trial.channels]
        parts = np.split(self.looked(numbers).residuals, np.cumsum([rows.size for rows in noise])[:-1])
        for channel, rows, part in zip(channels, noise, parts, strict=True):
            largest, least = np.max(np.abs(part)), np.min(rows)
            if not (largest < LARGE and 1.0 / LARGE < least < LARGE and largest / least < LARGE):
                title = f'the data of "{channel.name}" are {largest:.3g} off the run to begin with, their noise is {least:.3g}'
                why = "squares of one over the other are beyond what floating-point numbers hold"
                cures = ("sigma as large as errors of the measurement are", "leave out what is no measurement")
                raise refusal("E376", title, *cures, about=self.variational.compiled.model.name, why=why, places=())

    def minimum(
        self, begin: np.ndarray, low: np.ndarray, high: np.ndarray, noise: Sequence[np.ndarray]
    ) -> tuple[np.ndarray, str]:
        """The numbers of least squares, and why the search ended."""
        from scipy.optimize import least_squares

        weight = 1.0 / np.concatenate([n.ravel() for n in noise])
        bounded = np.isfinite(low) & np.isfinite(high)
        with np.errstate(invalid="ignore"):
            width = np.where(bounded, high - low, np.where(begin != 0.0, np.abs(begin), 1.0))
        found = least_squares(
            lambda z: weight * self.looked(begin + width * z).residuals,
            np.zeros(len(begin)),
            jac=lambda z: weight[:, None] * self.looked(begin + width * z).slopes * width,
            bounds=((low - begin) / width, (high - begin) / width),
            x_scale="jac" if not bounded.all() else 1.0,
            xtol=CLOSE,
            ftol=CLOSE,
            gtol=CLOSE,
            max_nfev=MOST,
            loss=self.loss.name,
            f_scale=MARGIN,
        )
        return np.clip(begin + width * found.x, low, high), str(found.message)

    def looked(self, numbers: np.ndarray) -> Looked:
        """Residuals and derivatives; not finite where a run fails, which the search steps back from."""
        key = numbers.tobytes()
        if self._kept is None or self._kept[0] != key:
            try:
                found = self._look(numbers)
            except ScrewbondError as failure:
                problems = failure.problems if isinstance(failure, ModelError) else (getattr(failure, "problem", failure),)
                word = str(problems[0]).splitlines()[0]
                self.failed[word] = self.failed.get(word, 0) + 1
                rows = sum(channel.y.size for trial in self.trials for channel in trial.channels)
                found = Looked(np.full(rows, np.inf), np.full((rows, len(numbers)), np.nan))
            self._kept = key, found
        return self._kept[1]

    def _look(self, numbers: np.ndarray) -> Looked:
        self.runs += 1
        self.bar.show(self.runs, f"run {self.runs}")
        residuals, slopes, runs = [], [], []
        compiled, varied = self.variational.compiled, self.variational.varied
        for trial in self.trials:
            experiment = trial.experiment
            begun, given = by_name(compiled, experiment.initial, experiment.parameters)
            changed, begun = with_values(compiled, varied, numbers.tolist(), given, begun)
            own = {**self.settings, "samples": trial.samples, "t_start": experiment.t_start, "strict": False}
            with warnings.catch_warnings():  # of runs far from the data; those of the last one are among its results
                warnings.simplefilter("ignore", RunEndedWarning)
                warnings.simplefilter("ignore", UnreliableRunWarning)
                warnings.simplefilter("ignore", RoundingWarning)
                run = sensitivities_along(self.variational, float(trial.samples[-1]), changed, begun, own)
            if run.result.failure is not None:
                raise refusal("E378", "a run ends early", about=compiled.model.name, why=str(run.result.failure), places=())
            every = run.of(trial.names)
            column = 0
            for channel in trial.channels:
                size = channel.y.shape[1]
                got = np.asarray(run.result[channel.name]).reshape(len(trial.samples), -1)[channel.at]
                residuals.append((got - channel.y).ravel())
                slopes.append(every[channel.at, column : column + size].reshape(-1, len(varied)))
                column += size
            runs.append(run)
        return Looked(np.concatenate(residuals), np.concatenate(slopes), tuple(runs))


def _spread(y: np.ndarray) -> float:
    """How much a course varies; its size, or one, where it does not."""
    with np.errstate(over="ignore"):  # of what `refuse_sizes` refuses
        return float(np.std(y) or np.max(np.abs(y), initial=0.0) or 1.0)


def _refuse_arrays(compiled: Compiled, unknown: Mapping[str, Any]) -> None:
    """E377 for bounds of an array as a whole."""
    for name in unknown:
        labels = varied_by(compiled, name).labels
        if len(labels) > 1:
            cure = f'its components, each with bounds of its own: "{labels[0]}"'
            raise refusal("E377", f'"{name}" is an array, which has no bounds as a whole', cure, about=compiled.model.name)


def _ranges(
    name: str, unknown: Mapping[str, Any], labels: Sequence[str], own: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lower bounds, numbers to begin with and upper bounds (k,) each. E377 where they are none."""
    found = []
    for given, label, value in zip(unknown.values(), labels, own, strict=True):
        array = real(given)
        parts = None if array is None or array.size not in (1, 2, 3) else np.ravel(array).tolist()
        if parts is None:
            raise refusal("E377", f'"{label}" has no bounds', f'"{label}": (1.0, 10.0)', about=name, why=f"given: {given!r}")
        low, high = (parts[0], parts[-1]) if len(parts) > 1 else (-np.inf, np.inf)
        inside = low < value < high
        begin = parts[1] if len(parts) == 3 else parts[0] if len(parts) == 1 else value if inside else _between(low, high)
        if not low < high or not low <= begin <= high or not np.isfinite(begin):
            why = f"given: {given!r}"
            raise refusal(
                "E377", f'the bounds of "{label}" leave nothing between them', f'"{label}": (1.0, 10.0)', about=name, why=why
            )
        found.append((low, begin, high))
    low, begin, high = np.array(found, dtype=float).T
    return low, begin, high


def _least(compiled: Compiled, varied: VariedNumbers, j: int) -> float:
    """Zero for a number that the model refuses below it, such as a resistance; else none."""
    at = varied.values(compiled.parameters(), compiled.initial()[0])
    try:
        compiled.initial(*reversed(with_values(compiled, varied.alone(j), [-abs(at[j]) or -1.0])))
    except ScrewbondError:
        return 0.0
    return -np.inf


def _between(low: float, high: float) -> float:
    """A number to begin with: in the middle of its decades where both bounds are positive."""
    if np.isfinite(low) and np.isfinite(high):
        return float(np.sqrt(low * high)) if low > 0.0 else 0.5 * (low + high)
    return low + 1.0 if np.isfinite(low) else high - 1.0 if np.isfinite(high) else 0.0
