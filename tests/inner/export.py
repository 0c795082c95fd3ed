"""Internal names of `bondgraph.export` that tests use."""

# ruff: noqa: F401

from bondgraph.export.code import sympy
from bondgraph.export.code.c import C_LOOKUPS, C, c_functions, c_number
from bondgraph.export.code.casadi import casadi_forms
from bondgraph.export.code.content import MAX_LENGTH, content_of, identifier, identifiers, model_identifier
from bondgraph.export.code.matlab import MATLAB
from bondgraph.export.code.modelica.expressions import TEXTS
from bondgraph.export.code.modelica.words import quoted, real, unit
from bondgraph.export.code.native import native_dialect, own_functions
from bondgraph.export.code.numpy import NUMPY
from bondgraph.export.code.printer import Dialect, pieces
from bondgraph.export.fmi import build
from bondgraph.export.fmi import source as fmi_source
from bondgraph.export.fmi import writer as fmu_writer
from bondgraph.export.fmi.base_units import base_unit
from bondgraph.export.fmi.build import PLATFORMS
from bondgraph.export.forms.algebra.canonical import exact, rational
from bondgraph.export.forms.algebra.through_tape import sympy_forms
from bondgraph.export.latex_lines import _aligned, latex
from bondgraph.export.paper import document
from bondgraph.export.paper.automata import HALF_HEIGHT, NAME_SIZE, Arrows, lanes, state_diagram, state_order
from bondgraph.export.paper.document import paper_of
from bondgraph.export.paper.markup.as_latex import as_latex, drawing
from bondgraph.export.paper.markup.as_markdown import as_markdown
from bondgraph.export.paper.markup.as_typst import as_typst, typst_math
from bondgraph.export.paper.markup.content import Equations, Figure, InlineCode, Math, Paper, Paragraph, Section, TableBlock
from bondgraph.export.paper.notation.definitions import FORMS, latex_parts
from bondgraph.export.paper.notation.letters import _of_words, split
from bondgraph.export.symbolic import sympy_statements
from bondgraph.export.wasm import page as live_page_module
from bondgraph.export.wasm.instance import page_part, script
from bondgraph.export.wasm.multiply_add import multiply_add
