"""A compiled model and the settings of its runs in; runs that differ in their numbers only, by name or many at once, out."""
