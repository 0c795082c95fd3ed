"""Printers of recorded procedures, as LLVM assembly language or as C99."""
