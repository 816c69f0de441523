"""Plans of execution: kernels and their variants, fusion, memory."""
