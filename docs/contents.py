"""Home page of the site and its table of contents, from the README and the index of these pages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from docs.notebooks import notebooks

DOCS = Path(__file__).parent
SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
ROW = re.compile(r"^\| \[[^\]]*\]\(([\w/-]+)\.md\)", re.MULTILINE)
NOTEBOOK = re.compile(r"^\| \[[^\]]*\]\((\w+)\.ipynb\)", re.MULTILINE)


def sections() -> dict[str, tuple[str, ...]]:
    """Return the pages by section of the index, in the order of its tables, with notebooks, gallery and reference."""
    _, *parts = SECTION.split((DOCS / "README.md").read_text(encoding="utf-8"))
    found = {title: ROW.findall(text) for title, text in zip(parts[::2], parts[1::2], strict=True)}
    listed = NOTEBOOK.findall((DOCS.parent / "examples" / "README.md").read_text(encoding="utf-8"))
    found["Start"] += [f"examples/{name}" for name in dict.fromkeys([*listed, *notebooks()])] + ["examples/index"]
    found["Reference"].insert(0, "api/index")
    return {title: tuple(pages) for title, pages in found.items()}


def home() -> str:
    """Return the project's front page, with links relative to this folder, and the table of contents."""
    text = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    text = re.sub(r"\]\(examples/README\.md\)", "](../examples)", text)
    text = re.sub(r"\]\(docs/README\.md\)", "](index.md)", text)
    text = re.sub(r"\]\((?!http|\.\./|docs/|index\.md)", "](../", text)
    text = re.sub(r"\]\(docs/", "](", text)
    return "\n\n".join([text, *(tree(pages, title) for title, pages in sections().items())]) + "\n"


def with_tree(text: str) -> str:
    pages = ROW.findall(text)
    return f"{text}\n{tree(pages)}\n" if pages else text


def tree(pages: Sequence[str], caption: str = "") -> str:
    return "\n".join(["```{toctree}", ":hidden:", *([f":caption: {caption}"] if caption else []), "", *pages, "```"])


def without_foreign_links(text: str, depth: int = 0) -> str:
    """Return a page, `depth` folders deep, with links to examples redirected to the site, and other outside links as text."""
    out = re.escape("../" * (depth + 1))
    text = re.sub(rf"\]\({out}examples/(\w+)\.py\)", r"](/examples/\1.rst)", text)
    text = re.sub(rf"\]\({out}(examples/\w+\.ipynb)\)", r"](/\1)", text)
    text = re.sub(rf"\]\({out}examples/?\)", "](/examples/index.rst)", text)
    text = re.sub(rf"\]\({out}README\.md(#[\w-]+)?\)", r"](/index.md\1)", text)
    return re.sub(rf"\[([^\]]+)\]\({out}[^)]*\)", r"\1", text)


def of_a_notebook(text: str) -> str:
    """Return a notebook of examples/ with links to pages and scripts redirected to the site."""
    text = re.sub(r"\]\(\.\./docs/", "](../", re.sub(r"\]\(\.\./README\.md\)", "](../index.md)", text))
    return re.sub(r"\]\((\w+)\.py\)", r"](\1.rst)", text)
