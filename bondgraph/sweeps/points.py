"""Points: what a user varies in; the numbers of every run by name, and how runs lie on axes, out."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bondgraph.compile.compiled import Compiled
from bondgraph.errors import Problem, raise_if_any, refusal
from bondgraph.output.tables import unknown_name
from bondgraph.quantities import real
from bondgraph.sweeps.distributions import Distribution, Draws
from bondgraph.sweeps.roles import Role, role_of, roles

RUN = "run"
"""The axis of what is not crossed with anything: draws, and runs of a list."""
FAILURE = "failure"
"""The column that says why a run failed."""
_TRIED = 16
"""Draws that tell one distribution from another."""


@dataclass(frozen=True)
class Axis:
    """A direction in which runs differ: its name, and how many values there are along it."""

    name: str
    count: int


@dataclass(frozen=True)
class Varied:
    """A name with its values: along an axis, the same for all runs (axis None), or drawn."""

    name: str
    role: Role
    values: np.ndarray | Distribution
    axis: int | None = None


@dataclass(frozen=True)
class Points:
    """The numbers of every run; run `k` is the place k in the axes, the last of which goes fastest."""

    axes: tuple[Axis, ...]
    varied: tuple[Varied, ...]
    draws: Draws

    def __len__(self) -> int:
        return math.prod(axis.count for axis in self.axes)

    def at(self, runs: np.ndarray) -> dict[str, np.ndarray]:
        """By name the values of some runs (k,): floats (k, *shape), or names of states (k,)."""
        places = np.unravel_index(runs, [axis.count for axis in self.axes])
        return {one.name: self._values(one, runs, places) for one in self.varied}

    def first(self, count: int) -> Points:
        """Those with the first so many values along the first axis: runs that have the same numbers here."""
        axes = (replace(self.axes[0], count=count), *self.axes[1:])
        varied = tuple(
            replace(one, values=one.values[:count]) if one.axis == 0 and isinstance(one.values, np.ndarray) else one
            for one in self.varied
        )
        return replace(self, axes=axes, varied=varied)

    def _values(self, one: Varied, runs: np.ndarray, places: Sequence[np.ndarray]) -> np.ndarray:
        if isinstance(one.values, np.ndarray):
            return one.values[places[one.axis] if one.axis is not None else np.zeros(len(runs), dtype=int)]
        return np.array([self._drawn(one, int(run), one.values) for run in runs]).reshape(len(runs), *one.role.shape)

    def _drawn(self, one: Varied, run: int, distribution: Distribution) -> np.ndarray:
        try:
            value = self.draws(one.name, run, distribution)
        except Exception as error:  # of a distribution of the user's
            why = f"for run {run} it raises {type(error).__name__}: {error}"
        else:
            if value.shape == one.role.shape and np.isfinite(value).all():
                return value
            why = f"drawn for run {run}: {value.tolist()}; it needs finite numbers of shape {one.role.shape}"
        raise refusal("E361", f'"{one.name}" cannot be drawn from {distribution!r}', about=one.name, why=why)

    def digest(self) -> dict[str, str]:
        """For each name a digest of its values; of a distribution, of its first draws and its last."""
        some = np.unique([*range(min(_TRIED, len(self))), len(self) - 1])
        drawn = self.at(some)
        found = {}
        for one in self.varied:
            values = one.values if isinstance(one.values, np.ndarray) else drawn[one.name]
            text = "\0".join(values.tolist()).encode() if values.dtype.kind == "U" else values.astype("<f8").tobytes()
            found[one.name] = hashlib.sha256(repr((one.axis, values.shape)).encode() + text).hexdigest()
        return found


def points_of(given: Any, compiled: Compiled, runs: int | None, seed: int) -> Points:
    """The points of a sweep.

    Parameters
    ----------
    given : {name: values}, all values with all others, where one value alone is the same for all runs, and distributions are
        drawn from; a list of {name: value}, one for each run; or a table with a column for each name, a row for each run.
    runs : how often is drawn from distributions, for each combination of the other values.

    Raises `ModelError` E360 for what is none of these, E361 for names and values that do not fit the model, all at once.
    """
    about, reader = compiled.model.name, _PointReader(compiled, roles(compiled))
    if isinstance(given, Mapping):
        varied, counts = reader.crossed(given)
    elif hasattr(given, "columns") and hasattr(given, "to_dict"):
        varied, counts = reader.listed(_columns_of_table(given, about), len(given))
    elif isinstance(given, Sequence) and not isinstance(given, str) and all(isinstance(row, Mapping) for row in given):
        varied, counts = reader.listed(_columns(given, about), len(given))
    else:
        cures = ('{"spring.stiffness": [20.0, 50.0]}', 'a list of {"spring.stiffness": 20.0}', "a DataFrame of pandas")
        raise refusal("E360", f"what is varied must be values by name, not {type(given).__name__}", *cures, about=about)
    raise_if_any(about, reader.problems)
    drawn = any(not isinstance(one.values, np.ndarray) for one in varied)
    if drawn != (runs is not None):
        title = "runs= says how often is drawn, and there is no distribution" if runs is not None else "how many runs?"
        why = "nothing would be drawn" if runs is not None else "a distribution is drawn from as often as runs= says"
        raise refusal("E360", title, "without runs=" if runs is not None else "runs=1000", about=about, why=why)
    axes = [*counts, *([Axis(RUN, _whole("runs", runs, 1, about))] if runs is not None else [])] or [Axis(RUN, 1)]
    if not varied or not all(axis.count for axis in axes):
        raise refusal("E360", "there is nothing to be varied", 'at least one value: {"spring.stiffness": [20.0]}', about=about)
    return Points(tuple(axes), tuple(varied), Draws(_whole("seed", seed, 0, about)))


def _whole(name: str, given: object, least: int, about: str) -> int:
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < least:
        raise refusal("E360", f"{name}={given!r} cannot be", f"a whole number from {least}", about=about)
    return int(given)


def _columns(rows: Sequence[Mapping[str, Any]], about: str) -> dict[str, list[Any]]:
    """The same by name; E360 where a row has other names than the first."""
    for number, row in enumerate(rows):
        if other := row.keys() ^ rows[0].keys():
            title = f"run {number} and run 0 do not vary the same: {', '.join(sorted(map(str, other)))}"
            raise refusal("E360", title, "the model's own value where nothing is to change", about=about)
    return {name: [row[name] for row in rows] for name in (rows[0] if rows else {})}


def _columns_of_table(given: Any, about: str) -> dict[str, list[Any]]:
    """A table's columns by name; E360 where two have one name."""
    names = [str(name) for name in given.columns]
    if twice := [name for name in names if names.count(name) > 1]:
        raise refusal("E360", f'two columns are called "{twice[0]}"', "one column for each name", about=about)
    return {str(name): list(given[name]) for name in given.columns}


