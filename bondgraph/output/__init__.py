"""Files: what is to be written in; files and folders, whole or not there, and LaTeX out; packages that only some of them need."""
