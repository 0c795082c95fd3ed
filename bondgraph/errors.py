"""Errors and warnings: problems with code, title, details, the user's source lines, and cures.

A stage of the compiler collects all its problems and raises them together as one `ModelError`.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

from screws.errors import CallError, ScrewbondError, plural
from screws.names import similar_names
from screws.numeric_arguments import shown

T = TypeVar("T")
MAX_TITLE = 320
MAX_PROBLEMS = 20
MAX_NAMES = 8
"""Maximum number of names listed if none is similar."""


@dataclass(frozen=True)
class Place:
    file: str
    line: int

    def __str__(self) -> str:
        return f"{_cell(self.file) or os.path.basename(self.file)}:{self.line}"


def _cell(file: str) -> str:
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    code_name = None if shell is None else shell.compile.format_code_name(file)
    return "" if code_name is None else str(code_name[1])


_HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_IN_A_CHECKOUT = () if os.path.exists(os.path.join(_HOME, "screwbond", "models")) else ("models",)
"""Folder `models`, a package of this project in a checkout; elsewhere a folder of this name is the user's."""
_PACKAGES = tuple(os.path.join(_HOME, package) + os.sep for package in ("bondgraph", "screwbond", "screws", *_IN_A_CHECKOUT))


@functools.cache
def is_own_file(file: str) -> bool:
    return os.path.abspath(file).startswith(_PACKAGES) or file == contextlib.__file__ or file.startswith("<frozen ")


_READ = ContextVar[Place | None]("line of the file being read", default=None)


@contextlib.contextmanager
def reading_line(file: str, line: int) -> Iterator[None]:
    token = _READ.set(Place(file, line))
    try:
        yield
    finally:
        _READ.reset(token)


def caller_place() -> Place | None:
    """Return the line of the file being read, or else the innermost line on the call stack outside this project's packages."""
    if (place := _READ.get()) is not None:
        return place
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        file = code.co_filename
        if not (is_own_file(file) or (file == "<string>" and code.co_name == "__init__")):  # or the constructor of a dataclass
            return _place(file, frame.f_lineno)
        frame = frame.f_back  # type: ignore[assignment]
    return None


@functools.lru_cache(maxsize=10_000)
def _place(file: str, line: int) -> Place:
    return Place(file, line)


def caller_depth() -> int:
    """Return the number of calls from the user's line to the calling module: the `stacklevel` of its warnings."""
    place, depth = caller_place(), 1
    frame = sys._getframe(1)
    while (
        place is not None and frame.f_back is not None and (frame.f_code.co_filename, frame.f_lineno) != (place.file, place.line)
    ):
        frame, depth = frame.f_back, depth + 1
    return depth


@dataclass(frozen=True)
class Problem:
    """Problem of a model: a code, a title, details, the lines that created the objects concerned, and cures."""

    code: str
    title: str
    details: tuple[str, ...] = ()
    places: tuple[Place | None, ...] = ()
    cures: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.code} {_in_one_line(self.title)}", *(f"  {detail}" for detail in self.details)]
        places = list(dict.fromkeys(str(place) for place in self.places if place is not None))
        if places:
            lines.append("  created at " + " and ".join(places))
        lines += [f"  try: {cure}" for cure in self.cures]
        return "\n".join(lines)


def _in_one_line(text: str) -> str:
    """Return a string on one line, shortened in the middle if too long: titles may contain the `repr` of any value."""
    line = " ".join(str(text).split()) if "\n" in str(text) else str(text)
    return line if len(line) <= MAX_TITLE else f"{line[: MAX_TITLE // 2]} ... {line[-MAX_TITLE // 4 :]}"


class ModelError(ScrewbondError):
    """Error with all problems that one stage found in a model."""

    def __init__(self, name: str, problems: Sequence[Problem]):
        self.name = name
        self.problems = tuple(problems)
        texts = list(dict.fromkeys(map(str, self.problems)))
        more = [f"... {len(texts) - MAX_PROBLEMS} more, in `error.problems`"] if len(texts) > MAX_PROBLEMS else []
        shown = [*texts[:MAX_PROBLEMS], *more]
        super().__init__("\n".join([f'{plural(len(self.problems), "problem")} in "{_in_one_line(name)}"', *shown]))

    def __reduce__(self) -> tuple[type[ModelError], tuple[str, tuple[Problem, ...]]]:
        return type(self), (self.name, self.problems)


class ProblemError(ScrewbondError):
    """Error with one problem."""

    def __init__(self, problem: Problem):
        self.problem = problem
        super().__init__(self._text())

    def __reduce__(self) -> tuple[type[ProblemError], tuple[Problem]]:
        return type(self), (self.problem,)

    def _text(self) -> str:
        return str(self.problem)


class RunError(ProblemError):
    """Error of a run that cannot start (because of wrong settings, for example), cannot continue, or has no usable result."""


class _InOneLine(ProblemError):
    def _text(self) -> str:
        problem = self.problem
        details = f": {'; '.join(problem.details)}" if problem.details else ""
        return f"{problem.code} {problem.title}{details}" + "".join(f"; try: {cure}" for cure in problem.cures)


