"""Explanation of failed calls by an error that names the wrong argument.

Arguments are compared with the signature only after a call has failed, so a valid call costs almost nothing, with two exceptions:
flags and whole numbers are compared at each call, because Python would accept text and fractions; and each call of a function
of `screws` from outside these packages compares the shapes of its arrays.
"""

from __future__ import annotations

import functools
import inspect
import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

from screws import arrays
from screws.calls.annotations import Shape, accepts, described, fits, is_misshapen, resolved, shapes_of
from screws.errors import CallError, ScrewbondError, is_called_by_user, is_own, plural
from screws.names import explain_access, explain_module, similar_names
from screws.numeric_arguments import shown

T = TypeVar("T")
_OTHER_WORDS = dict.fromkeys(("orientation", "rotation", "rpy", "euler", "quat"), "quaternion")
_OTHER_WORDS |= dict.fromkeys(("com", "ipos", "cog"), "centre_of_mass") | dict.fromkeys(("pos", "xyz", "origin"), "position")
_OTHER_WORDS |= dict.fromkeys(("omega", "w"), "angular_velocity") | dict.fromkeys(("diaginertia", "moments"), "inertia")
_OTHER_WORDS |= dict.fromkeys(("y0", "x0", "ic", "ics", "at"), "initial") | {"params": "parameters", "tstop": "t_end"}
_OTHER_WORDS |= {"color": "visual", "colour": "visual", "geom": "shape", "geometry": "shape"}
"""Keyword in other programs -> keyword of the same meaning."""
_SHAPED = re.compile(rf"\b({'|'.join(name for name, value in vars(arrays).items() if shapes_of(value))})\b")
"""Annotation that states a shape."""
_NO_SCALAR = (str, Mapping, type(None), FunctionType)
_LEAST = {"bool": None, "int": -math.inf, "Natural": 0, "Count": 1}
"""Smallest allowed value of an argument, by its annotation: None for a flag, a number for a whole number."""
_NAMED = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}


def check_calls(package: str) -> None:
    """Make the public functions and methods of a package explain calls that fail because of their arguments.

    E317 : arguments that do not match the signature.
    E150 : values whose type differs from the annotation, if Python has raised an error; even without an error, a string for a
        flag, a fraction for a whole number and, in `screws`, arrays of another shape.
    """
    module = sys.modules[package]
    for name in getattr(module, "__all__", None) or _public_functions(module):
        value = vars(module).get(name)
        if isinstance(value, FunctionType) and not hasattr(value, "explains_calls"):
            explaining = _explaining(value)
            for home in (module, sys.modules[value.__module__]):  # pickle finds a function by its own module
                setattr(home, name, explaining)
        elif isinstance(value, type) and is_own(value.__module__) and not issubclass(value, BaseException):
            _explain_methods(value, ("__init__",))
    explain_module(package)


def explain_methods(kind: type[T]) -> type[T]:
    """Make constructor, call and public methods of a class explain failed calls, as `check_calls` does; return the class."""
    return _explain_methods(kind, ("__init__", "__call__"))


def _explain_methods(kind: type[T], special: tuple[str, ...]) -> type[T]:
    explain_access(kind)
    for base in kind.__mro__:
        if not is_own(base.__module__) or getattr(base, "_is_protocol", False):  # a protocol replaces its own `__init__`
            continue
        for key, method in list(vars(base).items()):
            public = key in special or not key.startswith("_")
            if public and isinstance(method, FunctionType) and not hasattr(method, "explains_calls"):
                setattr(base, key, _explaining(method))
    return kind


def _public_functions(module: Any) -> list[str]:
    functions = [name for name, value in vars(module).items() if isinstance(value, FunctionType) and not name.startswith("_")]
    return [name for name in functions if inspect.unwrap(vars(module)[name]).__module__ == module.__name__]


