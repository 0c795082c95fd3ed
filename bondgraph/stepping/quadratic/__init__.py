"""The quadratic program of a step: a system with given velocities in; its matrices as one routine, and solutions of it, out."""
