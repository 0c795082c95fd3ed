"""Causality: a `Model` in; which end of every bond sets its effort, or what cannot hold together, out."""
