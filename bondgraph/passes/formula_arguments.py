"""Message about a formula that takes another number of arguments than it gets: what they are, and how to give the others."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from bondgraph.assembly.system import Statement, System
from bondgraph.model.automata import Automaton
from bondgraph.model.element import Element
from bondgraph.model.laws import SignalBlock

_POSITIONAL = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}
_TIME = frozenset({"t", "time"})
"""Names of arguments that mean the time."""


def wrong_arguments(
    statement: Statement, system: System, owner: Element | Automaton | None
) -> tuple[str, tuple[str, ...]] | None:
    """Return the numbers of arguments that a formula takes and gets, and cures; None if they fit, or are unknown."""
    arguments = _positional(statement.op.function)
    if arguments is None:
        return None
    required, received = [name for name, optional in arguments if not optional], statement.args
    if len(required) <= len(received) <= len(arguments):
        return None
    taken = [name for name, _ in arguments]
    why = f"it takes {_counted(taken)} and gets {_counted([path.rpartition(':')[2] for path in received])}"
    if len(taken) < len(received):
        return why, ("as many arguments as it gets: its own variables, the parameters, the signals",)
    return why, tuple(_cures(required[len(received) :], system, owner))


def _cures(missing: Sequence[str], system: System, owner: Element | Automaton | None) -> Iterator[str]:
    """Yield ways to give the missing arguments."""
    if not isinstance(owner, Element) or isinstance(owner.law, SignalBlock):
        yield f"a name for {' and '.join(missing)} among the names that follow the formula"
        return
    paths = [_path(name, system) for name in missing]
    if all(paths):
        yield f"signals=[{', '.join(_quoted(path) for path in (*owner.signals, *paths))}]"
    else:
        pairs = zip(missing, paths, strict=True)
        entries = [f"{_quoted(name)}: {_quoted(path or '<element>.<signal>')}" for name, path in pairs]
        yield f"signals={{{', '.join(entries)}}}"
    if not set(missing) & _TIME:
        yield f"parameters={{{', '.join(f'{_quoted(name)}: 1.0' for name in missing)}}}"


def _path(argument: str, system: System) -> str:
    """Return the signal that an argument is called like, "" for none."""
    if argument in _TIME:
        return "time"
    readable = [name for name in (*system.values, *system.aliases) if ":" not in name and not name.endswith("'")]
    ending = [name for name in readable if name.endswith(f".{argument}")]
    return next(iter(ending or difflib.get_close_matches(argument, readable, n=1)), "")


def _positional(formula: Callable[..., Any]) -> list[tuple[str, bool]] | None:
    """Return the arguments of a formula, each with True if it has a default; None for others than positional ones."""
    try:
        arguments = inspect.signature(formula).parameters.values()
    except (TypeError, ValueError):
        return None
    if not {each.kind for each in arguments} <= _POSITIONAL:
        return None
    return [(each.name, each.default is not each.empty) for each in arguments]


def _counted(names: Sequence[str]) -> str:
    return f"{len(names)} argument{'' if len(names) == 1 else 's'}" + (f" ({', '.join(names)})" if names else "")


def _quoted(name: str) -> str:
    return f'"{name}"'
