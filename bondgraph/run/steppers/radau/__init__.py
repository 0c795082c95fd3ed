"""Radau IIA, an implicit Runge-Kutta method for stiff models and undamped fast modes, with dense output."""
