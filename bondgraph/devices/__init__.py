"""GPUs that do many runs at once: the protocol of a GPU, NVIDIA's driver, and the GPU that `device=` names."""
