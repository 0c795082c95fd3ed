"""Modelica source of a compiled model: one flat model of explicit equations and `when` clauses."""
