"""Layout: a sketch of a graph in; places of its elements and routes of its bonds out, the same everywhere."""
