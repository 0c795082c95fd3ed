"""Algebra with statements and symbols: values as exact, readable expressions, with long parts defined separately."""
