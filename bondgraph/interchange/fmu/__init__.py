"""Functional mock-up units from other programs (FMI 2.0 and 3.0, co-simulation): archive, description, instances."""
