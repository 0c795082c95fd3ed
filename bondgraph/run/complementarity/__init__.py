"""Box complementarity problems: modes of the ideal elements of one part, found together."""
