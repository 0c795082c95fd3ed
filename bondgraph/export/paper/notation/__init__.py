"""Notation: numbers, letters, units and formulas for a model's parts, values and operations."""
