"""Explicit Runge-Kutta methods of order 8 and 5: rates in machine code in; steps, dense output, located events out."""
