"""Rosenbrock method Rodas5P for stiff models, with dense output."""
