"""Output: files and folders that are written atomically, LaTeX, notebook cells, plot style; checks for optional packages."""
