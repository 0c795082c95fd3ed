"""Inner names of `bondgraph.units` that tests look into."""

# ruff: noqa: F401

from bondgraph.units import Unit, read, symbols
