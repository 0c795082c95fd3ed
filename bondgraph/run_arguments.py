"""What a run takes besides its model: start values by name and settings in; signatures and docstrings that spell them out, out.

`RunSettings` is what type checkers read (`**settings: Unpack[RunSettings]`), with the default and the meaning of each keyword
beside its type; `spelled_settings` writes the same into the signature and the docstring that `help` and completion show.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Protocol, TypedDict, TypeVar, get_args, get_type_hints, runtime_checkable

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, repr=False)
class StartValues(Mapping[str, Any]):
    """Values by name, for `simulate(initial=...)`: states as numbers, automata by the name of a state.

    >>> StartValues({"spring.q": 0.1, "contact": "on"})
    StartValues(spring.q=0.1, contact='on')
    """

    values_by_name: Mapping[str, Any]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Parameters that belong to them, by name: those that were found with an operating point."""

    def __getitem__(self, name: str) -> Any:
        return self.values_by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_by_name)

    def __len__(self) -> int:
        return len(self.values_by_name)

    def __repr__(self) -> str:
        said = [f"{name}={_short(value)}" for name, value in self.items()]
        return f"StartValues({', '.join(said[:8])}{', ...' if len(said) > 8 else ''})"


@runtime_checkable
class Startable(Protocol):
    """What a run can start from: an operating point, for one."""

    @property
    def start(self) -> StartValues:
        """States, modes and parameters by name."""


def start_of(given: Any) -> Any:
    """The start values that an operating point or the like carries; else what is given."""
    if given is None or isinstance(given, (dict, StartValues)):
        return given
    return given.start if isinstance(given, Startable) else given


Initial = Mapping[str, Any] | Startable
"""What `initial=` takes: changes of the start values by name, the `final` of another run, or an operating point."""


@dataclass(frozen=True)
class KeptQuantity:
    """Something that is kept of a run: its name, its unit, the shape of its value at one sample."""

    name: str
    unit: str
    shape: tuple[int, ...]


@runtime_checkable
class Sink(Protocol):
    """Where samples of a run go while it goes on, for `simulate(sink=...)`: begin, take any number of times, end; or abandon."""

    def begin(self, model: str, kept: Sequence[KeptQuantity]) -> None:
        """A run of the model of this name begins."""

    def take(self, t: np.ndarray, values: Mapping[str, np.ndarray]) -> None:
        """The samples that follow: dates (k,), s, and by name values (k, *shape), which are the sink's own."""

    def end(self, wrong: str, valid: int) -> None:
        """The run has ended; `wrong` says why it ended early, or cannot be trusted, "" if it is well; so many of the samples, the
        first, are `valid`."""

    def abandon(self) -> None:
        """The run was interrupted, or something else failed: nothing of it is to stay."""


Sinkable = str | os.PathLike[str] | Sink | Callable[[np.ndarray, Mapping[str, np.ndarray]], object]
"""What `sink=` takes: a path, whose ending says the format; a sink; or a function of times and values."""


@runtime_checkable
class NamedMeasure(Protocol):
    """A measure of a run: `what` is measured, `of` which quantity or event."""

    @property
    def what(self) -> str:
        """Its word in the table of measures."""

    @property
    def of(self) -> str:
        """A quantity or an event."""


KeepNamed = str | Sequence[str] | Mapping[str, str | NamedMeasure]
"""What `simulate(keep=...)` takes: names of quantities, or measures (and quantities) by names of the user's."""


@dataclass(frozen=True)
class KeepAsked:
    """What is to be kept of a run, and where it goes: all, in the result, where nothing is named."""

    keep: KeepNamed | None = None
    sink: Sinkable | None = None


@dataclass(frozen=True)
class Setting:
    """What a setting is where nobody gives it, and what it means."""

    default: Any
    meaning: str


