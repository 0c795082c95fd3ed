"""Inner names of `bondgraph.causality` that tests look into."""

# ruff: noqa: F401

from bondgraph.causality.assign import Causality, assign_causality