class _PointReader:
    """Values of a user's, checked against a model; what is wrong is collected."""

    def __init__(self, compiled: Compiled, known: Mapping[str, Role]):
        self.compiled, self.known = compiled, known
        self.names: dict[str, str] = {}  # by what they mean
        self.problems: list[Problem] = []

    def crossed(self, given: Mapping[str, Any]) -> tuple[list[Varied], list[Axis]]:
        """Values by name, each with an axis of its own."""
        varied, axes = list[Varied](), list[Axis]()
        for name, values in given.items():
            role = self.role(name)
            if role is None:
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
        """A value of each name for each run."""
        found = []
        for name, values in columns.items():
            role = self.role(name)
            array = None if role is None else self.array(name, role, values, (count, *role.shape))
            if role is not None and array is not None:
                found.append(Varied(name, role, array, 0))
        return found, [Axis(RUN, count)]

    def role(self, name: str) -> Role | None:
        role = role_of(name, self.compiled, self.known)
        other = self.names.setdefault(role.name, name) if role else name
        if other != name:
            self._report(f'"{other}" and "{name}" are two names of one number', "one of them")
        elif name in (RUN, FAILURE):
            cures = ("another name for the automaton", "of a table of runs, the columns of what was varied")
            self._report(f'"{name}" cannot be varied: a column of runs is called so', *cures)
        elif role is None:
            self._report(str(unknown_name("parameter, state or automaton", name, self.known)))
        else:
            return role
        return None

    def array(self, name: str, role: Role, values: Any, shape: tuple[int, ...] | None = None) -> np.ndarray | None:
        """One value, or several along a first axis; of this `shape`, where the count is known."""
        if role.states:
            given = values.tolist() if isinstance(values, np.ndarray) else values
            words = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
            if wrong := [word for word in words if not (isinstance(word, str) and word in role.states)]:
                self._report(f'"{name}" has no state {_shown(wrong[0])}', " or ".join(role.states))
                return None
            return np.array(given if isinstance(given, str) else words, dtype=str)
        try:
            array = real(values if isinstance(values, np.ndarray) else list(values) if np.ndim(values) else values)
        except (TypeError, ValueError):
            array = None
        fits = array is not None and (array.shape == shape if shape else array.ndim in (len(role.shape), len(role.shape) + 1))
        shapes = f"one {_number(role)}" + (" in each run" if shape else ", or a list of them")
        if array is None:
            self._report(f'"{name}" cannot be {_wrong(values)}: it needs {shapes}')
        elif not fits or array.shape[array.ndim - len(role.shape) :] != role.shape:
            told = array.shape[1:] if shape else array.shape
            self._report(f'"{name}" cannot be of shape {told}: it needs {shapes}')
        elif not np.isfinite(array).all():
            where = np.argwhere(~np.isfinite(array))[0]
            self._report(f'"{name}" must be finite; value {int(where[0]) if len(where) else 0} is {array[tuple(where)]}')
        else:
            return array
        return None

    def _report(self, title: str, *cures: str) -> None:
        self.problems.append(Problem("E361", title, (), (), cures))


def _number(role: Role) -> str:
    unit = f" in {role.unit}" if role.unit else ""
    return f"number{unit}" if not role.shape else f"array of shape {role.shape}{unit}"


def _wrong(values: Any) -> str:
    """What is given; of a list, the first entry that is no number."""
    if isinstance(values, list | tuple) or (hasattr(values, "shape") and values.shape):
        for place, value in enumerate(values):
            if real(value) is None:
                return f"{_shown(value)}, its value {place}"
    return _shown(values)


def _shown(values: Any) -> str:
    text = repr(values)
    return text if len(text) < 60 else text[:57] + "..."
