"""SIMD lanes: advance several runs at once in vector instructions, with results equal to single runs to the last bit."""
