"""Benchmarks: two eggs against hand-written C, ellipsoids against MuJoCo."""
