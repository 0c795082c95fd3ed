"""Graph builder: elements, bonds and nested graphs become a flat, checked and frozen `Model`."""
