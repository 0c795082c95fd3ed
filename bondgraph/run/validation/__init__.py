"""Validation of a finished run: trust in its solution, and positions at which constraints lose rank."""
