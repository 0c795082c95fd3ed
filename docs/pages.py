"""Run the code of a page: its Python blocks as one module, with the page's name and line numbers."""

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
END_OF_BLOCK = "\f"


def text_of(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def program_of(page: str) -> tuple[str, list[str | None]]:
    """Return the code of a page at its own line numbers, with a form feed printed after each block, and the outputs that
    the page shows."""
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
    """Import the code of a page as a module, in an empty folder; return its namespace and the output of each block."""
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
    """Loader of a page's code under the page's file name, which errors then show."""

    def __init__(self, name: str, file: str, source: str):
        self.name, self.file, self.source = name, file, source

    def get_filename(self, fullname: str) -> str:
        return self.file

    def get_data(self, path: str | bytes) -> bytes:
        return self.source.encode()
