"""Internal names of `bondgraph.graph` that tests use."""

# ruff: noqa: F401

from bondgraph.graph.builder import subgraphs
