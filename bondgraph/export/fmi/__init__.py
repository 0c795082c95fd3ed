"""Functional mock-up units (FMI): a model with its solver, as a library that other simulation tools load."""
