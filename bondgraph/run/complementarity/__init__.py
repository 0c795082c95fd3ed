"""Box complementarity problems: bounds, rates and modes of ideal elements of one part, found together."""
