"""Inner names of `bondgraph.analysis` that tests look into."""

# ruff: noqa: F401

from bondgraph.analysis.damped_newton import newton
from bondgraph.analysis.linear import DENSE
from bondgraph.analysis.transfer import TransferFunction
