"""Many runs on a graphics card: the loop over runs of a thread, its memory, and the code of all threads (PTX)."""
