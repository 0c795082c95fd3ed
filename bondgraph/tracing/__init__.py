"""Tracing: evaluate sorted equations on a tape, solve implicit equations and impulses symbolically, and build routines."""
