"""Layout of a diagram: positions of its elements and routes of its bonds, identical on every machine."""
