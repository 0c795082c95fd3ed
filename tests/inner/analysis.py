"""Inner names of `bondgraph.analysis` that tests look into."""

# ruff: noqa: F401

from bondgraph.analysis.linear import DENSE
from bondgraph.analysis.steady import newton
from bondgraph.analysis.transfer import TransferFunction
