"""Elementary functions: their text, machine code of it, and sines and cosines of several angles in one call."""
