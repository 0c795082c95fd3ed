"""Points of a sweep: a grid, a list or random draws from distributions; the values of every run, and their axes.

Distributions are sampled by run: a value depends only on seed, name and run. Any object with a method `rvs(random_state=)` is a
distribution, such as a frozen distribution of `scipy.stats`.

>>> stiffness = normal(50.0, 2.0)
>>> one, again = (float(stiffness.rvs(random_state=random)) for random in random_streams(1, "spring.stiffness", np.array([7, 7])))
>>> one == again
True
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from bondgraph.compile.compiled import Compiled
from bondgraph.errors import Problem, raise_if_any, refusal, unknown_name
from bondgraph.model.arguments import in_unit
from bondgraph.model.laws import Storing
from bondgraph.quantities import real
from bondgraph.sweeps.random_streams import random_streams
from screws.numeric_arguments import shortened


@runtime_checkable
class Distribution(Protocol):
    """Object from which random numbers are drawn."""

    def rvs(self, *, random_state: np.random.Generator) -> Any:
        """Draw a value."""


@dataclass(frozen=True, repr=False)
class Drawn:
    kind: str
    numbers: tuple[Any, Any]

    def __repr__(self) -> str:
        return f"{self.kind}({self.numbers[0]!r}, {self.numbers[1]!r})"

    def rvs(self, *, random_state: np.random.Generator) -> Any:
        return DISTRIBUTIONS[self.kind].draw(random_state, *map(np.asarray, self.numbers))


@dataclass(frozen=True)
class Family:
    draw: Callable[[np.random.Generator, Any, Any], Any]
    fits: Callable[[np.ndarray, np.ndarray], bool]
    condition: str
    parameters: tuple[str, str]


DISTRIBUTIONS: Mapping[str, Family] = {
    "uniform": Family(
        lambda random, low, high: random.uniform(low, high),
        lambda low, high: bool(np.all(low <= high) and np.all(np.isfinite(high - low))),
        "low <= high, and a finite distance between them",
        ("low", "high"),
    ),
    "loguniform": Family(
        lambda random, low, high: np.exp(random.uniform(np.log(low), np.log(high))),
        lambda low, high: bool(np.all(low > 0.0) and np.all(low <= high)),
        "0 < low <= high",
        ("low", "high"),
    ),
    "normal": Family(
        lambda random, mean, deviation: random.normal(mean, deviation),
        lambda mean, deviation: bool(np.all(deviation >= 0.0)),
        "deviation >= 0",
        ("mean", "deviation"),
    ),
}


def uniform(low: Any, high: Any) -> Drawn:
    """Return the uniform distribution from `low` to `high`; both are numbers, or arrays for independent components. Raises E368
    unless low, high and high - low are finite and low <= high."""
    return _checked("uniform", low, high)


def loguniform(low: Any, high: Any) -> Drawn:
    """Return the log-uniform distribution, for numbers of unknown order of magnitude. Raises E368 unless 0 < low <= high, both
    finite."""
    return _checked("loguniform", low, high)


def normal(mean: Any, deviation: Any) -> Drawn:
    """Return the Gaussian distribution with this mean and standard deviation. Raises E368 unless both are finite and the
    deviation is not negative."""
    return _checked("normal", mean, deviation)


def _checked(kind: str, *numbers: Any) -> Drawn:
    family, (a, b) = DISTRIBUTIONS[kind], [real(each) for each in numbers]
    if a is None or b is None or not _fit(family, a, b):
        shown = ", ".join(map(repr, numbers))
        why = f"it needs finite {' and '.join(family.parameters)} with {family.condition}"
        raise refusal("E368", f"{kind}({shown}) is not a distribution", f"{kind}(1.0, 2.0), for example", about=kind, why=why)
    return Drawn(kind, (_plain(a), _plain(b)))


def _fit(family: Family, a: np.ndarray, b: np.ndarray) -> bool:
    try:
        np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        return False
    with np.errstate(over="ignore"):
        return bool(np.isfinite(a).all() and np.isfinite(b).all()) and family.fits(a, b)


def _plain(array: np.ndarray) -> Any:
    return array.tolist() if array.ndim else float(array)


@dataclass(frozen=True)
class Role:
    """Number, or state of an automaton, that can be set for a run.

    Parameters
    ----------
    name : name under which the value is computed, after resolving aliases.
    part : "parameter", or "start value".
    shape, unit : shape and unit of the number.
    states : names of the states of an automaton.
    """

    name: str
    part: str
    shape: tuple[int, ...] = ()
    unit: str = ""
    states: tuple[str, ...] = ()

    @property
    def argument(self) -> str:
        return ARGUMENTS[self.part]


ARGUMENTS = {"parameter": "parameters", "start value": "initial"}


def roles(compiled: Compiled) -> Mapping[str, Role]:
    """Return every parameter, state and automaton by name, including the states of dependent storages."""
    system = compiled.system
    by_name = {
        name: Role(name, "parameter", np.shape(value), system.values[name].unit) for name, value in system.parameters.items()
    }
    for state in system.states:
        if state.name not in system.guesses:
            by_name[state.name] = Role(state.name, "start value", np.shape(state.initial), system.values[state.name].unit)
    for path in compiled.causality.derivative:
        state_name = system.resolve(f"{path}.{compiled.model.elements[path].law_as(Storing).follows[0]}")
        value = system.values[state_name]
        by_name.setdefault(state_name, Role(state_name, "start value", value.shape or (), value.unit))
    for mode in system.modes.values():
        by_name.setdefault(mode.automaton, Role(mode.automaton, "start value", states=mode.states))
    return by_name


RUN = "run"
"""Axis of values that are not crossed: random draws, or the entries of a list of runs."""
FAILURE = "failure"
_DIGEST_DRAWS = 16


@dataclass(frozen=True)
class Axis:
    name: str
    count: int


@dataclass(frozen=True)
class Varied:
    """Varied name with its values: along an axis, the same for all runs (axis None), or random draws."""

    name: str
    role: Role
    values: np.ndarray | Distribution
    axis: int | None = None


@dataclass(frozen=True)
class Points:
    """Values of every run; run k has flat index k in the axes, the last of which varies fastest."""

    axes: tuple[Axis, ...]
    varied: tuple[Varied, ...]
    seed: int

    def __len__(self) -> int:
        return math.prod(axis.count for axis in self.axes)

    def at(self, runs: np.ndarray) -> dict[str, np.ndarray]:
        """Return the values for runs (k,) by name: floats (k, *shape), or names of states (k,)."""
        indices = np.unravel_index(runs, [axis.count for axis in self.axes])
        return {each.name: self._values(each, runs, indices) for each in self.varied}

    def first(self, count: int) -> Points:
        axes = (replace(self.axes[0], count=count), *self.axes[1:])
        varied = tuple(
            replace(each, values=each.values[:count]) if each.axis == 0 and isinstance(each.values, np.ndarray) else each
            for each in self.varied
        )
        return replace(self, axes=axes, varied=varied)

    def _values(self, varied: Varied, runs: np.ndarray, indices: Sequence[np.ndarray]) -> np.ndarray:
        if isinstance(varied.values, np.ndarray):
            return varied.values[indices[varied.axis] if varied.axis is not None else np.zeros(len(runs), dtype=int)]
        return np.array(list(self._draws(varied, runs, varied.values))).reshape(len(runs), *varied.role.shape)

    def _draws(self, varied: Varied, runs: np.ndarray, distribution: Distribution) -> Iterator[Any]:
        """Yield the value of a name for each of the runs; each name and run has its own stream, so no value depends on the
        others."""
        shape = varied.role.shape
        for run, random in zip(runs.tolist(), random_streams(self.seed, varied.name, runs), strict=True):
            try:
                drawn = distribution.rvs(random_state=random)
                value = drawn if isinstance(drawn, float) else real(drawn)
            except Exception as error:  # errors of a user's distribution
                why = f"the draw for run {run} raises {type(error).__name__}: {error}"
            else:
                if isinstance(value, float) and not shape and math.isfinite(value):
                    yield value
                    continue
                value = np.array(math.nan if value is None else value)
                if value.shape == shape and np.isfinite(value).all():
                    yield value
                    continue
                why = f"the value drawn for run {run} is {value.tolist()}, but the model needs finite numbers of shape {shape}"
            raise refusal("E361", f'"{varied.name}" cannot be drawn from {distribution!r}', about=varied.name, why=why)

    def digest(self) -> dict[str, str]:
        """Return a digest of the values of each name, or of the first draws and the last draw of a distribution."""
        some = np.unique([*range(min(_DIGEST_DRAWS, len(self))), len(self) - 1])
        drawn = self.at(some)
        digests = {}
        for each in self.varied:
            values = each.values if isinstance(each.values, np.ndarray) else drawn[each.name]
            text = "\0".join(values.tolist()).encode() if values.dtype.kind == "U" else values.astype("<f8").tobytes()
            digests[each.name] = hashlib.sha256(repr((each.axis, values.shape)).encode() + text).hexdigest()
        return digests


def points_of(points: Any, compiled: Compiled, runs: int | None, seed: int) -> Points:
    """Return the points of a sweep.

    Parameters
    ----------
    points : {name: values}: values of one name are crossed with the values of all other names, a single value applies to all
        runs, and distributions are sampled; a list of {name: value}, one per run; or a table with a column per name and a row per
        run.
    runs : number of draws from distributions, for each combination of the other values.

    Raises `ModelError` E360 for invalid `points`, `runs` or `seed`, E361 with all names and values that do not match the model.
    """
    about, reader = compiled.model.name, _PointReader(compiled, roles(compiled))
    if isinstance(points, Mapping):
        varied, counts = reader.crossed(points)
    elif hasattr(points, "columns") and hasattr(points, "to_dict"):
        varied, counts = reader.listed(_columns_of_table(points, about), len(points))
    elif isinstance(points, Sequence) and not isinstance(points, str) and all(isinstance(row, Mapping) for row in points):
        varied, counts = reader.listed(_columns(points, about), len(points))
    else:
        cures = ('{"spring.stiffness": [20.0, 50.0]}', 'a list of {"spring.stiffness": 20.0}', "a pandas DataFrame")
        raise refusal("E360", f"the points of a sweep must be values by name, not {type(points).__name__}", *cures, about=about)
    raise_if_any(about, reader.problems)
    drawn = any(not isinstance(each.values, np.ndarray) for each in varied)
    if drawn != (runs is not None):
        title = "runs= counts draws, but there is no distribution" if runs is not None else "the number of draws is missing"
        why = () if runs is not None else "runs= sets this number for the distributions"
        raise refusal("E360", title, "without runs=" if runs is not None else "runs=1000", about=about, why=why)
    axes = [*counts, *([Axis(RUN, _integer("runs", runs, 1, about))] if runs is not None else [])] or [Axis(RUN, 1)]
    if not varied or not all(axis.count for axis in axes):
        raise refusal("E360", "there is nothing to vary", 'at least one value: {"spring.stiffness": [20.0]}', about=about)
    return Points(tuple(axes), tuple(varied), _integer("seed", seed, 0, about))


def _integer(name: str, value: object, least: int, about: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise refusal("E360", f"{name} cannot be {value!r}", f"a whole number from {least}", about=about)
    return int(value)


def _columns(rows: Sequence[Mapping[str, Any]], about: str) -> dict[str, list[Any]]:
    for number, row in enumerate(rows):
        if other := row.keys() ^ rows[0].keys():
            title = f"run {number} and run 0 vary different names: {', '.join(sorted(map(str, other)))}"
            raise refusal("E360", title, "the same names in each run, with the model's own value where it stays", about=about)
    return {name: [row[name] for row in rows] for name in (rows[0] if rows else {})}


def _columns_of_table(table: Any, about: str) -> dict[str, list[Any]]:
    names = [str(name) for name in table.columns]
    if twice := [name for name in names if names.count(name) > 1]:
        raise refusal("E360", f'two columns are called "{twice[0]}"', "one column for each name", about=about)
    return {str(name): list(table[name]) for name in table.columns}


class _PointReader:
    def __init__(self, compiled: Compiled, roles: Mapping[str, Role]):
        self.compiled, self.roles = compiled, roles
        self.names: dict[str, str] = {}  # user's name by the computed name of the number
        self.problems: list[Problem] = []

    def crossed(self, points: Mapping[str, Any]) -> tuple[list[Varied], list[Axis]]:
        varied, axes = list[Varied](), list[Axis]()
        for name, values in points.items():
            role = self.role(name)
            if role is None:
                continue
            if hasattr(values, "freeze") and hasattr(values, "rvs"):  # of SciPy
                cure = f"scipy.stats.{getattr(values, 'name', 'norm')}(50.0, 2.0), with its numbers"
                self._report(f'"{name}" cannot be a family of distributions', cure)
                continue
            if isinstance(values, Distribution) and not role.states:
                varied.append(Varied(name, role, values))
                continue
            array = self.array(name, role, values)
            if array is None:
                continue
            if array.shape == role.shape:
                varied.append(Varied(name, role, array[None]))
            else:
                varied.append(Varied(name, role, array, len(axes)))
                axes.append(Axis(name, len(array)))
        return varied, axes

    def listed(self, columns: Mapping[str, list[Any]], count: int) -> tuple[list[Varied], list[Axis]]:
        varied = []
        for name, values in columns.items():
            role = self.role(name)
            array = None if role is None else self.array(name, role, values, (count, *role.shape))
            if role is not None and array is not None:
                varied.append(Varied(name, role, array, 0))
        return varied, [Axis(RUN, count)]

    def role(self, name: str) -> Role | None:
        role = self.roles.get(self.compiled.system.resolve(name), self.roles.get(name))
        other = self.names.setdefault(role.name, name) if role else name
        if other != name:
            self._report(f'"{other}" and "{name}" are two names for the same number', "one of them")
        elif name in (RUN, FAILURE):
            cures = ("another name for the automaton", "only the columns of varied values, from a table of runs")
            self._report(f'"{name}" cannot be varied: a column of runs has this name', *cures)
        elif role is None:
            self._report(unknown_name("parameter, state or automaton", name, self.roles).args[0])
        else:
            return role
        return None

    def array(self, name: str, role: Role, values: Any, shape: tuple[int, ...] | None = None) -> np.ndarray | None:
        if role.states:
            plain = values.tolist() if isinstance(values, np.ndarray) else values
            words = list(plain) if isinstance(plain, Iterable) and not isinstance(plain, str) else [plain]
            if wrong := [word for word in words if not (isinstance(word, str) and word in role.states)]:
                self._report(f'"{name}" has no state {shortened(wrong[0])}', " or ".join(role.states))
                return None
            return np.array(plain if isinstance(plain, str) else words, dtype=str)
        values = in_unit("sweep", name, values, role.unit)
        try:
            array = real(values if isinstance(values, np.ndarray) else list(values) if np.ndim(values) else values)
        except (TypeError, ValueError):
            array = None
        fits = array is not None and (array.shape == shape if shape else array.ndim in (len(role.shape), len(role.shape) + 1))
        shapes = f"one {_number(role)}" + (" in each run" if shape else ", or a list of them")
        if array is None:
            self._report(f'"{name}" cannot be {_described(values)}', shapes)
        elif not fits or array.shape[array.ndim - len(role.shape) :] != role.shape:
            actual = array.shape[1:] if shape else array.shape
            self._report(f'"{name}" cannot be of shape {actual}', shapes)
        elif not np.isfinite(array).all():
            where = np.argwhere(~np.isfinite(array))[0]
            title = f'"{name}" must be finite; value {int(where[0]) if len(where) else 0} is {array[tuple(where)]}'
            self._report(title, "only finite numbers")
        else:
            return array
        return None

    def _report(self, title: str, *cures: str) -> None:
        self.problems.append(Problem("E361", title, (), (), cures))


def _number(role: Role) -> str:
    unit = f" in {role.unit}" if role.unit else ""
    return f"number{unit}" if not role.shape else f"array of shape {role.shape}{unit}"


def _described(values: Any) -> str:
    if isinstance(values, list | tuple) or (hasattr(values, "shape") and values.shape):
        for index, value in enumerate(values):
            if real(value) is None:
                return f"{shortened(value)} (value {index})"
    return shortened(values)
