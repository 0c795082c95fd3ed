"""Internal names of `screwbond.models.graph_files` that tests use."""

# ruff: noqa: F401

from screwbond.models.graph_files import READERS, follow, load_any
