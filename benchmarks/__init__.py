"""Benchmarks against hand-written C and other programs."""
