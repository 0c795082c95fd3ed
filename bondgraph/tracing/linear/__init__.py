"""Linear equations on a tape: a matrix and a right side of scalars in; the solution for every mode, singular ones too, out."""
