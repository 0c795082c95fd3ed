"""Linear equations on a tape: solutions for a matrix and a right-hand side of scalars in every mode, including singular modes."""
