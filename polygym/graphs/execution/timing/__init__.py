"""Times of operators, kernels and steps, measured by the worker."""
