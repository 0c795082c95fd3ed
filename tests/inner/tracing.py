"""Internal names of `bondgraph.tracing` that tests use."""

# ruff: noqa: F401

from bondgraph.tracing import evaluate, routines
from bondgraph.tracing.evaluate import Traced, TraceObstacles, break_loops, evaluate_system
from bondgraph.tracing.events import impulses
from bondgraph.tracing.input_ramps import dependents_of_rates
from bondgraph.tracing.linear import active_sets, modewise, solve
from bondgraph.tracing.linear.circuits import circuits_of, lossless
from bondgraph.tracing.linear.modewise import SolutionCache
from bondgraph.tracing.linear.solve import solve_pivoted
from bondgraph.tracing.on_tape import context
from bondgraph.tracing.on_tape.context import Samples, context_of
from bondgraph.tracing.routines import output_names, trace, trace_for_runs
from bondgraph.tracing.singular_messages import EXPRESSIONS as EXPRESSIONS
from bondgraph.tracing.singular_messages import Unsolvable, prescribing_sources
from bondgraph.tracing.singular_messages import foreign_functions as foreign_functions
