"""Prepare the scripts of examples/ for sphinx-gallery: add titles and thumbnails.

The scripts themselves keep docstrings without markup.
"""

from __future__ import annotations

import ast
import re
from html import escape
from pathlib import Path

from docs.live_pages import ABSENT

DOCS = Path(__file__).parent
EXAMPLES = DOCS.parent / "examples"
HEADER = """Examples
========

Scripts of 30 to 130 lines that follow the papers; click a picture to open its script. ``screwbond examples`` writes all
of them into a folder, and ``python -m examples.NAME`` there runs one, prints its results and draws its pictures.
"""
MARKUP = re.compile(r"([*`|\\_])")
CARD = re.compile(
    r'(<div class="sphx-glr-thumbcontainer" )tooltip="[^"]*"(>.*?:doc:`/examples/(\w+)`.*?-title">[^<]*</div>)', re.DOTALL
)
ROW = re.compile(r"^\| `python -m examples\.(\w+)` \| (.*) \|$", re.MULTILINE)


def titled(path: Path, thumbnail: str) -> str:
    """Return a script with a title, its docstring as reStructuredText, and its thumbnail."""
    source = path.read_text(encoding="utf-8")
    docstring = ast.parse(source).body[0]
    assert isinstance(docstring, ast.Expr) and isinstance(docstring.value, ast.Constant)
    assert isinstance(docstring.value.value, str), path
    title = path.stem.replace("_", " ").capitalize().replace("Urdf", "URDF")
    paragraphs = map(marked_up, docstring.value.value.strip("\n").split("\n\n"))
    text = "\n\n".join([f"{title}\n{'=' * len(title)}", *paragraphs, f".. image:: /{thumbnail}", live_line(path.stem)])
    body = "\n".join(source.splitlines()[docstring.end_lineno :])
    return f'r"""\n{text}\n"""\n{thumbnail_line(thumbnail)}\n{body}\n'


def with_sentences(gallery: str) -> str:
    """Return the gallery with a description below each title, from the table of examples/README.md."""
    rows = dict(ROW.findall((EXAMPLES / "README.md").read_text(encoding="utf-8")))

    def with_sentence(card: re.Match[str]) -> str:
        words = escape(rows[card[3]])
        return f'{card[1]}{card[2]}\n      <div class="example-words">{words[0].upper()}{words[1:]}.</div>'

    return CARD.sub(with_sentence, gallery)


def live_line(name: str) -> str:
    """Return the link to the live page of an example, or the reason why it has no page, as reStructuredText."""
    if name in ABSENT:
        return f"No page simulates this example: {ABSENT[name]}."
    return f'.. raw:: html\n\n   <p><a href="../_static/live/{name}.html">Run this example in the browser, with sliders</a></p>'


def thumbnail_line(picture: str) -> str:
    return f"# sphinx_gallery_thumbnail_path = {str(DOCS / picture)!r}"


def marked_up(paragraph: str) -> str:
    """Return a paragraph without accidental markup; a drawing is kept literally."""
    lines = paragraph.strip("\n").splitlines()
    if lines and all(line.startswith(" ") or not line for line in lines):
        return ".. code-block:: none\n\n" + "\n".join(lines)
    return MARKUP.sub(r"\\\1", "\n".join(line.strip() for line in lines))


def stage(folder: Path, thumbnails: dict[str, str]) -> None:
    """Write all scripts into a folder; `thumbnails` gives the path of each thumbnail relative to the pages."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "GALLERY_HEADER.rst").write_text(HEADER, encoding="utf-8")
    for path in sorted(EXAMPLES.glob("[!_]*.py")):
        (folder / path.name).write_text(titled(path, thumbnails[path.stem]), encoding="utf-8")
