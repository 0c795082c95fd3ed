"""Explanation of failed calls by an error that names the wrong argument, if there is one.

The signature is read only after a call has failed, so a valid call costs almost nothing.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any

import numpy as np

from screws.calls.annotations import accepts, described, resolved, shape_of
from screws.errors import CallError, ScrewbondError, is_own, plural
from screws.names import similar_names
from screws.numeric_arguments import shown

_NAMED = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}


def check_calls(package: str) -> None:
    """Make the public functions and methods of a package explain calls that fail because of their arguments.

    E317 : unknown, repeated or missing arguments.
    E150 : values whose type differs from the annotation, if Python has raised an error.
    """
    module = sys.modules[package]
    for name in module.__all__:
        value = vars(module).get(name)
        if isinstance(value, FunctionType) and not hasattr(value, "explains_calls"):
            explaining = _explaining(value)
            for home in (module, sys.modules[value.__module__]):  # pickle finds a function by its own module
                setattr(home, name, explaining)
        elif isinstance(value, type) and is_own(value.__module__) and not issubclass(value, BaseException):
            for key, method in list(vars(value).items()):
                public = key == "__init__" or not key.startswith("_")
                if public and isinstance(method, FunctionType) and not hasattr(method, "explains_calls"):
                    setattr(value, key, _explaining(method))


def _explaining(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        try:
            return function(*arguments, **keywords)
        except ScrewbondError:
            raise
        except Exception as error:
            caller = sys._getframe(1).f_globals.get("__name__", "")
            explained = None if is_own(caller) else explanation(function, arguments, keywords)
            if explained is None:
                raise
            raise explained from error

    call.explains_calls = True  # type: ignore[attr-defined]
    return call


def explanation(function: Callable[..., Any], arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> CallError | None:
    """Return the error of a call that does not match the signature (E317) or the annotations (E150) of a function, else
    None."""
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())
    qualified = function.__qualname__.rpartition("<locals>.")[2]
    is_method = "." in qualified
    name = qualified.removesuffix(".__init__").rpartition(".")[2]
    try:
        bound = signature.bind(*arguments, **keywords)
    except TypeError:
        return _misfit(name, parameters[is_method:], len(arguments) - is_method, keywords)
    wrong, cures, lists = [], [], []
    for key, value in bound.arguments.items():
        parameter = signature.parameters[key]
        annotation = resolved(parameter.annotation, function)
        if {parameter.kind} <= _NAMED and annotation is not parameter.empty and not accepts(value, annotation):
            wrong.append(f"`{key}` cannot be {shown(value)}")
            cures.append(f"{key}=<{described(annotation)}>")
        elif (shape := shape_of(annotation)) is not None and (actual := _shape(value)) != shape:
            wrong.append(f"`{key}` cannot be {f'of shape {actual}' if actual else shown(value)}")
            cures.append(f"{key}=<{described(annotation)}>")
        elif shape and isinstance(value, (list, tuple)) and len(shape) > 1:
            lists.append(key)
    if lists and not wrong:
        wrong, cures = [f"`{key}` cannot be a list" for key in lists], [f"{key}=np.array({key})" for key in lists]
    return CallError("E150", f"{name}(): {', '.join(wrong)}", ", ".join(cures)) if wrong else None


def _shape(value: Any) -> tuple[int, ...]:
    try:
        return np.shape(value)
    except ValueError:  # rows of different lengths
        return ()


def _misfit(name: str, parameters: list[inspect.Parameter], count: int, keywords: Mapping[str, Any]) -> CallError:
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


def unknown_argument(function: str, word: str, names: Iterable[str], law: str = "") -> CallError:
    """Return the error of an unknown keyword with the keywords that are taken, or the `law`; its cure is a similar keyword, else
    `law`, else to leave out the keyword."""
    near = similar_names(word, names := list(names), most=1)
    listed = "" if law else f"; it takes {', '.join(names) or 'none'}"
    cure = f"{near[0]}=" if near else law or f"leave out {word}="
    return CallError("E317", f"{function}() got an unexpected keyword argument '{word}'{listed}", cure)
