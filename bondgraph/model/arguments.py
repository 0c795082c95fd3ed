"""Arguments of the element functions: names, numbers, parameters, domains and start values, with their common errors."""

from __future__ import annotations

import functools
import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from bondgraph.errors import FixedEntries, ModelError, Place, Problem, caller_place, refusal
from bondgraph.model.domains import COEFFICIENTS, DOMAINS, GENERIC, Domain
from bondgraph.model.laws import ByMode, Parameter
from bondgraph.quantities import real
from bondgraph.units import Mismatch, Unreadable, conversion, in_si
from screws.calls import unknown_argument

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


def domain_of(domain: Domain | str | None, name: str) -> Domain | None:
    if domain is None or isinstance(domain, Domain):
        return domain
    if not isinstance(domain, str) or domain not in DOMAINS:
        title = f'"{name}" has an unknown domain: {domain!r}'
        why = f"known domains: {', '.join(DOMAINS)}"
        raise refusal("E127", title, "one of these names, or a Domain of your own", about=name, why=why)
    return DOMAINS[domain]


def need_mapping(argument: str, values: Any, example: str) -> None:
    if values is not None and not isinstance(values, Mapping):
        raise refused(argument, values, "a dictionary of values by name", f"{argument}={{{example}}}")


def parameters_of(values: Mapping[str, Any], units: Mapping[str, str] | None = None) -> dict[str, Parameter]:
    need_mapping("parameters", values, '"k": 2.0')
    parameters = {name: value if isinstance(value, Parameter) else Parameter(value) for name, value in values.items()}
    units = {name: unit for name, unit in (units or {}).items() if name in values and unit}
    return FixedEntries(parameters | {name: with_expected_unit(parameters[name], unit) for name, unit in units.items()})


def with_expected_unit(parameter: Parameter, unit: str) -> Parameter:
    """Return the parameter, to be read by its formula in this unit; a parameter without a unit also gets this unit."""
    declared = parameter.unit or unit
    implied = declared == unit and conversion(unit, "") is None
    return replace(parameter, unit=declared, expected="" if implied else unit)


def in_unit(about: str, argument: str, value: Any, unit: str) -> Any:
    """Return an argument in the expected unit ("" for SI): the number of a `Parameter`; anything else unchanged.

    Raises `ModelError` E156 for a unit that cannot be read, E175 for a unit of another dimension.
    """
    if not isinstance(value, Parameter):
        return value
    convert = conversion(value.unit, unit, shape_of(value))
    if isinstance(convert, (Mismatch, Unreadable)):
        raise ModelError(
            about, [unit_problem(f'"{about}": {argument} cannot be given in {value.unit!r}', convert, caller_place())]
        )
    numbers = real(value.value)
    if convert is None or numbers is None:
        return value.value
    return convert(numbers if numbers.ndim else float(numbers))


def in_units(**units: str) -> Callable[[T], T]:
    """Decorate a function or a record whose arguments are numbers in these `units` by name ("" for SI). A `Parameter` instead of
    a number, or in a list or dictionary of numbers, is converted; a unit of another dimension is refused as in `in_unit`."""

    def decorated(function: Any) -> Any:
        is_record = isinstance(function, type)
        body = function.__init__ if is_record else function  # type: ignore[misc]
        signature = inspect.signature(body)

        @functools.wraps(body)
        def converted(*arguments: Any, **keywords: Any) -> Any:
            if any(map(has_unit, (*arguments, *keywords.values()))):
                values = signature.bind(*arguments, **keywords)
                about = str(keywords.get("name", next((a for a in arguments if isinstance(a, str)), function.__name__)))
                for name, value in _named_values(values).items():
                    if name in units and has_unit(value):
                        _set_value(values, name, numbers_in_unit(about, name, value, units[name]))
                return body(*values.args, **values.kwargs)
            return body(*arguments, **keywords)

        converted.units = units  # type: ignore[attr-defined]
        if not is_record:
            return converted
        function.__init__ = converted  # type: ignore[misc]
        return function

    return decorated


def has_unit(value: Any) -> bool:
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
    return isinstance(value, Parameter) or any(map(has_unit, parts))


def _named_values(values: inspect.BoundArguments) -> dict[str, Any]:
    variadic = _variadic(values)
    return {**values.arguments, **(values.arguments.get(variadic, {}) if variadic else {})}


def _variadic(values: inspect.BoundArguments) -> str | None:
    kinds = values.signature.parameters.items()
    return next((name for name, each in kinds if each.kind is inspect.Parameter.VAR_KEYWORD), None)


def _set_value(values: inspect.BoundArguments, name: str, value: Any) -> None:
    variadic = _variadic(values)
    (values.arguments if name in values.signature.parameters or variadic is None else values.arguments[variadic])[name] = value


def numbers_in_unit(about: str, argument: str, value: Any, unit: str) -> Any:
    """Return `in_unit` of a value, or of each value in a dictionary or list; for a list, `unit` may list units, "rad, m"."""
    if isinstance(value, Mapping):
        return {each: numbers_in_unit(about, f'{argument}["{each}"]', number, unit) for each, number in value.items()}
    if not isinstance(value, (list, tuple)):
        return in_unit(about, argument, value, unit)
    separate = unit.split(", ")
    units = separate if len(separate) == len(value) and ";" not in unit else [unit] * len(value)
    return [numbers_in_unit(about, argument, each, its) for each, its in zip(value, units, strict=True)]


