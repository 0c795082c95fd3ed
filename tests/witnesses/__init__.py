"""Independent NumPy versions of error control and event detection, by whole arrays: machine code must give the same bits."""
