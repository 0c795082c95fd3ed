"""Frozen records: laws, elements with their ports, automata and bonds as a graph says them in; what all later stages read out."""
