"""Internal names of `bondgraph.units` that tests use."""

# ruff: noqa: F401

from bondgraph.units import Unit, read, symbols
