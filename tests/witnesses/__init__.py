"""Second statements of the error control in NumPy, by whole arrays: machine code must give their bits."""
