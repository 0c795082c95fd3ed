"""Compilation: turn a graph or `Model` into a `Compiled` model that can run, through the stages of `pipeline`."""
