"""Internal names of `bondgraph.output` that tests use."""

# ruff: noqa: F401

from bondgraph.output import progress
from bondgraph.output.cells import MAX_LATEX_LENGTH, number, table, typeset
from bondgraph.output.extras import missing_package
from bondgraph.output.files import UNFINISHED, atomic_file, check_directory, temporary_folder, write_all, write_text
from bondgraph.output.lazy import LazyRow, LazyTable
from bondgraph.output.plot_style import CYCLE, FLAT, INK, MAX_PANELS, PAPER, SHEET, styled, widen_flat_range
from bondgraph.output.progress import Progress, duration_text, track
from bondgraph.output.tables import labels_of
from bondgraph.output.tex import escape_latex
