"""Screw bond graphs, all in one: the version, and the public names of `bondgraph`, `screws` and `models`.

`from screwbond import Graph, rigid_body, sphere` is `from bondgraph import Graph` and so on; `python -m screwbond` is the command
of this name. Of `contact`, which is a component of `models` and a room of `screws`, it is the component.
"""

from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from bondgraph.errors import Problem, ShadowError


def _need_own(*packages: str) -> None:
    """E561 where a file of the user's stands before a package of ours on the path, so that an import would take it."""
    home = Path(__file__).resolve().parents[1]
    for package in packages:
        spec = find_spec(package)
        found = Path(spec.origin).resolve() if spec is not None and spec.origin else None
        if found is not None and found != home / package / "__init__.py":
            title = f'"{found}" hides the package "{package}" of screwbond'
            raise ShadowError(Problem("E561", title, (), (), ("another name for that file",)))


def _version() -> str:
    try:
        return metadata.version("screwbond")
    except metadata.PackageNotFoundError:
        return "0+source"


_need_own("bondgraph", "screws", "models")

# isort: off
import bondgraph  # noqa: E402
import models  # noqa: E402
import screws  # noqa: E402
from bondgraph import *  # noqa: E402, F403
from models import *  # noqa: E402, F403 - before `screws`, whose `contact` is a room: a type checker believes the first
from screws import *  # type: ignore[assignment]  # noqa: E402, F403
from models import contact as contact  # noqa: E402 - and Python the last
# isort: on

__version__ = _version()
"""Of the installed distribution; "0+source" where none is."""

__all__ = ["__version__", "bondgraph", "models", "screws"]
__all__ += bondgraph.__all__
__all__ += [name for name in screws.__all__ if name != "contact"]
__all__ += models.__all__


def __dir__() -> list[str]:
    return __all__
