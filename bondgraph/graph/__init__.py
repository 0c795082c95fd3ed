"""The graph that a user builds: elements, bonds and nested graphs in; a flat, checked and frozen `Model` out."""
