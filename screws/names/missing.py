"""Errors for names that a package or an object lacks (E684), with the packages that export the name."""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from screws.errors import ScrewbondError, is_own
from screws.names.similar import similar_names

MAX_ATTRIBUTES = 30
"""Maximum number of names that a message lists if none is similar."""
_SUBJECTS = ("graph", "linear", "model", "result", "robot", "run", "scene", "shown", "surface", "system", "tree")
PACKAGES = ("bondgraph", "screws", "screwbond.models")


class MissingAttribute(ScrewbondError, AttributeError):
    """Error for a name that a package or an object lacks (E684), whose message is composed only when it is read, because
    most of these errors only serve `hasattr`."""

    code = "E684"

    def __init__(self, owner: Any, name: str) -> None:
        super().__init__(owner, name, name=name, obj=owner)

    def __str__(self) -> str:
        owner, name = self.args
        title = f"module {owner.__name__!r}" if isinstance(owner, ModuleType) else type(owner).__name__
        return f"E684 {title} has no attribute {name!r}; {cure_for_missing(owner, name)}"

    def __reduce__(self) -> tuple[type[Exception], tuple[str]]:
        return AttributeError, (str(self),)


class MissingImport(ScrewbondError, ModuleNotFoundError):
    code = "E684"


def explain_module(name: str) -> None:
    """Make a module answer a missing name with E684, unless it has its own `__getattr__`."""
    module = sys.modules[name]

    def read(attribute: str) -> Any:
        error = AttributeError(f"module {name!r} has no attribute {attribute!r}", name=attribute, obj=module)
        raise error if attribute.startswith("_") else MissingAttribute(module, attribute)

    module.__dict__.setdefault("__getattr__", read)


def cure_for_missing(owner: Any, name: object) -> str:
    if isinstance(owner, ModuleType):
        names = list(_public_names(owner))
        inner = {below: f"{each}.{below}" for each in names for below in _public_names(vars(owner).get(each))}
        homes = homes_of(str(name))
        if not homes and not similar_names(name, names, cutoff=0.8) and (near := similar_names(name, inner, most=2)):
            return f"did you mean {' or '.join(inner[each] for each in near)}?"
    else:
        names = [each for each in dir(owner) if not each.startswith("_")]
        if part := getattr(type(owner), "_other_words", {}).get(name) or part_of(owner, name):
            return f"try: {part}"
        homes = tuple(home for home in homes_of(str(name)) if _takes_an_object(home, str(name)))
    if cure := import_or_similar(str(name), listed := sorted(names), homes):
        return cure
    if quantities := _quantities_like(owner, name):
        return f"try: {quantities}"
    more = f" and {len(listed) - MAX_ATTRIBUTES} more" if len(listed) > MAX_ATTRIBUTES else ""
    return f"try: one of {', '.join(listed[:MAX_ATTRIBUTES])}{more}, as dir() lists them"


def _public_names(module: Any) -> Iterable[str]:
    if not isinstance(module, ModuleType) or not is_own(module.__name__):
        return ()
    return getattr(module, "__all__", None) or [
        each for each, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__ and each[0] != "_"
    ]


def part_of(owner: Any, name: object) -> str:
    values = {each: getattr(owner, each, None) for each in getattr(owner, "__dataclass_fields__", ()) if not each.startswith("_")}
    for field, value in {**values, "parameters": getattr(owner, "parameters", None)}.items():
        if isinstance(value, Mapping) and name in [*value]:
            return f'.{field}["{name}"]'
        if isinstance(value, tuple) and name in (named := [getattr(each, "name", None) for each in value]):
            return f".{field}[{named.index(name)}]"
    return ""


def _quantities_like(owner: Any, name: object) -> str:
    run = ".simulate(t_end)" if hasattr(owner, "simulate") else ""
    with contextlib.suppress(AttributeError):  # an object that is still under construction
        if callable(names := getattr(owner, "names", None)) and (run or type(owner).__getitem__.__name__ == "__getitem__"):
            return " or ".join(f'{run}["{each}"]' for each in similar_names(name, names(), most=2))
    return ""


def import_or_similar(name: str, names: Iterable[str], homes: Sequence[str]) -> str:
    if homes:
        return "try: " + ", or ".join(f"from {home} import {name}" for home in homes[:3])
    near = similar_names(name, names, most=2)
    return f"did you mean {' or '.join(near)}?" if near else ""


def _takes_an_object(home: str, name: str) -> bool:
    """Return True for a function that users call with a model, a result or a robot, which some take for its method."""
    function = getattr(importlib.import_module(home), name, None)
    return isinstance(function, FunctionType) and next(iter(inspect.signature(function).parameters), "") in _SUBJECTS


def homes_of(name: str) -> tuple[str, ...]:
    """Return the packages and modules of this project from which a name is imported, outer ones first.

    >>> homes_of("read_urdf"), homes_of("linearise")
    (('screwbond.models.robots',), ('bondgraph.analysis',))
    """
    homes = [home for home, names in _exports().items() if name in names]
    return tuple(sorted(homes, key=lambda home: home.count(".")))


@functools.cache
def _exports() -> dict[str, set[str]]:
    """Return the names of all packages and of their exported modules, read from source files because most modules are not
    loaded."""
    table = {}
    for package in PACKAGES:
        try:
            folder = Path(str(importlib.import_module(package).__file__)).parent
            names = table[package] = _listed(folder / "__init__.py")
        except (ImportError, OSError):  # a partial installation, or one without files
            continue
        for file in folder.glob("*.py"):
            if file.stem in names:
                defined = re.findall(r"^(?:def |class )?(\w+)(?:\(| = |: )", file.read_text("utf-8"), re.MULTILINE)
                table[f"{package}.{file.stem}"] = set(defined)
        for file in folder.glob("*/__init__.py"):
            if inner := _listed(file):
                table[f"{package}.{file.parent.name}"] = inner
                names.add(file.parent.name)
    return table


def _listed(file: Path) -> set[str]:
    return set(re.findall(r"""["'](\w+)["']""", file.read_text("utf-8").partition("__all__")[2]))
