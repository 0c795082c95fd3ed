"""Output: atomic writing of files and folders, LaTeX, notebook cells, plot style; checks for optional packages."""
