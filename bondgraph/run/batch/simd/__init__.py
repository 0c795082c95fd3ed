"""SIMD lanes: advance several runs side by side in vector instructions, with the bits of single runs."""
