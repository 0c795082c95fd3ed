"""Delays: signals at earlier times, from the dense output of the steps so far."""
