"""Checked settings of a run, from the user's arguments."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph import methods
from bondgraph.errors import Problem, RunError
from bondgraph.methods import MethodEntry
from bondgraph.quantities import has_masked, real
from bondgraph.run.program import Program
from screws.errors import plural
from screws.names import similar_names
from screws.names.renamed import SETTING_VALUES, is_now, renamed_settings
from screws.numeric_arguments import shortened

_REPLACEMENTS = dict.fromkeys(
    methods.REMOVED_SETTINGS, "setting removed: use `method=` alone, or `compiled.ode()` with your own solver"
)

_REPLACEMENTS |= dict.fromkeys(("t_eval", "times", "dt", "step"), "samples=[0.0, 0.5, 1.0], or samples=0.01 for a step in s")
_REPLACEMENTS |= {"tol": "rtol=1e-8", "reltol": "rtol=1e-8", "abstol": "atol=1e-9", "integrator": "method="}
_REPLACEMENTS |= {
    "inputs": "signals.measured(...) or another block, for an input over time",
    "events": "an Automaton in the graph",
    **dict.fromkeys(("params", "args", "p"), "parameters={...}, values by name, where a run starts"),
    **dict.fromkeys(("y0", "x0", "ic"), "initial={...}, values by name, where a run starts"),
}
"""Replacements of settings of earlier versions and of other programs."""
_EXAMPLES = {
    "rtol": "1e-6",
    "atol": "1e-9",
    "max_step": "0.01",
    "t_start": "0.0",
    "max_steps": "10_000_000",
    "max_events": "100_000",
}
_LISTS = {"sample times": _REPLACEMENTS["dt"], "atol": "atol=1e-9, or one number for each state"}
RTOL_RANGE = (1e-13, 1e-1)
DEFAULT_SAMPLES = 1001
_MIN_STEPS = 100
MIN_SPAN = math.sqrt(sys.float_info.min) / sys.float_info.epsilon
MAX_SPAN = 1.0 / MIN_SPAN
"""Shortest and longest duration of a run, s, in which the squares of steps and times neither underflow nor overflow."""
_FLOAT = np.dtype(float)
_MEANINGS = {"x": "start values", "p": "parameters", "m": "modes"}


@dataclass(frozen=True)
class Settings:
    """Checked settings of a run.

    Parameters
    ----------
    span : duration of the run, s; `t_start` and `t_end` are on the user's clock.
    times, dates : sample times (k,), s, since the start, from 0 on, and on the user's clock.
    method : None for "auto".
    """

    x: np.ndarray
    p: np.ndarray
    m: np.ndarray
    t_start: float
    span: float
    t_end: float
    times: np.ndarray
    dates: np.ndarray
    method: MethodEntry | None
    rtol: float
    atol: np.ndarray | None
    max_step: float
    max_events: int
    max_steps: int
    linear: str
    impacts: str
    singular: str

    def of_run(self, **numbers: Any) -> Settings:
        """Return a copy with the values of one run, much faster than `dataclasses.replace`."""
        settings = object.__new__(Settings)
        settings.__dict__.update(self.__dict__, **numbers)
        return settings


def _refuse(code: str, title: str, *details: str, cures: Sequence[str] = ()) -> RunError:
    return RunError(Problem(code, title, tuple(details), cures=tuple(cures)))


def numbers(argument: object, code: str, what: str) -> np.ndarray:
    array = real(argument)
    if array is None:
        raise _refuse(code, f"{what} must be numbers, not {shortened(argument)}", cures=(_LISTS.get(what, "finite numbers"),))
    return np.array(array)


def number(argument: object, code: str, what: str) -> float:
    array = real(argument)
    if array is None or array.shape != ():
        cure = f"{what}={_EXAMPLES.get(what, '1.0')}, for example"
        if array is not None and array.ndim == 1 and array.size and what == "t_end":
            cure = f"t_end={array[-1]:g}; samples= takes times"
        raise _refuse(code, f"{what} must be one number, not {shortened(argument)}", cures=(cure,))
    return float(array)


def check_names(settings: Iterable[str], offered: Iterable[str], instead: Mapping[str, str] = {}) -> None:
    names, instead = sorted(offered), {**_REPLACEMENTS, **instead}
    for name in settings:
        if name not in names:
            near = similar_names(name, names, most=1)
            new = {**renamed_settings([name]), **instead}
            cures = (new[name],) if name in new else (f"{near[0]}=...",) if near else (f"leave out {name}=",)
            raise _refuse("E322", f'a run has no setting "{name}"', f"available: {', '.join(names)}", cures=cures)


def block(program: Program, name: str, argument: object, length: int, code: str) -> np.ndarray:
    meaning = _MEANINGS[name]
    if type(argument) is np.ndarray and argument.dtype is _FLOAT:
        values = argument.flatten()
    else:
        values = numbers(argument, code, meaning).ravel()
    if values.size != length:
        cures = (f"{length} {meaning}, in the order of `prepared.start_values()`",)
        raise _refuse("E305", f"the number of {meaning} must be {length}, not {values.size}", cures=cures)
    finite = np.isfinite(values)
    if 0 in finite.tobytes():  # five times as fast as `all` for a few numbers
        values_text = [f"{program.layout.label(name, int(i))} = {values[i]}" for i in np.flatnonzero(~finite)[:5]]
        raise _refuse(code, f"{meaning} must be finite numbers", *values_text, cures=("a finite number for each",))
    return values


def run_interval(t_start: float, t_end: float) -> tuple[float, float]:
    start, end = number(t_start, "E301", "t_start"), number(t_end, "E301", "t_end")
    if not (math.isfinite(start) and math.isfinite(end)):
        cure = "a finite t_end" if math.isfinite(start) else "a finite t_start"
        raise _refuse("E301", f"times must be finite; the run goes from {start} to {end} s", cures=(cure,))
    if end <= start:
        raise _refuse("E301", f"t_end = {end:g} s is not after the start at {start:g} s", cures=("increase t_end",))
    if end - start < MIN_SPAN:
        title = f"a run of {end - start:.3g} s is too short: the squares of its steps underflow to zero"
        raise _refuse("E301", title, cures=(f"a t_end at least {MIN_SPAN:.0e} s after the start",))
    if end - start > MAX_SPAN:
        title = f"a run of {end - start:.3g} s is too long: the squares of its times overflow"
        raise _refuse("E301", title, cures=(f"a t_end at most {MAX_SPAN:.0e} s after the start",))
    return start, end


def longest_step(argument: object, span: float, max_steps: int) -> float:
    if argument is None:
        return span / _MIN_STEPS
    step = positive("max_step", argument)
    if span + step == span:
        title = f"max_step = {step:g} s is lost to rounding in a run of {span:g} s: their sum is {span:g} s in floating point"
        raise _refuse("E306", title, cures=("max_step=None, which leaves the step size to the run",))
    if span / step > max_steps:
        title = f"max_step = {step:g} s makes {span / step:.3g} steps in a run of {span:g} s, more than max_steps = {max_steps:g}"
        raise _refuse("E306", title, cures=(f"a max_step of {_rounded_up(span / max_steps)} s or more", "a larger max_steps"))
    return step


def _rounded_up(value: float) -> str:
    near = f"{value:.3g}"
    return near if float(near) >= value else f"{1.006 * value:.3g}"


def tolerances(program: Program, rtol: float, atol: object) -> tuple[float, np.ndarray | None]:
    low, high = RTOL_RANGE
    relative = number(rtol, "E302", "rtol")
    if not low <= relative <= high:
        raise _refuse("E302", f"rtol = {relative:g} is out of range", f"allowed: {low:g} to {high:g}", cures=("rtol=1e-6",))
    if atol is None:
        return relative, None
    values = numbers(atol, "E302", "atol")
    if values.shape not in ((), (1,), (program.states,)):
        raise _refuse("E302", f"atol has shape {values.shape}", cures=(f"one number, or an array of shape ({program.states},)",))
    absolute = np.array(np.broadcast_to(values, (program.states,)))
    bad = np.flatnonzero(~(np.isfinite(absolute) & (absolute > 0.0)))
    if bad.size:
        name = program.layout.label("x", int(bad[0]))
        cures = ("a positive, finite number, in the state's unit",)
        raise _refuse("E302", f"atol of {name} is {absolute[bad[0]]:g}", cures=cures)
    return relative, absolute


_MAX_SAMPLES = 1e8


def _checked_count(samples: Any, end: float) -> int:
    count = int(samples)
    if not 2 <= count <= _MAX_SAMPLES:
        step = [f"samples={float(count)!r} for a step in s"] if count == 1 else []
        cures = (*step, f"[{end!r}] for the end only")
        raise _refuse("E303", f"{plural(count, 'sample')}: a whole number is a count, from 2 to {_MAX_SAMPLES:g}", cures=cures)
    return count


def sample_times(samples: Any, start: float, end: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the sample times since the start of the run, and the same times on the user's clock, for a number of samples, a
    step (s) or a list of times. The start is always included. Raise E303 for invalid samples."""
    span = end - start
    if samples is None or (np.ndim(samples) == 0 and np.asarray(samples).dtype.kind in "iu"):
        since = np.linspace(0.0, span, DEFAULT_SAMPLES if samples is None else _checked_count(samples, end))
        return since, _dates(since, start, end)
    if has_masked(samples):
        raise _refuse("E303", "some of the sample times are masked", cures=("samples.compressed(), which leaves them out",))
    ascending = numbers(samples, "E303", "sample times")
    if ascending.ndim == 0:
        step = float(ascending)
        if not (math.isfinite(step) and step > 0.0):
            raise _refuse("E303", f"a sample step of {step} s is not positive and finite", cures=("samples=0.01, for example",))
        if step - span > 1e-9 * step + 2.0 * math.ulp(max(abs(start), abs(end))):
            title = f"a sample step of {step:g} s is longer than the run, {span:g} s"
            count = max(2, round(step)) if step < 1e7 else DEFAULT_SAMPLES
            cures = (f"samples={count}, a whole number, for {count} samples", f"[{end!r}] for the end only")
            raise _refuse("E303", title, cures=cures)
        if span / step > _MAX_SAMPLES:
            many = f"{span / step:.3g}"
            raise _refuse("E303", f"a sample step of {step:g} s makes {many} samples", cures=("a longer step",))
        steps = math.floor(span / step * (1.0 + 1e-12))
        times = step * np.arange(steps + 1)
        if span - times[-1] < 1e-9 * step:  # add the end, unless it is there within rounding error
            times[-1] = span
        else:
            times = np.append(times, span)
        return times, _dates(times, start, end)
    if ascending.ndim != 1 or ascending.size == 0 or not np.all(np.isfinite(ascending)):
        raise _refuse(
            "E303", "sample times must be a nonempty list of finite numbers", cures=("np.linspace(t_start, t_end, 101)",)
        )
    if np.any(np.diff(ascending) <= 0.0):
        where = int(np.argmax(np.diff(ascending) <= 0.0))
        title = f"sample times do not ascend: {ascending[where]:g} s is followed by {ascending[where + 1]:g} s"
        raise _refuse("E303", title, cures=("np.unique(samples), which sorts them",))
    slack = 1e-12 * span
    if ascending[0] < start - slack or ascending[-1] > end + slack:
        reach = f"samples from {ascending[0]:g} to {ascending[-1]:g} s"
        title = f"{reach} do not all lie in the run, which goes from {start:g} to {end:g} s"
        raise _refuse("E303", title, cures=("a t_start and a t_end that include them",))
    ascending = np.clip(ascending, start, end)
    ascending = ascending if ascending[0] == start else np.concatenate([[start], ascending])
    return ascending - start, ascending


