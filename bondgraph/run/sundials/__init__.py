"""SUNDIALS' shared libraries, called on compiled functions without Python in between."""
