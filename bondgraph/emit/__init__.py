"""Machine code: turn routines of the tape and loops of the schedule into kernels (LLVM, NumPy, interpreted) and C source code."""
