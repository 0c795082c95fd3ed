"""Passes over the equations, and the pipeline that puts them in order."""
