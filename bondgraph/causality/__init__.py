"""Causality: decide which end of every bond of a `Model` sets its effort, or explain the conflict."""
