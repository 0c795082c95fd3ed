"""GPUs that execute many runs in parallel: the protocol of a GPU, NVIDIA's driver, and the GPU that `device=` names."""
