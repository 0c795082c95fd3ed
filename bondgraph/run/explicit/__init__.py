"""Explicit Runge-Kutta method in machine code: steps, dense output, location of events."""
