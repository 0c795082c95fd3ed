"""Prepared runs of a compiled model: bound once for runs that differ in parameters and start values only."""
