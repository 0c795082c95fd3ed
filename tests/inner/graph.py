"""Inner names of `bondgraph.graph` that tests look into."""

# ruff: noqa: F401

from bondgraph.graph.builder import nested
