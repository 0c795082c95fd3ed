"""Outcome: the course of a run in; its result by name, its energy account and what it cannot be trusted in, out."""
