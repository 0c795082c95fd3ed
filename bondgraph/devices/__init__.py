"""GPUs that run many runs at once: what a run asks of one, the driver of NVIDIA's, and which one `device=` names."""
