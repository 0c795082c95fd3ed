"""Time integration: step size control, Runge-Kutta and Rosenbrock steps, dense output, samples and clocks."""
