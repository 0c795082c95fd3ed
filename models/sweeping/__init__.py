"""Sweeps from files: a model and a plan in; a store of runs, and a table of them, out."""
