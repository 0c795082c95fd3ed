"""What the system refuses while a sink writes: a method of a sink of files in; the same, which raises a coded error, out."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from bondgraph.errors import FileError
from bondgraph.output.files import reason, unwritable

M = TypeVar("M", bound=Callable[..., Any])


def coded(method: M) -> M:
    """A method of a sink that has a `_path`: where the disk is full, or the like, it raises `FileError` E414."""

    @functools.wraps(method)
    def writing(self: Any, *given: Any, **named: Any) -> Any:
        try:
            return method(self, *given, **named)
        except FileError:
            raise
        except OSError as error:
            raise unwritable(Path(self._path), reason(error)) from error

    return writing  # type: ignore[return-value]
