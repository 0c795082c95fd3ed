"""Compilation: turn a graph or `Model` into a `Compiled` model, ready to run, through the stages of `pipeline`."""
