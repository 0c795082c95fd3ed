"""Switching: a guard that rises in; when and whether it does, and modes and states after the transitions at that instant, out."""