def _explaining(function: Callable[..., Any]) -> Callable[..., Any]:
    geometric = function.__module__.partition(".")[0] == "screws"
    geometric = geometric and any(_SHAPED.search(str(annotation)) for annotation in function.__annotations__.values())
    checked: tuple[tuple[str, int, float | None], ...] | None = None

    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        nonlocal checked
        if checked is None:
            checked = flags_and_counts(function)
        refused = None
        for name, order, least in checked:
            value = keywords[name] if name in keywords else arguments[order] if order < len(arguments) else None
            if (isinstance(value, str) if least is None else _is_no_count(value, least)) and is_called_by_user():
                least_text = f" from {least:g}" if least not in (None, -math.inf) else ""
                cure = f"{name}=True or {name}=False" if least is None else f"{name}=<a whole number{least_text}>"
                refused = CallError("E150", f"{function.__name__}(): `{name}` cannot be {shown(value)}", cure)
                if least is None:
                    raise refused
        try:
            result = function(*arguments, **keywords)
        except Exception as error:
            if isinstance(error, ScrewbondError) and not isinstance(error, AttributeError):
                raise
            explained = refused or (explanation(function, arguments, keywords) if is_called_by_user() else None)
            if explained is None:
                raise
            raise explained from error
        if refused is not None:  # an error of the function itself comes first
            raise refused
        if geometric and is_called_by_user():
            shapes = _allowed_shapes(function)
            named = [*zip(shapes, arguments, strict=False), *keywords.items()]
            misshapen = any(shapes[name] and is_misshapen(value, shapes[name]) for name, value in named)
            if misshapen and (explained := explanation(function, arguments, keywords)) is not None:
                raise explained
        return result

    call.explains_calls = True  # type: ignore[attr-defined]
    return call


def flags_and_counts(function: Callable[..., Any]) -> tuple[tuple[str, int, float | None], ...]:
    """Return the arguments whose wrong values Python accepts, with their order and least value: any text is True, even "no"
    (None), a fraction is cut to a whole number, and a negative count is an empty range."""
    checked = []
    for order, each in enumerate(inspect.signature(function).parameters.values()):
        kind = str(each.annotation).removesuffix(" | None")
        if kind in _LEAST:
            checked.append((each.name, sys.maxsize if each.kind is each.KEYWORD_ONLY else order, _LEAST[kind]))
    return tuple(checked)


def _is_no_count(value: Any, least: float) -> bool:
    if type(value) is int:
        return value < least
    return isinstance(value, float) and not (value == math.inf or (value >= least and value.is_integer()))


@functools.cache
def _allowed_shapes(function: Callable[..., Any]) -> dict[str, tuple[Shape, ...]]:
    parameters = inspect.signature(function).parameters.values()
    return {each.name: shapes_of(resolved(each.annotation, function)) for each in parameters}


