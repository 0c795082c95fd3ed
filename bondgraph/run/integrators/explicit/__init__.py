"""The explicit Runge-Kutta method of order 8: rates in machine code in; steps, dense output, located events out."""
