"""Inner names of `bondgraph.elements` that tests look into."""

# ruff: noqa: F401

from bondgraph.elements.binding import bound
