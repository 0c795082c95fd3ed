"""The graph that a user writes: elements, builder, and the frozen model."""
