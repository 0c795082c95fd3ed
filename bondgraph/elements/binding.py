"""Binding of the arguments of a user's formula to parameters and signals by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from bondgraph.errors import ModelError, refusal
from bondgraph.model.arguments import names_of, need_mapping
from bondgraph.model.ops import Op, need_function

Formula = TypeVar("Formula", bound="Callable[..., Any] | None")

Signals = Sequence[str] | Mapping[str, str]
"""Paths of signals (a single path may be a string), or a path for each argument of a formula."""

_OWN_ARGUMENTS = ("x", "y", "z")
_CONSTANTS = "a number by the name of its coefficient (resistance=2.0), a matrix as the ratio of a TF, points in a signals.table"
_REACHABLE = {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}


def bound(about: str, formula: Formula, count: int, parameters: Mapping[str, Any] | None, signals: Signals = ()) -> Formula:
    """Return the formula as a function of its first `count` arguments, then all parameters, then all signals.

    Arguments named like parameters, or like the keys of `signals`, take their values in any position; all other arguments take
    the remaining parameters and signals, or the signals alone, in their order. A formula none of whose arguments has such a name
    is returned unchanged, and so is an `Op`.

    Raises `ModelError` E567 if the remaining arguments are ambiguous.
    """
    if formula is None or isinstance(formula, Op):
        return formula
    need_mapping("parameters", parameters, '"k": 2.0')
    variables = _OWN_ARGUMENTS[:count]
    need_function(
        f'a formula of "{about}"', formula, [*variables, *(parameters or ()), *_argument_names(signals)], about, _CONSTANTS
    )
    paths = paths_of(signals)
    names, keys = list(parameters or ()), list(signals) if isinstance(signals, Mapping) else [""] * len(paths)
    positions = {name: count + k for k, name in enumerate([*names, *keys]) if name}
    try:
        arguments = list(inspect.signature(formula).parameters.values())
    except (TypeError, ValueError):  # some functions of C have no signature
        return formula
    others = arguments[count:]
    if not {each.kind for each in others} <= _REACHABLE or not any(each.name in positions for each in others):
        return formula
    argument_names = {each.name for each in others}
    unbound = [each for each in others if each.name not in positions]
    unread = [k for k, name in enumerate(names, start=count) if name not in argument_names]
    unnamed = [count + len(names) + k for k, key in enumerate(keys) if not key]
    required = [each for each in unbound if each.default is inspect.Parameter.empty]
    for candidates, values in ((unbound, unread + unnamed), (required, unread + unnamed), (required, unnamed), (required, [])):
        if len(candidates) == len(values):
            break
    else:
        raise _refused(about, arguments, count, names, paths_of(signals))
    words = {each.name: positions[each.name] for each in others if each.name in positions}
    words |= {each.name: k for each, k in zip(candidates, values, strict=True)}
    if [words.get(each.name) for each in others] == list(range(count, count + len(names) + len(keys))):
        return formula

    def by_name(*values: Any) -> Any:
        return formula(*values[:count], **{word: values[k] for word, k in words.items()})

    by_name.__name__ = getattr(formula, "__name__", "f")
    return by_name  # type: ignore[return-value]


def _argument_names(signals: Signals) -> list[str]:
    if isinstance(signals, Mapping):
        return list(signals)
    last = [path.rpartition(".")[2] for path in names_of(signals, "signals")]
    return [name if name.isidentifier() else f"s{k}" for k, name in enumerate(last, start=1)]


def paths_of(signals: Signals) -> tuple[str, ...]:
    return names_of(signals.values() if isinstance(signals, Mapping) else signals, "signals")


def _refused(
    about: str, arguments: Sequence[inspect.Parameter], count: int, parameters: Sequence[str], signals: Sequence[str]
) -> ModelError:
    shown = ", ".join(each.name for each in arguments)
    title = f'the arguments ({shown}) of a formula of "{about}" are ambiguous'
    arity = f"own arguments: {count}; " if count else ""
    why = f"{arity}parameters: {', '.join(parameters) or 'none'}; signals: {', '.join(signals) or 'none'}"
    cures = ("arguments named like the parameters, and one for each signal", 'signals={"argument": "path"}')
    return refusal("E567", title, *cures, about=about, why=why)