def unit_problem(title: str, fault: Unreadable | Mismatch, place: Place | None) -> Problem:
    places = () if place is None else (place,)
    if isinstance(fault, Unreadable):
        return Problem("E156", title, (fault.why,), places, fault.cures)
    expected = fault.expected or "a unit with one meaning"
    details = (f"given: {fault.declared}; expected: {expected}", fault.why)
    return Problem("E175", title, details, places, (", ".join(fault.cures),) if fault.cures else ())


def bounded(value: Any, max_value: float = math.inf, not_below: str = "") -> Parameter:
    parameter = value if isinstance(value, Parameter) else Parameter(value)
    return replace(parameter, max_value=max_value, not_below=not_below)


def value_of(argument: Any) -> Any:
    return argument.value if isinstance(argument, Parameter) else argument


def size_of(value: Any) -> int | None:
    """Return the bond dimension that a start value or source value implies; None for a scalar, which is valid for every
    dimension."""
    if value is None or type(value) is float:
        return None
    shape = shape_of(value)
    return shape[0] if shape else None


def shape_of(value: Any) -> tuple[int, ...]:
    """Return the shape of a value, () if it is not an array (`checks.check_numbers` reports this error)."""
    value = value_of(value)
    value = next(iter(value.values.values()), 0.0) if isinstance(value, ByMode) else value
    try:
        return np.shape(value)
    except ValueError:
        return ()


def one_of(kind: str, name: str, **choices: Any) -> str:
    present = [key for key, value in choices.items() if value is not None]
    if len(present) != 1:
        title, why = f'{kind} "{name}" needs exactly one of {", ".join(choices)}', f"given: {', '.join(present) or 'none'}"
        raise refusal("E110", title, f'{kind}("{name}", {next(iter(choices))}=...)', about=name, why=why)
    return present[0]


def only_domain(linear: Mapping[str, Any]) -> Domain | None:
    """Return the only domain that uses the given coefficient, such as translation for a mass, else None."""
    domains = [COEFFICIENTS[word].domains for word, value in linear.items() if value is not None]
    return domains[0][0] if [len(each) for each in domains] == [1] else None


def need_domain(kind: str, name: str, word: str, domain: Domain | str | None) -> None:
    element_domain = domain_of(domain, name)
    allowed = COEFFICIENTS[word].domains
    if element_domain is None or not allowed or element_domain not in DOMAINS.values() or element_domain in (*allowed, GENERIC):
        return
    fitting = [
        other
        for other, coefficient in COEFFICIENTS.items()
        if coefficient.kind == kind and element_domain in (coefficient.domains or (element_domain,))
    ]
    whose = " and ".join(domain.name for domain in allowed)
    title = f'{kind} "{name}" of the {element_domain.name} domain has {word}, which belongs to {whose}'
    raise refusal("E563", title, *(f'{kind}("{name}", {other}=...)' for other in fitting), about=name)


def only_with_formula(kind: str, name: str, word: str, formula: str, **arguments: Any) -> None:
    extra = [key for key, value in arguments.items() if value]
    if extra:
        title = f'{kind} "{name}" has {word}, so it cannot use {", ".join(extra)}'
        cure = f'{kind}("{name}", {formula}=...) with {", ".join(extra)}, or {word} alone'
        why = f"{', '.join(extra)} belong{'s' * (len(extra) == 1)} to your own formula"
        raise refusal("E110", title, cure, about=name, why=why)


def need_coefficient(kind: str, name: str, word: str, value: Any, law: str, of: str = "") -> None:
    """Refuse a function as a coefficient (E150); the cure shows an element of this kind, or of the kind `of`, with a `law`."""
    if callable(value):
        title, why = f'{kind} "{name}": {word} cannot be a function', "it must be a number or an array; a law is another argument"
        raise refusal("E150", title, f'{of or kind}("{name}", {law})', about=name, why=why)


def unit_of_start(initial: Any) -> str:
    return in_si(initial.unit) if isinstance(initial, Parameter) and isinstance(initial.unit, str) else ""


def start_of(name: str, initial: Any, dimension: int | None) -> Any:
    if type(initial) is float and dimension in (None, 1):
        return np.float64(initial)
    initial = in_unit(name, "its start value", initial, "")
    start = real(initial)
    if start is None:
        return initial
    if start.ndim == 0 and isinstance(dimension, int) and dimension > 1:
        return np.full(dimension, float(start))
    return start[()]


def choice(kind: str, name: str, /, **arguments: tuple[str, tuple[str, ...]]) -> None:
    for argument, (word, words) in arguments.items():
        if word not in words:
            title = f'{kind} "{name}": {argument} cannot be {word!r}'
            why = f"it must be one of {', '.join(words)}"
            raise refusal("E110", title, f'{argument}="{words[0]}"', about=name, why=why)