class RunSettings(TypedDict, total=False):
    """How a run goes: every keyword that `simulate` takes besides the model, its numbers and its end."""

    t_start: Annotated[float, Setting(0.0, "the time at which it begins, s.")]
    samples: Annotated[
        float | Sequence[float] | np.ndarray | None,
        Setting(None, "sample step in s, or ascending sample times; 1001 equidistant ones by default. The start is sampled too."),
    ]
    method: Annotated[
        str,
        Setting(
            "auto",
            '"auto" (dop853; bdf from where the model turns out stiff), "dop853" (explicit Runge-Kutta of order 8), "dopri5"'
            ' (of order 5), "rodas5p" (Rosenbrock of order 5, for stiff models), "adams", "bdf" (multistep), "radau", "lsoda"'
            " (SciPy only).",
        ),
    ]
    solver: Annotated[str, Setting("auto", '"auto", "machine code", "sundials" or "scipy".')]
    rtol: Annotated[
        float,
        Setting(
            1e-7,
            "bound on the error of the run relative to the energy in play, 1e-13 to 1e-1; the integrators work with a smaller"
            " tolerance per step.",
        ),
    ]
    atol: Annotated[
        float | Sequence[float] | np.ndarray | None,
        Setting(
            None,
            "error that does not count, per state or for all, in the states' units; by default what a state's couplings to the"
            " others make of rtol while it is small.",
        ),
    ]
    max_step: Annotated[float | None, Setting(None, "longest step, s; a hundredth of the run by default.")]
    max_events: Annotated[int, Setting(100_000, "the run ends with a failure after so many transitions.")]
    max_steps: Annotated[int, Setting(10_000_000, "the same after so many steps of integration.")]
    iteration: Annotated[str, Setting("auto", '"newton" or "fixed point", for adams and bdf.')]
    linear: Annotated[
        str, Setting("auto", 'algebra of implicit methods, "dense", "band" or "sparse"; the cheapest one if "auto".')
    ]
    simultaneous: Annotated[
        str,
        Setting(
            "together",
            'collisions at the same time, to a thousandth of rtol, are one problem of impulses, "together", or follow one'
            ' another, "sequence", the first by name first.',
        ),
    ]
    progress: Annotated[bool, Setting(True, "show a bar on a terminal when a run takes longer than two seconds.")]
    strict: Annotated[bool, Setting(False, "raise where the result would not be `ok`.")]


def _record() -> dict[str, tuple[Any, Setting]]:
    """Type and `Setting` of every keyword."""
    hints = get_type_hints(RunSettings, include_extras=True)
    return {name: get_args(hint) for name, hint in hints.items()}  # type: ignore[misc]


SETTINGS = _record()
"""Name of a setting -> its type, and its `Setting`."""
DEFAULTS = RunSettings(**{name: setting.default for name, (_, setting) in SETTINGS.items()})  # type: ignore[typeddict-item]


def setting_key(t_end: Any, kept: KeepAsked, settings: RunSettings) -> tuple[Any, ...] | None:
    """Something that is equal only for the same settings of runs that keep the same, whatever becomes of arrays among them; None
    where there is none, or a sink."""
    found = [_identity(value) for value in (t_end, kept.keep, *settings.values())]
    return None if kept.sink is not None or None in found else (*settings, *found)


def _identity(value: Any) -> tuple[Any, ...] | None:
    if value is None or type(value) in (float, int, bool, str):
        return type(value), value
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biuf":
        return value.dtype, value.shape, value.tobytes()
    if isinstance(value, NamedMeasure):
        return "measure", value.what, value.of
    if type(value) is dict:
        return _identity(tuple(value.items()))
    if type(value) in (list, tuple):
        parts = tuple(map(_identity, value))
        return None if None in parts else (type(value), parts)
    return None


def spelled_settings(function: F) -> F:
    """The function itself; its signature and docstring list the settings in the place of `**settings`."""
    *own, rest = inspect.signature(function).parameters.values()
    assert rest.kind is rest.VAR_KEYWORD
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=setting.default, annotation=kind)
        for name, (kind, setting) in SETTINGS.items()
    ]
    spelled = inspect.signature(function).replace(parameters=[*own, *more])
    function.__signature__ = spelled  # type: ignore[attr-defined]
    lines = [f"{name} : {setting.meaning} [{setting.default!r}]" for name, (_, setting) in SETTINGS.items()]
    function.__doc__ = "\n".join([inspect.cleandoc(function.__doc__ or ""), "", "Settings", "--------", *lines])
    return function


def _short(value: Any) -> str:
    return repr(value) if isinstance(value, str) else np.array2string(np.asarray(value), precision=6, threshold=6)
