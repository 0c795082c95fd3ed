"""Parameter estimation: parameters and start values whose runs best fit measured data, by nonlinear least squares.

A trust-region method (Branch, Coleman, Li) minimises the squares, or a robust loss, of (y(p) - data) / sigma, with the Jacobian
from forward sensitivities (`sensitivity_results`), in numbers scaled by their bounds or sizes.

References
----------
M. A. Branch, T. F. Coleman, Y. Li, "A subspace, interior, and conjugate gradient method for large-scale bound-constrained
minimization problems", SIAM J. Sci. Comput. 21 (1999). Y. Bard, "Nonlinear parameter estimation", Academic Press (1974).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Unpack

import numpy as np

from bondgraph.compile.changes import mapping_of
from bondgraph.compile.compiled import Compiled
from bondgraph.compile.pipeline import Compilable, compiled_form
from bondgraph.errors import ModelError, RoundingWarning, RunEndedWarning, ScrewbondError, UnreliableRunWarning, refusal
from bondgraph.estimation.estimate_result import Estimate, Experiment, Measured, Trial, refuse_fixed, trials_of
from bondgraph.estimation.free_parameters import FreeParameters, free_parameters_of, with_values
from bondgraph.estimation.identifiability import Fit, estimate_of
from bondgraph.estimation.losses import LOSSES, MARGIN, Loss
from bondgraph.estimation.sensitivity_results import RunSensitivities, changes_by_name, sensitivities_along
from bondgraph.estimation.variational import Variational, variational_of
from bondgraph.output.progress import Progress
from bondgraph.quantities import real
from bondgraph.run.settings import check_names
from bondgraph.run_arguments import SETTINGS, RunSettings, spelled_settings

CONVERGED = 1e-8
"""Tolerance of the search, which ends when the relative change of the sum of squares or of the numbers, or the scaled gradient,
is smaller."""

MAX_RUNS = 100

LARGEST = 1e75
"""Upper limit of a residual, and of the ratio of residual to noise, that keeps even the square of the sum of squares finite."""

REPLACEMENTS = {
    "samples": "the times of the data",
    "t_start": "Experiment(..., t_start=) for each data set",
    "strict": "the `findings` of the estimate",
}
"""Replacement for each setting of a run that an estimate does not accept."""
MAX_FITS, MAX_NOISE_CHANGE = 6, 1e-2
"""Maximum number of fits, each with noise estimated from the previous residuals, and relative change of the noise below which the
fits end."""


@partial(spelled_settings, without=tuple(REPLACEMENTS))
def estimate(
    model: Compilable,
    unknown: Mapping[str, Any],
    data: Measured | Experiment | Sequence[Experiment | Measured],
    *,
    loss: str = "linear",
    **settings: Unpack[RunSettings],
) -> Estimate:
    """Estimate parameters and start values from measured time series, with their covariance.

    Parameters
    ----------
    model : compiled, or a graph.
    unknown : names of parameters and of states with unknown start values, or of their components, with (low, high), (low, guess,
        high) or an initial guess. A search between (low, high) starts from the model's value if this is inside. Without bounds,
        a number that must not be negative, such as a resistance, stays nonnegative.
    data : {"rotor.flow": (t, y, sigma)}, or a list of `Experiment` for several experiments. sigma is the standard deviation of
        the noise, by default estimated from the residuals.
    loss : "linear", least squares; "soft_l1" or "huber", for data with outliers: near 1.345 sigma, the growth of these losses
        changes from quadratic to linear.
    settings : as for `simulate`, except those that the data and the fit replace: `samples`, `t_start` and `strict`.

    Raises `RunError` E322 for unknown settings; `ModelError` E335 for delays, E693 for FMUs, E321 if `unknown` is not a
    dictionary, E370 for invalid names, E376 for invalid data, E377 for invalid bounds, E378 if the first run fails, E380 for an
    unknown loss.
    """
    compiled = compiled_form(model, "estimate")
    unknown = mapping_of(compiled.model.name, "unknown", unknown, '"spring.stiffness": (10.0, 100.0)')
    if loss not in LOSSES:
        title, why = f"the loss {loss!r} is unknown", f"known losses: {', '.join(LOSSES)}"
        raise refusal("E380", title, 'loss="soft_l1"', about=compiled.model.name, why=why, places=())
    check_names(settings, SETTINGS.keys() - REPLACEMENTS, REPLACEMENTS)
    names = list(unknown)
    varied = free_parameters_of(compiled, names)
    variational = variational_of(compiled, varied)
    trials = trials_of(compiled, data)
    refuse_fixed(compiled, unknown, trials)
    model_values = varied.values(compiled.parameters(), compiled.initial()[0])
    _refuse_arrays(compiled, unknown)
    low, begin, high = _ranges(compiled.model.name, unknown, varied.labels, model_values)
    low = np.where(np.isinf(low) & (begin > 0.0), [_lower_limit(compiled, varied, j) for j in range(len(varied))], low)
    with Progress(f'estimating "{compiled.model.name}"', MAX_RUNS, settings.get("progress", True)) as bar:
        search = _Search(variational, trials, {**settings, "progress": False}, bar, LOSSES[loss])
        search.refuse_start(begin)
        channels = [channel for trial in trials for channel in trial.channels]
        noise = [np.full(c.y.shape, _variation(c.y)) if c.sigma is None else c.sigma for c in channels]
        search.refuse_sizes(begin, noise)
        open_noise = [c.sigma is None for c in channels]
        at, message = begin, ""
        for _ in range(MAX_FITS):
            at, message = search.minimum(at, low, high, noise)
            evaluation, new_noise = search.evaluate(at), []
            parts = np.split(evaluation.residuals, np.cumsum([n.size for n in noise])[:-1])
            share = 1.0 - min(len(varied) / evaluation.residuals.size, 0.9)
            for part, old, channel in zip(parts, noise, channels, strict=True):
                is_open = channel.sigma is None
                new_noise.append(np.full(old.shape, max(LOSSES[loss].scale(part, share), channel.rounding)) if is_open else old)
            changes = [np.max(np.abs(new / old - 1.0)) for new, old in zip(new_noise, noise, strict=True)]
            noise = new_noise
            if max(changes) <= MAX_NOISE_CHANGE or (sum(open_noise) < 2 and not LOSSES[loss].robust):
                break
        best = search.evaluate(at)
    deviations = tuple((rows, is_open) for rows, is_open in zip(noise, open_noise, strict=True))
    derivatives = best.residuals, best.slopes
    return estimate_of(
        Fit(varied, trials, best.runs, at, low, high, *derivatives, deviations, message, search.failed, LOSSES[loss])
    )


@dataclass(frozen=True)
class Evaluation:
    """Residuals (rows,) not divided by the noise, their derivatives (rows, k), and the runs."""

    residuals: np.ndarray
    slopes: np.ndarray
    runs: tuple[RunSensitivities, ...] = ()


@dataclass
class _Search:
    variational: Variational
    trials: tuple[Trial, ...]
    settings: Mapping[str, Any]
    bar: Progress
    loss: Loss
    runs: int = 0
    failed: dict[str, int] = field(default_factory=dict)
    _cached: tuple[bytes, Evaluation] | None = None

    def refuse_start(self, numbers: np.ndarray) -> None:
        try:
            self._run(numbers)
        except ScrewbondError as failure:
            if isinstance(failure, ModelError) and failure.problems[0].code in ("E121", "E122", "E124", "E175", "E321"):
                raise  # the values by name of an experiment, whatever the guess
            title = "the first run of the search fails"
            cures = ("initial guesses for which the model runs: (low, guess, high)",)
            lines = str(failure).splitlines()
            raise refusal("E378", title, *cures, about=self.variational.compiled.model.name, why=lines) from failure

    def refuse_sizes(self, numbers: np.ndarray, noise: Sequence[np.ndarray]) -> None:
        channels = [channel for trial in self.trials for channel in trial.channels]
        parts = np.split(self.evaluate(numbers).residuals, np.cumsum([rows.size for rows in noise])[:-1])
        for channel, rows, part in zip(channels, noise, parts, strict=True):
            largest, least = np.max(np.abs(part)), np.min(rows)
            if not (largest < LARGEST and 1.0 / LARGEST < least < LARGEST and largest / least < LARGEST):
                title = f'the data of "{channel.name}" differ from the first run by {largest:.3g}, but their noise is {least:.3g}'
                why = "the square of their ratio overflows"
                cures = ("a sigma that matches the measurement error", "omit values that are not measurements")
                raise refusal("E376", title, *cures, about=self.variational.compiled.model.name, why=why, places=())

    def minimum(
        self, begin: np.ndarray, low: np.ndarray, high: np.ndarray, noise: Sequence[np.ndarray]
    ) -> tuple[np.ndarray, str]:
        from scipy.optimize import least_squares

        weight = 1.0 / np.concatenate([n.ravel() for n in noise])
        bounded = np.isfinite(low) & np.isfinite(high)
        with np.errstate(invalid="ignore"):
            width = np.where(bounded, high - low, np.where(begin != 0.0, np.abs(begin), 1.0))
        solution = least_squares(
            lambda z: weight * self.evaluate(begin + width * z).residuals,
            np.zeros(len(begin)),
            jac=lambda z: weight[:, None] * self.evaluate(begin + width * z).slopes * width,
            bounds=((low - begin) / width, (high - begin) / width),
            x_scale="jac" if not bounded.all() else 1.0,
            xtol=CONVERGED,
            ftol=CONVERGED,
            gtol=CONVERGED,
            max_nfev=MAX_RUNS,
            loss=self.loss.name,
            f_scale=MARGIN,
        )
        return np.clip(begin + width * solution.x, low, high), str(solution.message)

    def evaluate(self, numbers: np.ndarray) -> Evaluation:
        """Return residuals and derivatives; they are not finite if a run fails, so that the search steps back."""
        key = numbers.tobytes()
        if self._cached is None or self._cached[0] != key:
            try:
                evaluation = self._run(numbers)
            except ScrewbondError as failure:
                problems = failure.problems if isinstance(failure, ModelError) else (getattr(failure, "problem", failure),)
                reason = str(problems[0]).splitlines()[0]
                self.failed[reason] = self.failed.get(reason, 0) + 1
                rows = sum(channel.y.size for trial in self.trials for channel in trial.channels)
                evaluation = Evaluation(np.full(rows, np.inf), np.full((rows, len(numbers)), np.nan))
            self._cached = key, evaluation
        return self._cached[1]

    def _run(self, numbers: np.ndarray) -> Evaluation:
        self.runs += 1
        self.bar.show(self.runs, f"run {self.runs}")
        residuals, slopes, runs = [], [], []
        compiled, varied = self.variational.compiled, self.variational.varied
        for trial in self.trials:
            experiment = trial.experiment
            initial, parameters = changes_by_name(compiled, experiment.initial, experiment.parameters)
            parameters, initial = with_values(compiled, varied, numbers.tolist(), parameters, initial, experiment.t_start)
            settings = {**self.settings, "samples": trial.samples, "t_start": experiment.t_start, "strict": False}
            with warnings.catch_warnings():  # Runs far from the data may warn; the results hold the warnings of the last run.
                warnings.simplefilter("ignore", RunEndedWarning)
                warnings.simplefilter("ignore", UnreliableRunWarning)
                warnings.simplefilter("ignore", RoundingWarning)
                run = sensitivities_along(self.variational, float(trial.samples[-1]), parameters, initial, settings)
            if run.result.failure is not None:
                raise refusal("E378", "a run ends early", about=compiled.model.name, why=str(run.result.failure), places=())
            every = run.of(trial.names)
            column = 0
            for channel in trial.channels:
                size = channel.y.shape[1]
                values = np.asarray(run.result[channel.name]).reshape(len(trial.samples), -1)[channel.at]
                residuals.append((values - channel.y).ravel())
                slopes.append(every[channel.at, column : column + size].reshape(-1, len(varied)))
                column += size
            runs.append(run)
        return Evaluation(np.concatenate(residuals), np.concatenate(slopes), tuple(runs))


def _variation(y: np.ndarray) -> float:
    with np.errstate(over="ignore"):  # `refuse_sizes` refuses overflow
        return float(np.std(y) or np.max(np.abs(y), initial=0.0) or 1.0)


def _refuse_arrays(compiled: Compiled, unknown: Mapping[str, Any]) -> None:
    for name in unknown:
        labels = free_parameters_of(compiled, name).labels
        if len(labels) > 1:
            cure = f'bounds for each of its components: "{labels[0]}"'
            raise refusal("E377", f'"{name}" is an array, which cannot have bounds as a whole', cure, about=compiled.model.name)


def _ranges(
    name: str, unknown: Mapping[str, Any], labels: Sequence[str], model_values: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    ranges = []
    for bounds, label, value in zip(unknown.values(), labels, model_values, strict=True):
        array = real(bounds)
        parts = None if array is None or array.size not in (1, 2, 3) else np.ravel(array).tolist()
        if parts is None:
            title, why = f'"{label}" has neither bounds nor an initial guess', f"given: {bounds!r}"
            raise refusal("E377", title, f'"{label}": (1.0, 10.0)', about=name, why=why)
        low, high = (parts[0], parts[-1]) if len(parts) > 1 else (-np.inf, np.inf)
        inside = low < value < high
        begin = parts[1] if len(parts) == 3 else parts[0] if len(parts) == 1 else value if inside else _between(low, high)
        if not low < high or not low <= begin <= high or not np.isfinite(begin):
            title = f'the bounds of "{label}" are empty or reversed'
            title = f'the initial guess of "{label}" is not finite or is outside the bounds' if low < high else title
            raise refusal("E377", title, f'"{label}": (1.0, 5.0, 10.0)', about=name, why=f"given: {bounds!r}")
        ranges.append((low, begin, high))
    low, begin, high = np.array(ranges, dtype=float).T
    return low, begin, high


def _lower_limit(compiled: Compiled, varied: FreeParameters, j: int) -> float:
    """Return 0 for an estimated number that must not be negative, such as a resistance, else -inf."""
    at = varied.values(compiled.parameters(), compiled.initial()[0])
    try:
        compiled.initial(*reversed(with_values(compiled, varied.alone(j), [-abs(at[j]) or -1.0])))
    except ScrewbondError:
        return 0.0
    return -np.inf


def _between(low: float, high: float) -> float:
    if np.isfinite(low) and np.isfinite(high):
        return float(np.sqrt(low * high)) if low > 0.0 else 0.5 * (low + high)
    return low + 1.0 if np.isfinite(low) else high - 1.0 if np.isfinite(high) else 0.0
