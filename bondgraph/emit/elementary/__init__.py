"""Elementary functions: their source and machine code, and sines and cosines of several angles in one call."""
