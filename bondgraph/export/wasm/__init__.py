"""Runs in a browser: a model with its solver as WebAssembly, and pages in which it simulates."""
