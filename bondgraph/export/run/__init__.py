"""Runs as code: a model with its solver."""
