"""Internal names of `bondgraph.compile` that tests use."""

# ruff: noqa: F401

from bondgraph.compile import kernels
from bondgraph.compile.compiled import Compiled
from bondgraph.compile.kernels import lanes_of, native_steps
from bondgraph.compile.pipeline import compile_model, equations
from bondgraph.compile.points import consistent, point_of, whole_parameters
from bondgraph.compile.state_names import own_states
