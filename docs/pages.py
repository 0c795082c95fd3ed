"""The code of a page: its Python blocks as one module, run under the page's own name and line numbers."""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.util
import io
import sys
import tempfile
import types
from functools import cache
from pathlib import Path

DOCS = Path(__file__).resolve().parent
FRONT = "../README.md"
"""The front page of the project, from here."""
END_OF_BLOCK = "\f"


def text_of(page: str) -> str:
    """What stands in a page."""
    return (DOCS / page).read_text(encoding="utf-8")


def program_of(page: str) -> tuple[str, list[str | None]]:
    """The code of a page on the page's own line numbers, a form feed printed after each block; what each block shows."""
    lines: list[str] = []
    shown: list[str | None] = []
    language, body = "", list[str]()
    for line in text_of(page).splitlines():
        fence = line.startswith("```")
        if fence and not language:
            language, body = line[3:] or "plain", []
            lines.append("")
        elif fence:
            if language == "python":
                shown.append(None)
            elif language == "text" and shown:
                shown[-1] = "\n".join(body)
            lines.append(f"print({END_OF_BLOCK!r}, end='')" if language == "python" else "")
            language = ""
        else:
            body.append(line)
            lines.append(line if language == "python" else "")
    return "\n".join(lines) + "\n", shown


@cache
def run_page(page: str) -> tuple[types.ModuleType, tuple[str, ...]]:
    """Import the code of a page as a module, in a folder of its own; its namespace, and what each block printed."""
    source, _ = program_of(page)
    name = f"page_{Path(page).stem}"
    loader = _PageLoader(name, str(DOCS / page), source)
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    printed = io.StringIO()
    sys.modules[name] = module
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), contextlib.redirect_stdout(printed):
        loader.exec_module(module)
    return module, tuple(printed.getvalue().split(END_OF_BLOCK)[:-1])


class _PageLoader(importlib.abc.SourceLoader):
    """Loads the code of a page under the page's own file name, which errors then show."""

    def __init__(self, name: str, file: str, source: str):
        self.name, self.file, self.source = name, file, source

    def get_filename(self, fullname: str) -> str:
        return self.file

    def get_data(self, path: str | bytes) -> bytes:
        return self.source.encode()
