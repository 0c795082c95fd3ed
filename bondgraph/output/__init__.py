"""Files: what is to be written in; files and folders, whole or not there, out; and packages that only some of them need."""
