"""Frozen records of a model, which all later stages read: laws, elements with their ports, automata and bonds."""
