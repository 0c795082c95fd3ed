"""Printers: recorded procedures in; text of LLVM's assembly language, or of C99, out."""
