"""Equations: what a model means, as typed statements over named values."""
