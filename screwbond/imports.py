"""Check that imports of our packages find our files, and find `screwbond.models` in a checkout.

This module runs before all our other modules and imports none of them.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, spec_from_file_location
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
MARK = '__distribution__ = "screwbond"'
"""Line that marks the `__init__.py` of each of our packages and of no other distribution."""


class ShadowError(ImportError):
    """Error: a file or another distribution shadows one of our packages."""

    def __init__(self, code: str, title: str, cure: str) -> None:
        super().__init__(f"{code} {title}; try: {cure}")


def check_packages(*packages: str) -> None:
    """Raise `ShadowError` E561 unless an import of each package finds the package installed with this file."""
    for package in packages:
        spec = find_spec(package)
        if spec is None or spec.origin is None or spec.loader is None:
            title = f'the package "{package}" of screwbond has no file __init__.py'
            raise ShadowError("E561", title, "pip install --force-reinstall --no-deps screwbond")
        file, expected = Path(spec.origin), HERE.parent / package / "__init__.py"
        if file != expected and not (expected.exists() and file.samefile(expected)):
            raise _error_of_hidden(package, file)
        if MARK not in (spec.loader.get_source(package) or MARK):  # type: ignore[attr-defined]
            raise _error_of_overwritten(package, file)


def _error_of_hidden(package: str, file: Path) -> ShadowError:
    location, word = (file.parent, "folder") if file.name == "__init__.py" else (file, "file")
    from importlib import metadata

    for name in _other_distributions(package):
        if metadata.distribution(name).locate_file(f"{package}/__init__.py") == file:
            title = f'the package "{location}" of the distribution "{name}" hides the package "{package}" of screwbond'
            return ShadowError("E561", title, f"pip uninstall {name}, or a separate environment for each")
    return ShadowError("E561", f'"{location}" hides the package "{package}" of screwbond', f"another name for that {word}")


def _error_of_overwritten(package: str, file: Path) -> ShadowError:
    names = _other_distributions(package)
    other = f'the distribution "{names[0]}"' if names else "another distribution"
    title = f'{other} has overwritten the package "{package}" of screwbond in "{file.parent}"'
    first = f"pip uninstall {names[0]}" if names else "pip uninstall that distribution"
    return ShadowError("E561", title, f"{first}, then pip install --force-reinstall --no-deps screwbond")


def _other_distributions(package: str) -> list[str]:
    from importlib import metadata

    return [name for name in metadata.packages_distributions().get(package, []) if name.lower() != "screwbond"]


class _ModelsOfCheckout:
    """Finder of `screwbond.models` in the folder models/ beside this package."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if fullname != "screwbond.models":
            return None
        return spec_from_file_location(fullname, HERE.parent / "models" / "__init__.py")


def find_models() -> None:
    """Make `screwbond.models` importable: an installation has it in this package, a checkout in the folder models/ beside it."""
    if not (HERE / "models" / "__init__.py").is_file():
        sys.meta_path.insert(0, _ModelsOfCheckout())  # before the finder of an editable installation
