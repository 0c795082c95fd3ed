"""Inner names of `screwbond.models.graph_files` that tests look into."""

# ruff: noqa: F401

from screwbond.models.graph_files import READERS, follow, load_any
