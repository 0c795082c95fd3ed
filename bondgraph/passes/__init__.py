"""Compiler passes over a `System`: remove aliases, sort the statements, tear algebraic loops, infer shapes."""
