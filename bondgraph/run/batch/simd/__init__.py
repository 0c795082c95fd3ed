"""SIMD lanes: several runs in; their steps side by side in vector instructions, with the bits of single runs, out."""
