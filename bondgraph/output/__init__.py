"""Output: atomic writing of files, tables, LaTeX, notebook cells, plot style, progress bars; checks for optional packages."""