def spelled_out(function: F, law: str = "") -> F:
    """Decorate a function with `**keywords: Unpack[Keywords]`, so that its signature lists these keywords with their defaults.

    An unknown keyword is refused (E317); the message suggests a similar keyword or shows an element's `law`.
    """
    *named, variadic = inspect.signature(function).parameters.values()
    keywords = function.__globals__[variadic.annotation.removeprefix("Unpack[").removesuffix("]")].__annotations__
    more = [_keyword(name, kind.__forward_arg__) for name, kind in keywords.items()]
    checked = refuse_unknown_keywords(function, [parameter.name for parameter in (*named, *more)], law)
    signature = inspect.signature(function).replace(parameters=[*named, *more])
    checked.__signature__ = signature  # type: ignore[attr-defined]
    return checked  # type: ignore[return-value]


def refuse_unknown_keywords(function: Callable[..., Any], names: Sequence[str], law: str = "") -> Callable[..., Any]:
    allowed = frozenset(names)

    @functools.wraps(function)
    def checked(*arguments: Any, **keyword_arguments: Any) -> Any:
        for word in keyword_arguments.keys() - allowed if keyword_arguments else ():
            raise unknown_argument(function.__name__, word, names, law)
        return function(*arguments, **keyword_arguments)

    return checked


def _keyword(name: str, kind: str) -> inspect.Parameter:
    default = "" if kind == "str" else (None, None) if kind.startswith("tuple") else None
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def names_of(names: str | Iterable[str], argument: str = "names", about: str = "") -> tuple[str, ...]:
    """Return names as a tuple; a string is one name.

    Raises `ModelError` E150 for anything but strings; `argument` is the name of the argument, `about` that of the part.

    >>> names_of("spring.q"), names_of(["spring.q", "time"])
    (('spring.q',), ('spring.q', 'time'))
    """
    if isinstance(names, str):
        return (names,)
    if isinstance(names, tuple) and not names:
        return ()
    items = tuple(names) if isinstance(names, Iterable) and not isinstance(names, Mapping) else (names,)
    if not all(isinstance(name, str) for name in items):
        parts = [getattr(each, "name", None) for each in items if not isinstance(each, str)]
        if all(isinstance(name, str) for name in parts):
            texts = [each if isinstance(each, str) else f"{each.name}.{usual_signal(each)}" for each in items]
            title = f"`{argument}` takes paths of signals, not the element{'s' * (len(parts) > 1)} {', '.join(map(repr, parts))}"
            why = "a block's result is <name>.y; an element has <name>.effort, <name>.flow and its states"
            raise refusal("E150", title, f"{argument}={texts!r}".replace("'", '"'), about=about or argument, why=why)
        example = '("spring.q", "time")' if argument == "signals" else "<a name, or a list of names>"
        cure = f"{argument}={example}"
        raise refused(argument, names, "a name as a string, or several names", cure, about)
    return items


def usual_signal(part: Any) -> str:
    return {"block": "y", "0": "effort", "X0": "effort"}.get(getattr(part, "kind", ""), "flow")


def need_text(example: str, **texts: Any) -> None:
    for argument, text in texts.items():
        if not isinstance(text, str):
            raise refused(argument, text, "text", f'{argument}="{example}"')


def is_name(name: str) -> bool:
    """Return True if names made from this name stay unambiguous: `<part>.<signal>`, `<bond>:effort`, `-<value>`, `<state>'`."""
    marked = "." in name or ":" in name or "'" in name or "->" in name or name.startswith("-")
    return not marked and bool(name.strip())


def need_name(kind: str, name: object) -> None:
    if not isinstance(name, str):
        title = f"{kind} {name!r}: its name is of type {type(name).__name__}"
        raise refusal("E150", title, "its name first, as a string, and then its parameters", about=str(name))
    if not name.isprintable():
        title = f"{kind} {name!r}: its name has characters that cannot be printed"
        raise refusal("E102", title, "a name of letters, digits, spaces or underscores", about=repr(name))


_ICON = re.compile(r"(?:[ML] *{0} +{0} *|Q *{0}(?: +{0}){{3}} *|Z *)*".format(r"\d*\.?\d+"))


def icon_of(name: str, icon: str) -> str:
    points = [float(number) for number in re.findall(r"-?\d*\.?\d+", icon)] if isinstance(icon, str) else []
    if isinstance(icon, str) and _ICON.fullmatch(icon.strip()) and all(0.0 <= number <= 1.0 for number in points):
        return icon
    title, why = f'"{name}" has an icon that cannot be drawn: {icon!r}', "it must be SVG path data in a box from (0, 0) to (1, 1)"
    cure = 'icon="M0 .5 L1 .5", with steps M, L, Q and Z of absolute coordinates separated by spaces'
    raise refusal("E183", title, cure, about=name, why=why)


def refused(argument: str, value: object, expected: str, cure: str, about: str = "") -> ModelError:
    title = f"`{argument}`" + (f' of "{about}"' if about else "") + f" cannot be {value!r}"
    return refusal("E150", title, cure, about=about or argument, why=f"it must be {expected}")
