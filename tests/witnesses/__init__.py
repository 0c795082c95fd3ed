"""Independent NumPy versions of error control and event detection, in whole arrays: machine code must agree with them bit for
bit."""
