"""Hybrid simulation: run a compiled `Program` from start values with settings to a `Result` with names and an energy account."""
