"""Sphinx configuration: a site that works offline, from README, the Markdown pages of this folder, examples and docstrings.

`make docs` first runs the code of the pages, then Sphinx, strictly: a broken link is an error. Formulas become MathML, which
browsers draw themselves.
"""

from __future__ import annotations

import functools
import gc
import shutil
import sys
import tempfile
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import furo
from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.addnodes import toctree

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from docs import contents, error_pages, live_pages, reference, scripts, thumbnails
from docs.accents import with_accents
from docs.docstrings import restructured
from docs.notebooks import notebooks

gc.set_threshold(50_000)  # page trees stay in memory: by default the garbage collector scans them at every 700 new objects

DOCS = Path(__file__).resolve().parent
setup_file = ConfigParser(interpolation=None)
setup_file.read(DOCS.parent / "setup.cfg", encoding="utf-8")

project = setup_file["metadata"]["name"]
version = release = setup_file["metadata"]["version"]
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx_gallery.gen_gallery"]
exclude_patterns = ["README.md"]
html_title = project
html_theme = "furo"
made = tempfile.TemporaryDirectory(prefix="screwbond-pages-")
html_static_path = [str(DOCS / "static"), made.name]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_theme_options = {"top_of_page_buttons": []}
html_show_sourcelink = False
html_show_copyright = False
html_copy_source = False
highlight_language = "none"
smartquotes = False  # a quoted word is usually an argument
html_math_renderer = "mathml"

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # stored with their outputs; the tests run them

autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
python_maximum_signature_line_length = 88

staged = tempfile.TemporaryDirectory(prefix="screwbond-examples-")
sphinx_gallery_conf = {
    "examples_dirs": [staged.name],
    "gallery_dirs": ["examples"],
    "plot_gallery": "False",  # the tests run them; the site only shows them
    "remove_config_comments": True,
    "download_all_examples": False,
    "notebook_extensions": set(),
    "thumbnail_size": thumbnails.SIZE,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "nested_sections": False,
    "within_subsection_order": "FileNameSortKey",
}


def adapt(_: Any, page: str, source: list[str]) -> None:
    """Show the README with the table of contents as home page; links to files lead to pages of the site, or become plain text."""
    if page.startswith(("api/", "errors/", "examples/")):
        source[0] = contents.of_a_notebook(source[0]) if Path(page).name in notebooks() else source[0]
        source[0] = scripts.with_sentences(source[0]) if page == "examples/index" else source[0]
        return
    text = contents.home() if page == "index" else contents.with_tree(source[0]) if page.endswith("README") else source[0]
    text = error_pages.with_lists(text) if page == "errors" else error_pages.linked(text)
    source[0] = contents.without_foreign_links(text, page.count("/"))


def stage(app: Any, _: Any) -> None:
    """Write the pages generated from the packages and examples, before Sphinx looks for sources."""
    scripts.stage(Path(staged.name), thumbnails.of_examples())
    live_pages.write(Path(made.name) / "live")
    reference.write(Path(app.srcdir) / "api")
    error_pages.write(Path(app.srcdir) / "errors")
    copies = Path(app.srcdir) / "examples"
    copies.mkdir(exist_ok=True)
    for path in notebooks().values():
        shutil.copy2(path, copies / path.name)


def docstring(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    lines[:] = restructured(lines)


@functools.cache
def titles(env: Any) -> dict[str, nodes.Element]:
    """Return the tables of contents by page, reduced to titles of pages."""
    found = {}
    for page, contents_of_page in env.tocs.items():
        found[page] = contents_of_page.deepcopy()
        for item in found[page]:
            below = [*item.findall(toctree)]
            item[1:] = [nodes.bullet_list("", *below)] if below else []
    return found


errors_sidebar: list[str] = []
"""Sidebar with all pages, shared by the pages of errors."""
furo.get_navigation_tree = functools.cache(furo.get_navigation_tree)


def navigate(app: Any, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """List pages in the sidebar by their titles only, because copies of all headings took a fifth of the build time."""
    made = context["toctree"]

    def toctree_of_titles(**options: Any) -> str:
        if not options.get("titles_only"):
            return made(**options)
        of_error = page.startswith("errors/")
        if of_error and errors_sidebar:
            return errors_sidebar[0]
        whole, app.env.tocs = app.env.tocs, titles(app.env)
        try:
            found: str = made(**options)
        finally:
            app.env.tocs = whole
        if of_error:
            errors_sidebar.append(found)
        return found

    context["toctree"] = toctree_of_titles


def mathml(node: nodes.Node, as_block: bool = False) -> str:
    """Return a formula as MathML; docutils can centre lines only as a matrix without brackets."""
    return with_accents(tex2mathml(node.astext().replace("{gathered}", "{matrix}"), as_block=as_block))


def inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(mathml(node))
    raise nodes.SkipNode


def block(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="math" tabindex="0">{mathml(node, as_block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> None:
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    app.connect("config-inited", stage, priority=1)
    app.connect("source-read", adapt)
    app.connect("html-page-context", navigate, priority=400)  # before the theme requests it
    app.connect("autodoc-process-docstring", docstring)
