"""C: routines of a compiled model in; a source file, its header and names out."""
