"""Independent versions of the error control and of event detection in NumPy, by whole arrays: machine code must give the same
bits."""
