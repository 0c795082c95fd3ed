"""Layout of a diagram: positions of its elements and routes of its bonds, the same everywhere."""
