"""Machine code: routines of the tape and loops of the schedule in; kernels (LLVM, NumPy, interpreted) and text of C out."""
