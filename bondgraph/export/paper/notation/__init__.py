"""Notation: a model's parts, values and operations in; numbers, letters, units and formulas written out, out."""
