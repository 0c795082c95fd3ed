"""Sphinx: the Markdown pages of this folder -> a site that needs no network; formulas become MathML.

`make docs` runs the code of the pages first and then this, strictly: a link that leads nowhere is an error.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

sys.path.insert(0, str(Path(__file__).parent))
from accents import with_accents

project = "screwbond"
extensions = ["myst_parser"]
root_doc = "README"
html_title = project
html_theme = "alabaster"
html_theme_options = {"page_width": "66rem", "fixed_sidebar": True}
html_sidebars = {"**": ["navigation.html", "searchbox.html"]}
html_show_sourcelink = False
html_show_copyright = False
highlight_language = "none"
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
html_math_renderer = "mathml"

START_PAGE = '<!DOCTYPE html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={0}"><a href="{0}">{1}</a>\n'


def adapt(_: Any, page: str, source: list[str]) -> None:
    """Links out of this folder become plain text; the table of an index becomes the navigation."""
    source[0] = re.sub(r"\[([^\]]+)\]\(\.\./[^)]*\)", r"\1", source[0])
    if page.endswith("README"):
        pages = re.findall(r"^\| \[[^\]]*\]\(([\w/-]+)\.md\)", source[0], flags=re.MULTILINE)
        source[0] += "\n```{toctree}\n:hidden:\n" + "\n".join(pages) + "\n```\n"


def write_start_page(app: Any, failure: Exception | None) -> None:
    """`index.html`, which leads to the page that GitHub shows for this folder."""
    if failure is None:
        page = START_PAGE.format(f"{root_doc}.html", project)
        (Path(app.outdir) / "index.html").write_text(page, encoding="utf-8")


def inline(translator: Any, node: nodes.math) -> None:
    """A formula in a line."""
    translator.body.append(with_accents(tex2mathml(node.astext())))
    raise nodes.SkipNode


def block(translator: Any, node: nodes.math_block) -> None:
    """A formula of its own."""
    translator.body.append(f'<div class="math">{with_accents(tex2mathml(node.astext(), as_block=True))}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    app.connect("source-read", adapt)
    app.connect("build-finished", write_start_page)
