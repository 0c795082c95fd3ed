"""Runs in a browser: a model with its solver as WebAssembly, and pages that simulate it."""
