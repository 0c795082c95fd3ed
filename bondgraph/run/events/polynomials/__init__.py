"""Polynomials that guards follow along a step."""
