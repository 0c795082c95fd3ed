"""Box complementarity problems, which determine the modes of all ideal elements in a connected part together."""
