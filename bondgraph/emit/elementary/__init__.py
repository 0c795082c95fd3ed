"""Elementary functions: their text, its machine code, and sines and cosines of several angles in one call."""
