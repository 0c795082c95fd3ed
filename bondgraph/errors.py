"""Diagnostics: what is wrong, where (the user's names and source line), why, and what to try.

A stage of the compiler collects all its problems and raises them at once as one `ModelError`.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from screws.errors import ScrewbondError


@dataclass(frozen=True)
class Place:
    """A line of the user's source."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{_cell(self.file) or os.path.basename(self.file)}:{self.line}"


def _cell(file: str) -> str:
    """The cell of a notebook, "In[3]", by the file name that it goes by; "" of other files."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    found = None if shell is None else shell.compile.format_code_name(file)
    return "" if found is None else str(found[1])


_HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_IN_A_CHECKOUT = () if os.path.exists(os.path.join(_HOME, "screwbond", "models")) else ("models",)
"""Elsewhere a folder `models` beside these packages is the user's."""
_PACKAGES = tuple(os.path.join(_HOME, package) + os.sep for package in ("bondgraph", "screwbond", "screws", *_IN_A_CHECKOUT))


@functools.cache
def _is_own(file: str) -> bool:
    return os.path.abspath(file).startswith(_PACKAGES) or file == contextlib.__file__


def caller_place() -> Place | None:
    """The innermost line on the call stack that does not belong to this project's packages."""
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        file = code.co_filename
        if not (_is_own(file) or (file == "<string>" and code.co_name == "__init__")):  # the second: of a dataclass
            return _place(file, frame.f_lineno)
        frame = frame.f_back  # type: ignore[assignment]
    return None


@functools.lru_cache(maxsize=10_000)
def _place(file: str, line: int) -> Place:
    """The place of a line; loops make many things at one."""
    return Place(file, line)


def caller_depth() -> int:
    """How many calls above the module that asks the user's own line is: a `stacklevel` of its warnings."""
    here, depth = caller_place(), 1
    frame = sys._getframe(1)
    while here is not None and frame.f_back is not None and (frame.f_code.co_filename, frame.f_lineno) != (here.file, here.line):
        frame, depth = frame.f_back, depth + 1
    return depth


@dataclass(frozen=True)
class Problem:
    """One finding: a code, a title, details, the lines that created what it speaks of, and cures."""

    code: str
    title: str
    details: tuple[str, ...] = ()
    places: tuple[Place | None, ...] = ()
    cures: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.code} {self.title}", *(f"  {detail}" for detail in self.details)]
        places = list(dict.fromkeys(str(place) for place in self.places if place is not None))
        if places:
            lines.append("  created at " + " and ".join(places))
        lines += [f"  try: {cure}" for cure in self.cures]
        return "\n".join(lines)


class ModelError(ScrewbondError):
    """All problems that one stage found in a model."""

    def __init__(self, name: str, problems: Sequence[Problem]):
        self.name = name
        self.problems = tuple(problems)
        count = f"{len(self.problems)} problem" + ("s" if len(self.problems) != 1 else "")
        super().__init__("\n".join([f'{count} in "{name}"', *map(str, self.problems)]))

    def __reduce__(self) -> tuple[type[ModelError], tuple[str, tuple[Problem, ...]]]:
        return type(self), (self.name, self.problems)


class ProblemError(ScrewbondError):
    """One problem that a function found."""

    def __init__(self, problem: Problem):
        self.problem = problem
        super().__init__(self._said())

    def __reduce__(self) -> tuple[type[ProblemError], tuple[Problem]]:
        return type(self), (self.problem,)

    def _said(self) -> str:
        return str(self.problem)


class RunError(ProblemError):
    """A simulation that cannot start: wrong settings or inconsistent start values."""


class _InOneLine(ProblemError):
    def _said(self) -> str:
        """As errors of files and imports are shown."""
        problem = self.problem
        details = f": {'; '.join(problem.details)}" if problem.details else ""
        return f"{problem.code} {problem.title}{details}" + "".join(f"; try: {cure}" for cure in problem.cures)


class FileError(_InOneLine, OSError):
    """A file or a folder cannot be written as asked; nothing of it is there."""


class ExtraError(_InOneLine, ImportError):
    """What is asked for needs a package that is not installed."""


class RunEndedWarning(UserWarning):
    """A run ended before its time; its `Result` says why (`failure`) and is right up to there."""


class RoundingWarning(UserWarning):
    """The tolerance of a run lies below what rounding lets its rates be known to; its `Result` says which was reached
    (`statistics.rounding`)."""


class UnreliableRunWarning(UserWarning):
    """A run reached its end and cannot be trusted; its `Result` says why (`warnings`)."""


class OpenSamplerWarning(UserWarning):
    """A model with sampled blocks was linearised between their ticks, where what they hold is constant: their loop is open."""


class CacheWarning(UserWarning):
    """Compiled code is not kept, or not where it was asked for; models are compiled anew each time."""


def raise_if_any(name: str, problems: Sequence[Problem]) -> None:
    """Raise one `ModelError` that carries all problems, if there are any."""
    if problems:
        raise ModelError(name, problems)


def refusal(
    code: str, title: str, *cures: str, about: str, why: str | Sequence[str] = (), places: Sequence[Place | None] | None = None
) -> ModelError:
    """The error of one problem, to be raised: of what it is `about`, at the user's line unless other `places` are given."""
    details = (why,) if isinstance(why, str) else tuple(why)
    return ModelError(about, [Problem(code, title, details, (caller_place(),) if places is None else tuple(places), cures)])


def no_model(given: object, asker: str, form: str = "") -> ModelError:
    """E100: what is given is no model in any form, or not in the `form` that the asker takes."""
    title = f"{asker} takes a model, not {type(given).__name__}"
    cure = f"{asker}({form})" if form else f"{asker}(graph), with a Graph or what compile_model made of it"
    return refusal("E100", title, cure, about=asker)
