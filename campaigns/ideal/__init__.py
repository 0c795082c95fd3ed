"""Random models of ideal elements, and reference programs that solve them without the packages of this project."""
