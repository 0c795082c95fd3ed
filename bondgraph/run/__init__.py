"""Hybrid simulation: a compiled `Program`, start values and settings in; a `Result` with names and an energy account out."""
