"""Arguments of a formula by name: a function of the user's in; one that takes all parameters and signals in their order out."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from bondgraph.errors import ModelError, refusal
from bondgraph.model.names import names_of
from bondgraph.model.ops import Op

Formula = TypeVar("Formula", bound="Callable[..., Any] | None")

Signals = Sequence[str] | Mapping[str, str]
"""Paths of signals, one alone as plain text; or argument of a formula -> path."""

_REACHABLE = {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}


def bound(about: str, formula: Formula, own: int, parameters: Iterable[str] | None, signals: Signals = ()) -> Formula:
    """The formula as a function of its `own` first arguments, then all parameters, then all signals.

    Arguments that are called like parameters, or like the keys of `signals`, take these wherever they stand; all others take the
    parameters and signals that are left, or the signals alone, in their order. A formula of which no argument has such a name
    stays as it is, and so does an `Op`.

    Raises `ModelError` E567 for arguments that what is left does not fit.
    """
    if formula is None or isinstance(formula, Op):
        return formula
    names, keys = list(parameters or ()), list(signals) if isinstance(signals, Mapping) else [""] * len(names_of(signals))
    places = {name: own + k for k, name in enumerate([*names, *keys]) if name}
    try:
        arguments = list(inspect.signature(formula).parameters.values())
    except (TypeError, ValueError):  # some functions of C tell nothing
        return formula
    rest = arguments[own:]
    if not {one.kind for one in rest} <= _REACHABLE or not any(one.name in places for one in rest):
        return formula
    called = {one.name for one in rest}
    wanting = [one for one in rest if one.name not in places]
    unread = [k for k, name in enumerate(names, start=own) if name not in called]
    left = [own + len(names) + k for k, key in enumerate(keys) if not key]
    needed = [one for one in wanting if one.default is inspect.Parameter.empty]
    for these, values in ((wanting, unread + left), (needed, unread + left), (needed, left), (needed, [])):
        if len(these) == len(values):
            break
    else:
        raise _refused(about, arguments, own, names, paths_of(signals))
    words = {one.name: places[one.name] for one in rest if one.name in places}
    words |= {one.name: k for one, k in zip(these, values, strict=True)}
    if [words.get(one.name) for one in rest] == list(range(own, own + len(names) + len(keys))):
        return formula

    def by_name(*values: Any) -> Any:
        return formula(*values[:own], **{word: values[k] for word, k in words.items()})

    by_name.__name__ = getattr(formula, "__name__", "f")
    return by_name  # type: ignore[return-value]


def paths_of(signals: Signals) -> tuple[str, ...]:
    """The paths of signals, in the order in which a formula takes them."""
    return names_of(signals.values() if isinstance(signals, Mapping) else signals, "signals")


def _refused(
    about: str, arguments: Sequence[inspect.Parameter], own: int, parameters: Sequence[str], signals: Sequence[str]
) -> ModelError:
    takes = ", ".join(one.name for one in arguments)
    title = f'the arguments ({takes}) of a formula of "{about}" do not say what each of them is'
    first = f"{own} of its own, " if own else ""
    why = f"there are {first}parameters: {', '.join(parameters) or 'none'}; signals: {', '.join(signals) or 'none'}"
    cures = ("arguments that are called like the parameters, and one for each signal", 'signals={"argument": "path"}')
    return refusal("E567", title, *cures, about=about, why=why)
