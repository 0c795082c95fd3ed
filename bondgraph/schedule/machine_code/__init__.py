"""Machine code of loops: loop blocking (tiling), loop fusion, LLVM IR, and a library of compiled kernels."""
