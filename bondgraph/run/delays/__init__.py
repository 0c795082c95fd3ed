"""Delays: signals of an earlier time, from the dense output of the steps so far."""
