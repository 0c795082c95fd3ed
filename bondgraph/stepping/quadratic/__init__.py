"""Quadratic program of a step: its matrices as one routine, friction cones, contact candidates and solvers."""
