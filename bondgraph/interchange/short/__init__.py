"""Graphs in hand-written YAML or JSON files."""
