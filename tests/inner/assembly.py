"""Internal names of `bondgraph.assembly` that tests use."""

# ruff: noqa: F401

from bondgraph.assembly import implied_units, patterns
from bondgraph.assembly.assemble import ASSEMBLE, assemble
from bondgraph.assembly.draft import Assembly, account_power, declare_state, effort, flow, into, law_arguments, name_port, signed
from bondgraph.assembly.formula_keys import formula_key
from bondgraph.assembly.implied_units import units_of
from bondgraph.assembly.stages import stages_of
from bondgraph.assembly.system import Statement, System, evaluate_statements
