"""Internal names of `bondgraph.analysis` that tests use."""

# ruff: noqa: F401

from bondgraph.analysis.damped_newton import newton
from bondgraph.analysis.linear import MAX_DENSE
from bondgraph.analysis.transfer import TransferFunction
