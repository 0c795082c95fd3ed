"""Independent NumPy versions of error control and event detection, by whole arrays: machine code must agree bit for bit."""
