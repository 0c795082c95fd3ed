"""Run the notebooks of examples/ in a fresh kernel and store them with their current outputs.

A notebook is its own source: edit it, then `make notebooks` (or `python -m docs.notebooks NAME`) runs it from its first cell and
stores it. The stored file depends only on the cells: it has no times, editor metadata or machine names.
"""

from __future__ import annotations

import argparse
import base64
import io
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
CELL_TIMEOUT = 600  # s, enough on a busy machine
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"file_extension": ".py", "mimetype": "text/x-python", "name": "python", "pygments_lexer": "ipython3"},
}


def notebooks() -> dict[str, Path]:
    return {path.stem: path for path in sorted(EXAMPLES.glob("*.ipynb"))}


def read(path: Path) -> Any:
    import nbformat

    return nbformat.read(path, as_version=4)


RESET_CELL = """
__import__("os").chdir({folder!r})
get_ipython().run_line_magic("reset", "-f")
get_ipython().execution_count = 1
__import__("matplotlib.pyplot").pyplot.close("all")
__import__("matplotlib").rcdefaults()
"""
"""Code that clears the remains of another notebook from a kernel: names, cell numbers, plots, plot style, folder."""


def executed(path: Path, kernel: Any = None) -> Any:
    """Return a notebook after a run of all its cells in an empty folder, in a new kernel or in `kernel`, an
    `AsyncKernelManager` whose loaded modules are kept.

    Raises `nbclient.exceptions.CellExecutionError` if a cell fails.
    """
    from nbclient import NotebookClient
    from nbformat.v4 import new_code_cell

    notebook = read(path)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))}
    environment.pop("MPLBACKEND", None)  # show pictures at their cell, whatever the drawing settings elsewhere
    with tempfile.TemporaryDirectory() as folder:
        settings = {"timeout": CELL_TIMEOUT, "record_timing": False, "coalesce_streams": True}
        client = NotebookClient(notebook, kernel, resources={"metadata": {"path": folder}}, **settings)
        if kernel is not None:
            notebook.cells.insert(0, new_code_cell(RESET_CELL.format(folder=folder)))
        client.execute(env=environment)
        if kernel is not None:
            client.kc.stop_channels()
            del notebook.cells[0]
    for output in (output for cell in notebook.cells for output in cell.get("outputs", ())):
        if "image/png" in output.get("data", ()):
            output.data["image/png"] = reduced(output.data["image/png"])
    return plain(notebook)


def reduced(picture: str) -> str:
    """Return a PNG, in base64, reduced to 256 colours and about a third of its size."""
    from PIL import Image

    small = io.BytesIO()
    Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB").quantize(256).save(small, "PNG", optimize=True)
    return base64.b64encode(small.getvalue()).decode()


def plain(notebook: Any) -> Any:
    """Return a notebook without traces of editor and kernel, with its cells numbered in order."""
    notebook.metadata = METADATA
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for k, cell in enumerate(notebook.cells):
        cell.id, cell.metadata = f"cell-{k}", {}
    return notebook


def store(path: Path, notebook: Any) -> None:
    import nbformat

    path.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    places = notebooks()
    parser = argparse.ArgumentParser(prog="python -m docs.notebooks", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[*places, []], metavar="NAME", help=", ".join(places))
    for name in parser.parse_args(arguments).names or places:
        store(places[name], executed(places[name]))
        print(f"ran {places[name].relative_to(ROOT)}, {places[name].stat().st_size / 1e3:.0f} kB", flush=True)


if __name__ == "__main__":
    main()
