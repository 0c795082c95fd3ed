"""Machine code of loops: loop blocking (tiling), loop fusion, LLVM text, and a library of compiled kernels."""
