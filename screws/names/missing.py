"""Errors for names that a package or an object lacks (E684), with the packages that export the name."""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from screws.errors import ScrewbondError
from screws.names.similar import similar_names

MAX_ATTRIBUTES = 24
"""Maximum number of names that a message lists if none is similar."""
PACKAGES = ("bondgraph", "screws", "screwbond.models")


class MissingAttribute(ScrewbondError, AttributeError):
    """Error for a name that a package or an object lacks (E684), whose message is composed only when it is read, because
    most of these errors only serve `hasattr`."""

    code = "E684"

    def __init__(self, owner: Any, name: str) -> None:
        super().__init__(owner, name, name=name, obj=owner)

    def __str__(self) -> str:
        owner, name = self.args
        is_module = hasattr(owner, "__all__")
        names = owner.__all__ if is_module else [each for each in dir(owner) if not each.startswith("_")]
        title = f"module {owner.__name__!r}" if is_module else type(owner).__name__
        return f"E684 {title} has no attribute {name!r}; {cure_for_missing(name, names)}"

    def __reduce__(self) -> tuple[type[Exception], tuple[str]]:
        return AttributeError, (str(self),)


class MissingImport(ScrewbondError, ModuleNotFoundError):
    code = "E684"


def cure_for_missing(name: str, names: Iterable[str]) -> str:
    """Return a cure for a missing name: `import_or_similar`, or the list of `names`."""
    if near := import_or_similar(name, listed := sorted(names)):
        return near
    more = f" and {len(listed) - MAX_ATTRIBUTES} more" if len(listed) > MAX_ATTRIBUTES else ""
    return f"try: one of {', '.join(listed[:MAX_ATTRIBUTES])}{more}, as dir() lists them"


def import_or_similar(name: str, names: Iterable[str]) -> str:
    """Return where to import a missing name, or which of the `names` are similar; "" if neither exists."""
    if homes := homes_of(name):
        return "try: " + ", or ".join(f"from {home} import {name}" for home in homes[:3])
    near = similar_names(name, names, most=2)
    return f"did you mean {' or '.join(near)}?" if near else ""


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
