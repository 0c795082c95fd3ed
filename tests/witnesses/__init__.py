"""Independent NumPy versions of error control and event detection, with array operations: machine code must agree with them bit
for bit."""
