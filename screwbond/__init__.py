"""Screw bond graphs: the version, and the public names of `bondgraph`, `screws` and `screwbond.models`.

`from screwbond import Graph, rigid_body, sphere` is `from bondgraph import Graph` and so on; `python -m screwbond` runs the
command `screwbond`. `contact` is the component of `models`, not the package in `screws`.
"""

from types import ModuleType
from typing import TYPE_CHECKING, Any

from screwbond.imports import check_packages, find_models

check_packages("bondgraph", "screws")
find_models()

# isort: off
import bondgraph  # noqa: E402
import screws  # noqa: E402
import screwbond.models as models  # noqa: E402

if TYPE_CHECKING:
    from bondgraph import *  # noqa: F403
# `contact` is a component in `models` and a package in `screws`: type checkers use the first import of it, Python the last.
from screwbond.models import *  # noqa: E402, F403
from screws.names import answer_old_names  # noqa: E402
from screws import *  # type: ignore[assignment]  # noqa: E402, F403
from screwbond.models import contact as contact  # noqa: E402
# isort: on

__version__: str
"""Version of the installed distribution; "0+source" without one."""

_NAMES = dict.fromkeys(name for package in (bondgraph, screws, models) for name in package.__all__)
_MODULES = [name for name in _NAMES if isinstance(globals().get(name, vars(bondgraph).get(name)), ModuleType)]
__all__ = [name for name in _NAMES if name not in _MODULES]
"""Names that `from screwbond import *` imports. Import modules by name: `from screwbond import signals`."""

if not TYPE_CHECKING:
    globals().update({name: value for name, value in vars(bondgraph).items() if name in bondgraph.__all__})

    def __getattr__(name: str) -> Any:
        """Return the version, or a lazily loaded name of `bondgraph`."""
        if name == "__version__":
            return _version()
        if name in bondgraph.__all__:
            return getattr(bondgraph, name)
        raise AttributeError(f"module 'screwbond' has no attribute {name!r}")


def _version() -> str:
    from importlib import metadata

    try:
        return metadata.version("screwbond")
    except metadata.PackageNotFoundError:
        return "0+source"


answer_old_names(__name__)


def __dir__() -> list[str]:
    return [*_NAMES, "__version__", "bondgraph", "models", "screws"]
