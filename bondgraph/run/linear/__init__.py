"""Linear systems in machine code: which entries of a matrix there are in; a layout that is cheap, factors and solutions out."""
