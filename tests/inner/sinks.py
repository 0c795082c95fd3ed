"""Internal names of `bondgraph.sinks` that tests use."""

# ruff: noqa: F401

from bondgraph.sinks import file_sinks
from bondgraph.sinks.file_sinks import SINKS
