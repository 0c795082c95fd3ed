"""Compilation: a graph or `Model` in; through all stages, in the order of `pipeline`; a `Compiled` model, ready to run, out."""
