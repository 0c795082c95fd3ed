"""Internal names of `bondgraph.elements` that tests use."""

# ruff: noqa: F401

from bondgraph.elements.binding import bound
