"""Tracing: sorted equations -> routines on a tape, implicit equations solved on the way."""
