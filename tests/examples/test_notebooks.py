"""Notebooks run, show the stored outputs, and look right in a browser without a network."""

from __future__ import annotations

import base64
import html
import io
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from docs.notebooks import METADATA, executed, notebooks, plain, read
from tests.browser import Browser, browser, needs_chromium
from tests.front_door.typesetters import unknown

WITHOUT = 'NOTEBOOKS ARE NOT TESTED: pip install "screwbond[notebooks]"'
pytestmark = pytest.mark.skipif(any(find_spec(name) is None for name in ("nbclient", "ipykernel", "nbconvert")), reason=WITHOUT)
NAMES = ("battery_to_road", "delta_design", "digging", "exercises", "grasp", "heartbeat", "own_surface", "rc_to_motor")
MOST = 500_000
NUMBER = re.compile(r"[-−+]?\d+(?:\.\d*)?(?:e[-−+]?\d+)?")
WIDTHS = (390, 1300)


class Words(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_data(self, data: str) -> None:
        self.found.append(data)


def shown(notebook: Any) -> list[tuple[int, str, str]]:
    found = []
    for k, cell in enumerate(notebook.cells):
        for output in cell.get("outputs", ()):
            assert output.output_type != "error"
            kinds = {output.name: output.text} if output.output_type == "stream" else dict(output.data)
            # Page tests cover pages, whose repr contains their size; here only their presence counts.
            if "<iframe" in kinds.get("text/html", ""):
                kinds = {"text/html": "<p>a page</p>"}
            for kind, text in sorted(kinds.items()):
                told = " ".join(Words(text).found) if kind == "text/html" else "" if kind.startswith("image/") else text
                found.append((k, kind, told))
    return found


def alike(one: str, other: str) -> bool:
    words = ["".join(NUMBER.sub("#", said).split()) for said in (one, other)]  # arrays are padded to their widest number
    if words[0] != words[1]:
        return False
    numbers = [[float(text.replace("−", "-")) for text in NUMBER.findall(said)] for said in (one, other)]
    return np.allclose(*numbers, rtol=2e-3, atol=1e-9)


def test_these_are_the_notebooks() -> None:
    assert tuple(notebooks()) == NAMES


def test_numbers_are_compared_as_numbers() -> None:
    assert alike("a [ 0. 85. ]", "a [-0.   85.01]")
    assert alike("a 1.0001 m, −3e−17", "a 1.0002 m, 4e−16") and not alike("a 1.0 m", "a 1.1 m") and not alike("a 1 m", "b 1 m")


@pytest.fixture(scope="module")
def kernel() -> Iterator[Any]:
    """Yield one kernel for all notebooks, since its start takes half as long as the run of a notebook."""
    from jupyter_client import AsyncKernelManager
    from jupyter_core.utils import run_sync

    started = AsyncKernelManager()
    yield started
    run_sync(started.shutdown_kernel)(now=True)


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
def test_notebooks_reproduce_their_stored_outputs(name: str, kernel: Any) -> None:
    kept, today = (shown(notebook) for notebook in (read(notebooks()[name]), executed(notebooks()[name], kernel)))
    again = f"python -m docs.notebooks {name}"
    assert [entry[:2] for entry in kept] == [entry[:2] for entry in today], again
    for (cell, kind, one), (_, _, other) in zip(kept, today, strict=True):
        assert alike(one, other), f"cell {cell} shows {kind} {other!r} instead of {one!r}: {again}"


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_small_and_holds_nothing_of_a_machine(name: str) -> None:
    path = notebooks()[name]
    assert path.stat().st_size < MOST
    found = read(path)
    assert found == plain(read(path)) and found.metadata == METADATA
    counts = [cell.execution_count for cell in found.cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1))  # run from the first cell to the last, and stored in that state
    for _, kind, text in shown(found):
        assert kind != "stderr" and "/" + "home" not in text and "site-packages" not in text
        assert kind != "text/plain" or len(text) < 500


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_teaches(name: str) -> None:
    cells = read(notebooks()[name]).cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    words = " ".join(cell.source for cell in cells if cell.cell_type == "markdown")
    assert cells[0].cell_type == "markdown" and cells[0].source.startswith("# ")
    assert len(words.split()) > 500 and "## Try it yourself" in words
    assert max(cell.source.count("\n") for cell in code) < 40
    outputs = [output for cell in code for output in cell.outputs if output.output_type != "stream"]
    assert sum("image/png" in output.data for output in outputs) >= 2
    assert sum("<iframe" in output.data.get("text/html", "") for output in outputs) == 1
    assert sum("by hand" in output.text for cell in code for output in cell.outputs if output.output_type == "stream") >= 3


@pytest.mark.parametrize("name", NAMES)
def test_both_typesetters_know_every_formula(name: str) -> None:
    for cell in read(notebooks()[name]).cells:
        if cell.cell_type == "markdown":
            formulas = re.findall(r"\$\$.+?\$\$|(?<!\$)\$[^$\n]+\$", re.sub(r"`[^`]*`", "", cell.source), flags=re.DOTALL)
        else:
            formulas = [output.data["text/latex"] for output in cell.outputs if "text/latex" in output.get("data", ())]
        for formula in formulas:
            assert not unknown(formula), formula


@pytest.mark.parametrize("name", NAMES)
def test_pictures_are_drawn(name: str) -> None:
    from PIL import Image

    outputs = [output for cell in read(notebooks()[name]).cells for output in cell.get("outputs", ())]
    for output in outputs:
        if "image/png" in output.get("data", ()):
            picture = Image.open(io.BytesIO(base64.b64decode(output.data["image/png"])))
            assert min(picture.size) > 150 and np.asarray(picture.convert("L"), dtype=float).std() > 10.0


def written(name: str, folder: Path) -> Path:
    from nbconvert import HTMLExporter

    exporter = HTMLExporter(mathjax_url="", require_js_url="", jquery_url="", mermaid_js_url="")
    text, _ = exporter.from_filename(str(notebooks()[name]))
    path = folder / f"{name}.html"
    path.write_text(text, encoding="utf-8")
    return path


def in_page(window: Browser, script: str) -> Any:
    return window.run(f"(document => {script})(document.querySelector('iframe').contentDocument)")


@pytest.mark.thorough
@needs_chromium
def test_notebooks_in_a_browser(tmp_path: Path) -> None:
    with browser() as window:
        for name in NAMES:
            path = written(name, tmp_path)
            window.open(path, WIDTHS[0])
            while not in_page(window, "document.querySelector('#panels canvas, #panels svg') !== null"):
                window.rest()
            for width in WIDTHS:
                window.resize(width, 850)
                window.run("document.querySelector('iframe').scrollIntoView()")
                window.rest()
                assert not window.complaints and window.overflow() == 0
                wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
                assert in_page(window, wide) == 0
                assert len(set(window.picture())) > 200
            assert all(asked.startswith(("file:", "data:", "about:")) for asked in window.asked), window.asked
            assert html.unescape(in_page(window, "document.title")) in path.read_text(encoding="utf-8")