def explanation(function: Callable[..., Any], arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> CallError | None:
    """Return the error of a call that does not match the signature (E317) or the annotations (E150) of a function, else
    None."""
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())
    qualified = function.__qualname__.rpartition("<locals>.")[2]
    is_method = "." in qualified
    name = qualified.rpartition(".")[2]
    if name in ("__init__", "__call__") and arguments:
        name = type(arguments[0]).__name__
    try:
        bound = signature.bind(*arguments, **keywords)
    except TypeError:
        return _signature_error(name, parameters[is_method:], len(arguments) - is_method, keywords)
    takes_numbers = function.__module__.startswith("screws.") or qualified.endswith(".__call__")
    wrong, cures, lists, texts, floats = [], [], [], [], []
    letters = dict[str, int]()
    for key, value in bound.arguments.items():
        parameter = signature.parameters[key]
        annotation = resolved(parameter.annotation, function)
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            others = [each for each in value if not accepts(each, annotation)]
            wrong += [f"an argument cannot be {shown(each)}" for each in others[:1]]
            cures += [f"{described(annotation)} instead"] * bool(others)
        elif {parameter.kind} <= _NAMED and annotation is not parameter.empty and not accepts(value, annotation):
            wrong.append(f"`{key}` cannot be {shown(value)}")
            cures.append(f"{key}=<{described(annotation)}>")
        elif (shapes := shapes_of(annotation)) and not any(fits(_shape(value), shape, letters) for shape in shapes):
            actual = _shape(value)
            wrong.append(f"`{key}` cannot be {f'of shape {actual}' if actual else shown(value)}")
            cures.append(f"{key}=<{described(annotation, letters)}>")
        elif shapes and type(value) is not np.ndarray and len(_shape(value)) > 1:
            lists.append((key, type(value).__name__))
        elif annotation is Any and takes_numbers and isinstance(value, _NO_SCALAR) and value is not parameter.default:
            texts.append((key, value))
        elif isinstance(value, float) and described(annotation) in ("a whole number", "a whole number or None"):
            floats.append((key, value))
    if texts and not (wrong or lists):
        wrong, cures = [f"`{key}` cannot be {text!r}" for key, text in texts], [f"{key}=<a number>" for key, _ in texts]
    elif lists and not wrong:
        wrong = [f"`{key}` cannot be a {kind}" for key, kind in lists]
        cures = [f"{key}=np.array({key})" for key, _ in lists]
    elif floats and not wrong:
        wrong, cures = (
            [f"`{key}` cannot be {number!r}" for key, number in floats],
            [f"{key}={number:.0f}" for key, number in floats],
        )
    return CallError("E150", f"{name}(): {', '.join(wrong)}", ", ".join(cures)) if wrong else None


def _shape(value: Any) -> tuple[int, ...]:
    try:
        return np.shape(value)
    except ValueError:  # rows of different lengths
        return ()


def _signature_error(name: str, parameters: list[inspect.Parameter], count: int, keywords: Mapping[str, Any]) -> CallError:
    named = [each for each in parameters if {each.kind} <= _NAMED]
    positional = [each.name for each in named if each.kind is not inspect.Parameter.KEYWORD_ONLY]
    kinds = {each.kind for each in parameters}
    for word in () if inspect.Parameter.VAR_KEYWORD in kinds else keywords:
        if word not in {each.name for each in named}:
            return unknown_argument(name, word, [each.name for each in named])
    form = f"{name}({', '.join(each.name if each.name in positional else f'{each.name}=...' for each in named)})"
    if count > len(positional) and inspect.Parameter.VAR_POSITIONAL not in kinds:
        return CallError("E317", f"{name}() takes {plural(len(positional), 'argument')} without a keyword, not {count}", form)
    twice = [word for word in positional[:count] if word in keywords]
    if twice:
        return CallError("E317", f"{name}() got `{twice[0]}` twice, by position and by keyword", f"`{twice[0]}` once")
    filled = {*positional[:count], *keywords}
    missing = [f"`{each.name}`" for each in named if each.default is each.empty and each.name not in filled]
    return CallError("E317", f"{name}() lacks {', '.join(missing)}", form)


def signature_mismatch(function: Callable[..., Any], *arguments: Any) -> str:
    """Return why a function of the user cannot be called with these arguments; "" if it can, or if it has no signature."""
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError as error:
        return str(error)
    except ValueError:
        return ""
    return ""


def unknown_argument(function: str, word: str, names: Iterable[str], law: str = "") -> CallError:
    """Return the error of an unknown keyword; its cure is a keyword of the same meaning or a similar one, else `law`, else to
    leave out the keyword."""
    names, other = list(names), _OTHER_WORDS.get(word.lower(), "")
    begun = [each for each in names if each.startswith(word)]
    near = [other] if other in names else begun if len(begun) == 1 else similar_names(word, names, most=1, cutoff=0.7)
    listed = "" if law else f"; it takes {', '.join(names) or 'none'}"
    cure = f"{near[0]}=" if near else law or f"leave out {word}="
    return CallError("E317", f"{function}() got an unexpected keyword argument '{word}'{listed}", cure)
