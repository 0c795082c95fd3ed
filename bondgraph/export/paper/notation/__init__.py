"""Notation: the numbers of a model's parts, the letters of its values and the formulas of its operations."""
