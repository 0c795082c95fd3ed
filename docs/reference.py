"""Pages of the reference for Sphinx, from the public names of the packages.

A name has its entry where users should import it: in the outermost package whose `__all__` lists it. Inner packages
that list it too refer to that entry.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import types
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from docs.docstrings import inline, restructured

PACKAGES = ("bondgraph", "screwbond.models", "screws")


@dataclass(frozen=True)
class PublicModule:
    name: str
    names: tuple[str, ...]

    @property
    def imported(self) -> types.ModuleType:
        return importlib.import_module(self.name)


def public(module: types.ModuleType) -> tuple[str, ...]:
    """Return the `__all__` of a module, or the functions and classes that it defines."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return tuple(listed)
    own = (name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__)
    return tuple(name for name in own if not name.startswith("_"))


@cache
def public_modules() -> tuple[PublicModule, ...]:
    """Return the packages, their subpackages with an `__all__`, and the modules that they export."""
    found: dict[str, PublicModule] = {}
    for package in PACKAGES:
        outer = importlib.import_module(package)
        exported = {n for n in public(outer) if isinstance(getattr(outer, n), types.ModuleType)}
        inner = [i.name for i in pkgutil.iter_modules(outer.__path__) if i.ispkg or i.name in exported]
        for name in (package, *(f"{package}.{each}" for each in inner)):
            module = importlib.import_module(name)
            if name == package or hasattr(module, "__all__") or name.removeprefix(f"{package}.") in exported:
                found[name] = PublicModule(name, public(module))
                below = public(module) if name != package else ()
                shelves = {each: getattr(module, each) for each in below if isinstance(getattr(module, each), types.ModuleType)}
                found |= {f"{name}.{each}": PublicModule(f"{name}.{each}", public(shelf)) for each, shelf in shelves.items()}
    return tuple(found.values())


@cache
def entries() -> dict[tuple[str, str], str]:
    """Return (package, name) -> package that has the entry of this object, the outermost that lists it."""
    homes: dict[int, str] = {}
    placed: dict[tuple[str, str], str] = {}
    for module in sorted(public_modules(), key=lambda module: module.name.count(".")):
        for name in module.names:
            value = getattr(module.imported, name)
            shared = isinstance(value, types.FunctionType | type)
            placed[module.name, name] = homes.setdefault(id(value), module.name) if shared else module.name
    return placed


def directive(module: str, name: str, value: object) -> list[str]:
    """Return the entry of a name, by autodoc for a class or function, from the string below it for a constant."""
    if isinstance(value, type):
        return [f".. autoclass:: {name}", "   :members:", ""]
    if callable(value):
        return [f".. autofunction:: {name}", ""]
    return [
        f".. py:data:: {name}",
        f"   :type: {type(value).__name__}",
        "",
        *(f"   {line}" for line in constant_docstring(module, name)),
        "",
    ]


def constant_docstring(module: str, name: str) -> list[str]:
    """Return the string below the assignment of a constant in the module that assigns it."""
    tree = ast.parse(inspect.getsource(importlib.import_module(module)))
    for place, node in enumerate(tree.body):
        if isinstance(node, ast.ImportFrom) and any(name == (alias.asname or alias.name) for alias in node.names):
            return constant_docstring(node.module or "", name)
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            below = tree.body[place + 1] if place + 1 < len(tree.body) else None
            if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and isinstance(below.value.value, str):
                return restructured(inspect.cleandoc(below.value.value).splitlines())
    return []


def link(module: str, name: str) -> str:
    return f":py:obj:`{name} <{module}.{name}>`"


def summary(module: str, name: str) -> str:
    value = getattr(importlib.import_module(module), name)
    if isinstance(value, type) or callable(value):
        return inline(" ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split()))
    return " ".join(constant_docstring(module, name))


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], widths: Sequence[int]) -> list[str]:
    lines = [".. list-table::", "   :header-rows: 1", f"   :widths: {' '.join(map(str, widths))}", ""]
    for row in (heads, *rows):
        lines += [f"   {'* -' if place == 0 else '  -'} {cell}" for place, cell in enumerate(row)]
    return [*lines, ""]


def page_of(module: PublicModule) -> str:
    """Return the page of a package: a table of its names, then their entries."""
    title = f"``{module.name}``"
    lines = [title, "=" * len(title), "", f".. automodule:: {module.name}", "   :no-members:", ""]
    modules = [n for n in module.names if isinstance(getattr(module.imported, n), types.ModuleType)]
    if modules:
        lines += ["Modules: " + ", ".join(f":doc:`{module.name}.{name}`" for name in modules) + ".", ""]
    names = [n for n in module.names if n not in modules]
    elsewhere = [n for n in names if entries()[module.name, n] != module.name]
    if elsewhere:
        links = (link(entries()[module.name, name], name) for name in elsewhere)
        lines += ["Also importable from here: " + ", ".join(links) + ".", ""]
    own = [n for n in names if n not in elsewhere]
    if own:
        rows = [(link(module.name, name), summary(module.name, name)) for name in own]
        lines += ["", *table(("name", "what it is"), rows, widths=(26, 74))]
    for name in own:
        lines += directive(module.name, name, getattr(module.imported, name))
    return "\n".join(lines) + "\n"


def pages() -> Iterator[tuple[str, str]]:
    """Yield the name and source of each page: the index of the reference, and a page for each package."""
    for module in public_modules():
        yield module.name, page_of(module)
    lines = ["Reference", "=========", "", "Every public name, with shapes, units and errors.", ""]
    for package in PACKAGES:
        inside = [module for module in public_modules() if f"{module.name}.".startswith(f"{package}.")]
        rows = [(f":doc:`{module.name}`", inline((inspect.getdoc(module.imported) or "").splitlines()[0])) for module in inside]
        lines += [package, "-" * len(package), "", *table(("import from", "contents"), rows, widths=(26, 74))]
        lines += [".. toctree::", "   :hidden:", "", *(f"   {module.name}" for module in inside), ""]
    yield "index", "\n".join(lines) + "\n"


def write(folder: Path) -> None:
    """Write changed pages to a folder, and delete pages there that are no longer generated."""
    folder.mkdir(parents=True, exist_ok=True)
    made = {f"{name}.rst": text for name, text in pages()}
    for path in folder.glob("*.rst"):
        if path.name not in made:
            path.unlink()
    for name, text in made.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
