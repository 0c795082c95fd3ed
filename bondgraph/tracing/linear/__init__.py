"""Linear equations on a tape: solve a matrix and a right side of scalars in every mode, singular ones too."""
