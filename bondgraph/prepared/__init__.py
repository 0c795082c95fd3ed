"""Prepared runs of a compiled model."""
