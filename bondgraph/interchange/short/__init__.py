"""Graphs in files that people write, as YAML or JSON."""
