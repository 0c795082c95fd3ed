"""Elementary functions: their text and machine code, and sines and cosines of several angles in one call."""
