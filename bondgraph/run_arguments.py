"""Arguments of a run: start values by name, settings, and sinks, with signatures and docstrings that list the settings."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Protocol, TypedDict, TypeVar, get_args, get_type_hints, runtime_checkable

import numpy as np

from bondgraph.errors import unknown_name
from bondgraph.methods import MethodEntry, help_text
from screws.names import explain_access

F = TypeVar("F", bound=Callable[..., Any])


@explain_access
@dataclass(frozen=True, repr=False)
class StartValues(Mapping[str, Any]):
    """Start values by name, for `simulate(initial=...)`: states as numbers, automata by the name of a state.

    >>> StartValues({"spring.q": 0.1, "contact": "on"})
    StartValues(spring.q=0.1, contact='on')
    """

    values_by_name: Mapping[str, Any]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Parameters by name that were solved for together with the start values, for example in an operating point."""

    def _cure_of_assignment(self, name: str) -> str:
        return f'simulate(..., initial={{**start_values, "{name}": value}})'

    def __getitem__(self, name: str) -> Any:
        try:
            return self.values_by_name[name]
        except KeyError:
            raise unknown_name("start value", name, self.values_by_name) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_by_name)

    def __len__(self) -> int:
        return len(self.values_by_name)

    def __repr__(self) -> str:
        items = [f"{name}={_short(value)}" for name, value in self.items()]
        return f"StartValues({', '.join(items[:8])}{', ...' if len(items) > 8 else ''})"


@runtime_checkable
class Startable(Protocol):
    """Object that a run can start from, such as an operating point."""

    @property
    def start(self) -> StartValues:
        """States, modes and parameters by name."""


def start_values_of(initial: Any) -> Any:
    if initial is None or isinstance(initial, (dict, StartValues)):
        return initial
    return initial.start if isinstance(initial, Startable) else initial


Initial = Mapping[str, Any] | Startable
"""Values of `initial=`: changes of the start values by name, the `final` of another run, or an operating point."""


@dataclass(frozen=True)
class KeptQuantity:
    """Quantity kept from a run: its name, its unit and the shape of its value at one sample."""

    name: str
    unit: str
    shape: tuple[int, ...]


@runtime_checkable
class Sink(Protocol):
    """Destination of samples, for `simulate(sink=...)`: a run calls `begin`, `take` for each chunk, and `end` or `abandon`."""

    def begin(self, model: str, kept: Sequence[KeptQuantity]) -> None:
        """Begin a run of a model."""

    def take(self, t: np.ndarray, values: Mapping[str, np.ndarray]) -> None:
        """Take the next samples: times (k,), s, and values (k, *shape) by name; the sink may keep these arrays."""

    def end(self, wrong: str, valid: int) -> None:
        """End the run; `wrong` is the reason why it ended early or cannot be trusted, "" if the run is ok; the first `valid`
        samples are valid."""

    def abandon(self) -> None:
        """Discard an interrupted or failed run."""


Sinkable = str | os.PathLike[str] | Sink | Callable[[np.ndarray, Mapping[str, np.ndarray]], object]
"""Values of `sink=`: a path, whose suffix selects the format; a sink; or a function of times and values."""


@runtime_checkable
class NamedMeasure(Protocol):
    """Measure of a run: `what` is its name, and `of` the quantity or event that it measures."""

    @property
    def what(self) -> str:
        """Name of the measure in the table of measures."""

    @property
    def of(self) -> str:
        """Name of a quantity or an event."""


KeepNamed = str | Sequence[str] | Mapping[str, str | NamedMeasure]
"""Argument `keep` of `simulate`: names of quantities, or quantities and measures by names that the user chooses."""


@dataclass(frozen=True)
class KeepOptions:
    """Quantities to keep from a run and their destination; by default, all are kept in the result."""

    keep: KeepNamed | None = None
    sink: Sinkable | None = None


@dataclass(frozen=True)
class Setting:
    default: Any
    meaning: str


