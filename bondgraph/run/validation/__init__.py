"""Validation of a finished run: trust in its solution, and places where constraints lose rank."""
