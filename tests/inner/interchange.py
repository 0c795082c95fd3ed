"""Internal names of `bondgraph.interchange` that tests use."""

# ruff: noqa: F401

from bondgraph.interchange.consistency import ARGUMENTS, PORTS, FormulaOwner, argument_shapes
from bondgraph.interchange.formulas import ARITY, MAX_ENTRIES, MAX_NESTING, InvalidFormula, formula_from_json
from bondgraph.interchange.recording import FUNCTIONS, Replay, record_formula
from bondgraph.interchange.records import MODEL_RECORDS, NUMERIC_FIELDS, OPERATIONS, RECORDS, fields_of
from bondgraph.interchange.short.arithmetic import arithmetic
from bondgraph.interchange.short.documents import yaml_document
from bondgraph.interchange.short.makers import KINDS, quantity
from bondgraph.interchange.short.schema import PUBLISHED
from bondgraph.interchange.strict_json import key_lines, nesting_depth