def _dates(since: np.ndarray, start: float, end: float) -> np.ndarray:
    dates = start + since
    return np.where(since == end - start, end, dates)


def method_of(argument: object) -> MethodEntry | None:
    if isinstance(argument, MethodEntry):
        return argument
    name = str(argument).lower().strip()
    if name == methods.AUTO:
        return None
    if name in methods.METHODS:
        return methods.METHODS[name]
    cures = (f'method="{methods.nearest(name)}"', "`compiled.ode()`, which gives the model to your own solver")
    raise _refuse("E304", f"unknown method {argument!r}", f"available: {', '.join(methods.names())}", cures=cures)


def one_of(what: str, argument: str, allowed: Sequence[str]) -> str:
    if argument not in allowed:
        new = SETTING_VALUES.get(what, {}).get(str(argument))
        cures = () if new is None else (is_now(argument, new),)
        cures = cures or (f'{what}="{(similar_names(argument, allowed, most=1) or allowed)[0]}"',)
        raise _refuse("E304", f"{what}={argument!r} is unknown", f"available: {', '.join(allowed)}", cures=cures)
    return argument


def positive(what: str, argument: object) -> float:
    value = number(argument, "E306", what)
    if not value > 0.0:
        raise _refuse("E306", f"{what} = {argument} is not positive", cures=(f"a positive {what}",))
    return value


def flag(what: str, argument: object) -> bool:
    if not isinstance(argument, (bool, int, np.bool_)) or argument not in (True, False):
        raise _refuse("E306", f"{what} = {shortened(argument)} is neither True nor False", cures=(f"{what}=True",))
    return bool(argument)


def count(what: str, argument: object) -> int:
    value = positive(what, argument)
    if value < 1.0 or not (value.is_integer() or math.isinf(value)):
        raise _refuse("E306", f"{what} = {argument} is not a whole number from 1", cures=(f"{what}={max(1, round(value))}",))
    return int(min(value, 2.0**53))
