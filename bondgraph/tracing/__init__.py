"""Tracing: sorted equations in; routines on a tape, implicit equations and impulses solved on the way, out."""
