"""Arguments of the element functions: numbers, parameters, domains and start values, with their usual errors."""

from __future__ import annotations

import difflib
import functools
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from bondgraph.errors import refusal
from bondgraph.model.domains import COEFFICIENTS, DOMAINS, GENERIC, Domain
from bondgraph.model.laws import ByMode, Parameter
from bondgraph.quantities import real

F = TypeVar("F", bound=Callable[..., Any])


def domain_of(domain: Domain | str | None, name: str) -> Domain | None:
    """A domain by its name, or as it is."""
    if domain is None or isinstance(domain, Domain):
        return domain
    if domain not in DOMAINS:
        title = f'"{name}" is of a domain that does not exist: {domain!r}'
        why = f"there are: {', '.join(DOMAINS)}"
        raise refusal("E127", title, "one of these names, or a Domain of your own", about=name, why=why)
    return DOMAINS[domain]


def parameters_of(values: Mapping[str, Any], units: Mapping[str, str] | None = None) -> dict[str, Parameter]:
    """Parameters of plain values; a `Parameter` stays as it is."""
    units = units or {}
    return {
        name: value if isinstance(value, Parameter) else Parameter(value, units.get(name, "")) for name, value in values.items()
    }


def bounded(value: Any, max_value: float = math.inf, not_below: str = "") -> Parameter:
    """A parameter between zero and `max_value`, and no less than another parameter of its element."""
    given = value if isinstance(value, Parameter) else Parameter(value)
    return replace(given, max_value=max_value, not_below=not_below)


def value_of(given: Any) -> Any:
    """The value of a `Parameter`, or what is given itself."""
    return given.value if isinstance(given, Parameter) else given


def size_of(value: Any) -> int | None:
    """Bond dimension that a start value or source value implies; None where a scalar fits every dimension."""
    if value is None or type(value) is float:
        return None
    shape = shape_of(value)
    return shape[0] if shape else None


def shape_of(value: Any) -> tuple[int, ...]:
    """Shape of a value, () where it is no array; `checks.check_numbers` says so later, with all other problems."""
    value = value_of(value)
    value = next(iter(value.values.values()), 0.0) if isinstance(value, ByMode) else value
    try:
        return np.shape(value)
    except ValueError:
        return ()


def one_of(kind: str, name: str, **choices: Any) -> str:
    """Which of several arguments is given. Raises E110 unless it is exactly one."""
    given = [key for key, value in choices.items() if value is not None]
    if len(given) != 1:
        title, why = f'{kind} "{name}" needs exactly one of {", ".join(choices)}', f"given: {', '.join(given) or 'none'}"
        raise refusal("E110", title, f'{kind}("{name}", {next(iter(choices))}=...)', about=name, why=why)
    return given[0]


def of_domain(kind: str, name: str, word: str, domain: Domain | str | None) -> None:
    """Refuse a word of other domains than that of an element (E563)."""
    own = domain_of(domain, name)
    allowed = COEFFICIENTS[word].domains
    if own is None or not allowed or own not in DOMAINS.values() or own in (*allowed, GENERIC):
        return
    fitting = [one for one, known in COEFFICIENTS.items() if known.kind == kind and own in (known.domains or (own,))]
    whose = " and ".join(domain.name for domain in allowed)
    title = f'{kind} "{name}" of the {own.name} domain has {word}, which is a word for {whose}'
    raise refusal("E563", title, *(f'{kind}("{name}", {one}=...)' for one in fitting), about=name)


def only_with_formula(kind: str, name: str, how: str, formula: str, **given: Any) -> None:
    """Refuse arguments that belong to a formula of the user's own and would be ignored without one."""
    extra = [key for key, value in given.items() if value]
    if extra:
        title = f'{kind} "{name}" has {how}, which leaves no use for {", ".join(extra)}'
        cure = f'{kind}("{name}", {formula}=...) with {", ".join(extra)}, or {how} alone'
        raise refusal("E110", title, cure, about=name, why=f"{', '.join(extra)} belong to a formula of your own")


def start_of(initial: Any, dimension: int | None) -> Any:
    """Start value as floats, a scalar spread over a vector bond; what is no number is left for the checks."""
    if type(initial) is float and dimension in (None, 1):
        return np.float64(initial)
    start = real(initial)
    if start is None:
        return initial
    if start.ndim == 0 and isinstance(dimension, int) and dimension > 1:
        return np.full(dimension, float(start))
    return start[()]


def choice(kind: str, name: str, /, **given: tuple[str, tuple[str, ...]]) -> None:
    """Refuse words that are none of those an argument may be (E110)."""
    for argument, (word, words) in given.items():
        if word not in words:
            title = f'{kind} "{name}": {argument} cannot be {word!r}'
            why = f"it is one of {', '.join(words)}"
            raise refusal("E110", title, f'{kind}("{name}", {argument}="{words[0]}")', about=name, why=why)


def spelled_out(function: F) -> F:
    """A function with `**given: Unpack[Keywords]`, whose signature lists these keywords with what they are by default.

    A word that is none of them is a TypeError of the function itself, with the nearest that is.
    """
    *own, rest = inspect.signature(function).parameters.values()
    keywords = function.__globals__[rest.annotation.removeprefix("Unpack[").removesuffix("]")].__annotations__
    more = [_keyword(name, kind.__forward_arg__) for name, kind in keywords.items()]
    names = [parameter.name for parameter in (*own, *more)]
    known = frozenset(names)

    @functools.wraps(function)
    def checked(*arguments: Any, **given: Any) -> Any:
        for word in given.keys() - known if given else ():
            near = "".join(f". Did you mean {other!r}?" for other in difflib.get_close_matches(word, names, n=1))
            raise TypeError(f"{function.__name__}() got an unexpected keyword argument {word!r}{near}")
        return function(*arguments, **given)

    signature = inspect.signature(function).replace(parameters=[*own, *more])
    checked.__signature__ = signature  # type: ignore[attr-defined]
    return checked  # type: ignore[return-value]


def _keyword(name: str, kind: str) -> inspect.Parameter:
    """A keyword; of the kinds that there are, text is empty and everything else not given by default."""
    default = "" if kind == "str" else (None, None) if kind.startswith("tuple") else None
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
