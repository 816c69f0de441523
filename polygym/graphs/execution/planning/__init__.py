"""Plans of execution: kernels and their variants, fusion, memory."""

__all__: list[str] = []