class FileError(_InOneLine, OSError):
    """Error for a file or folder that cannot be written or read."""


class ExtraError(_InOneLine, ImportError):
    """Error raised by a function whose optional package is not installed."""


class RunEndedWarning(UserWarning):
    """Warning that a run ended early; its `Result` has the reason (`failure`) and is valid up to the last time."""


class RoundingWarning(UserWarning):
    """Warning that the tolerance of a run is below the rounding error of its rates; its `Result` has the tolerance that was
    reached (`statistics.rounding`)."""


class UnreliableRunWarning(UserWarning):
    """Warning that a finished run or a linearisation along it cannot be trusted; its `Result` has the reasons (`warnings`)."""


class OpenSamplerWarning(UserWarning):
    """Warning that a model with sampled blocks was linearised between their ticks, where held states are constant: the loop is
    open."""


class KinkWarning(UserWarning):
    """Warning that a model was linearised at a kink or a jump of a formula, where its derivatives differ from side to side."""


class CacheWarning(UserWarning):
    """Warning that the cache of compiled code is unused, since other users can write there, or that its size limit is invalid."""


class DeviceWarning(UserWarning):
    """Warning that runs on a GPU continue in smaller chunks, or on the CPU; their results are the same."""


class SourceOnlyWarning(UserWarning):
    """Warning that an FMU has no library for this machine, because no compiler was found or the platform is not supported."""


class UnknownName(ScrewbondError, KeyError):
    """Unknown name, whose message is shown without the quotation marks that Python puts around a key."""

    code = "E318"

    def __str__(self) -> str:
        return f"{self.code} {self.args[0]}"


def unknown_name(kind: str, name: object, names: Collection[str]) -> UnknownName:
    """Return the error to raise: `no quantity "m.flw"; did you mean "m.flow"?`"""
    return UnknownName(_LazyText(lambda: _unknown_name_text(kind, name, names)))


def _unknown_name_text(kind: str, name: object, names: Collection[str]) -> str:
    near = similar_names(name, names) if isinstance(name, str) else []
    some = ", ".join(f'"{candidate}"' for candidate in near or list(names)[:MAX_NAMES])
    more = f" and {len(names) - MAX_NAMES} more" if not near and len(names) > MAX_NAMES else ""
    if not isinstance(name, str):
        return f"{shown(name)} is not the name of one {kind.removesuffix(' called')}; try: one of {some}{more}"
    return f'no {kind} "{name}"; ' + (f"did you mean {some}?" if near else f"known: {some or 'none'}{more}")


class _LazyText:
    """Text that is computed when it is read: `Mapping.get` discards the error of a missing name."""

    def __init__(self, write: Callable[[], str]):
        self._write = write

    def __str__(self) -> str:
        return self._write()

    def __repr__(self) -> str:
        return repr(str(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return str, (str(self),)


class ByName(dict[str, T]):
    """Dictionary that suggests similar names for a missing name (E318)."""

    def __missing__(self, name: object) -> T:
        raise unknown_name("entry", name, self)

    def __repr__(self) -> str:
        return _short_text(super().__repr__() if len(self) <= 2 * MAX_NAMES else "", [*self])


class FixedEntries(ByName[T]):
    """Entries of a frozen record by name, which cannot be changed (E684)."""

    def _refuse(self, *_: Any, **__: Any) -> Any:
        title = f"the entries {', '.join([*self][:MAX_NAMES])} of a frozen record cannot be changed"
        cures = "a changed copy, {**entries, name: value}", "graph.replace(name, part)", "simulate(..., parameters={name: value})"
        raise CallError("E684", title, ", or ".join(cures))

    __setitem__ = __delitem__ = __ior__ = pop = popitem = clear = update = setdefault = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self),)


def _short_text(text: str, names: Sequence[str]) -> str:
    return text if 0 < len(text) <= MAX_TITLE else f"<{plural(len(names), 'entry')}: {', '.join(names[:MAX_NAMES])}, ...>"


class Records(tuple[T, ...]):
    """Tuple of records with names, which square brackets also find by name; an unknown name raises E318."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Any:
        names = [each.name for each in self] if isinstance(key, str) else []  # type: ignore[attr-defined]
        try:
            return super().__getitem__(names.index(key) if names else key)
        except (TypeError, ValueError, IndexError):
            raise unknown_name("entry", key, [each.name for each in self]) from None  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        return _short_text(super().__repr__(), [each.name for each in self])  # type: ignore[attr-defined]


def raise_if_any(name: str, problems: Sequence[Problem]) -> None:
    if problems:
        raise ModelError(name, problems)


def refusal(
    code: str, title: str, *cures: str, about: str, why: str | Sequence[str] = (), places: Sequence[Place | None] | None = None
) -> ModelError:
    details = (why,) if isinstance(why, str) else tuple(why)
    return ModelError(about, [Problem(code, title, details, (caller_place(),) if places is None else tuple(places), cures)])


def no_model(value: object, function: str, form: str = "") -> ModelError:
    title = f"{function} takes a model, not {type(value).__name__}"
    cure = f"{function}({form})" if form else f"{function}(graph), with a Graph or a compiled model"
    return refusal("E100", title, cure, about=function)
