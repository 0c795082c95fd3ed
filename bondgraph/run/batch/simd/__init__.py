"""SIMD lanes: advance several runs simultaneously by vector instructions, with results bitwise equal to those of single runs."""
