"""Many runs on a GPU: the loop over runs of a thread, its memory, and the code of all threads (PTX)."""
