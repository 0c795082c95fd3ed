"""Internal names of `bondgraph.causality` that tests use."""

# ruff: noqa: F401

from bondgraph.causality.assign import Causality, assign_causality
