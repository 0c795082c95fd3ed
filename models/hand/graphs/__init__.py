"""Bond graphs of the hand and of its controller."""
