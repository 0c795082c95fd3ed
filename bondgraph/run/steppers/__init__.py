"""Time integration: rates and events of a program in; accepted steps, dense output and samples out."""
