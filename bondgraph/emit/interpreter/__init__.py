"""Interpreter of derivatives: the Jacobian of a routine by forward differentiation, without compiling it."""