class RunSettings(TypedDict, total=False):
    """Settings of a run: the keywords of `simulate` other than `parameters`, `initial`, `keep` and `sink`."""

    t_start: Annotated[float, Setting(0.0, "start time, s.")]
    samples: Annotated[
        float | Sequence[float] | np.ndarray | None,
        Setting(
            None,
            "sample step in s (a float, 0.01), number of equidistant samples (an integer, 2000), or ascending sample times; 1001"
            " samples by default. The start is sampled too.",
        ),
    ]
    method: Annotated[str | MethodEntry, Setting("auto", help_text())]
    rtol: Annotated[
        float,
        Setting(
            1e-7,
            "target for the error of the run relative to the energy scale, 1e-13 to 1e-1; the integrators work with a smaller"
            " tolerance per step.",
        ),
    ]
    atol: Annotated[
        float | Sequence[float] | np.ndarray | None,
        Setting(
            None,
            "negligible error, per state or for all, in the states' units; by default it follows from rtol and each state's"
            " couplings to the other states.",
        ),
    ]
    max_step: Annotated[float | None, Setting(None, "longest step, s; a hundredth of the run by default.")]
    max_events: Annotated[int, Setting(100_000, "the run ends with a failure after this many transitions.")]
    max_steps: Annotated[int, Setting(10_000_000, "the run ends with a failure after this many integration steps.")]
    linear: Annotated[
        str, Setting("auto", 'linear algebra of implicit methods, "dense", "band" or "sparse"; the cheapest if "auto".')
    ]
    impacts: Annotated[
        str,
        Setting(
            "simultaneous",
            'collisions whose times (relative to the run) or states differ by less than rtol / 1000: "simultaneous" solves them'
            ' together, and "sequential" one after another in the order of their names.',
        ),
    ]
    singular: Annotated[
        str,
        Setting(
            "end",
            'where constraints lose rank, as in a stretched linkage: "end" ends the run, and "keep" continues it along its'
            " branch with continuous velocities.",
        ),
    ]
    progress: Annotated[bool, Setting(True, "show a progress bar in the terminal when a run takes longer than two seconds.")]
    strict: Annotated[bool, Setting(False, "raise an error if the result would not be `ok`.")]


def _record() -> dict[str, tuple[Any, Setting]]:
    hints = get_type_hints(RunSettings, include_extras=True)
    return {name: get_args(hint) for name, hint in hints.items()}  # type: ignore[misc]


SETTINGS = _record()
DEFAULTS = RunSettings(**{name: setting.default for name, (_, setting) in SETTINGS.items()})  # type: ignore[typeddict-item]


def setting_key(t_end: Any, kept: KeepOptions, settings: RunSettings) -> tuple[Any, ...] | None:
    """Return a key that is equal only for equal settings and kept quantities, even if arrays change later; None if there is no
    such key, or if there is a sink."""
    parts = [_identity(value) for value in (t_end, kept.keep, *settings.values())]
    return None if kept.sink is not None or None in parts else (*settings, *parts)


def _identity(value: Any) -> tuple[Any, ...] | None:
    if value is None or type(value) in (float, int, bool, str):
        return type(value), value
    if isinstance(value, MethodEntry):
        return MethodEntry, value
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biuf":
        return value.dtype, value.shape, value.tobytes()
    if type(value) is dict:
        return _identity(tuple(value.items()))
    if type(value) in (list, tuple):
        parts = tuple(map(_identity, value))
        return None if None in parts else (type(value), parts)
    if isinstance(value, NamedMeasure):  # last, because this check looks up all attributes
        return "measure", value.what, value.of
    return None


def spelled_settings(function: F, without: Sequence[str] = ()) -> F:
    """Return the function itself, with a signature and docstring that list the settings instead of `**settings`."""
    named_settings = {name: setting for name, setting in SETTINGS.items() if name not in without}
    *named, variadic = inspect.signature(function).parameters.values()
    assert variadic.kind is variadic.VAR_KEYWORD
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=setting.default, annotation=kind)
        for name, (kind, setting) in named_settings.items()
    ]
    spelled = inspect.signature(function).replace(parameters=[*named, *more])
    function.__signature__ = spelled  # type: ignore[attr-defined]
    lines = [f"{name} : {setting.meaning} [{setting.default!r}]" for name, (_, setting) in named_settings.items()]
    function.__doc__ = "\n".join([inspect.cleandoc(function.__doc__ or ""), "", "Settings", "--------", *lines])
    return function


def _short(value: Any) -> str:
    return repr(value) if isinstance(value, str) else np.array2string(np.asarray(value), precision=6, threshold=6)
