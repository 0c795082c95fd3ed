"""Machine code of loops: schedules in; which loops take turns or run as one, the text of all, and a library of kernels out."""
