"""Validation: a finished run in; whether its solution can be trusted, and where constraints lost rank, out."""
