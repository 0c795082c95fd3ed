"""Independent NumPy versions of error control and event detection, with which machine code must agree bit for bit."""
